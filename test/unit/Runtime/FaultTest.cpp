// The n-th thing that a driver is asked for fails, n = 1, 2, ... until nothing does: the failure
// arrives as the right status, nothing leaks, and what was there before goes on working.
#include "gantry/Runtime/Session.h"
#include "gantry/Runtime/StateFile.h"

#include "Runtime/FaultyDriver.h"
#include "Runtime/PlanBuilder.h"
#include "TemporaryFolder.h"

namespace gantry::runtime::test {
namespace {

constexpr uint64_t n = 64, bytes = n * sizeof(float);

/// y = 2 * (x + c) + v, v += 1; everything a plan can have, on `device`. Constants lie in the arena
/// otherwise than in the file, so that they are copied.
void build(PlanBuilder &b, uint32_t device) {
  uint32_t code = b.addCode(testKernels());
  uint32_t add = b.addKernel("add_f32", code), twice = b.addKernel("double_f32", code);
  uint32_t constants = b.addArena(fb::ArenaKind::constants, 4096, device);
  uint32_t variables = b.addArena(fb::ArenaKind::variables, bytes, device);
  uint32_t transient = b.addArena(fb::ArenaKind::transient, 2 * bytes, device);
  b.addConstant(constants, 1024, std::vector<float>(n, 1));
  b.addConstant(constants, 0, std::vector<float>(n, 5));
  b.addVariable("v", variables, 0, {n});
  b.addFunction("main", /*writesVariables=*/true);
  b.addInput("x", {n});
  b.addOutput("y", {n});
  b.function().inputs[0]->device = b.function().outputs[0]->device = device;
  auto temporary = memory(transient, 0, bytes), v = memory(variables, 0, bytes);
  b.launch(add, {input(0, bytes), memory(constants, 0, bytes)}, {temporary}, n);
  b.launch(twice, {temporary}, {memory(transient, bytes, bytes)}, n);
  b.copy(memory(transient, bytes, bytes), temporary);
  b.launch(add, {temporary, v}, {output(0, bytes)}, n).name = "last";
  b.launch(add, {v, memory(constants, 1024, bytes)}, {v}, n);
  for (auto &command : b.function().blocks[0]->commands)
    command->device = device;
}

struct World {
  Faults faults;
  Ledger ledger;
  std::shared_ptr<Runtime> runtime;
  PlanBuilder builder;

