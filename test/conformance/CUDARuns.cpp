// Runs on the fake libcuda of plans that are made by hand, so that no compiler is needed: what
// happens without graphs, with streams and arrays of the caller's, and among several sessions.
#include "Runtime/PlanBuilder.h"
#include "TestPTX.h"
#include "fake_cuda/Client.h"
#include "gantry/Drivers/CUDADriver.h"
#include "gantry/Runtime/Session.h"

#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace gantry::runtime::test {
namespace {

constexpr uint64_t n = 16, bytes = n * sizeof(float);
constexpr int notSupported = 801;
const std::string gpu = "/job:localhost/replica:0/task:0/device:GPU:";
const TensorType vectorType{ElementType::f32, {int64_t(n)}};

struct CUDARuns : ::testing::Test {
  const fake_cuda_control_t &fake = fakeCUDA(GANTRY_FAKE_CUDA);
  std::vector<std::string> logged;
  std::shared_ptr<Runtime> runtime;

  void SetUp() override {
    const fake_cuda_options_t options = fakeOptions(/*seed=*/3);
    fake.reset(&options);
    runtime = makeRuntime();
  }
  void TearDown() override {
    runtime.reset();
    EXPECT_STREQ(fake.faults(), "");
    EXPECT_STREQ(fake.leaks(), "");
  }
  std::shared_ptr<Runtime> makeRuntime(CUDAOptions options = {}) {
    RuntimeOptions settings{.threads = 1};
    settings.log = [this](Severity, const std::string &text) { logged.push_back(text); };
    return createRuntime(std::move(settings), {}, options);
  }

  /// y = 4 * x in two launches; x and y on GPU:0 where `onDevice`, else on the host. With `cards`,
  /// the second launch is on another one.
  static void quadruple(PlanBuilder &b, bool onDevice, uint32_t cards = 1) {
    for (uint32_t i = 0; i < cards; ++i)
      b.plan.devices[b.addDevice(gpu + std::to_string(i), "cuda")]->physical = i;
    const uint32_t last = cards;
    const uint32_t code = b.addCode({testPTX.begin(), testPTX.end()});
    b.plan.code[code]->kind = fb::CodeKind::ptx;
    b.plan.code[code]->target = "sm_75";
    const uint32_t add = b.addKernel("add_f32", code);
    auto variant = std::make_unique<fb::VariantT>();
    variant->driver = "cuda";
    variant->source = fb::KernelSource::code;
    variant->code = code;
    variant->grid = std::make_unique<fb::Extent>(uint32_t(n), 1, 1);
    variant->block = std::make_unique<fb::Extent>(1, 1, 1);
    b.plan.kernels[add]->variants.push_back(std::move(variant));
    const uint32_t first = b.addArena(fb::ArenaKind::transient, 4 * bytes, 1);
    const uint32_t second =
        cards > 1 ? b.addArena(fb::ArenaKind::transient, 2 * bytes, last) : first;
    b.addFunction("main");
    b.addInput("x", {int64_t(n)});
    b.addOutput("y", {int64_t(n)});
    b.function().inputs[0]->device = onDevice ? 1 : 0;
    b.function().outputs[0]->device = onDevice ? last : 0;
    const auto twice = memory(first, 0, bytes);
    auto in = input(0, bytes), out = output(0, bytes);
    if (!onDevice) {
      in = memory(first, 2 * bytes, bytes), out = memory(second, bytes, bytes);
      fb::CommandT &up = b.copy(input(0, bytes), in);
      up.device = 1, up.copy_kind = fb::CopyKind::hostToDevice;
    }
    launch(b, 1, add, in, twice, "first");
    auto there = twice;
    if (cards > 1) {
      there = memory(second, 0, bytes);
      b.function().num_semaphores = 1;
      b.addCommand(fb::Opcode::signal).device = 1;
      b.addCommand(fb::Opcode::wait).device = last;
      fb::CommandT &move = b.copy(twice, there);
      move.device = last, move.copy_kind = fb::CopyKind::deviceToDevice;
    }
    launch(b, last, add, there, out, "second");
    if (!onDevice) {
      fb::CommandT &down = b.copy(out, output(0, bytes));
      down.device = last, down.copy_kind = fb::CopyKind::deviceToHost;
    }
  }
  static void launch(PlanBuilder &b, uint32_t device, uint32_t kernel, fb::BufferRef from,
                     fb::BufferRef to, const char *name) {
    fb::CommandT &command = b.launch(kernel, {from, from}, {to}, n);
    command.device = device, command.name = name;
  }

