// Loading: what is refused and how, where constants come to lie, what a plan says of itself.
#include "gantry/Runtime/Describe.h"
#include "gantry/Runtime/LoadedPlan.h"
#include "gantry/Runtime/Session.h"

#include "Runtime/PlanBuilder.h"
#include "gantry/Support/Hash.h"

#include <cstring>

namespace gantry::runtime::test {
namespace {

const std::string cpu = "/job:localhost/replica:0/task:0/device:CPU:0";

/// y = 2x, by a kernel of `code` or a registered one.
fb::CommandT &buildDouble(PlanBuilder &b, uint32_t kernel) {
  b.addFunction("main");
  b.addInput("x", {4});
  b.addOutput("y", {4});
  fb::CommandT &command = b.launch(kernel, {input(0, 16)}, {output(0, 16)}, 4);
  command.name = "twice";
  command.location = "model.mlir:3:8";
  return command;
}

void expectLoadError(PlanBuilder &b, StatusCode code, const std::string &message,
                     RuntimeOptions options = {}) {
  auto plan = b.load(createRuntime(std::move(options)));
  EXPECT_EQ(plan.status().code(), code);
  EXPECT_EQ(plan.status().message(), message);
}

TEST(Load, namesMissingCPUFeatures_g6) {
  PlanBuilder b;
  buildDouble(b, b.addKernel("double_f32", b.addCode(testKernels(), {"warp9", "tachyons"})));
  expectLoadError(
      b, StatusCode::unsupported,
      "'test.gantry': 'twice' on CPU:0 (model.mlir:3:8): this machine's CPU lacks warp9, "
      "tachyons; compile the graph here, or for an older CPU with --target-cpu");
}

TEST(Load, namesAForeignTarget) {
  PlanBuilder b;
  buildDouble(b, b.addKernel("double_f32", b.addCode(testKernels())));
  b.plan.code[0]->target = "vax";
  auto plan = b.load(createRuntime());
  EXPECT_EQ(plan.status().code(), StatusCode::unsupported);
  EXPECT_NE(plan.status().message().find("the plan's code is for vax, this machine is "),
            std::string::npos);
}

TEST(Load, namesAMissingSymbol) {
  PlanBuilder b;
  buildDouble(b, b.addKernel("triple_f32", b.addCode(testKernels())));
  expectLoadError(
      b, StatusCode::notFound,
      "'test.gantry': 'twice' on CPU:0 (model.mlir:3:8): the plan's machine code has no "
      "symbol 'triple_f32'");
}

TEST(Load, namesAMissingCustomKernel_g5) {
  PlanBuilder b;
  buildDouble(b, b.addCustomKernel("my.double"));
  expectLoadError(b, StatusCode::notFound,
                  "'test.gantry': 'twice' on CPU:0 (model.mlir:3:8): no kernel 'my.double' is "
                  "registered; register it before loading the plan (gantry_kernel_register)");
}

void timesTen(void *const *buffers, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[1])[i] = 10 * static_cast<const float *>(buffers[0])[i];
}

TEST(Load, runsRegisteredKernels_g5) {
  PlanBuilder b;
  buildDouble(b, b.addCustomKernel("my.double"));
  auto runtime = createRuntime();
  ASSERT_OK(runtime->kernels().add("my.double", timesTen));
  EXPECT_OK(runtime->kernels().add("my.double", timesTen));
  EXPECT_EQ(runtime->kernels().add("my.double", [](void *const *, int64_t, int64_t) {}).message(),
            "kernel 'my.double' is registered already, with another function");
  EXPECT_EQ(runtime->kernels().add("", timesTen).message(), "a kernel needs a name");
  EXPECT_EQ(runtime->kernels().add("k", nullptr).message(), "kernel 'k' has no function");
  EXPECT_EQ(runtime->kernels().find("k").status().message(),
            "no kernel 'k' is registered; there are 'my.double'; register it before loading the "
            "plan (gantry_kernel_register)");
  auto plan = b.load(runtime);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto session = Session::create(*plan);
  auto bindings = Bindings::create(*plan, 0u);
  float x[4] = {1, 2, 3, 4};
  ASSERT_OK((*bindings)->bindInput(0, Tensor::borrow({ElementType::f32, {4}}, x)));
  ASSERT_OK((*session)->run(**bindings));
  EXPECT_EQ((*bindings)->output(0u)->dataAs<float>()[3], 40.0f);
}

TEST(Load, namesAMissingDriver) {
  ::setenv("GANTRY_CUDA_LIB", "/nowhere/libcuda.so.1", 1);
  PlanBuilder b;
  b.addArena(fb::ArenaKind::transient, 64,
             b.addDevice("/job:localhost/replica:0/task:0/device:GPU:0", "cuda"));
  b.addFunction("main");
  expectLoadError(
      b, StatusCode::unavailable,
      "'test.gantry': '/job:localhost/replica:0/task:0/device:GPU:0': NVIDIA's driver "
      "cannot be opened: /nowhere/libcuda.so.1: cannot open shared object file: No such "
      "file or directory");
}

TEST(Load, leavesADeviceAloneThatThePlanDoesNotUse_m7) {
  PlanBuilder b;
  b.addArena(fb::ArenaKind::transient, 64, 0);
  b.addArena(fb::ArenaKind::constants, 0,
             b.addDevice("/job:localhost/replica:0/task:0/device:GPU:0", "cuda"));
  b.addFunction("main");
  auto runtime = createRuntime();
  auto plan = b.load(runtime);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ((*plan)->device(1), nullptr);
  EXPECT_EQ(runtime->devices().size(), 1u);
}

TEST(Load, refusesAPlanOverTheLimitBeforeAllocating_m2) {
  PlanBuilder b;
  b.addArena(fb::ArenaKind::transient, 1 << 20);
  b.addArena(fb::ArenaKind::variables, 1 << 19);
  b.addFunction("main");
  RuntimeOptions options;
  options.hostMemoryLimit = 1 << 20;
  expectLoadError(b, StatusCode::doesNotFit,
                  "'test.gantry': '" + cpu +
                      "': the plan (constants 0 bytes, variables 512 KiB, one session 1 MiB) needs "
                      "1.5 MiB, the limit is 1 MiB and 0 bytes are in use; raise the limit to at "
                      "least 1.5 MiB",
                  options);
}

TEST(Load, refusesAPlanOverTheFreeMemory_m2) {
  PlanBuilder b;
  b.addArena(fb::ArenaKind::transient, uint64_t(1) << 60);
  b.addFunction("main");
  auto plan = b.load(createRuntime());
  EXPECT_EQ(plan.status().code(), StatusCode::doesNotFit);
  EXPECT_NE(plan.status().message().find("are free at the moment"), std::string::npos);
}

TEST(Load, aSecondSessionOverTheLimitFailsAndTheFirstGoesOn_m5) {
  PlanBuilder b;
  b.addArena(fb::ArenaKind::transient, 1 << 20);
  b.addFunction("main");
  RuntimeOptions options;
  options.hostMemoryLimit = 3 << 19;
  auto runtime = createRuntime(options);
  auto plan = b.load(runtime);
  auto first = Session::create(*plan);
  ASSERT_TRUE(first.ok());
  auto second = Session::create(*plan);
  EXPECT_EQ(second.status().message(),
            "'" + cpu +
                "': a session of 'test.gantry' needs 1 MiB, the limit is 1.5 MiB and 1 MiB "
                "are in use; raise the limit to at least 2 MiB");
  auto bindings = Bindings::create(*plan, 0u);
  EXPECT_OK((*first)->run(**bindings));
}

TEST(Load, refusesDamagedCode) {
  std::vector<uint8_t> good = testKernels();
  auto load = [](std::vector<uint8_t> bytes) {
    PlanBuilder b;
    buildDouble(b, b.addKernel("double_f32", b.addCode(bytes)));
    return b.load(createRuntime()).status();
  };
  EXPECT_TRUE(load(good).ok());
  // Cut anywhere: never a crash, though the plan's checksums are right. (What is cut off the end
  // may be section headers, which nobody loads.)
  for (size_t size = 0; size < good.size(); size += 97)
    EXPECT_TRUE(!load({good.begin(), good.begin() + static_cast<long>(size)}).ok() || size > 1000);
  std::vector<uint8_t> foreign = good;
  foreign[18] ^= 0xff; // e_machine
  EXPECT_EQ(load(foreign).message(),
            "'test.gantry': 'twice' on CPU:0 (model.mlir:3:8): the plan's "
            "machine code is not a shared object: it is for another machine");
}

/// The system's loader recognises files by name, and names come back with descriptor numbers.
TEST(Load, plansLoadedOneAfterAnotherKeepTheirOwnCode) {
  auto runtime = createRuntime();
  auto load = [&](const char *object) {
    PlanBuilder b;
    buildDouble(b, b.addKernel("double_f32", b.addCode(testKernels(object))));
    return b.load(runtime).take();
  };
  auto result = [](const std::shared_ptr<const LoadedPlan> &plan) {
    auto session = Session::create(plan);
    auto bindings = Bindings::create(plan, 0u);
    float x[4] = {3, 3, 3, 3};
    EXPECT_OK((*bindings)->bindInput(0, Tensor::borrow({ElementType::f32, {4}}, x)));
    EXPECT_OK((*session)->run(**bindings));
    return (*bindings)->output(0u)->dataAs<float>()[0];
  };
  auto first = load(GANTRY_TEST_KERNELS), second = load(GANTRY_OTHER_TEST_KERNELS);
  EXPECT_EQ(result(first), 6.0f);
  EXPECT_EQ(result(second), 300.0f);
  first.reset();
  auto third = load(GANTRY_OTHER_TEST_KERNELS);
  EXPECT_EQ(result(third), 300.0f);
  second.reset();
  auto fourth = load(GANTRY_TEST_KERNELS);
  EXPECT_EQ(result(fourth), 6.0f);
}

/// Writes the checksum over header, table and metadata anew.
void mendChecksum(AlignedBuffer &file) {
  plan::FileHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  header.checksum = 0;
  Hasher hasher;
  hasher.update({reinterpret_cast<const uint8_t *>(&header), sizeof header});
  hasher.update(file.bytes().subspan(header.segmentTableOffset,
                                     header.segmentCount * sizeof(plan::SegmentEntry)));
  hasher.update(file.bytes().subspan(header.metadataOffset, header.metadataSize));
  header.checksum = hasher.digest();
  std::memcpy(file.data(), &header, sizeof header);
}

/// Metadata that passes the reader, whatever it says, must not bring loading down. (What such a
/// plan does when it runs is another matter: its kernels are called with other buffers.)
TEST(Load, survivesAnyMetadataThatTheReaderAccepts) {
  PlanBuilder b;
  buildDouble(b, b.addKernel("double_f32", b.addCode(testKernels())));
  uint32_t constants = b.addArena(fb::ArenaKind::constants, 128);
  uint32_t variables = b.addArena(fb::ArenaKind::variables, 64);
  b.addConstant(constants, 0, std::vector<float>(16, 1));
  b.addVariable("v", variables, 0, {4});
  b.addArena(fb::ArenaKind::transient, 4096);
  b.copy(memory(constants, 0, 16), output(0, 16));
  Expected<AlignedBuffer> bytes = b.writer.toBytes(b.plan);
  ASSERT_TRUE(bytes.ok());
  plan::FileHeader header;
  std::memcpy(&header, bytes->data(), sizeof header);
  RuntimeOptions options;
  options.hostMemoryLimit = 64 << 20; // an arena's damaged size shall not fill the machine
  auto runtime = createRuntime(options);
  unsigned accepted = 0;
  for (uint64_t i = 0; i < header.metadataSize; ++i)
    for (uint8_t flip : {uint8_t(0x01), uint8_t(0x40), uint8_t(0xff)}) {
      auto file = std::make_shared<AlignedBuffer>(AlignedBuffer::copyOf(bytes->bytes()));
      file->data()[header.metadataOffset + i] ^= flip;
      mendChecksum(*file);
      auto read = plan::PlanFile::fromBytes(file->bytes(), file);
      if (!read)
        continue;
      ++accepted;
      auto plan = LoadedPlan::load(runtime, read.take(), "damaged.gantry");
      if (!plan)
        continue;
      EXPECT_FALSE(describePlanJSON((*plan)->metadata()).empty());
      (void)Session::create(*plan);
    }
  EXPECT_GT(accepted, 0u);
}

/// A plan that copies its one constant out, with a byte changed: of the constant, of the zeros
/// behind it, or of what a variable starts with.
class Damage : public ::testing::Test {
protected:
  enum class Where { constant, padding, variable, code };

