// All-reduces by a library, in plans that are made by hand on the fake libcuda and its NCCL: each
// rank gets the sum, in graphs and on streams and in any order of them; where the library cannot do
// it the plan's own exchange runs; a failure at any call has a status and leaves nothing behind.
#include "FakeLibraryTest.h"
#include "Runtime/PlanBuilder.h"
#include "gantry/Plan/AllReducePart.h"
#include "gantry/Runtime/Session.h"

#include <set>
#include <thread>

namespace gantry::runtime::test {
namespace {

constexpr int captureUnsupported = 900;
constexpr uint64_t elements = 64, bytes = elements * sizeof(float);
const std::string task = "/job:localhost/replica:0/task:0/device:";

/// y0, y1, ... = the sum of x0, x1, ..., each pair on a GPU of its own. The exchange of the plan's
/// own gives x0 to everybody instead, so that one can tell who did it.
struct Plan : PlanBuilder {
  uint32_t ranks;

  explicit Plan(uint32_t ranks, bool isSplit = false) : ranks(ranks) {
    const uint32_t host = addArena(fb::ArenaKind::constants, 64, 0);
    addConstant(host, 0, std::vector<float>(16, 0));
    std::vector<uint32_t> arenas;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      const uint32_t gpu = addDevice(task + "GPU:" + std::to_string(rank), "cuda");
      plan.devices[gpu]->physical = isSplit ? 0 : rank;
      arenas.push_back(addArena(fb::ArenaKind::transient, 2 * bytes, gpu));
    }
    addFunction("main");
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      addInput("x" + std::to_string(rank), {elements});
      addOutput("y" + std::to_string(rank), {elements});
    }
    auto value = [&](uint32_t rank) { return memory(arenas[rank], 0, bytes); };
    auto result = [&](uint32_t rank) { return memory(arenas[rank], bytes, bytes); };
    for (uint32_t rank = 0; rank < ranks; ++rank)
      move(input(rank, bytes), value(rank), rank + 1, fb::CopyKind::hostToDevice);
    auto branch = std::make_unique<fb::CommandT>();
    branch->opcode = fb::Opcode::branch;
    branch->condition = std::make_unique<fb::BufferRef>(memory(host, 0, 1));
    branch->blocks = {1, 2};
    branch->library = "nccl";
    function().blocks[0]->commands.push_back(std::move(branch));
    for (uint32_t rank = 0; rank < ranks; ++rank)
      move(result(rank), output(rank, bytes), rank + 1, fb::CopyKind::deviceToHost);
    auto body = std::move(function().blocks[0]->commands);
    for (uint32_t rank = 0; rank < ranks; ++rank)
      addPart(rank, value(rank), result(rank));
    auto parts = std::exchange(function().blocks[0]->commands, {});
    for (uint32_t rank = 0; rank < ranks; ++rank)
      move(value(0), result(rank), rank + 1,
           rank == 0 ? fb::CopyKind::sameDevice : fb::CopyKind::deviceToDevice);
    auto exchange = std::exchange(function().blocks[0]->commands, std::move(body));
    for (auto *commands : {&parts, &exchange}) {
      function().blocks.push_back(std::make_unique<fb::BlockT>());
      function().blocks.back()->commands = std::move(*commands);
    }
  }

  void move(fb::BufferRef from, fb::BufferRef to, uint32_t device, fb::CopyKind kind) {
    fb::CommandT &made = copy(from, to);
    made.device = device, made.copy_kind = kind;
  }

  void addPart(uint32_t rank, fb::BufferRef value, fb::BufferRef result) {
    const plan::AllReducePart part{ElementType::f32, elements, rank, ranks};
    auto kernel = std::make_unique<fb::KernelT>();
    kernel->symbol = "all_reduce_0_part_" + std::to_string(rank);
    kernel->variants.push_back(std::make_unique<fb::VariantT>());
    fb::VariantT &variant = *kernel->variants.back();
    variant.driver = "cuda", variant.source = fb::KernelSource::library;
    variant.library = "nccl", variant.library_version = "2.10", variant.symbol = part.text();
    plan.kernels.push_back(std::move(kernel));
    fb::CommandT &command = launch(uint32_t(plan.kernels.size() - 1), {value}, {result}, 1);
    command.device = rank + 1, command.name = "sum/part/replica_" + std::to_string(rank);
  }

  fb::CommandT &part(uint32_t rank) { return *function().blocks[1]->commands[rank]; }
  fb::VariantT &variant(uint32_t rank) { return *plan.kernels[rank]->variants[0]; }
};

