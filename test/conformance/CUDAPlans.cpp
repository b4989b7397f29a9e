// Plans of the compiler on the driver of NVIDIA GPUs, on the fake libcuda: the same bytes in every
// order in which streams may run, waits that are missing are found, and a failure at any call of
// the driver has the right status and leaves nothing behind.
#include "CompiledPlans.h"
#include "LongTests.h"

#include "fake_cuda/Client.h"
#include "gantry/Drivers/CUDADriver.h"
#include "gantry/Plan/Ledger.h"

#include <optional>
#include <set>

namespace gantry::runtime::test {
namespace {

std::shared_ptr<Runtime> makeRuntime(CUDAOptions options = {}) {
  std::shared_ptr<Runtime> runtime = createRuntime({.threads = 1});
  EXPECT_TRUE(runtime->addDriver(createCUDADriver(options)).ok());
  return runtime;
}

class CUDAPlans : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    const std::string path = pathOf(GetParam());
    if (!std::filesystem::exists(path))
      GTEST_SKIP() << "no shared models (GANTRY_MODELS_DIR)";
    plan.emplace(compile(path, withDevices(GetParam())));
    reset(fakeOptions());
    World emulated(plan->file, createRuntime({.threads = 1}, EmulatorChecks::none));
    ASSERT_TRUE(emulated.run(CommandOrder::virtualTime()).ok());
    expected = emulated.output();
    EXPECT_TRUE(std::any_of(expected.begin(), expected.end(), [](uint8_t b) { return b != 0; }));
  }
  static std::vector<std::string> withDevices(const Case &it) {
    std::vector<std::string> flags = it.flags;
    std::string devices = "devices=CPU:0";
    for (unsigned gpu = 0; gpu < it.gpus; ++gpu)
      devices += ",GPU:" + std::to_string(gpu);
    flags.push_back(devices);
    return flags;
  }
  void reset(fake_cuda_options_t options) {
    options.devices = static_cast<int>(GetParam().gpus);
    fake.reset(&options);
  }
  void expectClean() {
    EXPECT_STREQ(fake.faults(), "");
    EXPECT_STREQ(fake.leaks(), "");
  }

  const fake_cuda_control_t &fake = fakeCUDA(GANTRY_FAKE_CUDA);
  std::optional<EditablePlan> plan;
  std::vector<uint8_t> expected; ///< of the emulator, which runs the same code
};

const CUDAOptions withGraphs{.graphs = true, .syncEach = false},
    inStreams{.graphs = false, .syncEach = false}, eachByItself{.graphs = false, .syncEach = true};