  AlignedBuffer damaged(Where where) {
    PlanBuilder b;
    uint32_t kernel = b.addKernel("double_f32", b.addCode(testKernels()));
    uint32_t arena = b.addArena(fb::ArenaKind::constants, 128);
    b.addConstant(arena, 0, std::vector<float>(15, 1));
    if (where == Where::variable) {
      b.addVariable("v", b.addArena(fb::ArenaKind::variables, 64), 0, {4});
      b.setInitialValue("v", {5, 6, 7, 8});
    }
    b.addFunction("main");
    b.addInput("x", {4});
    b.addOutput("y", {15});
    b.addOutput("z", {4});
    b.copy(memory(arena, 0, 60), output(0, 60));
    b.launch(kernel, {input(0, 16)}, {output(1, 16)}, 4);
    Expected<AlignedBuffer> made = b.writer.toBytes(b.plan);
    EXPECT_TRUE(made.ok()) << made.status().message();
    AlignedBuffer bytes = made.take();
    auto file = plan::PlanFile::fromBytes(bytes.bytes(), nullptr);
    EXPECT_TRUE(file.ok()) << file.status().message();
    const auto start = [&](std::span<const uint8_t> part) { return part.data() - bytes.data(); };
    const fb::Plan &plan = file->plan();
    ptrdiff_t at = start(file->bytesOf(*plan.constants()->Get(0)));
    if (where == Where::constant)
      at += 7;
    if (where == Where::padding)
      at += 61;
    if (where == Where::variable)
      at = start(file->bytesOf(*plan.variables()->Get(0))) + 3;
    if (where == Where::code)
      at = start(file->bytesOf(*plan.code()->Get(0))) + 900;
    bytes.data()[at] ^= 1;
    return bytes;
  }