struct Trial {
  std::shared_ptr<Session> session;
  std::shared_ptr<Bindings> bindings;
  std::vector<Tensor> x, y;

  explicit Trial(std::shared_ptr<const LoadedPlan> plan, float scale = 1)
      : Trial(plan, Session::create(plan).take(), scale) {}
  Trial(std::shared_ptr<const LoadedPlan> plan, std::shared_ptr<Session> in, float scale = 1)
      : session(std::move(in)), bindings(Bindings::create(plan, 0u).take()) {
    const TensorType type{ElementType::f32, {int64_t(elements)}};
    for (unsigned rank = 0; rank < plan->functions()[0].inputs.size(); ++rank) {
      x.push_back(Tensor::allocate(type).take()), y.push_back(Tensor::allocate(type).take());
      for (uint64_t i = 0; i < elements; ++i)
        x.back().dataAs<float>()[i] =
            scale * static_cast<float>(int(i * 7 % 23) - 11) / static_cast<float>(3 + rank * rank);
      EXPECT_OK(bindings->bindInput(rank, x.back()));
      EXPECT_OK(bindings->bindOutput(rank, y.back()));
    }
  }
  Status run() {
    for (Tensor &each : y)
      std::fill_n(each.dataAs<float>(), elements, -1.0f);
    return session->run(*bindings);
  }
  float value(size_t rank, uint64_t i) const { return x[rank].dataAs<float>()[i]; }

  /// As the fake adds: from the last rank to the first.
  bool isSummed() const {
    for (uint64_t i = 0; i < elements; ++i) {
      float sum = value(x.size() - 1, i);
      for (size_t rank = x.size() - 1; rank-- > 0;)
        sum += value(rank, i);
      for (const Tensor &each : y)
        if (each.dataAs<float>()[i] != sum)
          return false;
    }
    return true;
  }
  /// As the exchange of these plans does it.
  bool isExchanged() const {
    for (const Tensor &each : y)
      if (std::memcmp(each.data(), x[0].data(), bytes) != 0)
        return false;
    return true;
  }
  /// Whether adding in the order of the ranks would give other bits.
  bool dependsOnOrder() const {
    for (uint64_t i = 0; i < elements; ++i) {
      float sum = value(0, i);
      for (size_t rank = 1; rank < x.size(); ++rank)
        sum += value(rank, i);
      if (sum != y[0].dataAs<float>()[i])
        return true;
    }
    return false;
  }
};

struct CUDACollectives : FakeLibraryTest {
  CUDACollectives() : FakeLibraryTest("GANTRY_NCCL_LIB") {}

  void reset(uint64_t seed) override {
    fake_cuda_options_t options = fakeOptions(seed);
    options.devices = 8;
    options.has_peers = seed % 2 == 0;
    fake.reset(&options);
  }

  /// The plan's own exchange runs, and the log says why in one line.
  void expectExchange(Plan &plan, const std::string &why) {
    logged.clear();
    auto loaded = plan.load(makeRuntime());
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(logged, std::vector<std::string>{
                          "'test.gantry': devices exchange directly, without nccl: " + why});
    Trial run(*loaded);
    ASSERT_OK(run.run());
    EXPECT_TRUE(run.isExchanged());
    EXPECT_TRUE((*loaded)->kernelChoices().empty());
  }
};

TEST_F(CUDACollectives, giveEveryRankTheSum) {
  for (uint32_t ranks : {2, 3, 8})
    for (CUDAOptions options : {CUDAOptions(), inStreams, eachByItself})
      for (uint64_t seed = 0; seed < 8; ++seed) {
        reset(seed);
        {
          Plan plan(ranks);
          auto loaded = plan.load(makeRuntime(options));
          ASSERT_TRUE(loaded.ok()) << loaded.status().message();
          EXPECT_EQ((*loaded)->kernelChoices().size(), ranks);
          Trial run(*loaded);
          for (int i = 0; i < 2; ++i) {
            ASSERT_OK(run.run());
            ASSERT_TRUE(run.isSummed()) << ranks << " ranks, seed " << seed;
          }
          EXPECT_EQ(run.dependsOnOrder(), ranks > 2);
        }
        ASSERT_STREQ(fake.faults(), "");
        ASSERT_STREQ(fake.leaks(), "");
      }
  EXPECT_TRUE(logged.empty());
}

