/* Kernels with the calling convention of plans, built as the shared object that tests embed. */
#include <stdint.h>

/* results[0][i] = operands[0][i] + operands[1][i] */
void add_f32(void *const *buffers, int64_t begin, int64_t end) {
  const float *a = buffers[0], *b = buffers[1];
  float *sum = buffers[2];
  for (int64_t i = begin; i < end; ++i)
    sum[i] = a[i] + b[i];
}

/* A second object with the same symbols and another factor tells the two apart. */
#ifndef FACTOR
#define FACTOR 2
#endif

/* results[0][i] = FACTOR * operands[0][i] */
void double_f32(void *const *buffers, int64_t begin, int64_t end) {
  const float *a = buffers[0];
  float *twice = buffers[1];
  for (int64_t i = begin; i < end; ++i)
    twice[i] = FACTOR * a[i];
}

/* results[0] = operands[0] < operands[1], one element, an i1 */
void less_f32(void *const *buffers, int64_t begin, int64_t end) {
  (void)begin, (void)end;
  *(uint8_t *)buffers[2] = *(const float *)buffers[0] < *(const float *)buffers[1];
}

/* Does nothing: what remains is the cost of dispatch. */
void nothing(void *const *buffers, int64_t begin, int64_t end) {
  (void)buffers, (void)begin, (void)end;
}

/* Fails the test's alignment rule by returning 1 in results[0] when an operand is not aligned. */
void check_alignment(void *const *buffers, int64_t begin, int64_t end) {
  (void)begin, (void)end;
  *(float *)buffers[1] = (uintptr_t)buffers[0] % 64 == 0 && (uintptr_t)buffers[1] % 64 == 0;
}
