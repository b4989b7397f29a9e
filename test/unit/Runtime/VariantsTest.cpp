// Which variant of a kernel runs, what the log says of it, and what is said when none can.
#include "gantry/Drivers/HostDriver.h"
#include "gantry/Runtime/Describe.h"
#include "gantry/Runtime/Session.h"

#include "Runtime/PlanBuilder.h"

namespace gantry::runtime::test {
namespace {

const std::string cpu = "/job:localhost/replica:0/task:0/device:CPU:0";
const std::string gpu = "/job:localhost/replica:0/task:0/device:GPU:0";

/// y = f * x on `device`, f = 2 or 100 as the variants' code has it.
struct VariantPlan : PlanBuilder {
  uint32_t times2 = addCode(testKernels());
  uint32_t times100 = addCode(testKernels(GANTRY_OTHER_TEST_KERNELS));
  uint32_t kernel = addKernel("double_f32", times2);

  fb::VariantT &variant(const char *driver, uint32_t code, std::vector<std::string> features = {}) {
    auto &variants = plan.kernels[kernel]->variants;
    variants.push_back(std::make_unique<fb::VariantT>());
    variants.back()->driver = driver;
    variants.back()->code = code;
    variants.back()->features = std::move(features);
    return *variants.back();
  }
  void finish(uint32_t device = 0) {
    addFunction("main");
    addInput("x", {4});
    addOutput("y", {4});
    function().inputs[0]->device = function().outputs[0]->device = device;
    fb::CommandT &command = launch(kernel, {input(0, 16)}, {output(0, 16)}, 4);
    command.name = "scale", command.device = device;
  }
};

class Variants : public ::testing::Test {
protected:
  std::shared_ptr<Runtime> makeRuntime() { return createRuntime({.threads = 1, .log = logger()}); }
  LogCallback logger() {
    return [this](Severity severity, const std::string &text) {
      EXPECT_EQ(severity, Severity::remark);
      log.push_back(text);
    };
  }
  /// y for x = 1 2 3 4, of which y[3] is asked.
  static float run(const std::shared_ptr<const LoadedPlan> &plan) {
    auto session = Session::create(plan).take();
    auto bindings = Bindings::create(plan, 0u).take();
    alignas(64) float x[4] = {1, 2, 3, 4}, y[4] = {};
    EXPECT_OK(bindings->bindInput(0, Tensor::borrow({ElementType::f32, {4}}, x)));
    EXPECT_OK(bindings->bindOutput(0, Tensor::borrow({ElementType::f32, {4}}, y)));
    EXPECT_OK(session->run(*bindings));
    return y[3];
  }
  std::vector<std::string> log;
};

TEST_F(Variants, theFirstRunsWhenItCan) {
  VariantPlan b;
  b.variant("sim", b.times2);
  b.variant("host", b.times100);
  b.variant("host", b.times2);
  b.finish();
  auto plan = b.load(makeRuntime()).take();
  EXPECT_EQ(run(plan), 400.0f);
  EXPECT_EQ(plan->kernelChoices()[0].number, 1u); // the first for its driver
  EXPECT_TRUE(plan->kernelChoices()[0].passedOver.empty());
  EXPECT_TRUE(log.empty());
}

TEST_F(Variants, theNextRunsWhenAFeatureIsMissingAndTheLogSaysSo) {
  VariantPlan b;
  b.variant("host", b.times100, {"warp9"});
  b.variant("host", b.times2);
  b.finish();
  auto plan = b.load(makeRuntime()).take();
  EXPECT_EQ(run(plan), 8.0f);
  const KernelChoice &choice = plan->kernelChoices()[0];
  EXPECT_EQ(choice.number, 1u);
  EXPECT_EQ(choice.passedOver,
            std::vector<std::string>{"code for warp9 (this machine's CPU lacks warp9)"});
  EXPECT_EQ(log, std::vector<std::string>{
                     "'test.gantry': kernel 'double_f32' runs on '" + cpu +
                     "' as code; what comes before it in the plan cannot run here: code for warp9 "
                     "(this machine's CPU lacks warp9)"});
}

TEST_F(Variants, whatTheCodeNeedsCountsToo) {
  VariantPlan b;
  b.plan.code[b.times100]->features = {"warp9"};
  b.variant("host", b.times100);
  b.variant("host", b.times2);
  b.finish();
  EXPECT_EQ(run(b.load(makeRuntime()).take()), 8.0f);
}

TEST_F(Variants, noneIsRefusedByNameBeforeAnythingIsAllocated) {
  VariantPlan b;
  b.variant("host", b.times100, {"warp9"});
  fb::VariantT &library = b.variant("host", b.times2);
  library.source = fb::KernelSource::library, library.library = "blas";
  library.library_version = "3.1";
  b.variant("host", b.times2, {"tachyons"});
  b.variant("sim", b.times2);
  b.addConstant<float>(b.addArena(fb::ArenaKind::constants, 4096), 1024, {1, 2});
  b.finish();
  auto runtime = makeRuntime();
  auto plan = b.load(runtime);
  EXPECT_EQ(plan.status().code(), StatusCode::unsupported);
  EXPECT_EQ(plan.status().message(),
            "'test.gantry': 'scale' on CPU:0: none of the 3 variants of kernel 'double_f32' for "
            "the driver 'host' runs here: code for warp9 (this machine's CPU lacks warp9); "
            "blas 3.1 (the library 'blas' is not used on CPUs); code for tachyons "
            "(this machine's CPU lacks tachyons); compile the graph here, or for an older CPU with "
            "--target-cpu");
  DeviceStats stats = runtime->devices()[0]->stats();
  EXPECT_EQ(stats.allocations, 0u);
  EXPECT_EQ(stats.mappedBytes, 0u);
}

TEST_F(Variants, aDriverWithoutOneIsNamed) {
  VariantPlan b;
  b.variant("sim", b.times2);
  b.finish();
  b.plan.devices[0]->driver = ""; // which the file leaves open
  EXPECT_EQ(b.load(makeRuntime()).status().message(),
            "'test.gantry': 'scale' on CPU:0: kernel 'double_f32' has no variant for the driver "
            "'host'");
}

void timesTen(void *const *buffers, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[1])[i] = 10 * static_cast<const float *>(buffers[0])[i];
}

TEST_F(Variants, aRegisteredKernelIsOneWhenItIsThere) {
  VariantPlan b;
  fb::VariantT &registered = b.variant("host", b.times100);
  registered.source = fb::KernelSource::registered, registered.symbol = "ten";
  b.variant("host", b.times2);
  b.finish();
  EXPECT_EQ(run(b.load(makeRuntime()).take()), 8.0f);
  EXPECT_EQ(log.size(), 1u);
  auto runtime = makeRuntime();
  ASSERT_OK(runtime->kernels().add("ten", timesTen));
  EXPECT_EQ(run(b.load(runtime).take()), 40.0f);
}

TEST_F(Variants, bringTheirOwnWorkItems) {
  VariantPlan b;
  b.variant("host", b.times2).items = 3; // the launch says 4; the last is not computed
  b.finish();
  EXPECT_EQ(run(b.load(makeRuntime()).take()), 0.0f);
}

TEST_F(Variants, aDriverStandsInForOneThatIsNotThere) {
  ::setenv("GANTRY_CUDA_LIB", "/nowhere/libcuda.so.1", 1);
  VariantPlan b;
  const uint32_t device = b.addDevice(gpu, "cuda");
  b.plan.devices[device]->also = {"sim"};
  fb::VariantT &library = b.variant("cuda", b.times2);
  library.source = fb::KernelSource::library, library.library = "cublas";
  b.variant("sim", b.times2);
  b.finish(device);
  auto plan = b.load(makeRuntime());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(run(*plan), 8.0f);
  EXPECT_EQ((*plan)->device(device)->driver().name(), "sim");
  EXPECT_EQ(log,
            std::vector<std::string>{"'test.gantry': the driver 'sim' stands in: '" + gpu +
                                     "': NVIDIA's driver cannot be opened: /nowhere/libcuda.so.1: "
                                     "cannot open shared object file: No such file or directory"});
  auto poor = Runtime::create();
  ASSERT_OK(poor->addDriver(createHostDriver(poor->threadPool())));
  EXPECT_EQ(b.load(poor).status().message(),
            "'test.gantry': '" + gpu +
                "' needs the driver 'cuda'; the drivers are host; nor is there one that may stand "
                "in: sim");
}

TEST(Describe, listsVariants) {
  VariantPlan b;
  b.addDevice(gpu, "sim");
  b.plan.devices[1]->also = {"cuda"};
  fb::VariantT &wide = b.variant("host", b.times100, {"avx512f"});
  wide.symbol = "wide", wide.items = 8, wide.grain = 2;
  fb::VariantT &library = b.variant("cuda", b.times2);
  library.source = fb::KernelSource::library, library.library = "cublas";
  library.library_version = "12.4", library.arch_min = 75, library.arch_max = 121;
  library.block = std::make_unique<fb::Extent>(256, 1, 1);
  library.shared_memory = 1024;
  b.finish();
  const std::string json = describePlanJSON(b.file().plan());
  for (const char *part :
       {R"("also":["cuda"])",
        R"({"driver":"host","source":"code","code":1,"symbol":"wide","features":["avx512f"],)"
        R"("items":8,"grain":2})",
        R"({"driver":"cuda","source":"library","library":"cublas","library_version":"12.4",)"
        R"("arch_min":75,"arch_max":121,"block":[256,1,1],"shared_memory":1024})"})
    EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
}

} // namespace
} // namespace gantry::runtime::test