/// Replayed with the rest: a run asks the library for nothing any more, and the host waits once.
TEST_F(CUDACollectives, areCapturedOnce) {
  Plan plan(4);
  Trial run(plan.load(makeRuntime()).take());
  EXPECT_EQ(fake.calls("ncclCommInitAll"), 1u);
  fake.fail(0, 0); // counts from here
  for (int i = 0; i < 3; ++i)
    ASSERT_OK(run.run());
  EXPECT_EQ(fake.calls("ncclAllReduce"), 4u);
  EXPECT_EQ(fake.calls("ncclGroupEnd"), 1u);
  EXPECT_EQ(fake.calls("cuGraphLaunch"), 9u); // before it, itself, and behind it
  EXPECT_EQ(fake.calls("ncclCommInitAll"), 0u);
}

/// Two sessions of a plan and another plan on the same cards have one set of communicators, and
/// take turns.
TEST_F(CUDACollectives, takeTurns) {
  auto runtime = makeRuntime();
  Plan plan(3), other(3);
  auto loaded = plan.load(runtime).take(), second = other.load(runtime).take();
  EXPECT_EQ(fake.calls("ncclCommInitAll"), 1u);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      Trial run(i == 2 ? second : loaded, static_cast<float>(i + 1));
      for (int n = 0; n < 10; ++n) {
        ASSERT_OK(run.run());
        ASSERT_TRUE(run.isSummed());
        auto fence = run.session->submit(*run.bindings);
        ASSERT_TRUE(fence.ok());
        ASSERT_OK(fence->wait());
        ASSERT_TRUE(run.isSummed());
      }
    });
  for (std::thread &each : threads)
    each.join();
}

TEST_F(CUDACollectives, areTimedLikeKernels) {
  Plan plan(3);
  Trial run(plan.load(makeRuntime()).take());
  auto times = run.session->runTimed(*run.bindings);
  ASSERT_TRUE(times.ok()) << times.status().message();
  EXPECT_EQ(times->size(), 9u); // three up, three parts, three down
  EXPECT_TRUE(run.isSummed());
}

// ---- where the library is not there, or does not do it ----

TEST_F(CUDACollectives, withoutTheLibraryAreExchanges) {
  Plan plan(2);
  ::unsetenv("GANTRY_NCCL_LIB");
  expectExchange(plan, "GANTRY_CUDA_LIB names a libcuda, and GANTRY_NCCL_LIB no NCCL that works "
                       "with it");
  ::setenv("GANTRY_NCCL_LIB", "/nowhere/libnccl.so", 1);
  expectExchange(plan,
                 "NCCL cannot be opened: /nowhere/libnccl.so: cannot open shared object file: "
                 "No such file or directory");
  ::setenv("GANTRY_NCCL_LIB", "libm.so.6", 1);
  expectExchange(plan,
                 "'libm.so.6' has no function ncclGetErrorString: NCCL 2.10 or newer is needed");
}

TEST_F(CUDACollectives, areAskedForTheirVersion) {
  Plan plan(2);
  plan.variant(1).library_version = "2.27.4";
  expectExchange(plan, "NCCL is version 2.27.3 here");
}

TEST_F(CUDACollectives, ofPartsOfOneCardAreExchanges) {
  Plan plan(2, /*isSplit=*/true);
  expectExchange(plan, "'" + task + "GPU:1' is on one card with another of the devices");
}

TEST_F(CUDACollectives, withoutCommunicatorsAreExchanges) {
  Plan plan(2);
  fake.fail_in("ncclCommInitAll", 1, outOfMemory);
  expectExchange(plan, "ncclCommInitAll: unhandled cuda error");
  fake.fail(0, 0);
}

TEST_F(CUDACollectives, onOtherDriversAreExchanges) {
  Plan plan(2);
  for (auto &device : plan.plan.devices)
    if (device->driver == "cuda")
      device->driver = "sim";
  auto loaded = plan.load(makeRuntime());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  Trial run(*loaded);
  ASSERT_OK(run.run());
  EXPECT_TRUE(run.isExchanged());
  EXPECT_EQ(logged.size(), 1u);
}

