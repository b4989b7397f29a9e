// What a run promises while it goes on, shown with a driver whose queues work later: the fence is
// pending, keeps what the run uses, and tells how it ended, whoever asks and when.
#include "DeferredDriver.h"
#include "gantry/Runtime/Session.h"

#include "Runtime/PlanBuilder.h"

#include <chrono>
#include <future>

namespace gantry::runtime::test {
namespace {

using namespace std::chrono_literals;
constexpr uint64_t n = 16, bytes = n * sizeof(float);
const std::string gpu = "/job:localhost/replica:0/task:0/device:GPU:";

/// v = v + x on GPU:0, y = 2 * v on GPU:1, each command on the device that it is about.
struct PendingRuns : ::testing::Test {
  Deferral deferral;
  std::shared_ptr<Runtime> runtime = createRuntime({.threads = 1});
  PlanBuilder b;
  std::shared_ptr<const LoadedPlan> plan;
  std::shared_ptr<Session> session;
  std::shared_ptr<Bindings> bindings;
  alignas(64) float x[n];
  alignas(64) float memoryOfY[n + 1] = {};
  float *y = memoryOfY + 1; ///< never aligned, so that it is staged

  fb::CommandT &on(uint32_t device, fb::CommandT &command, const char *name) {
    command.device = device, command.name = name;
    return command;
  }
  fb::CommandT &move(uint32_t device, fb::CopyKind kind, fb::BufferRef from, fb::BufferRef to) {
    fb::CommandT &command = on(device, b.copy(from, to), "move");
    command.copy_kind = kind;
    return command;
  }