  struct Run {
    std::shared_ptr<Session> session;
    std::shared_ptr<Bindings> bindings;
    Tensor x, y;
  };
  static Run make(std::shared_ptr<const LoadedPlan> plan) {
    return {Session::create(plan).take(), Bindings::create(plan, 0u).take(), {}, {}};
  }
  static Run onHost(std::shared_ptr<const LoadedPlan> plan) {
    Run run = make(std::move(plan));
    run.x = Tensor::allocate(vectorType).take(), run.y = Tensor::allocate(vectorType).take();
    EXPECT_OK(run.bindings->bindInput(0, run.x));
    EXPECT_OK(run.bindings->bindOutput(0, run.y));
    return run;
  }
  static Status runOnce(Run &run, float value) {
    std::fill_n(run.x.dataAs<float>(), n, value);
    GANTRY_RETURN_IF_ERROR(run.session->run(*run.bindings));
    return run.y.dataAs<float>()[n - 1] == 4 * value ? Status() : Status::corrupt("wrong numbers");
  }
  void expectOrderedWith(void *given);
  std::shared_ptr<const LoadedPlan> load(bool onDevice, uint32_t cards = 1) {
    PlanBuilder b;
    quadruple(b, onDevice, cards);
    auto loaded = b.load(runtime);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    return loaded.take();
  }
};

// ---- without graphs ----

TEST_F(CUDARuns, aDriverWithoutGraphsRunsCommandByCommand) {
  for (const char *without : {"cuStreamBeginCapture_v2", "cuStreamEndCapture",
                              "cuGraphInstantiateWithFlags", "cuGraphLaunch"})
    for (int error : {notSupported, outOfMemory}) {
      logged.clear();
      fake.fail_in(without, 0, error);
      Run run = onHost(load(false));
      for (float value : {1.0f, 2.0f, 3.0f})
        ASSERT_OK(runOnce(run, value));
      ASSERT_EQ(logged.size(), 1u) << without;
      EXPECT_NE(logged[0].find("'test.gantry': the segment from "), std::string::npos) << logged[0];
      EXPECT_NE(logged[0].find(" runs command by command, since there is no CUDA graph of it: " +
                               std::string(without) + ": CUDA_ERROR_"),
                std::string::npos)
          << logged[0];
      EXPECT_EQ(fake.calls(without), 1u); // and does not try again
    }
}

/// What was captured before goes on; only the one that is refused is issued.
TEST_F(CUDARuns, aCallThatCannotBeCapturedIsIssued) {
  Run run = onHost(load(false));
  fake.fail_in("cuLaunchKernel", 1, /*CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED*/ 900);
  ASSERT_OK(runOnce(run, 1));
  ASSERT_OK(runOnce(run, 2));
  EXPECT_EQ(logged.size(), 1u);
}

/// Without memory there is no graph and no launch either: the failure names the op.
TEST_F(CUDARuns, whatFailsWithoutAGraphAsWellIsAFailure) {
  Run run = onHost(load(false));
  fake.fail_in("cuLaunchKernel", 0, outOfMemory);
  Status status = runOnce(run, 1);
  EXPECT_EQ(status.code(), StatusCode::doesNotFit);
  EXPECT_EQ(status.message().find("'first' on GPU:0: cuLaunchKernel: "), 0u) << status.message();
  fake.fail(0, 0);
  EXPECT_OK(runOnce(run, 1));
}

TEST_F(CUDARuns, aLostContextIsNoReasonToGoOnWithoutGraphs) {
  {
    Run run = onHost(load(false));
    fake.fail_in("cuGraphLaunch", 1, launchFailed);
    Status status = runOnce(run, 1);
    EXPECT_EQ(status.code(), StatusCode::internal);
    EXPECT_NE(status.message().find("CUDA_ERROR_LAUNCH_FAILED"), std::string::npos);
    EXPECT_TRUE(logged.empty());
  }
  fake.fail(0, 0);
  runtime = makeRuntime();
  Run again = onHost(load(false));
  EXPECT_OK(runOnce(again, 1));
}

// ---- arrays and streams of the caller's ----

/// CUDA as the caller uses it beside Gantry.
struct Caller {
  void *library = ::dlopen(GANTRY_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  void *context = nullptr, *stream = nullptr;
  bool isOwn; ///< the stream
  int device;

  /// By the calling convention alone: the types are the callers', not those of the declarations.
  template <typename... Arguments>
#ifdef __clang__
  __attribute__((no_sanitize("function")))
#endif
  void call(const char *name, Arguments... arguments) {
    auto function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(library, name));
    EXPECT_EQ(function(arguments...), 0) << name;
  }
  /// With the context current.
  template <typename... Arguments>
  void in(const char *name, Arguments... arguments) {
    void *popped = nullptr;
    call("cuCtxPushCurrent_v2", context);
    call(name, arguments...);
    call("cuCtxPopCurrent_v2", &popped);
  }

