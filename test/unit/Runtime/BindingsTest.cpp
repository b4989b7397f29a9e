// What is refused when inputs and outputs are bound, and the words that say so.
#include "gantry/Runtime/Bindings.h"
#include "gantry/Runtime/Session.h"

#include "Runtime/PlanBuilder.h"

namespace gantry::runtime::test {
namespace {

class BindingsTest : public ::testing::Test {
protected:
  BindingsTest() {
    PlanBuilder b;
    uint32_t add = b.addKernel("add_f32", b.addCode(testKernels()));
    b.addFunction("main");
    b.addInput("image", {1, 3, 2, 2});
    b.addInput("bias", {12});
    b.addOutput("sum", {12});
    b.launch(add, {input(0, 48), input(1, 48)}, {output(0, 48)}, 12);
    runtime = createRuntime();
    plan = b.load(runtime).take();
    session = Session::create(plan).take();
    bindings = Bindings::create(plan, 0u).take();
  }
  static TensorType f32(Shape shape) { return {ElementType::f32, std::move(shape)}; }

  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const LoadedPlan> plan;
  std::shared_ptr<Session> session;
  std::shared_ptr<Bindings> bindings;
  alignas(64) float image[16] = {}, bias[16] = {}, sum[16] = {};
};

void expectError(const Status &status, StatusCode code, const std::string &message) {
  EXPECT_EQ(status.code(), code);
  EXPECT_EQ(status.message(), message);
}

TEST_F(BindingsTest, refusesAnotherShapeOrElementType) {
  expectError(bindings->bindInput("image", Tensor::borrow(f32({1, 3, 4, 1}), image)),
              StatusCode::invalidArgument,
              "input 'image' of function 'main': expected f32[1,3,2,2], got f32[1,3,4,1]");
  expectError(bindings->bindInput("bias", Tensor::borrow({ElementType::i32, {12}}, bias)),
              StatusCode::invalidArgument,
              "input 'bias' of function 'main': expected f32[12], got i32[12]");
  expectError(bindings->bindOutput("sum", Tensor::borrow(f32({}), sum)),
              StatusCode::invalidArgument,
              "output 'sum' of function 'main': expected f32[12], got f32[]");
}

TEST_F(BindingsTest, listsTheNamesThatThereAre) {
  expectError(
      bindings->bindInput("img", Tensor::borrow(f32({12}), image)), StatusCode::notFound,
      "function 'main' has no input 'img'; the inputs are 'image' f32[1,3,2,2], 'bias' f32[12]");
  expectError(bindings->output("out").status(), StatusCode::notFound,
              "function 'main' has no output 'out'; the outputs are 'sum' f32[12]");
  expectError(Bindings::create(plan, "train").status(), StatusCode::notFound,
              "'test.gantry' has no function 'train'; the functions are 'main'");
  expectError(bindings->bindInput(2, Tensor::borrow(f32({12}), image)), StatusCode::invalidArgument,
              "function 'main' has 2 inputs, there is no number 2");
  expectError(bindings->output(1).status(), StatusCode::invalidArgument,
              "function 'main' has 1 outputs, there is no number 1");
  expectError(Bindings::create(plan, 7u).status(), StatusCode::invalidArgument,
              "'test.gantry' has 1 functions, there is no number 7");
}

TEST_F(BindingsTest, refusesNullData) {
  expectError(bindings->bindInput("bias", Tensor::borrow(f32({12}), nullptr)),
              StatusCode::invalidArgument,
              "input 'bias' of function 'main': expected 48 bytes of data, got a null pointer");
}

TEST_F(BindingsTest, refusesToRunIncomplete) {
  ASSERT_OK(bindings->bindInput("image", Tensor::borrow(f32({1, 3, 2, 2}), image)));
  expectError(session->run(*bindings), StatusCode::invalidArgument,
              "input 'bias' of function 'main' is not bound; it is f32[12]");
  ASSERT_OK(bindings->bindInput("bias", Tensor::borrow(f32({12}), bias)));
  EXPECT_OK(session->run(*bindings));
}

TEST_F(BindingsTest, refusesOverlappingMemory) {
  ASSERT_OK(bindings->bindInput("image", Tensor::borrow(f32({1, 3, 2, 2}), image)));
  ASSERT_OK(bindings->bindInput("bias", Tensor::borrow(f32({12}), bias)));
  ASSERT_OK(bindings->bindOutput("sum", Tensor::borrow(f32({12}), image)));
  expectError(session->run(*bindings), StatusCode::invalidArgument,
              "output 'sum' of function 'main' overlaps the memory of input 'image'; give it "
              "memory of its own");
  // One array for two inputs is fine.
  ASSERT_OK(bindings->bindInput("bias", Tensor::borrow(f32({12}), image)));
  ASSERT_OK(bindings->bindOutput("sum", Tensor::borrow(f32({12}), sum)));
  EXPECT_OK(session->run(*bindings));
}

TEST_F(BindingsTest, letsAnOutputLieInTheInputBelow) {
  PlanBuilder b;
  uint32_t add = b.addKernel("add_f32", b.addCode(testKernels()));
  b.addFunction("main");
  b.addInput("w", {12});
  b.addInput("g", {12});
  b.addOutput("next", {12});
  b.function().outputs[0]->over = 0;
  b.copy(input(0, 48), output(0, 48));
  b.launch(add, {output(0, 48), input(1, 48)}, {output(0, 48)}, 12);
  auto donating = b.load(runtime).take();
  EXPECT_EQ(donating->functions()[0].outputs[0].over, 0u);
  auto bound = Bindings::create(donating, 0u).take();
  auto run = Session::create(donating).take();
  std::fill_n(bias, 12, 1.0F);
  ASSERT_OK(bound->bindInput("w", Tensor::borrow(f32({12}), sum)));
  ASSERT_OK(bound->bindInput("g", Tensor::borrow(f32({12}), bias)));
  // Not given away: both are there afterwards.
  ASSERT_OK(bound->bindOutput("next", Tensor::borrow(f32({12}), image)));
  ASSERT_OK(run->run(*bound));
  EXPECT_EQ(image[11], 1);
  EXPECT_EQ(sum[11], 0);
  // Given away: each run goes on from the last.
  ASSERT_OK(bound->bindOutput("next", Tensor::borrow(f32({12}), sum)));
  const DeviceStats before = runtime->devices()[0]->stats();
  EXPECT_EQ(before.copies, 1U);
  for (int i = 0; i < 3; ++i)
    ASSERT_OK(run->run(*bound));
  EXPECT_EQ(sum[0], 3);
  EXPECT_EQ(sum[11], 3);
  EXPECT_EQ(runtime->devices()[0]->stats().allocations, before.allocations);
  EXPECT_EQ(runtime->devices()[0]->stats().copies, before.copies);
  // The other input may not be the same array as well.
  ASSERT_OK(bound->bindInput("g", Tensor::borrow(f32({12}), sum)));
  expectError(run->run(*bound), StatusCode::invalidArgument,
              "output 'next' of function 'main' overlaps the memory of input 'g'; give it memory "
              "of its own");
  // Memory that is not aligned goes through the bindings' own, both ways.
  alignas(64) float odd[13] = {};
  ASSERT_OK(bound->bindInput("w", Tensor::borrow(f32({12}), odd + 1)));
  ASSERT_OK(bound->bindInput("g", Tensor::borrow(f32({12}), bias)));
  ASSERT_OK(bound->bindOutput("next", Tensor::borrow(f32({12}), odd + 1)));
  for (int i = 0; i < 2; ++i)
    ASSERT_OK(run->run(*bound));
  EXPECT_EQ(odd[1], 2);
  EXPECT_EQ(odd[12], 2);
}

TEST_F(BindingsTest, findsOverlapsAmongManyValues) {
  // As many as one by one with each other would take minutes.
  constexpr uint32_t count = 100000;
  PlanBuilder b;
  b.addFunction("main");
  for (uint32_t i = 0; i < count; ++i) {
    b.addInput("x" + std::to_string(i), {16});
    b.addOutput("y" + std::to_string(i), {16});
  }
  b.copy(input(0, 64), output(0, 64));
  auto many = b.load(runtime);
  ASSERT_TRUE(many.ok()) << many.status().message();
  auto bound = Bindings::create(*many, 0u).take();
  auto run = Session::create(*many).take();
  std::vector<float> data(32 * count + 16);
  auto *begin = reinterpret_cast<float *>((reinterpret_cast<uintptr_t>(data.data()) + 63) & ~63ull);
  for (uint32_t i = 0; i < count; ++i) {
    ASSERT_OK(bound->bindInput(i, Tensor::borrow(f32({16}), begin + 32 * i)));
    ASSERT_OK(bound->bindOutput(i, Tensor::borrow(f32({16}), begin + 32 * i + 16)));
  }
  EXPECT_OK(run->run(*bound));
  ASSERT_OK(bound->bindOutput(7, Tensor::borrow(f32({16}), begin + 32 * 70000 + 16)));
  expectError(run->run(*bound), StatusCode::invalidArgument,
              "output 'y70000' of function 'main' overlaps the memory of output 'y7'; give it "
              "memory of its own");
  ASSERT_OK(bound->bindOutput(7, Tensor::borrow(f32({16}), begin + 32 * 70000)));
  expectError(run->run(*bound), StatusCode::invalidArgument,
              "output 'y7' of function 'main' overlaps the memory of input 'x70000'; give it "
              "memory of its own");
}

TEST_F(BindingsTest, refusesTheSessionOfAnotherPlan) {
  PlanBuilder b;
  b.addFunction("main");
  auto other = b.load(runtime);
  auto theirs = Bindings::create(*other, 0u);
  expectError(session->run(**theirs), StatusCode::invalidArgument,
              "the bindings are for a function of 'test.gantry', the session is of 'test.gantry'");
}

TEST_F(BindingsTest, tensorsWithoutElementsNeedNoMemory) {
  PlanBuilder b;
  b.addFunction("main");
  b.addInput("nothing", {0, 4});
  b.addOutput("none", {4, 0});
  b.copy(input(0, 0), output(0, 0));
  auto empty = b.load(runtime);
  ASSERT_TRUE(empty.ok()) << empty.status().message();
  auto made = Session::create(*empty);
  auto none = Bindings::create(*empty, 0u);
  ASSERT_TRUE(made.ok() && none.ok());
  ASSERT_OK((*none)->bindInput(0, Tensor::borrow(f32({0, 4}), nullptr)));
  EXPECT_OK((*made)->run(**none));
  auto view = (*none)->output(0u);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->byteSize(), 0u);
}

TEST(Tensor, refusesImpossibleShapes) {
  EXPECT_EQ(Tensor::allocate({ElementType::f32, {-1}}).status().message(),
            "no tensor can have the type f32[-1]");
  EXPECT_FALSE(Tensor::allocate({ElementType::f64, {int64_t(1) << 62, 8}}).ok());
}

} // namespace
} // namespace gantry::runtime::test