  /// What load says, else what the first and the second run say.
  std::vector<StatusCode> outcomes(Where where, Verify verify) {
    RuntimeOptions options;
    options.verify = verify;
    auto bytes = std::make_shared<AlignedBuffer>(damaged(where));
    auto file = plan::PlanFile::fromBytes(bytes->bytes(), bytes, {plan::Check::metadataOnly});
    EXPECT_TRUE(file.ok()) << file.status().message();
    auto plan = LoadedPlan::load(createRuntime(options), file.take(), "damaged.gantry");
    if (!plan)
      return {plan.status().code()};
    auto session = Session::create(*plan);
    auto bindings = Bindings::create(*plan, 0);
    EXPECT_TRUE(session.ok() && bindings.ok());
    alignas(64) float x[4] = {1, 2, 3, 4};
    EXPECT_OK((*bindings)->bindInput(0, Tensor::borrow({ElementType::f32, {4}}, x)));
    return {StatusCode::ok, (*session)->run(**bindings).code(), (*session)->run(**bindings).code()};
  }

  using Codes = std::vector<StatusCode>;
  const StatusCode ok = StatusCode::ok, corrupt = StatusCode::corrupt;
};

TEST_F(Damage, isFoundAtLoad) {
  for (Where where : {Where::constant, Where::padding, Where::variable, Where::code})
    EXPECT_EQ(outcomes(where, Verify::full), (Codes{corrupt})) << static_cast<int>(where);
}

TEST_F(Damage, ofWeightsInPlaceIsFoundByTheFirstRunWhenLazy) {
  EXPECT_EQ(outcomes(Where::constant, Verify::lazy), (Codes{ok, corrupt, corrupt}));
  for (Where where : {Where::padding, Where::variable, Where::code})
    EXPECT_EQ(outcomes(where, Verify::lazy), (Codes{corrupt})) << static_cast<int>(where);
}

TEST_F(Damage, isNotLookedForWhenOff) {
  EXPECT_EQ(outcomes(Where::constant, Verify::off), (Codes{ok, ok, ok}));
  EXPECT_EQ(outcomes(Where::padding, Verify::off), (Codes{ok, ok, ok}));
}

class Constants : public ::testing::Test {
protected:
  /// Two constants of 64 bytes; `second` is the offset of the second in the arena.
  std::shared_ptr<const LoadedPlan> load(uint64_t second, float value = 1) {
    PlanBuilder b;
    uint32_t arena = b.addArena(fb::ArenaKind::constants, 1024);
    b.addConstant(arena, 0, std::vector<float>(16, value));
    b.addConstant(arena, second, std::vector<float>(16, 2));
    b.addFunction("main");
    b.addOutput("y", {32});
    b.copy(memory(arena, 0, 64), output(0, 64));
    b.copy(memory(arena, second, 64), output(0, 64, 64));
    auto plan = b.load(runtime);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return plan.take();
  }

