// Constants that plans have in common are there once (spec M1), on each driver, wherever they lie
// in the plans' arenas; what only one plan has goes with it.
#include "EachDriverTest.h"
#include "Runtime/PlanBuilder.h"
#include "gantry/Runtime/Session.h"

#include <atomic>
#include <thread>

namespace gantry::runtime::test {
namespace {

constexpr uint64_t large = 512 << 10, few = 64;

class SharedConstants : public EachDriverTest {
protected:
  bool isOnHost() const { return std::string(GetParam().inPlans) == "host"; }

  /// A constant of floats that are all the value, at least as large as two of them that differ.
  struct Wanted {
    float value;
    uint64_t bytes;
  };

  /// Constants one after the other, and outputs with the first float of each.
  PlanBuilder planOf(const std::vector<Wanted> &wanted) const {
    PlanBuilder builder;
    uint32_t device = 0;
    if (!isOnHost())
      device =
          builder.addDevice("/job:localhost/replica:0/task:0/device:GPU:0", GetParam().inPlans);
    builder.plan.devices[device]->physical = 0;
    uint64_t size = 0;
    for (const Wanted &each : wanted)
      size += each.bytes;
    const uint32_t arena = builder.addArena(fb::ArenaKind::constants, size, device);
    builder.addFunction("main");
    uint64_t at = 0;
    for (const Wanted &each : wanted) {
      builder.addConstant(arena, at, std::vector<float>(each.bytes / 4, each.value));
      const auto index = static_cast<uint32_t>(builder.function().outputs.size());
      builder.addOutput("y" + std::to_string(index), {16});
      fb::CommandT &down = builder.copy(memory(arena, at + each.bytes - 64, 64), output(index, 64));
      if (!isOnHost())
        down.device = device, down.copy_kind = fb::CopyKind::deviceToHost;
      at += each.bytes;
    }
    return builder;
  }

  static uint64_t taken(Runtime &runtime) {
    uint64_t bytes = 0;
    for (Device *device : runtime.devices())
      bytes += device->stats().bytesInUse + device->stats().mappedBytes;
    return bytes;
  }