  /// `given`: a stream that need not be made, as those of CUDA's own.
  explicit Caller(int device = 0, void *given = nullptr)
      : stream(given), isOwn(!given), device(device) {
    call("cuInit", 0u);
    call("cuDevicePrimaryCtxRetain", &context, device);
    if (isOwn)
      in("cuStreamCreate", &stream, 1u);
  }
  ~Caller() {
    if (isOwn)
      in("cuStreamDestroy_v2", stream);
    call("cuDevicePrimaryCtxRelease_v2", device);
  }
  unsigned long long take() {
    unsigned long long data = 0;
    in("cuMemAlloc_v2", &data, size_t(bytes));
    return data;
  }
  void give(unsigned long long data) { in("cuMemFree_v2", data); }
  float *takeHost() {
    void *data = nullptr;
    in("cuMemHostAlloc", &data, size_t(bytes), 0u);
    return static_cast<float *>(data);
  }
  void giveHost(void *data) { in("cuMemFreeHost", data); }
  void send(unsigned long long to, const void *from) {
    in("cuMemcpyHtoDAsync_v2", to, from, size_t(bytes), stream);
  }
  void fetch(void *to, unsigned long long from) {
    in("cuMemcpyDtoHAsync_v2", to, from, size_t(bytes), stream);
  }
  void wait() { in("cuStreamSynchronize", stream); }
};

void *at(unsigned long long address) { return reinterpret_cast<void *>(address); }

/// The input is still on its way when the run is submitted, and the output is fetched before it is
/// over: the fake tells of any access that nothing orders.
void CUDARuns::expectOrderedWith(void *given) {
  for (CUDAOptions options : {CUDAOptions{}, CUDAOptions{.graphs = false, .syncEach = false},
                              CUDAOptions{.graphs = false, .syncEach = true}})
    for (uint32_t cards : {1, 2})
      for (uint64_t seed : {1, 2, 3, 4}) {
        const fake_cuda_options_t settings = fakeOptions(seed);
        runtime.reset();
        fake.reset(&settings);
        runtime = makeRuntime(options);
        Caller caller(0, given), other(static_cast<int>(cards) - 1);
        {
          Run run = make(load(true, cards));
          const auto &function = run.bindings->info();
          const unsigned long long x = caller.take(), y = other.take();
          float *given = caller.takeHost(), *got = caller.takeHost();
          ASSERT_OK(run.bindings->bindInput(
              0, Tensor::borrow(vectorType, at(x), function.inputs[0].device)));
          ASSERT_OK(run.bindings->bindOutput(
              0, Tensor::borrow(vectorType, at(y), function.outputs[0].device)));
          for (float value : {1.0f, 5.0f}) {
            std::fill_n(given, n, value);
            caller.send(x, given);
            // The run follows the stream of the first card; the output's is waited for by its
            // fence where that is another.
            ASSERT_OK(run.bindings->setStream(caller.stream));
            Fence fence = run.session->submit(*run.bindings).take();
            if (cards > 1)
              ASSERT_OK(fence.wait());
            Caller &reader = cards == 1 ? caller : other;
            reader.fetch(got, y);
            reader.wait();
            EXPECT_EQ(got[0], 4 * value);
            EXPECT_EQ(got[n - 1], 4 * value);
            ASSERT_OK(fence.wait());
            caller.wait();
          }
          EXPECT_STREQ(fake.faults(), "");
          caller.giveHost(given), caller.giveHost(got);
          caller.give(x), other.give(y);
          EXPECT_EQ(function.inputs[0].device->stats().copies, 0u);
        }
        ASSERT_FALSE(HasFailure()) << cards << " cards, seed " << seed;
      }
}

/// What a pointer of a device's memory would do on the host: the system is asked, so nothing dies.
bool mayRead(unsigned long long address) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const bool may = ::write(ends[1], at(address), 1) == 1;
  ::close(ends[0]), ::close(ends[1]);
  return may;
}

