// Many threads at once; run it under the tsan preset.
#include "gantry/Runtime/Session.h"

#include "Runtime/PlanBuilder.h"

#include <thread>

namespace gantry::runtime::test {
namespace {

constexpr unsigned numThreads = 8;
constexpr unsigned numRuns = 100;
constexpr uint64_t n = 256, bytes = n * sizeof(float);

/// y = 2 * (x + x), through transient memory that would show a race.
void build(PlanBuilder &b) {
  uint32_t code = b.addCode(testKernels());
  uint32_t add = b.addKernel("add_f32", code), twice = b.addKernel("double_f32", code);
  uint32_t transient = b.addArena(fb::ArenaKind::transient, bytes);
  b.addFunction("main");
  b.addInput("x", {n});
  b.addOutput("y", {n});
  b.launch(add, {input(0, bytes), input(0, bytes)}, {memory(transient, 0, bytes)}, n, 16);
  b.launch(twice, {memory(transient, 0, bytes)}, {output(0, bytes)}, n, 16);
}

void runMany(Session &session, const std::shared_ptr<const LoadedPlan> &plan, unsigned thread) {
  auto bindings = Bindings::create(plan, 0u);
  ASSERT_TRUE(bindings.ok());
  auto x = Tensor::allocate({ElementType::f32, {n}});
  ASSERT_OK((*bindings)->bindInput(0, *x));
  for (unsigned run = 0; run < numRuns; ++run) {
    auto value = static_cast<float>(thread * 1000 + run);
    for (uint64_t i = 0; i < n; ++i)
      x->dataAs<float>()[i] = value + static_cast<float>(i);
    ASSERT_OK(session.run(**bindings));
    const float *y = (*bindings)->output(0u)->dataAs<float>();
    for (uint64_t i = 0; i < n; ++i)
      ASSERT_EQ(y[i], 4 * (value + static_cast<float>(i)));
  }
}

class Threads : public ::testing::Test {
protected:
  Threads() {
    RuntimeOptions options;
    options.threads = 3;
    runtime = createRuntime(options);
    PlanBuilder b;
    build(b);
    plan = b.load(runtime).take();
  }
  template <typename Body>
  void onAllThreads(Body body) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < numThreads; ++i)
      threads.emplace_back([&, i] { body(i); });
    for (std::thread &thread : threads)
      thread.join();
  }
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const LoadedPlan> plan;
};

TEST_F(Threads, shareASession) {
  auto session = Session::create(plan);
  ASSERT_TRUE(session.ok());
  onAllThreads([&](unsigned i) { runMany(**session, plan, i); });
}

TEST_F(Threads, haveTheirOwnSessions) {
  onAllThreads([&](unsigned i) {
    auto session = Session::create(plan);
    ASSERT_TRUE(session.ok());
    runMany(**session, plan, i);
  });
}

TEST_F(Threads, loadAndUnloadAtOnce) {
  onAllThreads([&](unsigned i) {
    for (unsigned round = 0; round < 5; ++round) {
      PlanBuilder b;
      build(b);
      auto own = b.load(runtime);
      ASSERT_TRUE(own.ok()) << own.status().message();
      auto session = Session::create(*own);
      ASSERT_TRUE(session.ok());
    }
  });
  EXPECT_EQ(runtime->devices()[0]->stats().bytesInUse, 0u);
}

/// v = v + 1 from all sessions of one state: no update is lost, no reader sees half of one.
TEST_F(Threads, updateTheVariablesOfAState) {
  PlanBuilder b;
  uint32_t add = b.addKernel("add_f32", b.addCode(testKernels()));
  uint32_t variables = b.addArena(fb::ArenaKind::variables, bytes);
  b.addVariable("v", variables, 0, {n});
  b.addFunction("step", /*writesVariables=*/true);
  b.addInput("x", {n});
  b.launch(add, {memory(variables, 0, bytes), input(0, bytes)}, {memory(variables, 0, bytes)}, n,
           16);
  b.addFunction("read");
  b.addOutput("y", {n});
  b.copy(memory(variables, 0, bytes), output(0, bytes));
  auto counter = b.load(runtime).take();
  auto state = State::create(counter).take();

  onAllThreads([&](unsigned i) {
    auto session = Session::create(counter, state);
    auto bindings = Bindings::create(counter, i % 2);
    ASSERT_TRUE(session.ok() && bindings.ok());
    std::vector<float> ones(n, 1);
    if (i % 2 == 0)
      ASSERT_OK((*bindings)->bindInput(0, Tensor::borrow({ElementType::f32, {n}}, ones.data())));
    for (unsigned run = 0; run < numRuns; ++run) {
      ASSERT_OK((*session)->run(**bindings));
      if (i % 2 == 0)
        continue;
      const float *y = (*bindings)->output(0u)->dataAs<float>();
      for (uint64_t k = 1; k < n; ++k)
        ASSERT_EQ(y[k], y[0]);
    }
  });
  std::vector<float> final(n);
  ASSERT_OK(state->read("v", final.data()));
  EXPECT_EQ(final[0], static_cast<float>(numThreads / 2 * numRuns));
  EXPECT_EQ(final[n - 1], final[0]);
}

} // namespace
} // namespace gantry::runtime::test
