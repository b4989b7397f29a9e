// "No allocation per run": every operator new of this program is counted. The runtime is linked
// into it statically, so that its allocations are among them. A program of its own, since the
// operators are replaced for all of it.
#include "gantry/Runtime/Session.h"

#include "Runtime/PlanBuilder.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<uint64_t> numAllocations{0};

void *counted(std::size_t size, std::size_t alignment) {
  numAllocations.fetch_add(1, std::memory_order_relaxed);
  void *data = nullptr;
  if (posix_memalign(&data, alignment, size ? size : 1) != 0)
    std::abort();
  return data;
}
} // namespace

void *operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void *operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void *operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t &) noexcept {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void *data) noexcept { std::free(data); }
void operator delete(void *data, std::size_t) noexcept { std::free(data); }
void operator delete(void *data, std::align_val_t) noexcept { std::free(data); }
void operator delete(void *data, std::size_t, std::align_val_t) noexcept { std::free(data); }

namespace gantry::runtime::test {
namespace {

/// v = v + x, y = 2 * v, with a loop that runs once and a branch: all kinds of steps.
void build(PlanBuilder &b, uint64_t n) {
  uint64_t bytes = n * sizeof(float);
  uint32_t code = b.addCode(testKernels());
  uint32_t add = b.addKernel("add_f32", code), twice = b.addKernel("double_f32", code);
  uint32_t variables = b.addArena(fb::ArenaKind::variables, bytes);
  uint32_t transient = b.addArena(fb::ArenaKind::transient, bytes + 64);
  b.addVariable("v", variables, 0, {static_cast<int64_t>(n)});
  b.addFunction("main", /*writesVariables=*/true);
  b.addInput("x", {static_cast<int64_t>(n)});
  b.addOutput("y", {static_cast<int64_t>(n)});
  auto v = memory(variables, 0, bytes), flag = memory(transient, bytes, 1);
  b.launch(add, {v, input(0, bytes)}, {v}, n, 64);
  fb::CommandT &set = b.addCommand(fb::Opcode::fill);
  set.buffers = {flag};
  set.value = 1;
  uint32_t test = b.addBlock(), body = b.addBlock();
  fb::CommandT &loop = b.addCommand(fb::Opcode::loop);
  loop.condition = std::make_unique<fb::BufferRef>(flag);
  loop.blocks = {test, body};
  b.launch(twice, {v}, {output(0, bytes)}, n, 64, body);
  fb::CommandT &clear = b.addCommand(fb::Opcode::fill, body);
  clear.buffers = {flag};
  b.copy(output(0, bytes), memory(transient, 0, bytes));
}

class Allocation : public ::testing::TestWithParam<unsigned> {};

TEST_P(Allocation, noneFromTheSecondRunOn_m1) {
  constexpr uint64_t n = 4096;
  RuntimeOptions options;
  options.threads = GetParam();
  auto runtime = createRuntime(options);
  PlanBuilder builder;
  build(builder, n);
  auto plan = builder.load(runtime);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto session = Session::create(*plan).take();
  auto bindings = Bindings::create(*plan, 0u).take();
  std::vector<float> x(n + 1, 1);
  TensorType type{ElementType::f32, {n}};
  // One aligned array and one that is staged, in turns: rebinding is not free of charge, running
  // is.
  for (float *data : {x.data(), x.data() + 1}) {
    ASSERT_OK(bindings->bindInput(0, Tensor::borrow(type, data)));
    ASSERT_OK(session->run(*bindings));
    uint64_t deviceBefore = runtime->devices()[0]->stats().allocations;
    uint64_t before = numAllocations.load();
    bool allRan = true;
    for (int run = 0; run < 100; ++run)
      allRan &= session->run(*bindings).ok();
    uint64_t after = numAllocations.load();
    EXPECT_EQ(after - before, 0u);
    EXPECT_EQ(runtime->devices()[0]->stats().allocations, deviceBefore);
    EXPECT_TRUE(allRan);
  }
  EXPECT_EQ(bindings->output(0u)->dataAs<float>()[n - 1], 2 * 202.0f);
}

INSTANTIATE_TEST_SUITE_P(Threads, Allocation, ::testing::Values(1u, 3u));

/// The counter itself must work, or the test above could not fail.
TEST(AllocationCounter, counts) {
  uint64_t before = numAllocations.load();
  auto *text = new std::string(100, 'x');
  EXPECT_GE(numAllocations.load() - before, 2u);
  delete text;
}

} // namespace
} // namespace gantry::runtime::test