  void SetUp() override {
    std::fill_n(x, n, 1.0f);
    ASSERT_OK(runtime->addDriver(std::make_unique<DeferredDriver>("sim", deferral)));
    const uint32_t first = b.addDevice(gpu + "0", "sim"), second = b.addDevice(gpu + "1", "sim");
    const uint32_t code = b.addCode(testKernels());
    const uint32_t add = b.addKernel("add_f32", code), twice = b.addKernel("double_f32", code);
    const uint32_t variables = b.addArena(fb::ArenaKind::variables, bytes, first);
    const uint32_t here = b.addArena(fb::ArenaKind::transient, bytes, first);
    const uint32_t there = b.addArena(fb::ArenaKind::transient, 2 * bytes, second);
    b.addVariable("v", variables, 0, {int64_t(n)});
    b.addFunction("main", /*writesVariables=*/true);
    b.addInput("x", {int64_t(n)});
    b.addOutput("y", {int64_t(n)});
    b.function().outputs[0]->device = second;
    const auto v = memory(variables, 0, bytes);
    move(first, fb::CopyKind::hostToDevice, input(0, bytes), memory(here, 0, bytes));
    on(first, b.launch(add, {v, memory(here, 0, bytes)}, {v}, n), "sum");
    on(first, b.addCommand(fb::Opcode::signal), "ready");
    on(second, b.addCommand(fb::Opcode::wait), "ready");
    b.function().num_semaphores = 1;
    move(second, fb::CopyKind::deviceToDevice, v, memory(there, 0, bytes));
    on(second, b.launch(twice, {memory(there, 0, bytes)}, {output(0, bytes)}, n), "twice");
    auto loaded = b.load(runtime);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    plan = loaded.take();
    session = Session::create(plan).take();
    bindings = Bindings::create(plan, 0u).take();
    ASSERT_OK(bindings->bindInput(0, Tensor::borrow({ElementType::f32, {n}}, x)));
    ASSERT_OK(bindings->bindOutput(0, Tensor::borrow({ElementType::f32, {n}}, y)));
  }
  void TearDown() override { deferral.gate.open(); }
};

/// The device runs inline, and yet who moves its bytes does so later: the queue says so.
TEST(PendingQueues, ofADeviceThatRunsInlineAreWaitedFor) {
  Deferral deferral;
  deferral.runsInline = true;
  std::shared_ptr<Runtime> runtime = createRuntime({.threads = 1});
  ASSERT_OK(runtime->addDriver(std::make_unique<DeferredDriver>("sim", deferral)));
  PlanBuilder b;
  const uint32_t device = b.addDevice(gpu + "0", "sim");
  const uint32_t here = b.addArena(fb::ArenaKind::transient, bytes, device);
  b.addFunction("main");
  b.addInput("x", {int64_t(n)});
  b.addOutput("y", {int64_t(n)});
  b.function().inputs[0]->device = b.function().outputs[0]->device = device;
  b.function().num_semaphores = 1;
  b.function().num_queues = 2;
  auto on = [&](fb::CommandT &command, uint32_t queue) {
    command.device = device;
    command.queue = queue;
  };
  on(b.copy(input(0, bytes), memory(here, 0, bytes)), 1);
  on(b.addCommand(fb::Opcode::signal), 1);
  on(b.addCommand(fb::Opcode::wait), 0);
  on(b.copy(memory(here, 0, bytes), output(0, bytes)), 0);
  auto plan = b.load(runtime);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto session = Session::create(*plan).take();
  auto bindings = Bindings::create(*plan, 0u).take();
  alignas(64) float x[n], y[n] = {};
  std::fill_n(x, n, 3.0f);
  ASSERT_OK(bindings->bindInput(0, Tensor::borrow({ElementType::f32, {n}}, x)));
  ASSERT_OK(bindings->bindOutput(0, Tensor::borrow({ElementType::f32, {n}}, y)));
  deferral.gate.close();
  Fence fence = session->submit(*bindings).take();
  EXPECT_FALSE(fence.done());
  deferral.gate.open();
  EXPECT_OK(fence.wait());
  for (float value : y)
    EXPECT_EQ(value, 3.0f);
}

TEST_F(PendingRuns, aCancelledRunPutsNothingMoreOnTheQueues) {
  Cancel cancel;
  bindings->setCancel(&cancel);
  cancel.set();
  Fence fence = session->submit(*bindings).take();
  EXPECT_EQ(fence.wait().code(), StatusCode::cancelled);
  EXPECT_EQ(y[0], 0.0f);
  cancel.reset();
  ASSERT_OK(session->submit(*bindings).take().wait());
  EXPECT_EQ(y[0], 2.0f);
}

TEST_F(PendingRuns, aFenceIsPendingUntilTheQueuesAreDrained) {
  deferral.gate.close();
  Fence fence = session->submit(*bindings).take();
  EXPECT_FALSE(fence.done());
  EXPECT_FALSE(fence.poll().has_value());
  EXPECT_FALSE(fence.waitFor(1ms).has_value());
  EXPECT_EQ(y[0], 0.0f);
  deferral.gate.open();
  EXPECT_OK(fence.wait());
  EXPECT_TRUE(fence.done());
  EXPECT_OK(*fence.poll());
  EXPECT_OK(*fence.waitFor(0ns));
  EXPECT_OK(fence.wait());
  EXPECT_EQ(y[0], 2.0f);
  EXPECT_EQ(y[n - 1], 2.0f);
}

TEST_F(PendingRuns, canBeWaitedForFromSeveralThreads) {
  deferral.gate.close();
  Fence fence = session->submit(*bindings).take();
  auto wait = [&] { return fence.wait().ok() && fence.waitFor(1s)->ok() && fence.done(); };
  auto first = std::async(std::launch::async, wait), second = std::async(std::launch::async, wait);
  deferral.gate.open();
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
}

TEST_F(PendingRuns, keepWhatTheyUse) {
  deferral.gate.close();
  std::weak_ptr<Session> oldSession = session;
  std::weak_ptr<Bindings> oldBindings = bindings;
  std::weak_ptr<Runtime> oldRuntime = runtime;
  {
    Fence fence = session->submit(*bindings).take();
    session.reset(), bindings.reset(), plan.reset(), runtime.reset();
    EXPECT_FALSE(oldSession.expired() || oldBindings.expired() || oldRuntime.expired());
    deferral.gate.open();
    EXPECT_OK(fence.wait());
    EXPECT_EQ(y[0], 2.0f);
  }
  EXPECT_TRUE(oldSession.expired() && oldBindings.expired() && oldRuntime.expired());
}

TEST_F(PendingRuns, aFenceThatGoesWaitsForItsRun) {
  deferral.gate.close();
  auto opener = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(5ms);
    deferral.gate.open();
  });
  {
    Fence fence = session->submit(*bindings).take();
  }
  EXPECT_EQ(y[0], 2.0f);
}

