// Tensor cores and asynchronous copies; for sm_80 and newer.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <stdint.h>
using namespace nvcuda;

template <class T, class Acc>
__device__ void multiply(const T *a, const T *b, Acc *c, int k) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, Acc> fc;
  wmma::fill_fragment(fc, Acc(0));
  for (int i = 0; i < k; i += 16) {
    wmma::load_matrix_sync(fa, a + i, k);
    wmma::load_matrix_sync(fb, b + i, k);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  for (int i = 0; i < fc.num_elements; ++i)
    fc.x[i] = fc.x[i] * Acc(2);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
extern "C" __global__ void wmma_f16(const __half *a, const __half *b, float *c, int k) { multiply(a, b, c, k); }
extern "C" __global__ void wmma_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int k) { multiply(a, b, c, k); }
extern "C" __global__ void wmma_s8(const signed char *a, const signed char *b, int *c, int k) { multiply(a, b, c, k); }

extern "C" __global__ void wmma_tf32(const float *a, const float *b, float *c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, a, 8);
  wmma::load_matrix_sync(fb, b, 8);
  for (int i = 0; i < fa.num_elements; ++i)
    fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
  for (int i = 0; i < fb.num_elements; ++i)
    fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

// One tile of 16 x 8 by ldmatrix and mma.m16n8k16: a is 16 x 16, b is 16 x 8 (rows of k), c 16 x 8.
extern "C" __global__ void mma_ldmatrix(const __half *a, const __half *b, float *c) {
  __shared__ alignas(16) __half sa[16][24], sb[16][8];
  int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32)
    sa[i / 16][i % 16] = a[i];
  for (int i = lane; i < 128; i += 32)
    sb[i / 8][i % 8] = b[i];
  __syncthreads();
  unsigned fa[4], fb[2];
  unsigned pa = (unsigned)__cvta_generic_to_shared(&sa[lane % 16][lane / 16 * 8]);
  unsigned pb = (unsigned)__cvta_generic_to_shared(&sb[lane % 16][0]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3]) : "r"(pa));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(fb[0]), "=r"(fb[1]) : "r"(pb));
  float d[4] = {0, 0, 0, 0};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
  int group = lane / 4, t = lane % 4;
  c[group * 8 + 2 * t] = d[0];
  c[group * 8 + 2 * t + 1] = d[1];
  c[(group + 8) * 8 + 2 * t] = d[2];
  c[(group + 8) * 8 + 2 * t + 1] = d[3];
}

extern "C" __global__ void mma_s8(const signed char *a, const signed char *b, int *c) { // a 16 x 32, b 8 x 32 (columns)
  int lane = threadIdx.x, group = lane / 4, t = lane % 4;
  const int *wa = (const int *)a, *wb = (const int *)b;
  int fa[4] = {wa[group * 8 + t], wa[(group + 8) * 8 + t], wa[group * 8 + t + 4], wa[(group + 8) * 8 + t + 4]};
  int fb[2] = {wb[group * 8 + t], wb[group * 8 + t + 4]}, d[4] = {1, 1, 1, 1};
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
  c[group * 8 + 2 * t] = d[0];
  c[group * 8 + 2 * t + 1] = d[1];
  c[(group + 8) * 8 + 2 * t] = d[2];
  c[(group + 8) * 8 + 2 * t + 1] = d[3];
}

extern "C" __global__ void copy_async(const float *x, float *y, int n) {
  __shared__ alignas(16) float tile[512];
  int i = threadIdx.x * 4, at = blockIdx.x * 512 + i;
  unsigned to = (unsigned)__cvta_generic_to_shared(&tile[i]);
  int bytes = at + 4 <= n ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(x + (bytes ? at : 0)), "r"(bytes));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
  for (int k = threadIdx.x; k < 512; k += blockDim.x)
    if (blockIdx.x * 512 + k < n)
      y[blockIdx.x * 512 + k] = tile[511 - k];
}
