// Planted faults, one of each kind: with planted = 0 every kernel is clean. The line that is to be named
// has the comment.
#include <assert.h>

extern "C" __global__ void over_the_end(float *x, int planted) {
  int i = threadIdx.x + 64;
  x[i + planted * 64] = 1; // fault: over_the_end
}

extern "C" __global__ void odd_address(float *x, int planted) {
  char *p = (char *)x + planted;
  *(float *)(p + 4 * threadIdx.x) = 2; // fault: odd_address
}

__constant__ float fixed[64];
extern "C" __global__ void constant_written(float *x, int planted) {
  if (threadIdx.x % 32 == 3) {
    float *p = planted ? (float *)fixed : x;
    p[threadIdx.x] = 3; // fault: constant_written
  }
}

extern "C" __global__ void shared_over_the_end(float *x, int planted) {
  __shared__ float s[64];
  s[threadIdx.x] = 0;
  if (threadIdx.x == 63)
    ((volatile float *)s)[threadIdx.x + planted] = 1; // fault: shared_over_the_end
  x[threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void never_written(float *x, int planted) {
  __shared__ volatile float s[64];
  if (!planted)
    s[threadIdx.x] = 1;
  x[threadIdx.x] = s[threadIdx.x]; // fault: never_written
}

extern "C" __global__ void local_never_written(float *x, int planted) {
  volatile float a[4];
  if (!planted)
    a[threadIdx.x & 3] = 1;
  x[threadIdx.x] = a[threadIdx.x & 3]; // fault: local_never_written
}

extern "C" __global__ void no_barrier(float *x, int planted) {
  __shared__ float s[64];
  s[threadIdx.x] = 0;
  __syncthreads();
  s[threadIdx.x] = threadIdx.x; // fault: no_barrier
  if (!planted)
    __syncthreads();
  x[threadIdx.x] = s[63 - threadIdx.x]; // fault: no_barrier
}

extern "C" __global__ void no_barrier_global(float *x, int planted) {
  x[threadIdx.x] = threadIdx.x;
  if (!planted)
    __syncthreads();
  x[64 + threadIdx.x] = x[63 - threadIdx.x]; // fault: no_barrier_global
}

extern "C" __global__ void two_blocks(float *x, int planted) {
  if (threadIdx.x == 0)
    x[planted ? 0 : blockIdx.x] = blockIdx.x + 5; // fault: two_blocks
}

extern "C" __global__ void read_only_cache(float *x, int planted) {
  float v = __ldg(&x[threadIdx.x]);
  x[threadIdx.x + (planted ? 0 : 64)] = v + 1; // fault: read_only_cache
}

extern "C" __global__ void half_at_barrier(float *x, int planted) {
  if (!planted || threadIdx.x < 32) {
    __syncthreads(); // fault: half_at_barrier
    x[threadIdx.x] = 1;
  }
}

extern "C" __global__ void lane_missing(float *x, int planted) {
  float v = x[threadIdx.x];
  if (threadIdx.x % 32 < (planted ? 16 : 32))
    v = __shfl_xor_sync(0xffffffff, v, 1); // fault: lane_missing
  x[threadIdx.x] = v;
}

extern "C" __global__ void asserted(float *x, int planted) {
  if (threadIdx.x >= 5 && planted)
    __trap(); // fault: asserted
  x[threadIdx.x] = 0;
}

extern "C" __global__ void endless(float *x, int planted) {
  volatile float *p = x + threadIdx.x;
  while (planted && *p > 0)
    ;
  *p = 0;
}