TEST_F(PendingRuns, holdTheStateUntilTheyAreOverAndNoLonger) {
  deferral.gate.close();
  Fence fence = session->submit(*bindings).take();
  float v[n] = {};
  auto reader = std::async(std::launch::async, [&] { return session->state()->read("v", v); });
  EXPECT_EQ(reader.wait_for(5ms), std::future_status::timeout);
  deferral.gate.open();
  EXPECT_OK(reader.get()); // though nobody has asked the fence
  EXPECT_EQ(v[0], 1.0f);
}

TEST_F(PendingRuns, ofOneSessionWaitForOneAnother) {
  deferral.gate.close();
  Fence first = session->submit(*bindings).take();
  auto second = std::async(std::launch::async, [&] { return session->run(*bindings); });
  EXPECT_EQ(second.wait_for(5ms), std::future_status::timeout);
  deferral.gate.open();
  EXPECT_OK(second.get());
  EXPECT_OK(first.wait());
  EXPECT_EQ(y[0], 4.0f);
}

TEST_F(PendingRuns, keepTheirBindingsAsTheyAre) {
  deferral.gate.close();
  Fence fence = session->submit(*bindings).take();
  const Tensor other = Tensor::borrow({ElementType::f32, {n}}, x);
  Status status = bindings->bindInput(0, other);
  EXPECT_EQ(status.code(), StatusCode::failedPrecondition);
  EXPECT_EQ(status.message(), "a run of function 'main' with these bindings is under way; wait for "
                              "its fence, or use other bindings");
  deferral.gate.open();
  EXPECT_OK(fence.wait());
  EXPECT_OK(bindings->bindInput(0, other));
}

TEST_F(PendingRuns, ofAnotherSessionCannotHaveTheSameBindings) {
  auto other = Session::create(plan).take();
  deferral.gate.close();
  Fence fence = session->submit(*bindings).take();
  EXPECT_EQ(other->run(*bindings).message(),
            "a run of function 'main' with these bindings is under way; wait for its fence, or use "
            "other bindings");
  deferral.gate.open();
  EXPECT_OK(fence.wait());
  EXPECT_OK(other->run(*bindings));
}

TEST_F(PendingRuns, aLaunchThatFailsLateIsToldByTheFenceWithItsOp) {
  deferral.gate.close();
  deferral.launchesToFail = 1;
  Fence fence = session->submit(*bindings).take();
  EXPECT_FALSE(fence.done());
  deferral.gate.open();
  EXPECT_EQ(fence.wait().code(), StatusCode::internal);
  EXPECT_EQ(fence.wait().message(), "'sum' on GPU:0: injected: the launch failed late");
  EXPECT_EQ(y[0], 0.0f);              // what came after it was left out, on the other device too
  EXPECT_OK(session->run(*bindings)); // and the session goes on
  EXPECT_EQ(y[0], 2.0f);
}

TEST_F(PendingRuns, twoDevicesOfOneDriverShareNothing) {
  ASSERT_OK(session->run(*bindings));
  EXPECT_EQ(deferral.codeLoads, 2);
  EXPECT_NE(plan->device(1), plan->device(2));
  ASSERT_EQ(plan->kernelChoices().size(), 2u);
  for (const KernelChoice &choice : plan->kernelChoices())
    EXPECT_EQ(choice.device, plan->device(choice.firstLaunch->device()));
  DeviceStats first = plan->device(1)->stats(), second = plan->device(2)->stats();
  EXPECT_EQ(first.run[fb::CopyKind::hostToDevice].copies, 1u);
  EXPECT_EQ(second.run[fb::CopyKind::hostToDevice].copies, 0u);
  EXPECT_EQ(second.run[fb::CopyKind::deviceToDevice].copies, 1u);
  EXPECT_EQ(first.bytesInUse, 2 * bytes);
  EXPECT_EQ(second.bytesInUse, 3 * bytes); // the staged output, too
}

TEST_F(PendingRuns, timesAreThoseOfTheWork) {
  auto times = session->runTimed(*bindings);
  ASSERT_TRUE(times.ok()) << times.status().message();
  EXPECT_EQ(times->size(), 4u);
  EXPECT_EQ(y[0], 2.0f);
}

} // namespace
} // namespace gantry::runtime::test