/// What the validator holds against the launches of a library's block.
TEST_F(CUDACollectives, thatDoNotFitTogetherAreRefused) {
  auto refusal = [&](auto change) {
    Plan plan(2);
    change(plan);
    const Status status = plan.writer.toBytes(plan.plan).status(); // which validates
    EXPECT_FALSE(status.ok());
    return status.message();
  };
  auto has = [](const std::string &message, const char *part) {
    return message.find(part) != std::string::npos;
  };
  auto swapped = refusal([](Plan &plan) { std::swap(plan.variant(0), plan.variant(1)); });
  EXPECT_TRUE(has(swapped, "rank 1 of 2' is not 'all_reduce sum f32 elements 64 rank 0 of 2'"))
      << swapped;
  auto longer = refusal([](Plan &plan) {
    for (uint32_t rank : {0, 1})
      plan.variant(rank).symbol = plan::AllReducePart{ElementType::f32, 65, rank, 2}.text();
  });
  EXPECT_TRUE(has(longer, "are not those of 'all_reduce sum f32 elements 65 rank 0 of 2'"))
      << longer;
  auto same = refusal(
      [](Plan &plan) { plan.part(1).device = 1, plan.part(1).buffers = plan.part(0).buffers; });
  EXPECT_TRUE(has(same, "two ranks of a collective are on device 1")) << same;
  auto alone = refusal([](Plan &plan) { plan.function().blocks[1]->commands.pop_back(); });
  EXPECT_TRUE(has(alone, "a library's block of 1 commands")) << alone;
  auto copies = refusal([](Plan &plan) {
    std::swap(plan.function().blocks[1]->commands, plan.function().blocks[2]->commands);
  });
  EXPECT_TRUE(has(copies, "has a command that is no launch")) << copies;
  auto unknown =
      refusal([](Plan &plan) { plan.function().blocks[0]->commands[2]->library = "mpi"; });
  EXPECT_TRUE(has(unknown, "there is no library 'mpi' for a branch")) << unknown;
  auto elsewhere =
      refusal([](Plan &plan) { plan.function().blocks[0]->commands[0]->library = "nccl"; });
  EXPECT_TRUE(has(elsewhere, "a library decides it, and it is not a branch")) << elsewhere;
}

// ---- failures ----

TEST_F(CUDACollectives, thatCannotBeCapturedAreIssued) {
  Plan plan(3);
  Trial run(plan.load(makeRuntime()).take());
  fake.fail_in("ncclGroupEnd", 1, captureUnsupported);
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(run.run());
    EXPECT_TRUE(run.isSummed());
  }
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_NE(logged[0].find("since there is no CUDA graph of it: "), std::string::npos) << logged[0];
}

TEST_F(CUDACollectives, thatFailNameTheOp) {
  Plan plan(3);
  Trial run(plan.load(makeRuntime(inStreams)).take());
  fake.fail_in("ncclAllReduce", 2, outOfMemory);
  const Status status = run.run();
  EXPECT_EQ(status.code(), StatusCode::internal);
  EXPECT_EQ(status.message(), "'sum/part/replica_2' on GPU:2: ncclAllReduce: unhandled cuda error");
  fake.fail(0, 0);
  ASSERT_OK(run.run()); // nothing of it is left
  EXPECT_TRUE(run.isSummed());
}

/// Whichever call fails, of the library or of CUDA: a status or the plan's own exchange, and
/// nothing is left behind.
TEST_F(CUDACollectives, failAtAnyCallAndLeaveNothing) {
  Plan plan(2);
  const plan::PlanFile file = plan.file();
  for (CUDAOptions options : {CUDAOptions(), inStreams})
    for (int error : {outOfMemory, launchFailed, illegalAddress})
      for (uint64_t n = 1;; ++n) {
        reset(0);
        fake.fail(n, error);
        Status status;
        {
          auto loaded = LoadedPlan::load(makeRuntime(options), file, "test.gantry");
          status = loaded.status();
          if (loaded) {
            auto session = Session::create(*loaded);
            status = session.status();
            if (session) {
              Trial run(*loaded, session.take());
              for (int i = 0; i < 2 && status.ok(); ++i)
                if (status = run.run(); status.ok())
                  EXPECT_TRUE(run.isSummed() || run.isExchanged());
            }
          }
        }
        const std::string in = fake.failed() ? fake.failed() : "";
        fake.fail(0, 0);
        const std::string where = "call " + std::to_string(n) + ", " + in + ", error " +
                                  std::to_string(error) + ": " + status.message();
        ASSERT_STREQ(fake.leaks(), "") << where;
        ASSERT_STREQ(fake.faults(), "") << where;
        ASSERT_NE(status.code(), StatusCode::corrupt) << where;
        if (in.empty()) {
          ASSERT_OK(status);
          ASSERT_GT(n, 60u);
          break;
        }
      }
}

} // namespace
} // namespace gantry::runtime::test
