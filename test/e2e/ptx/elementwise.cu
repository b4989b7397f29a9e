// Elementwise, grid-stride, vectors, halves, wide maths.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

extern "C" __global__ void scale_add(const float *__restrict__ x, const float *__restrict__ y, float *z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    z[i] = a * x[i] + y[i];
}

extern "C" __global__ void grid_stride(const float *x, float *y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = sqrtf(x[i]) + 1.0f / (x[i] + 1.0f);
}

extern "C" __global__ void vector4(const float4 *x, float4 *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float4 v = x[i];
    y[i] = make_float4(v.w, v.z * 2, v.y + 1, v.x);
  }
}

extern "C" __global__ void half2_ops(const __half2 *x, const __half2 *y, __half2 *z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    z[i] = __hfma2(x[i], y[i], __hmul2(__hadd2(x[i], y[i]), __float2half2_rn(0.5f)));
}

extern "C" __global__ void bf16_ops(const __nv_bfloat16 *x, const __nv_bfloat16 *y, __nv_bfloat16 *z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    z[i] = __float2bfloat16(__bfloat162float(x[i]) * __bfloat162float(y[i]) + 1.0f);
}

extern "C" __global__ void integers64(const int64_t *x, const int64_t *y, int64_t *z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    z[i] = x[i] / y[i] * 3 + x[i] % y[i] + __mul64hi(x[i], y[i]) + __popcll(x[i]) + __clzll(y[i]);
}

extern "C" __global__ void integers32(const uint32_t *x, const uint32_t *y, uint32_t *z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    uint32_t a = x[i], b = y[i] | 1;
    z[i] = a / b + a % b + __umulhi(a, b) + __brev(a) + __ffs(b) + __byte_perm(a, b, 0x5142) +
           __funnelshift_l(a, b, a & 31) + (a >> (b & 15)) + ((a & b) ^ (~a | b)) + a / 7 + b % 10;
  }
}

extern "C" __global__ void doubles(const double *x, double *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = sqrt(x[i]) + x[i] / 3.0 + fma(x[i], x[i], 1.0) + floor(x[i]) + (double)(long long)(x[i] * 1000);
}

extern "C" __global__ void transcendental(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = expf(x[i]) + logf(x[i] + 2) + tanhf(x[i]) + sinf(x[i]) * cosf(x[i]) + erff(x[i]) + powf(x[i] + 2, 1.5f);
}

extern "C" __global__ void conversions(const float *x, int8_t *a, uint8_t *b, int16_t *c, __half *d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    a[i] = (int8_t)__float2int_rn(x[i]);
    b[i] = (uint8_t)__float2uint_rz(fabsf(x[i]));
    c[i] = (int16_t)__float2int_rd(x[i] * 100);
    d[i] = __float2half_rz(x[i]);
  }
}

__constant__ unsigned char table[256] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};

extern "C" __global__ void byte_table(const unsigned char *x, unsigned char *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = table[x[i] & 15] ^ x[i];
}