  void expectValues(const std::shared_ptr<const LoadedPlan> &plan, float first) {
    auto session = Session::create(plan);
    auto bindings = Bindings::create(plan, 0u);
    ASSERT_OK((*session)->run(**bindings));
    auto *y = (*bindings)->output(0u)->dataAs<float>();
    EXPECT_EQ(y[0], first);
    EXPECT_EQ(y[31], 2.0f);
  }

  DeviceStats stats() const { return runtime->devices()[0]->stats(); }

  static RuntimeOptions logTo(std::vector<std::string> &lines) {
    RuntimeOptions options;
    options.log = [&lines](Severity, const std::string &text) { lines.push_back(text); };
    return options;
  }

  std::vector<std::string> log;
  std::shared_ptr<Runtime> runtime = createRuntime(logTo(log));
};

TEST_F(Constants, areUsedInPlaceWhereverTheirArenaHasThem) {
  for (uint64_t second : {64, 512}) {
    auto plan = load(second);
    EXPECT_EQ(stats().bytesInUse, 0u);
    EXPECT_EQ(stats().mappedBytes, second + 64);
    expectValues(plan, 1);
  }
  auto plan = load(64);
  std::span<const uint8_t> file = plan->file().bytes();
  EXPECT_GE(plan->constantAt(0, 0, 64), file.data());
  EXPECT_LT(plan->constantAt(0, 0, 64), file.data() + file.size());
  EXPECT_TRUE(log.empty());
  expectValues(plan, 1);
}

TEST_F(Constants, areSharedByContent_m1) {
  auto a = load(512), b = load(512), c = load(512, 3);
  EXPECT_EQ(a->constantAt(0, 0, 64), b->constantAt(0, 0, 64));
  EXPECT_NE(a->constantAt(0, 0, 64), c->constantAt(0, 0, 64));
  EXPECT_EQ(a->constantAt(0, 512, 64), c->constantAt(0, 512, 64));
  EXPECT_EQ(a->constantAt(0, 32, 64), nullptr); // of no constant
  EXPECT_EQ(stats().mappedBytes, 576u + 512u);
  a.reset();
  expectValues(b, 1);
  b.reset();
  EXPECT_EQ(stats().mappedBytes, 576u);
  expectValues(c, 3);
}

TEST_F(Constants, inPlaceAreSharedToo_m1) {
  auto a = load(64), b = load(64);
  EXPECT_EQ(a->constantAt(0, 0, 64), b->constantAt(0, 0, 64));
  a.reset(); // the other plan's file goes on living
  expectValues(b, 1);
}

TEST_F(Constants, behindTheLastOneAreRefused) {
  PlanBuilder b;
  uint32_t arena = b.addArena(fb::ArenaKind::constants, 1 << 20);
  b.addConstant(arena, 0, std::vector<float>(16, 1));
  b.addFunction("main");
  b.addOutput("y", {16});
  b.copy(memory(arena, 65536, 64), output(0, 64)).name = "beyond";
  auto plan = b.load(runtime);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(Session::create(*plan).status().message(),
            "'beyond' on CPU:0: it reads constants that the plan does not have");
}

TEST(Describe, saysWhatThePlanHolds) {
  PlanBuilder b;
  buildDouble(b, b.addCustomKernel("my.\"double\""));
  b.plan.producer = "gantry test\n";
  std::string json = describePlanJSON(b.file().plan());
  EXPECT_EQ(json.find("{\"producer\":\"gantry test\\u000a\","), 0u) << json;
  for (const char *part :
       {R"("kernels":[{"symbol":"my.\"double\"","custom":true}])",
        R"("inputs":[{"name":"x","type":"f32[4]","element":"f32","shape":[4],"device":0}])",
        R"({"opcode":"launch","name":"twice","location":"model.mlir:3:8","device":0,"queue":0,)"
        R"("buffers":[{"space":"input","index":0,"offset":0,"size":16},)",
        R"("arenas":[],"constants":[])"})
    EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
}

TEST(Describe, saysHowThePlanCameAbout) {
  PlanBuilder b;
  uint32_t gpu = b.addDevice("/job:localhost/replica:0/task:0/device:GPU:0", "sim");
  b.plan.devices[gpu]->memory_limit = 1 << 20;
  b.addConstant<float>(b.addArena(fb::ArenaKind::constants, 64, gpu), 0, {1});
  b.plan.constants[0]->home = 0;
  buildDouble(b, b.addCustomKernel("double"));
  b.plan.placement = "auto";
  b.plan.remarks = {"fell back"};
  b.function().lower_bound_seconds = 0.5;
  auto op = std::make_unique<fb::PlacedOpT>();
  op->log_name = "Mul", op->reason = "asked at model.mlir:3:8", op->fall_back = true;
  b.function().placed_ops.push_back(std::move(op));
  std::string json = describePlanJSON(b.file().plan());
  for (const char *part :
       {R"("placement":"auto","remarks":["fell back"])", R"("physical":1,"memory_limit":1048576})",
        R"("size":4,"home":0})", R"("lower_bound_seconds":0.5,)",
        R"("reason":"asked at model.mlir:3:8","fall_back":true,)"})
    EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
}

} // namespace
} // namespace gantry::runtime::test
