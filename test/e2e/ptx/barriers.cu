// What came with sm_80 and sm_90: warp reductions, asynchronous barriers, packed atomics.
#include <cuda_fp16.h>
#include <stdint.h>

extern "C" __global__ void reduce_sync(const unsigned *x, unsigned *y) {
  unsigned v = x[threadIdx.x];
  y[threadIdx.x] = __reduce_add_sync(0xffffffff, v) + 3 * __reduce_max_sync(0xffffffff, v) + (__reduce_xor_sync(0xffffffff, v) << 8);
}

extern "C" __global__ void phases(const float *x, float *y) {
  __shared__ alignas(8) uint64_t bar;
  __shared__ float s[64];
  unsigned address = (unsigned)__cvta_generic_to_shared(&bar);
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address), "r"(blockDim.x));
  __syncthreads();
  for (int phase = 0; phase < 3; ++phase) {
    s[threadIdx.x] = x[threadIdx.x] + phase;
    uint64_t state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(address) : "memory");
    asm volatile("{ .reg .pred p; W: mbarrier.test_wait.shared.b64 p, [%0], %1; @!p bra W; }" ::"r"(address), "l"(state) : "memory");
    y[phase * 64 + threadIdx.x] = s[63 - threadIdx.x];
    __syncthreads();
  }
}

extern "C" __global__ void atomics(int *i, unsigned *u, float *f, double *d, unsigned long long *l, __half2 *h) {
  int t = threadIdx.x + blockIdx.x * blockDim.x;
  atomicMin(&i[0], t - 5);
  atomicMax(&i[1], t);
  atomicAnd(&u[0], ~(1u << (t & 31)));
  atomicOr(&u[1], 1u << (t & 31));
  atomicXor(&u[2], t);
  atomicInc(&u[3], 9);
  atomicDec(&u[4], 6);
  atomicExch(&u[5 + t], t);
  atomicAdd(&f[t & 1], 0.5f);
  atomicAdd(d, 0.25);
  atomicAdd(l, 1ull << 33);
  atomicAdd(h, __floats2half2_rn(1.0f, 2.0f));
  unsigned seen = *(volatile unsigned *)&u[200], assumed;
  do {
    assumed = seen;
    seen = atomicCAS(&u[200], assumed, assumed + 2);
  } while (seen != assumed);
}