  /// Whether the plan has what it was made with.
  static Status check(const std::shared_ptr<const LoadedPlan> &plan,
                      const std::vector<Wanted> &wanted) {
    auto session = Session::create(plan);
    if (!session)
      return session.status();
    auto bindings = Bindings::create(plan, 0u);
    GANTRY_RETURN_IF_ERROR((*session)->run(**bindings));
    for (uint32_t i = 0; i < wanted.size(); ++i)
      if (auto y = (*bindings)->output(i); y->dataAs<float>()[15] != wanted[i].value)
        return Status::corrupt("constant " + std::to_string(i) + " is " +
                               std::to_string(y->dataAs<float>()[15]));
    return {};
  }
};

TEST_P(SharedConstants, m1_are_there_once_wherever_they_lie) {
  const std::vector<Wanted> first = {{1, few}, {2, large}, {3, large}, {4, few}};
  const std::vector<Wanted> second = {{3, large}, {5, large}, {4, few}, {6, few}, {3, few}};
  auto runtime = makeRuntime();
  auto one = planOf(first).load(runtime);
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_EQ(taken(*runtime), 2 * large + 2 * few);
  auto other = planOf(second).load(runtime);
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(taken(*runtime), 3 * large + 4 * few); // 3 and 4 are there
  auto again = planOf(second).load(runtime);
  EXPECT_EQ(taken(*runtime), 3 * large + 4 * few);
  EXPECT_OK(check(*one, first));
  EXPECT_OK(check(*other, second));
  *one = nullptr; // the large one that nobody else has goes
  EXPECT_LE(taken(*runtime), 2 * large + 5 * few);
  EXPECT_OK(check(*other, second));
  *other = nullptr;
  EXPECT_OK(check(*again, second));
  *again = nullptr;
  EXPECT_EQ(taken(*runtime), 0u);
}

TEST_P(SharedConstants, m1_of_one_plan_are_as_many_as_it_says) {
  const std::vector<Wanted> wanted = {{1, large}, {1, large}, {2, few}, {2, few}};
  auto runtime = makeRuntime();
  auto plan = planOf(wanted).load(runtime);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(taken(*runtime), 2 * large + 2 * few);
  auto again = planOf(wanted).load(runtime);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(taken(*runtime), 2 * large + 2 * few);
  EXPECT_OK(check(*plan, wanted));
  EXPECT_OK(check(*again, wanted));
}

TEST_P(SharedConstants, m4_count_once_in_budgets) {
  if (isOnHost())
    GTEST_SKIP() << "constants of the host are in mapped files, which no budget counts";
  const std::vector<Wanted> first = {{1, large}, {2, large}}, second = {{2, large}, {3, large}};
  auto runtime = makeRuntime({"GPU:0=limit:1.5MiB"});
  auto one = planOf(first).load(runtime), other = planOf(second).load(runtime);
  ASSERT_TRUE(one.ok() && other.ok()) << other.status().message();
  EXPECT_EQ((*one)->device(1)->budget()->use().now, 3 * large);
  const std::string refused = planOf({{3, large}, {4, large}}).load(runtime).status().message();
  EXPECT_NE(
      refused.find("the plan (constants 1 MiB, of which 512 KiB are loaded, variables 0 bytes, "
                   "one session 0 bytes) needs 512 KiB, the memory setting of GPU:0 of this "
                   "machine allows 1.5 MiB and 1.5 MiB are in use; raise it to at least 2 MiB"),
      std::string::npos)
      << refused;
  *one = nullptr; // what they had in common still counts
  EXPECT_EQ((*other)->device(1)->budget()->use().now, 2 * large);
  EXPECT_FALSE(planOf({{4, large}, {5, large}}).load(runtime).ok());
  EXPECT_OK(planOf({{3, large}, {4, large}}).load(runtime).status());
  *other = nullptr;
  EXPECT_OK(planOf({{4, large}, {5, large}, {6, large}}).load(runtime).status());
}

/// Plans declared serial have all their constants there, and one of them its session.
TEST_P(SharedConstants, m4_stay_while_serial_plans_take_turns) {
  if (isOnHost())
    GTEST_SKIP() << "constants of the host are in mapped files, which no budget counts";
  auto runtime = makeRuntime({"GPU:0=limit:1MiB,serial"});
  auto one = planOf({{1, large}}).load(runtime), other = planOf({{2, large}}).load(runtime);
  ASSERT_TRUE(one.ok() && other.ok()) << other.status().message();
  EXPECT_EQ(planOf({{3, few}}).load(runtime).status().code(), StatusCode::doesNotFit);
}

TEST_P(SharedConstants, m1_come_and_go_on_many_threads) {
  const std::vector<std::vector<Wanted>> kinds = {
      {{1, large}, {2, few}}, {{3, few}, {1, large}, {4, large}}, {{4, large}, {2, few}, {3, few}}};
  auto runtime = makeRuntime();
  std::atomic<unsigned> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      for (unsigned round = 0; round < 6; ++round) {
        const auto &wanted = kinds[(i + round) % kinds.size()];
        auto plan = planOf(wanted).load(runtime);
        wrong += !plan.ok() || !check(*plan, wanted).ok();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(taken(*runtime), 0u);
}

/// Loads that begin while the GPU's context goes with the last plan wait for its end. Then one of
/// them places the constant that all of them hold, and none waits for that one's context to go.
TEST_P(SharedConstants, m1_come_while_the_last_ones_go) {
  fake_cuda_options_t options = fakeOptions();
  options.unpin_milliseconds = 30;
  fake.reset(&options);
  const bool hasContext = std::string(GetParam().name) == "cudaOnFake";
  auto runtime = makeRuntime();
  auto last = planOf({{1, large}}).load(runtime);
  ASSERT_TRUE(last.ok()) << last.status().message();
  std::thread goes([&] { *last = nullptr; });
  while (hasContext && fake.calls("cuMemFreeHost") == 0)
    std::this_thread::yield();
  std::atomic<unsigned> right{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i)
    threads.emplace_back([&] { right += planOf({{2, large}}).load(runtime).ok(); });
  for (std::thread &thread : threads)
    thread.join();
  goes.join();
  EXPECT_EQ(right, 4u);
  EXPECT_EQ(taken(*runtime), 0u);
}

INSTANTIATE_TEST_SUITE_P(, SharedConstants, ::testing::ValuesIn(everyDriver()), nameOf);

} // namespace
} // namespace gantry::runtime::test
