// From a hand-built plan to results: constants, variables, control flow, bindings.
#include "gantry/Runtime/Session.h"

#include "Runtime/PlanBuilder.h"

#include <cstring>

namespace gantry::runtime::test {
namespace {

constexpr uint64_t n = 1000, bytes = n * sizeof(float);

std::vector<float> ramp(float start, uint64_t count = n) {
  std::vector<float> values(count);
  for (uint64_t i = 0; i < count; ++i)
    values[i] = start + static_cast<float>(i);
  return values;
}

TensorType f32(Shape shape) { return {ElementType::f32, std::move(shape)}; }

/// y = 2 * (x + c), with the sum in the transient arena.
void buildAffine(PlanBuilder &b) {
  uint32_t code = b.addCode(testKernels());
  uint32_t add = b.addKernel("add_f32", code), twice = b.addKernel("double_f32", code);
  uint32_t constants = b.addArena(fb::ArenaKind::constants, 4096);
  uint32_t transient = b.addArena(fb::ArenaKind::transient, 4096);
  b.addConstant(constants, 0, ramp(5));
  b.addFunction("main");
  b.addInput("x", {n});
  b.addOutput("y", {n});
  b.launch(add, {input(0, bytes), memory(constants, 0, bytes)}, {memory(transient, 0, bytes)}, n,
           64);
  b.launch(twice, {memory(transient, 0, bytes)}, {output(0, bytes)}, n, 64);
}

struct Loaded {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const LoadedPlan> plan;
  std::shared_ptr<Session> session;
  std::shared_ptr<Bindings> bindings;
};

Loaded load(PlanBuilder &builder, RuntimeOptions options = {}) {
  Loaded loaded;
  loaded.runtime = createRuntime(std::move(options));
  auto plan = builder.load(loaded.runtime);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  loaded.plan = plan.take();
  auto session = Session::create(loaded.plan);
  EXPECT_TRUE(session.ok()) << session.status().message();
  loaded.session = session.take();
  auto bindings = Bindings::create(loaded.plan, 0u);
  EXPECT_TRUE(bindings.ok()) << bindings.status().message();
  loaded.bindings = bindings.take();
  return loaded;
}

TEST(Session, runsAHandBuiltPlan) {
  PlanBuilder builder;
  buildAffine(builder);
  for (unsigned threads : {1u, 4u}) {
    Loaded l = load(builder, {.threads = threads, .hostMemoryLimit = 0, .log = {}});
    auto x = Tensor::allocate(f32({n}));
    ASSERT_TRUE(x.ok());
    std::vector<float> values = ramp(1);
    std::memcpy(x->data(), values.data(), bytes);
    ASSERT_OK(l.bindings->bindInput("x", *x));
    ASSERT_OK(l.session->run(*l.bindings));
    auto y = l.bindings->output("y");
    ASSERT_TRUE(y.ok());
    for (uint64_t i = 0; i < n; ++i)
      ASSERT_EQ(y->dataAs<float>()[i], 2 * (6 + 2 * static_cast<float>(i))) << i;
  }
}

TEST(Session, givesKernelsAlignedMemoryForUnalignedArrays) {
  PlanBuilder b;
  uint32_t check = b.addKernel("check_alignment", b.addCode(testKernels()));
  b.addFunction("main");
  b.addInput("x", {1});
  b.addOutput("aligned", {1});
  b.launch(check, {input(0, 4)}, {output(0, 4)}, 1);
  Loaded l = load(b);
  alignas(64) float array[32] = {};
  ASSERT_OK(l.bindings->bindInput(0, Tensor::borrow(f32({1}), &array[1])));
  ASSERT_OK(l.bindings->bindOutput(0, Tensor::borrow(f32({1}), &array[17])));
  ASSERT_OK(l.session->run(*l.bindings));
  EXPECT_EQ(array[17], 1.0f);
  DeviceStats stats = l.runtime->devices()[0]->stats();
  EXPECT_EQ(stats.stagedCopies, 2u);
  EXPECT_EQ(stats.stagedBytes, 8u);
  EXPECT_EQ(stats.copies, 0u);

  // Aligned arrays are used where they are.
  ASSERT_OK(l.bindings->bindInput(0, Tensor::borrow(f32({1}), &array[0])));
  ASSERT_OK(l.bindings->bindOutput(0, Tensor::borrow(f32({1}), &array[16])));
  ASSERT_OK(l.session->run(*l.bindings));
  EXPECT_EQ(array[16], 1.0f);
  EXPECT_EQ(l.runtime->devices()[0]->stats().stagedCopies, 2u);
}

/// y = condition ? 2x : x + x + x
TEST(Session, branches) {
  PlanBuilder b;
  uint32_t code = b.addCode(testKernels());
  uint32_t add = b.addKernel("add_f32", code), twice = b.addKernel("double_f32", code);
  uint32_t transient = b.addArena(fb::ArenaKind::transient, 4096);
  b.addFunction("main");
  b.addInput("condition", {}, fb::ElementType::i1);
  b.addInput("x", {n});
  b.addOutput("y", {n});
  uint32_t then = b.addBlock(), otherwise = b.addBlock();
  fb::CommandT &branch = b.addCommand(fb::Opcode::branch);
  branch.condition = std::make_unique<fb::BufferRef>(input(0, 1));
  branch.blocks = {then, otherwise};
  b.launch(twice, {input(1, bytes)}, {output(0, bytes)}, n, 64, then);
  b.launch(add, {input(1, bytes), input(1, bytes)}, {memory(transient, 0, bytes)}, n, 64,
           otherwise);
  b.launch(add, {memory(transient, 0, bytes), input(1, bytes)}, {output(0, bytes)}, n, 64,
           otherwise);
  Loaded l = load(b);
  std::vector<float> x = ramp(0), y(n);
  uint8_t condition = 1;
  ASSERT_OK(l.bindings->bindInput(0, Tensor::borrow({ElementType::i1, {}}, &condition)));
  ASSERT_OK(l.bindings->bindInput(1, Tensor::borrow(f32({n}), x.data())));
  ASSERT_OK(l.bindings->bindOutput(0, Tensor::borrow(f32({n}), y.data())));
  ASSERT_OK(l.session->run(*l.bindings));
  EXPECT_EQ(y[10], 20.0f);
  condition = 0;
  ASSERT_OK(l.session->run(*l.bindings));
  EXPECT_EQ(y[10], 30.0f);
}

/// y = x; while (y < limit) y = 2 * y
TEST(Session, loops) {
  PlanBuilder b;
  uint32_t code = b.addCode(testKernels());
  uint32_t less = b.addKernel("less_f32", code), twice = b.addKernel("double_f32", code);
  uint32_t transient = b.addArena(fb::ArenaKind::transient, 64);
  b.addFunction("main");
  b.addInput("x", {});
  b.addInput("limit", {});
  b.addOutput("y", {});
  uint32_t test = b.addBlock(), body = b.addBlock();
  b.copy(input(0, 4), output(0, 4));
  fb::CommandT &loop = b.addCommand(fb::Opcode::loop);
  loop.condition = std::make_unique<fb::BufferRef>(memory(transient, 0, 1));
  loop.blocks = {test, body};
  b.launch(less, {output(0, 4), input(1, 4)}, {memory(transient, 0, 1)}, 1, 1, test);
  b.launch(twice, {output(0, 4)}, {output(0, 4)}, 1, 1, body);
  Loaded l = load(b);
  float x = 3, limit = 100, y = 0;
  ASSERT_OK(l.bindings->bindInput(0, Tensor::borrow(f32({}), &x)));
  ASSERT_OK(l.bindings->bindInput(1, Tensor::borrow(f32({}), &limit)));
  ASSERT_OK(l.bindings->bindOutput(0, Tensor::borrow(f32({}), &y)));
  ASSERT_OK(l.session->run(*l.bindings));
  EXPECT_EQ(y, 192.0f);
  limit = 1; // no pass at all
  ASSERT_OK(l.session->run(*l.bindings));
  EXPECT_EQ(y, 3.0f);
}

/// Doubles x for ever, unless somebody stops it.
TEST(Session, aCancelledRunEndsBeforeTheNextCommand) {
  static Cancel cancel;
  static int passes;
  passes = 0;
  const KernelFn countAndCancel = [](void *const *, int64_t, int64_t) {
    if (++passes == 3)
      cancel.set();
  };
  auto runtime = createRuntime();
  ASSERT_OK(runtime->kernels().add("count", countAndCancel));
  PlanBuilder b;
  uint32_t code = b.addCode(testKernels());
  uint32_t less = b.addKernel("less_f32", code), twice = b.addKernel("double_f32", code);
  uint32_t count = b.addCustomKernel("count");
  uint32_t transient = b.addArena(fb::ArenaKind::transient, 128);
  b.addFunction("main");
  b.addInput("x", {});
  b.addInput("more", {});
  b.addOutput("y", {});
  uint32_t test = b.addBlock(), body = b.addBlock();
  b.copy(input(0, 4), output(0, 4));
  fb::CommandT &loop = b.addCommand(fb::Opcode::loop);
  loop.condition = std::make_unique<fb::BufferRef>(memory(transient, 0, 1));
  loop.blocks = {test, body};
  b.launch(less, {input(0, 4), input(1, 4)}, {memory(transient, 0, 1)}, 1, 1, test);
  b.launch(count, {output(0, 4)}, {memory(transient, 64, 4)}, 1, 1, body);
  b.launch(twice, {output(0, 4)}, {output(0, 4)}, 1, 1, body).name = "double";
  auto plan = b.load(runtime);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto session = Session::create(*plan);
  auto bindings = Bindings::create(*plan, 0u);
  ASSERT_TRUE(session.ok() && bindings.ok());
  alignas(64) float x = 1, more = 2, y = 0;
  ASSERT_OK((*bindings)->bindInput(0, Tensor::borrow(f32({}), &x)));
  ASSERT_OK((*bindings)->bindInput(1, Tensor::borrow(f32({}), &more)));
  ASSERT_OK((*bindings)->bindOutput(0, Tensor::borrow(f32({}), &y)));
  (*bindings)->setCancel(&cancel);
  for (int run = 0; run < 2; ++run) {
    cancel.reset(), passes = 0;
    Status status = (*session)->run(**bindings);
    EXPECT_EQ(status.code(), StatusCode::cancelled);
    EXPECT_EQ(status.message(), "'double' on CPU:0: the run was cancelled before this");
    EXPECT_EQ(passes, 3);
  }
  EXPECT_EQ((*session)->run(**bindings).code(), StatusCode::cancelled); // it is still set
  EXPECT_EQ(passes, 3);
}

TEST(Session, copiesAndFillsAreCountedExactly_x3) {
  PlanBuilder b;
  b.addFunction("main");
  b.addInput("x", {16});
  b.addOutput("y", {32});
  b.copy(input(0, 64), output(0, 64));
  fb::CommandT &fill = b.addCommand(fb::Opcode::fill);
  fill.buffers = {output(0, 64, 64)};
  fill.value = 0x3f;
  Loaded l = load(b);
  std::vector<float> x = ramp(0, 16);
  ASSERT_OK(l.bindings->bindInput(0, Tensor::borrow(f32({16}), x.data())));
  ASSERT_OK(l.session->run(*l.bindings));
  ASSERT_OK(l.session->run(*l.bindings));
  auto y = l.bindings->output(0u);
  ASSERT_TRUE(y.ok());
  EXPECT_EQ(std::memcmp(y->data(), x.data(), 64), 0);
  EXPECT_EQ(y->dataAs<uint8_t>()[64], 0x3f);
  EXPECT_EQ(y->dataAs<uint8_t>()[127], 0x3f);
  DeviceStats stats = l.runtime->devices()[0]->stats();
  EXPECT_EQ(stats.copies, 2u);
  EXPECT_EQ(stats.copiedBytes, 128u);
}

/// init: v = x; step: v = v + x, y = v
void buildCounter(PlanBuilder &b) {
  uint32_t add = b.addKernel("add_f32", b.addCode(testKernels()));
  uint32_t variables = b.addArena(fb::ArenaKind::variables, 64);
  b.addVariable("v", variables, 0, {4});
  b.addFunction("step", /*writesVariables=*/true);
  b.addInput("x", {4});
  b.addOutput("y", {4});
  b.launch(add, {memory(variables, 0, 16), input(0, 16)}, {memory(variables, 0, 16)}, 4, 64);
  b.copy(memory(variables, 0, 16), output(0, 16));
  b.addFunction("read");
  b.addOutput("y", {4});
  b.copy(memory(variables, 0, 16), output(0, 16));
}

/// v = x and y = x, if what was found tells of no bad index.
void buildCheck(PlanBuilder &b) {
  uint32_t variables = b.addArena(fb::ArenaKind::variables, 64);
  b.addVariable("v", variables, 0, {4});
  b.addFunction("main", /*writesVariables=*/true);
  b.addInput("found", {2}, fb::ElementType::i64);
  b.addInput("x", {4});
  b.addOutput("y", {4});
  fb::CommandT &check = b.addCommand(fb::Opcode::check);
  check.name = "embedding", check.location = "graph.mlir:3:8";
  check.buffers = {input(0, 16), memory(variables, 0, 16)};
  check.index_check = std::make_unique<fb::IndexCheckT>();
  check.index_check->operand = "ids", check.index_check->source_op = "Gather";
  check.index_check->shape = {2, 3}, check.index_check->sizes = {9};
  b.copy(input(1, 16), memory(variables, 0, 16));
  b.copy(input(1, 16), output(0, 16));
}

TEST(Session, aBadIndexEndsTheRunAndChangesNoVariable) {
  PlanBuilder b;
  buildCheck(b);
  Loaded l = load(b);
  alignas(64) int64_t found[2];
  alignas(64) float x[4] = {1, 2, 3, 4}, y[4] = {};
  ASSERT_OK(l.bindings->bindInput(0, Tensor::borrow({ElementType::i64, {2}}, found)));
  ASSERT_OK(l.bindings->bindInput(1, Tensor::borrow(f32({4}), x)));
  ASSERT_OK(l.bindings->bindOutput(0, Tensor::borrow(f32({4}), y)));
  auto run = [&](int64_t position, int64_t value) {
    found[0] = position, found[1] = value;
    return l.session->run(*l.bindings);
  };
  auto valueOfV = [&] {
    float v[4] = {};
    EXPECT_OK(l.session->state()->read("v", v));
    return v[3];
  };
  Status status = run(5, 9);
  EXPECT_EQ(status.code(), StatusCode::invalidArgument);
  EXPECT_EQ(status.message(), "'embedding' (Gather, graph.mlir:3:8): reads index 9 at [1, 2] of "
                              "operand 'ids', which must be in [-9, 9)");
  EXPECT_EQ(valueOfV(), 0.0f);
  for (int i = 0; i < 2; ++i) { // and the session goes on
    ASSERT_OK(run(-1, 0));
    EXPECT_EQ(valueOfV(), 4.0f);
    EXPECT_EQ(y[3], 4.0f);
  }
  x[3] = 5;
  EXPECT_EQ(run(0, -10).message(),
            "'embedding' (Gather, graph.mlir:3:8): reads index -10 at [0, 0] "
            "of operand 'ids', which must be in [-9, 9)");
  EXPECT_EQ(valueOfV(), 4.0f);
}

TEST(Session, sharesVariablesThroughAState_m1) {
  PlanBuilder b;
  buildCounter(b);
  Loaded l = load(b);
  auto other = Session::create(l.plan, l.session->state());
  auto apart = Session::create(l.plan);
  auto read = Bindings::create(l.plan, "read");
  ASSERT_TRUE(other.ok() && apart.ok() && read.ok());
  float x[4] = {1, 2, 3, 4}, y[4] = {};
  ASSERT_OK(l.bindings->bindInput(0, Tensor::borrow(f32({4}), x)));
  ASSERT_OK((*read)->bindOutput(0, Tensor::borrow(f32({4}), y)));
  ASSERT_OK(l.session->run(*l.bindings));
  ASSERT_OK((*other)->run(*l.bindings));
  ASSERT_OK((*other)->run(**read));
  EXPECT_EQ(y[3], 8.0f);
  ASSERT_OK((*apart)->run(**read));
  EXPECT_EQ(y[3], 0.0f);

  float ten[4] = {10, 10, 10, 10}, now[4];
  ASSERT_OK(l.session->state()->write("v", ten));
  ASSERT_OK(l.session->state()->read("v", now));
  EXPECT_EQ(now[0], 10.0f);
  EXPECT_EQ(l.session->state()->read("w", now).message(),
            "there is no variable 'w'; the variables are 'v' f32[4]");
}

TEST(Session, aStateStartsWithTheValuesOfThePlan_g1) {
  PlanBuilder b;
  buildCounter(b);
  b.setInitialValue("v", {1, 2, 3, 4});
  Loaded l = load(b);
  float now[4] = {}, x[4] = {10, 10, 10, 10};
  ASSERT_OK(l.session->state()->read("v", now));
  EXPECT_EQ(std::vector<float>(now, now + 4), (std::vector<float>{1, 2, 3, 4}));
  ASSERT_OK(l.bindings->bindInput(0, Tensor::borrow(f32({4}), x)));
  ASSERT_OK(l.session->run(*l.bindings));
  ASSERT_OK(l.session->state()->read("v", now));
  EXPECT_EQ(now[3], 14.0f);
  // Another state is not what runs made of the first.
  auto apart = Session::create(l.plan);
  ASSERT_TRUE(apart.ok());
  ASSERT_OK((*apart)->state()->read("v", now));
  EXPECT_EQ(now[3], 4.0f);
}

TEST(Session, whatIsWrittenToAVariableIsWrittenToItsMirrors_r4) {
  PlanBuilder b;
  buildCounter(b);
  b.plan.arenas.back()->size = 128;
  b.addVariable("v/replica_1", 0, 64, {4});
  b.plan.variables.back()->mirror_of = "v";
  Loaded l = load(b);
  float seven[4] = {7, 7, 7, 7}, now[4] = {};
  ASSERT_OK(l.session->state()->write("v", seven));
  ASSERT_OK(l.session->state()->read("v/replica_1", now));
  EXPECT_EQ(now[3], 7.0f);
}

TEST(Session, aStateServesAnotherPlanWithTheSameVariables) {
  PlanBuilder b, c;
  buildCounter(b);
  Loaded l = load(b);
  // The same variable at another offset.
  uint32_t variables = c.addArena(fb::ArenaKind::variables, 128);
  c.addVariable("v", variables, 64, {4});
  c.addFunction("read");
  c.addOutput("y", {2});
  c.copy(memory(variables, 72, 8), output(0, 8));
  auto plan = c.load(l.runtime);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto session = Session::create(*plan, l.session->state());
  ASSERT_TRUE(session.ok()) << session.status().message();
  auto bindings = Bindings::create(*plan, 0u);
  float values[4] = {1, 2, 3, 4};
  ASSERT_OK(l.session->state()->write("v", values));
  ASSERT_OK((*session)->run(**bindings));
  EXPECT_EQ((*bindings)->output(0u)->dataAs<float>()[0], 3.0f);
}

TEST(Session, aStateServesVariablesWithoutElements) {
  PlanBuilder b, c;
  for (PlanBuilder *plan : {&b, &c}) {
    uint32_t variables = plan->addArena(fb::ArenaKind::variables, 64);
    plan->addVariable("none", variables, 0, {0});
    plan->addVariable("v", variables, 0, {4});
    plan->addFunction("read");
    plan->addOutput("n", {0});
    plan->addOutput("y", {4});
    plan->copy(memory(variables, 0, 0), output(0, 0));
    plan->copy(memory(variables, 0, 16), output(1, 16));
  }
  Loaded l = load(b);
  auto plan = c.load(l.runtime);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto session = Session::create(*plan, l.session->state());
  ASSERT_TRUE(session.ok()) << session.status().message();
}

/// In another plan they may lie side by side, in the state they need not.
TEST(Session, anotherPlanUsesOneVariableAtATime) {
  PlanBuilder b, c;
  buildCounter(b);
  Loaded l = load(b);
  uint32_t variables = c.addArena(fb::ArenaKind::variables, 128);
  c.addVariable("v", variables, 0, {4});
  c.addFunction("read");
  c.addOutput("y", {20});
  c.copy(memory(variables, 0, 80), output(0, 80));
  auto plan = c.load(l.runtime);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  Status status = Session::create(*plan, l.session->state()).status();
  EXPECT_EQ(status.message(), "a copy on CPU:0: 'test.gantry' has variables that this state lacks");
}

/// As many as are sorted otherwise than a few are.
TEST(Session, aConstantWithoutElementsBeginsWhereTheNextOneDoes) {
  PlanBuilder b;
  const uint32_t constants = b.addArena(fb::ArenaKind::constants, 64 * 40);
  b.addFunction("main");
  for (uint32_t i = 0; i < 40; ++i) {
    b.addConstant(constants, 64 * i, std::vector<float>(16, static_cast<float>(i)));
    if (i % 3 == 0)
      b.addConstant(constants, 64 * i, std::vector<float>());
    b.addOutput("y" + std::to_string(i), {16});
    b.copy(memory(constants, 64 * i, 64), output(i, 64));
  }
  Loaded l = load(b);
  ASSERT_OK(l.session->run(*l.bindings));
  for (uint32_t i = 0; i < 40; ++i)
    EXPECT_EQ(l.bindings->output(i)->dataAs<float>()[15], static_cast<float>(i));
}

TEST(Session, unloadingGivesAllMemoryBack_m6) {
  PlanBuilder b;
  buildAffine(b);
  Loaded l = load(b);
  Device *device = l.runtime->devices()[0];
  EXPECT_EQ(device->stats().bytesInUse, 4096u); // the transient arena; constants are in place
  EXPECT_EQ(device->stats().mappedBytes, bytes);
  {
    auto second = Session::create(l.plan);
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(device->stats().bytesInUse, 8192u);
    // A view of an output outlives bindings, session and plan.
    auto view = l.bindings->output(0u);
    ASSERT_TRUE(view.ok());
    l.bindings.reset();
    EXPECT_EQ(device->stats().bytesInUse, 8192u + bytes);
    view->dataAs<float>()[0] = 1;
  }
  l.session.reset();
  l.plan.reset();
  EXPECT_EQ(device->stats().bytesInUse, 0u);
  EXPECT_EQ(device->stats().mappedBytes, 0u);
  EXPECT_EQ(device->stats().peakBytes, 8192u + bytes);
}

} // namespace
} // namespace gantry::runtime::test
