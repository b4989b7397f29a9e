// Three loops. Arithmetic: independent chains of multiply-adds in registers, in the widest vectors
// that the machine has, so that nothing but the units is busy. Memory: c = a + b over arrays far
// larger than the caches. Copies: memcpy of such an array, by one thread as the runtime does it.
#include "gantry/Machine/Calibrate.h"

#include "gantry/Runtime/ThreadPool.h"
#include "gantry/Support/AlignedBuffer.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

namespace gantry::machine {

namespace {

constexpr int64_t chains = 10, steps = 20000;

/// Operations on vectors of `bytes` bytes; `sink` keeps the results alive.
template <typename Number, int bytes>
[[gnu::always_inline]] inline void multiplyAdd(void *sink) {
  typedef Number Vector __attribute__((vector_size(bytes)));
  Vector sums[chains];
  for (Vector &sum : sums)
    sum = Vector{} + static_cast<Number>(1);
  Vector factor = Vector{} + static_cast<Number>(0.999), term = Vector{} + static_cast<Number>(0.5);
  asm volatile("" : "+m"(factor), "+m"(term)); // unknown to the compiler from here on
  for (int64_t step = 0; step < steps; ++step)
#pragma GCC unroll 16
    for (Vector &sum : sums)
      sum = sum * factor + term;
  Vector total{};
  for (const Vector &sum : sums)
    total += sum;
  std::memcpy(sink, &total, sizeof(Number));
}

template <typename Number>
struct Loop {
  void (*run)(void *sink) = nullptr;
  int64_t operations = 0; ///< of one call
};

template <typename Number>
constexpr int64_t operationsOf(int bytes) {
  return 2 * chains * steps * bytes / static_cast<int64_t>(sizeof(Number));
}

#if defined(__x86_64__)
template <typename Number>
[[gnu::target("avx512f"), gnu::flatten]] void widest(void *sink) {
  multiplyAdd<Number, 64>(sink);
}
template <typename Number>
[[gnu::target("avx2,fma"), gnu::flatten]] void wide(void *sink) {
  multiplyAdd<Number, 32>(sink);
}
#endif
template <typename Number>
void narrow(void *sink) {
  multiplyAdd<Number, 16>(sink);
}

template <typename Number>
Loop<Number> chooseLoop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return {widest<Number>, operationsOf<Number>(64)};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {wide<Number>, operationsOf<Number>(32)};
#endif
  return {narrow<Number>, operationsOf<Number>(16)};
}

/// Kernels as the thread pool calls them; buffers[0] is the loop, buffers[1] room for results.
void runLoops(void *const *buffers, int64_t begin, int64_t end) {
  auto run = reinterpret_cast<void (*)(void *)>(buffers[0]);
  for (int64_t i = begin; i < end; ++i)
    run(static_cast<char *>(buffers[1]) + 64 * i);
}

void addArrays(void *const *buffers, int64_t begin, int64_t end) {
  const float *a = static_cast<const float *>(buffers[0]);
  const float *b = static_cast<const float *>(buffers[1]);
  float *c = static_cast<float *>(buffers[2]);
  for (int64_t i = begin; i < end; ++i)
    c[i] = a[i] + b[i];
}

/// Seconds of the fastest of some rounds, which take `least` seconds in all or more.
template <typename Work>
double best(int rounds, Work work, double least = 0) {
  double fastest = 1e9, all = 0;
  for (int round = 0; round < rounds || all < least; ++round) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    fastest = std::min(fastest, taken.count());
    all += taken.count();
  }
  return fastest;
}

/// Threads that have slept may share a core for a while, until the scheduler has spread them.
constexpr double secondsToSpread = 0.2;

template <typename Number>
double measureFlops(runtime::ThreadPool &pool, int rounds) {
  const Loop<Number> loop = chooseLoop<Number>();
  const int64_t calls = 8 * int64_t(pool.size());
  std::vector<uint8_t> sink(static_cast<size_t>(64 * calls));
  void *buffers[] = {reinterpret_cast<void *>(loop.run), sink.data()};
  const double seconds =
      best(rounds, [&] { pool.parallelFor(runLoops, buffers, calls, 1); }, secondsToSpread);
  return static_cast<double>(loop.operations * calls) / seconds;
}

/// The arrays of the memory loop, each of so many f32.
struct Arrays {
  explicit Arrays(int64_t count)
      : a(size_t(count), 1.0f), b(size_t(count), 2.0f), c(size_t(count)) {}

  double bytes() const { return static_cast<double>(c.size() * sizeof(float)); }
  double measureBandwidth(runtime::ThreadPool &pool, int rounds) {
    void *buffers[] = {a.data(), b.data(), c.data()};
    const auto count = static_cast<int64_t>(c.size());
    return 3 * bytes() /
           best(rounds, [&] { pool.parallelFor(addArrays, buffers, count, 1 << 16); });
  }

  std::vector<float> a, b, c;
};

} // namespace

HostRates measureHostBriefly(unsigned threads) {
  runtime::ThreadPool pool(threads);
  HostRates rates;
  rates.flops = measureFlops<float>(pool, 10);
  rates.bandwidth = Arrays(16 << 20).measureBandwidth(pool, 6);
  return rates;
}

HostRates measureHost(unsigned threads) {
  runtime::ThreadPool pool(threads);
  HostRates rates;
  rates.flops = measureFlops<float>(pool, 20);
  rates.doubleFlops = measureFlops<double>(pool, 20);
  Arrays arrays(32 << 20); // 128 MiB each
  rates.bandwidth = arrays.measureBandwidth(pool, 8);
  std::vector<float> &a = arrays.a, &c = arrays.c;
  rates.copyRate =
      arrays.bytes() / best(5, [&] { std::memcpy(c.data(), a.data(), c.size() * sizeof(float)); });
  constexpr int lines = 10000;
  rates.copyLatency = best(3,
                           [&] {
                             for (int i = 0; i < lines; ++i) {
                               std::memcpy(c.data() + 64 * i, a.data() + 64 * i, 64);
                               asm volatile("" ::: "memory");
                             }
                           }) /
                      lines;
  return rates;
}

void applyRates(const HostRates &rates, Topology &topology) {
  for (uint32_t i = 0; i < topology.physical.size(); ++i) {
    PhysicalDevice &device = topology.physical[i];
    if (device.driver != Driver::host)
      continue;
    device.peakFlops[static_cast<size_t>(ElementType::f32)] = rates.flops;
    device.peakFlops[static_cast<size_t>(ElementType::f64)] = rates.doubleFlops;
    device.bandwidth = rates.bandwidth;
    std::erase_if(topology.links, [&](const Link &link) { return link.from == i && link.to == i; });
    topology.links.push_back({i, i, rates.copyRate, rates.copyLatency});
  }
}

} // namespace gantry::machine