TEST_F(CUDARuns, leaveTheMemoryOfDevicesClosed) {
  Caller caller(0, nullptr);
  Run run = make(load(true));
  const unsigned long long x = caller.take(), y = caller.take();
  float *given = caller.takeHost();
  auto expectClosed = [&](const char *after) {
    EXPECT_FALSE(mayRead(x) || mayRead(y)) << "after " << after;
    EXPECT_TRUE(mayRead(reinterpret_cast<unsigned long long>(given))) << "after " << after;
  };
  expectClosed("nothing");
  std::fill_n(given, n, 1.0f);
  caller.send(x, given), caller.wait();
  expectClosed("a copy");
  const auto &function = run.bindings->info();
  ASSERT_OK(
      run.bindings->bindInput(0, Tensor::borrow(vectorType, at(x), function.inputs[0].device)));
  ASSERT_OK(
      run.bindings->bindOutput(0, Tensor::borrow(vectorType, at(y), function.outputs[0].device)));
  ASSERT_OK(run.session->run(*run.bindings));
  expectClosed("a run");
  caller.fetch(given, y), caller.wait();
  EXPECT_EQ(given[n - 1], 4.0f);
  expectClosed("a copy back");
  caller.giveHost(given), caller.give(x), caller.give(y);
}

TEST_F(CUDARuns, areOrderedWithAStreamOfTheCallers) { expectOrderedWith(nullptr); }

/// CU_STREAM_LEGACY, which a caller has who says nothing of streams.
TEST_F(CUDARuns, areOrderedWithTheLegacyStream) { expectOrderedWith(at(1)); }

/// CU_STREAM_PER_THREAD is that of the thread that submits, on a thread of its own, too.
TEST_F(CUDARuns, areOrderedWithTheStreamOfTheThread) {
  expectOrderedWith(at(2));
  std::thread([&] { expectOrderedWith(at(2)); }).join();
}

/// Without the stream the same is a race, so that the tests above can fail.
TEST_F(CUDARuns, withoutTheStreamNothingOrdersThem) {
  Caller caller;
  {
    Run run = make(load(true));
    Device *device = run.bindings->info().inputs[0].device;
    const unsigned long long x = caller.take();
    float *given = caller.takeHost();
    ASSERT_OK(run.bindings->bindInput(0, Tensor::borrow(vectorType, at(x), device)));
    caller.send(x, given);
    ASSERT_OK(run.session->run(*run.bindings));
    caller.wait();
    EXPECT_EQ(std::string(fake.faults()).find("race: "), 0u) << fake.faults();
    caller.giveHost(given), caller.give(x);
  }
  runtime.reset();
  // The fault was meant; the rest is as always.
  fake.forget_faults();
}

