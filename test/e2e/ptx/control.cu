// Control flow: calls, nested and divergent branches, loops that end early, switches, local arrays.

__device__ __noinline__ int collatz(int n) {
  int steps = 0;
  while (n != 1) {
    n = n & 1 ? 3 * n + 1 : n / 2;
    if (++steps > 200)
      break;
  }
  return steps;
}

extern "C" __global__ void calls(const int *x, int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = collatz(x[i]) + (x[i] > 10 ? collatz(x[i] + 1) : 0);
}

extern "C" __global__ void nested(const int *x, int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int v = x[i], sum = 0;
  for (int a = 0; a < v; ++a) {
    if (a % 3 == 0)
      continue;
    for (int b = 0; b < 10; ++b) {
      if (b * a > 20)
        break;
      if ((a ^ b) & 1)
        sum += a * b;
      else
        sum -= b;
    }
    if (sum > 500)
      break;
  }
  y[i] = sum;
}

extern "C" __global__ void switches(const int *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = (float)i;
  switch (x[i]) {
  case 0: v = v * 2; break;
  case 1: v = v + 100; break;
  case 2: v = -v; // falls through
  case 3: v = v * v; break;
  case 4: v = 1 / (v + 1); break;
  case 5: v = sqrtf(v); break;
  case 6: v = v - 7; break;
  default: v = 42;
  }
  y[i] = v;
}

extern "C" __global__ void local_array(const int *x, int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int counts[8];
  for (int k = 0; k < 8; ++k)
    counts[k] = 0;
  for (int k = 0; k < 16; ++k)
    counts[x[(i + k) % n] & 7] += k;
  int made = 0;
  for (int k = 0; k < 8; ++k)
    made = made * 31 + counts[k];
  if (i < n)
    y[i] = made;
}

struct Point {
  float x, y, z;
};
__device__ __noinline__ Point cross(Point a, Point b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
extern "C" __global__ void structs(const Point *a, const Point *b, Point *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = cross(a[i], b[i]);
}