TEST_P(CUDAPlans, everyOrderOfStreamsGivesTheSameBytes) {
  for (CUDAOptions options : {withGraphs, inStreams})
    for (uint64_t seed = 1; seed <= gantry::test::shortOrLong<uint64_t>(30, 100); ++seed) {
      fake_cuda_options_t settings = fakeOptions(seed);
      settings.checks_order = seed <= 5;
      settings.checks_kernels = 0;
      settings.has_peers = seed % 2 == 0;
      reset(settings);
      {
        World world(plan->file, makeRuntime(options));
        for (int run = 0; run < 2; ++run) {
          Status status = world.run(CommandOrder::virtualTime());
          ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.message();
          ASSERT_EQ(world.output(), expected) << "seed " << seed;
        }
      }
      expectClean();
      ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
}

TEST_P(CUDAPlans, eachCommandByItselfGivesTheSameBytes) {
  {
    World world(plan->file, makeRuntime(eachByItself));
    ASSERT_TRUE(world.run(CommandOrder::virtualTime()).ok());
    EXPECT_EQ(world.output(), expected);
    auto times = world.session->runTimed(*world.bindings);
    ASSERT_TRUE(times.ok());
    EXPECT_GT(times->size(), 3u);
    EXPECT_EQ(world.output(), expected);
  }
  expectClean();
}

TEST_P(CUDAPlans, runsThatAreSubmittedGoOnWithoutTheirCaller) {
  {
    World world(plan->file, makeRuntime());
    for (int run = 0; run < 3; ++run) {
      auto fence = world.session->submit(*world.bindings);
      ASSERT_TRUE(fence.ok());
      Status status = fence->wait();
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(world.output(), expected);
    }
  }
  expectClean();
}

/// Bytes and copies that the devices count are those that the plan says, and those of other
/// drivers: emulated GPUs, which run the same plan, and simulated ones, which run the same graph.
TEST_P(CUDAPlans, countsWhatThePlanSays_m1_x3) {
  constexpr uint64_t runs = 3, padding = 64; // at most, at the end of an arena
  std::vector<std::string> simulate = withDevices(GetParam());
  simulate.push_back("simulate");
  const EditablePlan ofSimulation = compile(pathOf(GetParam()), simulate);
  World world(plan->file, makeRuntime());
  World emulated(plan->file, createRuntime({.threads = 1}, EmulatorChecks::none));
  World simulated(ofSimulation.file, createRuntime({.threads = 1}));
  for (World *each : {&world, &emulated, &simulated})
    for (uint64_t run = 0; run < runs; ++run)
      ASSERT_TRUE(each->run(CommandOrder::virtualTime()).ok()) << each->status.message();
  const auto ledger = plan::Ledger::of(plan->file.plan(), *plan->file.plan().functions()->Get(0));
  for (uint32_t d = 1; d < plan->metadata.devices.size(); ++d) {
    auto statsOf = [&](World &of) { return of.session->plan().device(d)->stats(); };
    const DeviceStats mine = statsOf(world), theirs = statsOf(emulated), sim = statsOf(simulated);
    EXPECT_EQ(mine.bytesInUse, theirs.bytesInUse);
    EXPECT_EQ(mine.peakBytes, theirs.peakBytes);
    EXPECT_EQ(mine.allocations, theirs.allocations);
    for (const DeviceStats &other : {theirs, sim}) {
      EXPECT_EQ(mine.copies, other.copies);
      EXPECT_EQ(mine.copiedBytes, other.copiedBytes);
      EXPECT_EQ(mine.run, other.run);
      EXPECT_EQ(mine.load, other.load);
    }
    EXPECT_EQ(mine.load, ledger.atLoad[d]);
    if (ledger.inside[d] == plan::CopyTally()) {
      for (size_t kind = 0; kind < plan::numCopyKinds; ++kind) {
        EXPECT_EQ(mine.run.kinds[kind].copies, ledger.perRun[d].kinds[kind].copies * runs);
        EXPECT_EQ(mine.run.kinds[kind].bytes, ledger.perRun[d].kinds[kind].bytes * runs);
      }
    }
    uint64_t planned = 0, most = 0;
    for (const auto &arena : plan->metadata.arenas)
      if (arena->device == d)
        planned += arena->size, most += padding;
    EXPECT_LE(mine.bytesInUse, planned);
    EXPECT_GE(mine.bytesInUse + most, planned);
  }
}

/// Inputs that lie elsewhere in each run are still read from where they are.
TEST_P(CUDAPlans, followsInputsThatMove) {
  World world(plan->file, makeRuntime());
  ASSERT_TRUE(world.run(CommandOrder::virtualTime()).ok());
  std::vector<Tensor> others;
  for (unsigned i = 0; i < world.inputs.size(); ++i) {
    others.push_back(Tensor::allocate(world.inputs[i].type()).take());
    World::fill(others.back());
    std::fill_n(world.inputs[i].dataAs<uint8_t>(), world.inputs[i].byteSize(), uint8_t(0));
    ASSERT_TRUE(world.bindings->bindInput(i, others.back()).ok());
  }
  ASSERT_TRUE(world.run(CommandOrder::virtualTime()).ok());
  EXPECT_EQ(world.output(), expected);
}

TEST_P(CUDAPlans, theSecondRunTakesNothingAndCallsLittle) {
  World world(plan->file, makeRuntime());
  ASSERT_TRUE(world.run(CommandOrder::virtualTime()).ok());
  for (int run = 0; run < 2; ++run) {
    fake.fail(0, 0); // counts from here
    ASSERT_TRUE(world.run(CommandOrder::virtualTime()).ok());
    for (const char *never :
         {"cuMemCreate", "cuMemAlloc_v2", "cuMemHostAlloc", "cuStreamCreate", "cuEventCreate",
          "cuGraphInstantiateWithFlags", "cuStreamBeginCapture_v2", "cuLaunchKernel"})
      EXPECT_EQ(fake.calls(never), 0u) << never;
    // A launch and a wait, each with the context before and after; another wait for what the host
    // awaits in between, and one at the end for each other card.
    const uint64_t launches = fake.calls("cuGraphLaunch");
    EXPECT_LE(fake.calls(nullptr), 9 * launches + 3 * (GetParam().gpus - 1));
    RecordProperty("graphs", static_cast<int>(launches));
    RecordProperty("calls", static_cast<int>(fake.calls(nullptr)));
  }
}

/// Whether the host has a part between a wait and the signal that it waits for; then segments are
/// the order, and the wait adds none.
bool isAcrossSegments(const fb::PlanT &plan, Place wait) {
  const auto &commands = plan.functions[0]->blocks[wait.block]->commands;
  const uint32_t semaphore = commands[wait.command]->signal;
  auto isAwaited = [&](uint32_t other) {
    return std::any_of(commands.begin(), commands.end(), [&](const auto &command) {
      return command->opcode == fb::Opcode::wait && command->device == 0 &&
             command->signal == other;
    });
  };
  for (size_t at = wait.command; at-- > 0;) {
    const fb::CommandT &command = *commands[at];
    const bool isSignal = command.opcode == fb::Opcode::signal;
    if (isSignal && command.signal == semaphore)
      return command.device == 0 || isAwaited(semaphore);
    const bool isHosts = isSignal ? isAwaited(command.signal) : command.device == 0;
    if (isHosts || command.opcode == fb::Opcode::branch || command.opcode == fb::Opcode::loop ||
        command.opcode == fb::Opcode::check)
      return true;
  }
  return true; // signalled in another block
}

/// More plans of which one wait after the other is taken away.
using CUDAWaits = CUDAPlans;

TEST_P(CUDAWaits, aMissingWaitIsFound) {
  const std::vector<Place> waits = commandsOf(plan->metadata, fb::Opcode::wait);
  unsigned found = 0, redundant = 0;
  for (Place at : waits) {
    fb::PlanT changed = plan->copy();
    auto &commands = changed.functions[0]->blocks[at.block]->commands;
    const uint32_t semaphore = commands[at.command]->signal;
    const bool mayBeRedundant = isAcrossSegments(changed, at);
    commands.erase(commands.begin() + static_cast<std::ptrdiff_t>(at.command));
    for (CUDAOptions options : {withGraphs, inStreams})
      for (uint64_t seed : {0, 1, 2}) {
        // Of the three orders two, others with graphs than without.
        if (!gantry::test::areLong() && seed == (options.graphs ? 2 : 1))
          continue;
        reset(fakeOptions(seed));
        bool isFound = false;
        {
          World world(plan->seal(changed), makeRuntime(options));
          Status status = world.run(CommandOrder::virtualTime());
          isFound = !status.ok() || std::string(fake.faults()).find("race: ") == 0 ||
                    world.output() != expected;
        }
        ASSERT_TRUE(isFound || mayBeRedundant)
            << "without the wait for semaphore " << semaphore << " in block " << at.block;
        ++(isFound ? found : redundant);
      }
  }
  EXPECT_GT(found, 0u);
  RecordProperty("found", static_cast<int>(found));
  RecordProperty("redundant", static_cast<int>(redundant));
}

/// Plans that libraries of GPUs have a part in: the same bytes in every order and mode, and without
/// the library those of the plan's own kernels.
using CUDALibraryPlans = CUDAPlans;

TEST_P(CUDALibraryPlans, giveTheSameBytesInEveryOrder) {
  for (bool isThere : {true, false}) {
    std::vector<uint8_t> wanted = isThere ? std::vector<uint8_t>() : expected;
    for (CUDAOptions options : {withGraphs, inStreams, eachByItself})
      for (uint64_t seed = 0; seed < gantry::test::shortOrLong<uint64_t>(3, 10); ++seed) {
        for (const char *variable : {"GANTRY_CUBLASLT_LIB", "GANTRY_NCCL_LIB"})
          ::setenv(variable, isThere ? GANTRY_FAKE_CUDA : "/nowhere", 1);
        fake_cuda_options_t settings = fakeOptions(seed);
        settings.has_peers = seed % 2 == 0;
        reset(settings);
        {
          World world(plan->file, makeRuntime(options));
          for (int run = 0; run < 2; ++run) {
            Status status = world.run(CommandOrder::virtualTime());
            ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.message();
            if (wanted.empty())
              wanted = world.output();
            ASSERT_EQ(world.output(), wanted) << "seed " << seed;
          }
        }
        EXPECT_EQ(fake.calls("cublasLtMatmul") + fake.calls("ncclAllReduce") > 0, isThere);
        expectClean();
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
      }
  }
  for (const char *variable : {"GANTRY_CUBLASLT_LIB", "GANTRY_NCCL_LIB"})
    ::unsetenv(variable);
}

/// That the host takes and gives bytes, and so do all GPUs but one at most. What a change from one
/// context to another says may be of either, and the driver believes both.
void expectOthersWork(Runtime &runtime) {
  const char *in = fakeCUDA(GANTRY_FAKE_CUDA).failed();
  const std::string failed = in ? in : "no call";
  const size_t most = failed == "cuCtxPushCurrent_v2" ? 2 : 1;
  std::vector<std::string> broken;
  for (Device *device : runtime.devices()) {
    const uint32_t given = 0x12345678;
    uint32_t found = 0;
    auto memory = device->allocate(sizeof given, "test");
    Status status = memory.status();
    if (status.ok())
      status = device->upload(memory->data(), &given, sizeof given);
    if (status.ok())
      status = device->download(&found, memory->data(), sizeof given);
    if (!status.ok())
      broken.push_back(device->name() + ": " + status.message());
    else
      EXPECT_EQ(found, given) << device->name();
  }
  EXPECT_LE(broken.size(), most) << failed << ": " << testing::PrintToString(broken);
  for (const std::string &each : broken)
    EXPECT_NE(each.find("device:GPU:"), std::string::npos) << each;
}

/// Load, two runs and unload, and whether they went well. `atRun`: how many calls the load took.
Status liveOnce(const EditablePlan &plan, const std::vector<uint8_t> &expected,
                CUDAOptions options = withGraphs, uint64_t *atRun = nullptr) {
  World world(plan.file, makeRuntime(options));
  GANTRY_RETURN_IF_ERROR(world.status);
  if (atRun)
    *atRun = fakeCUDA(GANTRY_FAKE_CUDA).calls(nullptr);
  for (int run = 0; run < 2; ++run) {
    if (Status status = world.run(CommandOrder::virtualTime()); !status.ok()) {
      expectOthersWork(*world.runtime);
      return status;
    }
    if (world.output() != expected)
      return Status::corrupt("a run that failed says that it has not");
  }
  return {};
}

/// A failure during a run names a command or a segment of them; alone, always a command. A loop of
/// the host that waited for a GPU names the card.
void expectNamed(CUDAOptions options, const std::string &message, const std::string &where) {
  const bool isNamed = message.find(" on GPU:") != std::string::npos ||
                       message.find("a loop on CPU:0 failed on GPU ") != std::string::npos;
  EXPECT_TRUE(isNamed) << where;
  if (options.syncEach) {
    EXPECT_EQ(message.find("the segment"), std::string::npos) << where;
  }
}

TEST_P(CUDAPlans, aFailureAtAnyCallIsToldAndLeavesNothing) {
  fake_cuda_options_t options = fakeOptions();
  options.checks_order = options.checks_kernels = 0;
  for (auto [failure, mode] : {std::pair(outOfMemory, withGraphs),
                               {launchFailed, withGraphs},
                               {illegalAddress, withGraphs},
                               {outOfMemory, inStreams},
                               {illegalAddress, eachByItself}}) {
    unsigned told = 0, untold = 0;
    std::set<std::string> untoldIn;
    // Every call of small plans, a sample of larger ones, more of them in one way.
    const bool isSmall =
        gantry::test::areLong() || plan->metadata.functions[0]->blocks[0]->commands.size() < 16;
    const uint64_t stride = isSmall ? 1 : failure == outOfMemory && mode.graphs ? 3 : 7;
    for (uint64_t n = 1;; n += stride) {
      reset(options);
      fake.fail(n, failure);
      uint64_t atRun = UINT64_MAX;
      const Status status = liveOnce(*plan, expected, mode, &atRun);
      const char *in = fake.failed();
      if (!in) {
        EXPECT_TRUE(status.ok()) << status.message();
        break;
      }
      const std::string where = "call " + std::to_string(n) + ", " + in + ", error " +
                                std::to_string(failure) + ": " + status.message();
      if (status.ok()) {
        ++untold;
        untoldIn.insert(in);
      } else {
        ++told;
        const StatusCode code = status.code();
        const bool isAtStart = n <= 20 && code == StatusCode::unavailable;
        EXPECT_TRUE(isAtStart || code == (failure == outOfMemory ? StatusCode::doesNotFit
                                                                 : StatusCode::internal))
            << where;
        EXPECT_NE(status.message().find("CUDA_ERROR_"), std::string::npos) << where;
        const bool isOfRun = n > atRun && std::string(in).find("HostAlloc") == std::string::npos &&
                             std::string(in).find("Create") == std::string::npos &&
                             std::string(in).find("Ctx") == std::string::npos &&
                             std::string(in).find("SetAccess") == std::string::npos;
        if (isOfRun)
          expectNamed(mode, status.message(), where);
      }
      EXPECT_STREQ(fake.leaks(), "") << where;
      EXPECT_STREQ(fake.faults(), "") << where;
      ASSERT_FALSE(HasFailure());
      // The machine is usable.
      fake.fail(0, 0);
      if (n % 16 == 0) {
        ASSERT_TRUE(liveOnce(*plan, expected).ok()) << where;
      }
    }
    EXPECT_GT(told, 20u);
    // Only what gives something back may fail unheard, and what a graph is made by.
    for (const std::string &in : untoldIn)
      EXPECT_TRUE(in.find("Destroy") != std::string::npos || in.find("Free") != std::string::npos ||
                  in.find("Release") != std::string::npos ||
                  in.find("Unmap") != std::string::npos || in.find("Unload") != std::string::npos ||
                  in.find("Ctx") != std::string::npos || in.find("Peer") != std::string::npos ||
                  in.find("Synchronize") != std::string::npos ||
                  (!mode.syncEach && mode.graphs && failure == outOfMemory &&
                   (in.find("Capture") != std::string::npos || in == "cuGraphLaunch" ||
                    in == "cuGraphInstantiateWithFlags")))
          << in;
    RecordProperty("untold", static_cast<int>(untold));
  }
}

const Case diamond{"diamond", "diamond.mlir", {}}, chain{"chain", "chain.mlir", {}},
    loop{"loop", "loop.mlir", {}},
    mnist{"mnist", "mnist/mnist.onnx", {"place=op:Conv2D=GPU:0", "place=op:MaxPool=GPU:1"}},
    one{"one", "one.mlir", {}, 1}, eight{"eight", "eight.mlir", {}, 8};

std::string nameOf(const testing::TestParamInfo<Case> &info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(, CUDAPlans, testing::Values(diamond, chain, loop, mnist, one, eight),
                         nameOf);

INSTANTIATE_TEST_SUITE_P(, CUDAWaits,
                         testing::Values(diamond, chain, loop, mnist, one, eight,
                                         Case{"exchange", "exchange.mlir", {}},
                                         Case{"pipeline", "pipeline.mlir", {}, 3},
                                         Case{"branch", "branch.mlir", {}},
                                         Case{"reuse", "reuse.mlir", {}}),
                         nameOf);

INSTANTIATE_TEST_SUITE_P(
    , CUDALibraryPlans,
    testing::Values(Case{"products", "exchange.mlir", {"libraries=cublaslt"}},
                    Case{"collectives", "all-reduce.mlir", {"collectives=nccl"}}),
    nameOf);

/// Too much to interpret: the calls are counted, and kernels do not run.
TEST(CUDANetworks, aSecondRunOfResnet50IsSixCalls) {
  const Case resnet{"resnet50", "light/light_resnet50.onnx", {"devices=CPU:0,GPU:0"}};
  if (!std::filesystem::exists(pathOf(resnet)))
    GTEST_SKIP() << "no shared models (GANTRY_MODELS_DIR)";
  const fake_cuda_control_t &fake = fakeCUDA(GANTRY_FAKE_CUDA);
  fake_cuda_options_t options = fakeOptions();
  options.devices = 1, options.checks_order = 0, options.skips_kernels = 1;
  EditablePlan plan = compile(pathOf(resnet), resnet.flags);
  EXPECT_GT(commandsOf(plan.metadata, fb::Opcode::launch).size(), 50u);
  fake.reset(&options);
  {
    World world(plan.file, makeRuntime());
    ASSERT_TRUE(world.run(CommandOrder::virtualTime()).ok());
    for (int run = 0; run < 2; ++run) {
      const uint64_t before = fake.bytes(0);
      fake.fail(0, 0); // counts from here
      ASSERT_TRUE(world.run(CommandOrder::virtualTime()).ok());
      EXPECT_LE(fake.calls(nullptr), 6u);
      EXPECT_EQ(fake.calls("cuGraphLaunch"), 1u);
      EXPECT_EQ(fake.calls("cuMemHostAlloc"), 0u);
      EXPECT_EQ(fake.bytes(0), before);
    }
  }
  EXPECT_STREQ(fake.faults(), "");
  EXPECT_STREQ(fake.leaks(), "");
}

/// Arrays of the caller on the device are used where they are, and outputs are left there.
TEST(CUDAPointers, areUsedWhereTheyAre) {
  const fake_cuda_control_t &fake = fakeCUDA(GANTRY_FAKE_CUDA);
  const fake_cuda_options_t options = fakeOptions();
  EditablePlan plan = compile(GANTRY_INPUTS "/on-device.mlir", {"devices=CPU:0,GPU:0"});
  fake.reset(&options);
  {
    auto loaded = LoadedPlan::load(makeRuntime(), plan.file, "plan").take();
    auto session = Session::create(loaded).take();
    auto bindings = Bindings::create(loaded, 0u).take();
    const FunctionInfo &function = loaded->functions()[0];
    Device &gpu = *function.inputs[0].device;
    const uint64_t bytes = function.inputs[0].type.byteSize();
    std::vector<Allocation> arrays; // each in a place of its own
    for (int run = 1; run <= 3; ++run) {
      const std::vector<float> given(64, static_cast<float>(run));
      arrays.push_back(gpu.allocate(bytes, "test").take());
      const Allocation &memory = arrays.back();
      ASSERT_TRUE(gpu.upload(memory.data(), given.data(), bytes).ok());
      ASSERT_TRUE(
          bindings->bindInput(0, Tensor::borrow(function.inputs[0].type, memory.data(), &gpu))
              .ok());
      Status status = session->run(*bindings);
      ASSERT_TRUE(status.ok()) << status.message();
      Tensor made = bindings->output(0u).take();
      ASSERT_EQ(made.device(), &gpu);
      float first = 0;
      ASSERT_TRUE(gpu.download(&first, made.data(), sizeof first).ok());
      EXPECT_EQ(first, 2.0f * static_cast<float>(run));
    }
    EXPECT_EQ(gpu.stats().copies, 0u);
    EXPECT_EQ(gpu.stats().stagedCopies, 0u);
    EXPECT_EQ(fake.calls("cuGraphInstantiateWithFlags"), 1u);
    EXPECT_EQ(fake.calls("cuGraphExecUpdate_v2"), 2u);
  }
  EXPECT_STREQ(fake.faults(), "");
  EXPECT_STREQ(fake.leaks(), "");
}

} // namespace
} // namespace gantry::runtime::test