TEST_F(CUDARuns, refuseArraysAndStreamsOfOthers) {
  Caller caller, other(1);
  {
    Run run = make(load(true));
    Device *device = run.bindings->info().inputs[0].device;
    auto bind = [&](const void *data) {
      return run.bindings
          ->bindInput(0, Tensor::borrow(vectorType, const_cast<void *>(data), device))
          .message();
    };
    alignas(64) float host[n] = {};
    EXPECT_EQ(bind(host), "input 'x' of function 'main': the array is not in memory of a GPU");
    const unsigned long long there = other.take();
    const unsigned long long here = caller.take();
    EXPECT_EQ(bind(at(there)), "input 'x' of function 'main': the array is in memory of GPU 1 of "
                               "this machine, not of GPU 0");
    EXPECT_EQ(bind(at(here + 4)), "input 'x' of function 'main': an array on a GPU must start at a "
                                  "multiple of 64 bytes");
    EXPECT_EQ(bind(at(here)), "");
    ASSERT_OK(run.bindings->setStream(other.stream));
    Status status = run.session->run(*run.bindings);
    EXPECT_EQ(status.code(), StatusCode::invalidArgument) << status.message();
    caller.in("cuStreamBeginCapture_v2", caller.stream, 1);
    ASSERT_OK(run.bindings->setStream(caller.stream));
    EXPECT_EQ(run.session->run(*run.bindings).code(), StatusCode::failedPrecondition);
    void *graph = nullptr;
    caller.in("cuStreamEndCapture", caller.stream, &graph);
    caller.in("cuGraphDestroy", graph);
    EXPECT_OK(run.session->run(*run.bindings));
    caller.give(here), other.give(there);
  }
}

TEST_F(CUDARuns, countTheirPinnedMemory) {
  auto plan = load(false);
  Device *device = plan->device(1);
  {
    Run run = onHost(plan);
    ASSERT_OK(runOnce(run, 1));
    EXPECT_EQ(device->stats().pinnedBytes, 2 * bytes); // of the input and the output
  }
  EXPECT_EQ(device->stats().pinnedBytes, 0u);
}

/// What runs take is taken by the first ones.
TEST_F(CUDARuns, aThousandTakeNoMoreThanTwo_m1) {
  constexpr uint64_t runs = 1000;
  for (uint32_t cards : {1u, 2u}) {
    Run run = onHost(load(false, cards));
    Device *device = run.session->plan().device(1);
    ASSERT_OK(runOnce(run, 1));
    const DeviceStats one = device->stats();
    ASSERT_OK(runOnce(run, 2));
    const DeviceStats two = device->stats();
    const uint64_t taken = fake.bytes(0);
    fake.fail(0, 0); // counts from here
    for (uint64_t i = 0; i < runs; ++i)
      ASSERT_OK(runOnce(run, static_cast<float>(i % 100)));
    EXPECT_LE(fake.calls(nullptr), (6 + 3 * (cards - 1)) * runs);
    const DeviceStats all = device->stats();
    EXPECT_EQ(all.allocations, two.allocations);
    EXPECT_EQ(all.peakBytes, two.peakBytes);
    EXPECT_EQ(all.pinnedBytes, two.pinnedBytes);
    EXPECT_EQ(all.stagedCopies, two.stagedCopies);
    EXPECT_EQ(all.copies - two.copies, (two.copies - one.copies) * runs);
    EXPECT_EQ(all.copiedBytes - two.copiedBytes, (two.copiedBytes - one.copiedBytes) * runs);
    EXPECT_EQ(fake.bytes(0), taken);
    for (const char *never :
         {"cuMemCreate", "cuMemHostAlloc", "cuEventCreate", "cuStreamCreate", "cuLaunchKernel",
          "cuGraphInstantiateWithFlags", "cuStreamBeginCapture_v2"})
      EXPECT_EQ(fake.calls(never), 0u) << never;
  }
}

