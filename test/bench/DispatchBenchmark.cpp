// What an op costs beside its work: a chain of 10 000 kernels that do nothing. The yardstick in the
// same run is the cheapest loop there can be, an array of function pointers with their arguments.
#include "gantry/Runtime/Session.h"

#include "Runtime/PlanBuilder.h"

#include <benchmark/benchmark.h>

namespace gantry::runtime::test {
namespace {

constexpr uint64_t chainLength = 10000;

/// A new buffer for each op's result, as in a chain of which nothing is reused.
void build(PlanBuilder &b) {
  uint32_t kernel = b.addKernel("nothing", b.addCode(testKernels()));
  uint32_t transient = b.addArena(fb::ArenaKind::transient, (chainLength + 1) * 64);
  b.addFunction("main");
  for (uint64_t i = 0; i < chainLength; ++i)
    b.launch(kernel, {memory(transient, i * 64, 64)}, {memory(transient, (i + 1) * 64, 64)}, 16,
             1024);
}

void report(benchmark::State &state) {
  state.SetItemsProcessed(static_cast<int64_t>(chainLength) * state.iterations());
  state.counters["per_op"] = benchmark::Counter(static_cast<double>(chainLength),
                                                benchmark::Counter::kIsIterationInvariantRate |
                                                    benchmark::Counter::kInvert);
}

void session(benchmark::State &state) {
  RuntimeOptions options;
  options.threads = static_cast<unsigned>(state.range(0));
  PlanBuilder builder;
  build(builder);
  auto plan = builder.load(createRuntime(options)).take();
  auto session = Session::create(plan).take();
  auto bindings = Bindings::create(plan, 0u).take();
  for (auto _ : state)
    if (!session->run(*bindings).ok())
      state.SkipWithError("the run failed");
  report(state);
}
BENCHMARK(session)->Arg(1)->Arg(2);

/// A run of one op: what a call of Session::run costs.
void shortestRun(benchmark::State &state) {
  PlanBuilder builder;
  uint32_t kernel = builder.addKernel("nothing", builder.addCode(testKernels()));
  builder.addFunction("main");
  builder.launch(kernel, {}, {}, 1);
  auto plan = builder.load(createRuntime()).take();
  auto session = Session::create(plan).take();
  auto bindings = Bindings::create(plan, 0u).take();
  for (auto _ : state)
    if (!session->run(*bindings).ok())
      state.SkipWithError("the run failed");
}
BENCHMARK(shortestRun);

__attribute__((noinline)) void nothing(void *const *, int64_t, int64_t) {
  benchmark::ClobberMemory();
}

void flatLoop(benchmark::State &state) {
  struct Call {
    KernelFn fn;
    void *const *buffers;
    int64_t items;
  };
  std::vector<void *> buffers(2 * chainLength);
  std::vector<Call> calls;
  for (uint64_t i = 0; i < chainLength; ++i)
    calls.push_back({nothing, &buffers[2 * i], 16});
  benchmark::DoNotOptimize(calls.data());
  for (auto _ : state)
    for (const Call &call : calls)
      call.fn(call.buffers, 0, call.items);
  report(state);
}
BENCHMARK(flatLoop);

/// The price of waking the pool: a kernel with just enough items for two threads.
void parallelOp(benchmark::State &state) {
  ThreadPool pool(static_cast<unsigned>(state.range(0)));
  for (auto _ : state)
    pool.parallelFor(nothing, nullptr, 1024, 64);
}
BENCHMARK(parallelOp)->Arg(1)->Arg(2)->Arg(4)->UseRealTime();

} // namespace
} // namespace gantry::runtime::test

BENCHMARK_MAIN();