  explicit World(Memory memory) {
    runtime = createRuntime();
    uint32_t device = 0;
    std::string driver = "host";
    if (memory == Memory::apart) {
      driver = "sim";
      device = builder.addDevice("/job:localhost/replica:0/task:0/device:GPU:0", driver);
    }
    EXPECT_OK(runtime->addDriver(std::make_unique<FaultyDriver>(driver, memory, faults, ledger)));
    build(builder, device);
  }
};

/// An array that is never 64-byte aligned, so that it is staged.
struct Unaligned {
  alignas(64) float memory[n + 1];
  float *data() { return memory + 1; }
  Tensor tensor() { return Tensor::borrow({ElementType::f32, {int64_t(n)}}, data()); }
};

/// Load, create, bind, run: the first failure, or success with the result checked.
Status wholeLife(World &world, const plan::PlanFile &file) {
  auto plan = LoadedPlan::load(world.runtime, file, "test.gantry");
  if (!plan)
    return plan.status();
  auto session = Session::create(*plan);
  if (!session)
    return session.status();
  auto bindings = Bindings::create(*plan, 0u);
  if (!bindings)
    return bindings.status();
  Unaligned x, y;
  std::fill_n(x.data(), n, 3.0f);
  GANTRY_RETURN_IF_ERROR((*bindings)->bindInput(0, x.tensor()));
  GANTRY_RETURN_IF_ERROR((*bindings)->bindOutput(0, y.tensor()));
  GANTRY_RETURN_IF_ERROR((*session)->run(**bindings));
  EXPECT_EQ(y.data()[n - 1], 16.0f);
  return {};
}

class Fault : public ::testing::TestWithParam<Memory> {};

TEST_P(Fault, everyFailureIsReportedAndNothingLeaks) {
  World world(GetParam());
  plan::PlanFile file = world.builder.file();
  uint64_t failures = 0;
  for (uint64_t nth = 1;; ++nth) {
    world.faults.failNth(nth);
    Status status = wholeLife(world, file);
    EXPECT_EQ(world.ledger.bytes, 0) << "the " << nth << ". call";
    EXPECT_EQ(world.runtime->devices().back()->stats().bytesInUse, 0u);
    if (!world.faults.failed) {
      EXPECT_OK(status);
      break;
    }
    ++failures;
    EXPECT_EQ(status.code(), world.faults.code) << status.message();
    EXPECT_NE(status.message().find("injected: "), std::string::npos) << status.message();
  }
  // Two arenas, constants where they are not mapped, two bindings, code, fills, copies and the
  // checks of free memory.
  EXPECT_GE(failures, GetParam() == Memory::ofTheHost ? 11u : 12u);
}

TEST_P(Fault, aSessionGoesOnAfterAFailedRun) {
  World world(GetParam());
  auto plan = world.builder.load(world.runtime).take();
  auto session = Session::create(plan).take();
  auto bindings = Bindings::create(plan, 0u).take();
  Unaligned x, y;
  std::fill_n(x.data(), n, 3.0f);
  ASSERT_OK(bindings->bindInput(0, x.tensor()));
  ASSERT_OK(bindings->bindOutput(0, y.tensor()));
  std::vector<float> zeros(n);
  uint64_t failures = 0;
  for (uint64_t nth = 1;; ++nth) {
    world.faults.failNth(nth);
    Status status = session->run(*bindings);
    bool failed = world.faults.failed;
    world.faults.failNth(Faults::never);
    if (!failed) {
      EXPECT_OK(status);
      break;
    }
    ++failures;
    EXPECT_EQ(status.code(), world.faults.code);
    // The next run has the right result, from variables that hold what the failed run left.
    ASSERT_OK(session->state()->write("v", zeros.data()));
    ASSERT_OK(session->run(*bindings));
    EXPECT_EQ(y.data()[0], 16.0f);
    ASSERT_OK(session->state()->write("v", zeros.data()));
  }
  // Staging in, the copy, staging out; four launches where the driver does them.
  EXPECT_EQ(failures, GetParam() == Memory::apart ? 7u : 3u);
}

/// What a device fails at leaves the file from before as it was, and loading goes on afterwards.
TEST_P(Fault, filesOfVariablesStayWhole) {
  World world(GetParam());
  TemporaryFolder folder;
  const std::string path = folder / "v.safetensors";
  auto state = State::create(world.builder.load(world.runtime).take()).take();
  std::vector<float> ones(n, 1), twos(n, 2), values(n);
  ASSERT_OK(state->write("v", ones.data()));
  ASSERT_OK(saveState(*state, path, {{"step", "1"}}));
  ASSERT_OK(state->write("v", twos.data()));
  world.faults.failNth(1);
  Status saved = saveState(*state, path, {{"step", "2"}});
  // Memory of the host is read where it is.
  EXPECT_EQ(saved.code(), GetParam() == Memory::apart ? world.faults.code : StatusCode::ok);
  world.faults.failNth(1);
  EXPECT_EQ(loadState(*state, path, {}).code(), world.faults.code);
  world.faults.failNth(Faults::never);
  ASSERT_OK(loadState(*state, path, {}));
  ASSERT_OK(state->read("v", values.data()));
  EXPECT_EQ(values, GetParam() == Memory::apart ? ones : twos);
}

std::string nameOf(const ::testing::TestParamInfo<Memory> &info) {
  return info.param == Memory::apart ? "apart" : "host";
}
INSTANTIATE_TEST_SUITE_P(Drivers, Fault, ::testing::Values(Memory::ofTheHost, Memory::apart),
                         nameOf);

TEST(FaultMessage, errorsNameTheOp) {
  World world(Memory::apart);
  auto plan = world.builder.load(world.runtime).take();
  auto session = Session::create(plan).take();
  auto bindings = Bindings::create(plan, 0u).take();
  Unaligned x;
  ASSERT_OK(bindings->bindInput(0, x.tensor()));
  ASSERT_TRUE(bindings->output(0u).ok());
  world.faults.failNth(5); // staging, two launches, the copy, then this
  EXPECT_EQ(session->run(*bindings).message(), "'last' on GPU:0: injected: launch");
}

TEST(FaultMessage, driversComeBeforePlans) {
  World world(Memory::ofTheHost);
  auto plan = world.builder.load(world.runtime);
  ASSERT_TRUE(plan.ok());
  Status late = world.runtime->addDriver(
      std::make_unique<FaultyDriver>("sim", Memory::apart, world.faults, world.ledger));
  EXPECT_EQ(late.code(), StatusCode::failedPrecondition);
  EXPECT_EQ(late.message(), "driver 'sim' comes too late: a plan has been loaded already");
}

/// A job in one process is done in the plan's order, or its machine is simulated.
TEST(Devices, ofSeveralTasksDoNotMeetUnlessSimulated_w1) {
  Faults faults;
  Ledger ledger;
  auto runtime = createRuntime();
  ASSERT_OK(
      runtime->addDriver(std::make_unique<FaultyDriver>("sim", Memory::apart, faults, ledger)));
  PlanBuilder b;
  const uint32_t gpu = b.addDevice("/job:localhost/replica:0/task:1/device:GPU:0", "sim");
  const uint32_t here = b.addArena(fb::ArenaKind::transient, bytes);
  const uint32_t there = b.addArena(fb::ArenaKind::transient, bytes, gpu);
  b.plan.groups.push_back(std::make_unique<fb::GroupT>());
  b.plan.groups[0]->devices = {0, gpu};
  b.plan.exchanges.push_back(std::make_unique<fb::ExchangeT>());
  b.plan.exchanges[0]->sizes = {bytes};
  b.addFunction("main");
  for (uint32_t rank = 0; rank < 2; ++rank) {
    fb::CommandT &command = b.addCommand(rank == 0 ? fb::Opcode::send : fb::Opcode::receive);
    command.buffers = {memory(rank == 0 ? here : there, 0, bytes)};
    command.copy_kind = fb::CopyKind::betweenTasks;
    command.device = rank == 0 ? 0 : gpu;
    command.rank = rank;
  }
  EXPECT_EQ(b.load(runtime).status().message(),
            "'test.gantry': its tasks exchange bytes, and "
            "'/job:localhost/replica:0/task:1/device:GPU:0' is one of a job that runs in one "
            "process, where GPUs have to be simulated; compile the graph with --simulate");
}

/// A plan on two devices: copies between them go up and down, and are counted where they run.
TEST(Devices, copyBetweenHostAndADeviceApart_x3) {
  Faults faults;
  Ledger ledger;
  auto runtime = createRuntime();
  ASSERT_OK(
      runtime->addDriver(std::make_unique<FaultyDriver>("sim", Memory::apart, faults, ledger)));
  PlanBuilder b;
  uint32_t gpu = b.addDevice("/job:localhost/replica:0/task:0/device:GPU:0", "sim");
  uint32_t twice = b.addKernel("double_f32", b.addCode(testKernels()));
  uint32_t there = b.addArena(fb::ArenaKind::transient, 2 * bytes, gpu);
  b.addFunction("main");
  b.addInput("x", {n});
  b.addOutput("y", {n});
  fb::CommandT &up = b.copy(input(0, bytes), memory(there, 0, bytes));
  up.copy_kind = fb::CopyKind::hostToDevice;
  up.device = gpu;
  b.launch(twice, {memory(there, 0, bytes)}, {memory(there, bytes, bytes)}, n).device = gpu;
  fb::CommandT &down = b.copy(memory(there, bytes, bytes), output(0, bytes));
  down.copy_kind = fb::CopyKind::deviceToHost;
  down.device = gpu;
  auto plan = b.load(runtime);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto session = Session::create(*plan);
  auto bindings = Bindings::create(*plan, 0u);
  auto x = Tensor::allocate({ElementType::f32, {n}});
  x->dataAs<float>()[7] = 21;
  ASSERT_OK((*bindings)->bindInput(0, *x));
  ASSERT_OK((*session)->run(**bindings));
  EXPECT_EQ((*bindings)->output(0u)->dataAs<float>()[7], 42.0f);
  DeviceStats stats = runtime->devices()[1]->stats();
  EXPECT_EQ(stats.copies, 2u);
  EXPECT_EQ(stats.copiedBytes, 2 * bytes);
  EXPECT_EQ(stats.bytesInUse, 2 * bytes);
}

} // namespace
} // namespace gantry::runtime::test