// ---- other processes ----

/// What a child says that does `work`.
template <typename Work>
std::string saidByChild(Work work) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = work();
    (void)!::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string said;
  char buffer[256];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<size_t>(got));
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  return said;
}

TEST_F(CUDARuns, inAForkedProcessSayThatTheyCannot) {
  Run run = onHost(load(false));
  ASSERT_OK(runOnce(run, 1));
  const std::string ofRun = saidByChild([&] {
    Status status = runOnce(run, 2);
    run = {}; // gives nothing of the parent's back
    return status.message();
  });
  const std::string general = "this process was forked from the one that uses Gantry";
  EXPECT_NE(ofRun.find(general), std::string::npos) << ofRun;
  const std::string ofLoad = saidByChild([&] {
    PlanBuilder b;
    quadruple(b, false);
    return b.load(makeRuntime()).status().message();
  });
  const std::string expected = "this process was forked from one that uses CUDA";
  EXPECT_NE(ofLoad.find(expected), std::string::npos) << ofLoad;
  EXPECT_OK(runOnce(run, 3));
}

/// What a program holds until its end does no harm then.
TEST_F(CUDARuns, mayLiveUntilTheProcessEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe"); // a program of its own, not a fork of this one
  EXPECT_EXIT(
      {
        static Run run = onHost(load(false));
        static std::shared_ptr<Runtime> kept = runtime;
        auto fence = run.session->submit(*run.bindings);
        std::exit(fence->wait().ok() ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

// ---- several at once ----

/// Sessions of one plan on threads of their own, and a plan that comes and goes meanwhile.
TEST_F(CUDARuns, sessionsAndUnloadsGoSideBySide) {
  auto plan = load(false, 2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      Run run = onHost(plan);
      for (int i = 1; i <= 8; ++i)
        EXPECT_OK(runOnce(run, static_cast<float>(t * 10 + i)));
    });
  threads.emplace_back([&] {
    for (int i = 1; i <= 4; ++i) {
      Run run = onHost(load(false));
      EXPECT_OK(runOnce(run, static_cast<float>(i)));
    }
  });
  for (std::thread &thread : threads)
    thread.join();
}

/// Two runtimes share the primary context, and the second goes on when the first is gone.
TEST_F(CUDARuns, twoRuntimesKnowNothingOfEachOther) {
  Run run = onHost(load(false));
  std::shared_ptr<Runtime> first = std::move(runtime);
  runtime = makeRuntime();
  Run other = onHost(load(false));
  EXPECT_OK(runOnce(run, 1));
  EXPECT_OK(runOnce(other, 2));
  run = {}, first.reset();
  EXPECT_OK(runOnce(other, 3));
  EXPECT_TRUE(fake.has_context(0));
}

/// The host and the other GPU go on after a failure that loses a context.
TEST_F(CUDARuns, aLostContextLeavesTheHostAndTheOtherGPU) {
  PlanBuilder b;
  quadruple(b, false);
  b.plan.devices[1]->name = gpu + "1", b.plan.devices[1]->physical = 1;
  {
    Run run = onHost(load(false)), other = onHost(b.load(runtime).take());
    ASSERT_OK(runOnce(other, 1));
    fake.fail_in("cuStreamSynchronize", 1, illegalAddress);
    Status status = runOnce(run, 1);
    EXPECT_NE(status.message().find("the segment from "), std::string::npos) << status.message();
    fake.fail(0, 0);
    EXPECT_EQ(runOnce(run, 1).message(), status.message()); // until it is unloaded
    EXPECT_OK(runOnce(other, 2));
    Device *host = other.session->plan().device(0);
    EXPECT_TRUE(host->allocate(64, "test").ok());
  }
  Run again = onHost(load(false));
  EXPECT_OK(runOnce(again, 3));
}

} // namespace
} // namespace gantry::runtime::test
