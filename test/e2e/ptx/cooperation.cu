// Threads that work together: reductions, scans, votes, shuffles, shared memory, atomics.
#include <stdint.h>

extern "C" __global__ void block_sum(const float *x, float *sums, int n) {
  __shared__ float s[256];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    v += x[i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d >>= 1) {
    if (threadIdx.x < d)
      s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    sums[blockIdx.x] = s[0];
}

extern "C" __global__ void warp_sum(const int *x, int *total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = i < n ? x[i] : 0;
  for (int d = 16; d > 0; d >>= 1)
    v += __shfl_down_sync(0xffffffff, v, d);
  if ((threadIdx.x & 31) == 0)
    atomicAdd(total, v);
}

extern "C" __global__ void scan(const int *x, int *y, int n) {
  extern __shared__ int s[];
  int i = threadIdx.x, lane = i & 31, warp = i >> 5, v = i < n ? x[i] : 0;
  for (int d = 1; d < 32; d <<= 1) {
    int other = __shfl_up_sync(0xffffffff, v, d);
    if (lane >= d)
      v += other;
  }
  if (lane == 31)
    s[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int w = lane < (blockDim.x >> 5) ? s[lane] : 0;
    for (int d = 1; d < 32; d <<= 1) {
      int other = __shfl_up_sync(0xffffffff, w, d);
      if (lane >= d)
        w += other;
    }
    s[lane] = w;
  }
  __syncthreads();
  if (warp > 0)
    v += s[warp - 1];
  if (i < n)
    y[i] = v;
}

extern "C" __global__ void histogram(const uint8_t *x, unsigned *bins, int n) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (local[i])
      atomicAdd(&bins[i], local[i]);
}

extern "C" __global__ void transpose(const float *x, float *y, int n) {
  __shared__ float tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += blockDim.y)
    if (r + k < n && c < n)
      tile[threadIdx.y + k][threadIdx.x] = x[(r + k) * n + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x;
  r = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += blockDim.y)
    if (r + k < n && c < n)
      y[(r + k) * n + c] = tile[threadIdx.x][threadIdx.y + k];
}

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float ta[16][16], tb[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    ta[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    tb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col];
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

extern "C" __global__ void votes(const int *x, unsigned *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = x[i];
  unsigned ballot = __ballot_sync(0xffffffff, v > 2);
  unsigned same = __match_any_sync(0xffffffff, v);
  y[i] = __popc(ballot) + 100 * __all_sync(0xffffffff, v < 6) + 200 * __any_sync(0xffffffff, v == 5) + 1000 * __popc(same) +
         100000 * __popc(__activemask());
}

extern "C" __global__ void counted(const int *x, int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int count = __syncthreads_count(x[i] > 0);
  int all = __syncthreads_and(x[i] > -1000), any = __syncthreads_or(x[i] == 7);
  y[i] = count * 4 + all * 2 + any;
}

// The sum of a grid in one launch: the last block to come adds the blocks' sums.
__device__ unsigned arrived = 0;

extern "C" __global__ void last_block(const float *x, volatile float *sums, float *total, int n) {
  __shared__ float s[128];
  __shared__ bool last;
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    v += x[i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int d = 64; d > 0; d >>= 1) {
    if (threadIdx.x < d)
      s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&arrived, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; ++i)
      sum += sums[i];
    *total = sum;
    arrived = 0;
  }
}
