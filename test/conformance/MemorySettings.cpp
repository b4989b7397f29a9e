// Memory settings (spec M4) on each driver that GPUs may have: what they allow is what the driver
// then takes, and a failure to take it leaves what was there usable.
#include "EachDriverTest.h"
#include "Runtime/PlanBuilder.h"
#include "gantry/Runtime/Session.h"

namespace gantry::runtime::test {
namespace {

const std::string task = "/job:localhost/replica:0/task:0/device:";
constexpr uint64_t MiB = 1 << 20;

class MemorySettings : public EachDriverTest {
protected:
  /// A plan that takes so many bytes of GPU:0 in a session, and brings y = x by way of them.
  PlanBuilder planOf(uint64_t bytes) const {
    PlanBuilder builder;
    const uint32_t gpu = builder.addDevice(task + "GPU:0", GetParam().inPlans);
    builder.plan.devices[gpu]->physical = 0;
    const uint32_t arena = builder.addArena(fb::ArenaKind::transient, bytes, gpu);
    builder.addFunction("main");
    builder.addInput("x", {16}), builder.addOutput("y", {16});
    fb::CommandT &up = builder.copy(input(0, 64), memory(arena, bytes - 64, 64));
    up.device = gpu, up.copy_kind = fb::CopyKind::hostToDevice;
    fb::CommandT &down = builder.copy(memory(arena, bytes - 64, 64), output(0, 64));
    down.device = gpu, down.copy_kind = fb::CopyKind::deviceToHost;
    return builder;
  }
  Status loadOf(uint64_t bytes, std::vector<std::string> texts) const {
    return planOf(bytes).load(makeRuntime(std::move(texts))).status();
  }
  static Status run(const std::shared_ptr<const LoadedPlan> &plan, Session &session) {
    auto bindings = Bindings::create(plan, 0u);
    if (!bindings)
      return bindings.status();
    const TensorType type{ElementType::f32, {16}};
    Tensor x = Tensor::allocate(type).take(), y = Tensor::allocate(type).take();
    std::fill_n(x.dataAs<float>(), 16, 3.0f);
    GANTRY_RETURN_IF_ERROR((*bindings)->bindInput(0, x));
    GANTRY_RETURN_IF_ERROR((*bindings)->bindOutput(0, y));
    GANTRY_RETURN_IF_ERROR(session.run(**bindings));
    return y.dataAs<float>()[15] == 3.0f ? Status() : Status::corrupt("y is not x");
  }
};

TEST_P(MemorySettings, m4_a_limit_holds_to_the_byte) {
  auto plan = planOf(MiB).load(makeRuntime({"GPU:0=limit:1MiB"}));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto session = Session::create(*plan).take();
  EXPECT_OK(run(*plan, *session));
  EXPECT_EQ((*plan)->device(1)->budget()->use().now, MiB);
  const Status refused = loadOf(MiB + 64, {"GPU:0=limit:1MiB"});
  EXPECT_EQ(refused.code(), StatusCode::doesNotFit);
  EXPECT_NE(refused.message().find("the memory setting of GPU:0 of this machine allows 1 MiB"),
            std::string::npos)
      << refused.message();
  EXPECT_NE(refused.message().find("raise it to at least 1048640 bytes"), std::string::npos);
}

TEST_P(MemorySettings, m4_a_fraction_is_of_what_the_device_has) {
  EXPECT_OK(loadOf(MiB, {"GPU:*=fraction:0.9"}));
  EXPECT_EQ(loadOf(MiB, {"GPU:*=fraction:0.0000001"}).code(), StatusCode::doesNotFit);
}

TEST_P(MemorySettings, m4_growth_lets_plans_in_and_the_session_fails) {
  auto runtime = makeRuntime({"GPU:0=limit:1MiB,growth"});
  auto one = planOf(MiB).load(runtime), other = planOf(MiB).load(runtime);
  ASSERT_TRUE(one.ok() && other.ok()) << other.status().message();
  auto session = Session::create(*one).take();
  EXPECT_EQ(Session::create(*other).status().code(), StatusCode::doesNotFit);
  EXPECT_OK(run(*one, *session)); // what was there goes on
  session = nullptr;
  auto second = Session::create(*other);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_OK(run(*other, **second));
}

/// What is reserved is taken of the card before anything of it is used, and given back at the end.
TEST_P(MemorySettings, m4_reserve_takes_memory_at_once) {
  for (std::string others : {"limit:8MiB", "limit:8MiB,growth", "limit:8MiB,serial",
                             "fraction:0.25,limit:8MiB", "fraction:0.9,limit:8MiB"}) {
    auto runtime = makeRuntime({"GPU:0=reserve," + others});
    auto plan = planOf(3 * MiB).load(runtime);
    ASSERT_TRUE(plan.ok()) << others << plan.status().message();
    Device &device = *(*plan)->device(1);
    EXPECT_EQ(device.budget()->use().reserved, 8 * MiB) << others;
    EXPECT_EQ(device.budget()->use().now, 0u) << others;
    const MemoryInfo card = device.cardMemory().take(); // no other program has what is reserved
    EXPECT_LE(card.free, card.total - (card.total ? 8 * MiB : 0)) << others;
    auto session = Session::create(*plan).take();
    EXPECT_OK(run(*plan, *session));
    EXPECT_EQ(device.cardMemory()->free, card.free) << others; // comes out of that
  }
}

TEST_P(MemorySettings, m4_plans_are_let_in_together_or_serial) {
  for (bool serial : {false, true}) {
    auto runtime = makeRuntime({std::string("GPU:0=limit:1MiB") + (serial ? ",serial" : "")});
    auto one = planOf(MiB).load(runtime), other = planOf(MiB / 2).load(runtime);
    ASSERT_TRUE(one.ok()) << one.status().message();
    EXPECT_EQ(other.ok(), serial) << other.status().message();
  }
}

TEST_P(MemorySettings, m4_of_a_device_that_is_not_there_are_errors) {
  const bool isReal = std::string(GetParam().name) == "cudaOnFake"; // which has two
  const Status refused = loadOf(MiB, {"GPU:9=limit:1MiB"});
  EXPECT_EQ(refused.code(), StatusCode::invalidArgument);
  EXPECT_EQ(refused.message(),
            std::string("'test.gantry': the memory setting of GPU:9 is for a device that is not "
                        "there; there ") +
                (isReal ? "are GPU:0, GPU:1" : "is GPU:0") + ": name one that is, or all by GPU:*");
  EXPECT_EQ(loadOf(MiB, {"GPU:1=limit:1MiB"}).ok(), isReal);
}

/// A card with and without mapped memory, whole and split.
TEST(MemoryReserved, isTakenOfTheCard) {
  const fake_cuda_control_t &fake = fakeCUDA(GANTRY_FAKE_CUDA);
  for (int mapped : {1, 0}) {
    fake_cuda_options_t options = fakeOptions();
    options.has_vmm = mapped;
    fake.reset(&options);
    const uint64_t total = options.memory;
    auto planWith = [&](std::vector<uint64_t> limits, uint64_t bytes) {
      PlanBuilder builder;
      for (size_t i = 0; i < limits.size(); ++i) {
        const uint32_t gpu = builder.addDevice(task + "GPU:" + std::to_string(i), "cuda");
        builder.plan.devices[gpu]->physical = 0;
        builder.plan.devices[gpu]->memory_limit = limits[i];
        builder.addArena(fb::ArenaKind::transient, bytes, gpu);
      }
      builder.addFunction("main");
      return builder;
    };
    std::vector<std::string> said;
    auto runtimeWith = [&](const char *text) {
      said.clear();
      RuntimeOptions made{.threads = 1};
      made.log = [&](Severity, const std::string &line) { said.push_back(line); };
      made.memory.push_back(MemorySetting::parse(text).take());
      return createRuntime(std::move(made));
    };
    auto freeOf = [](const LoadedPlan &plan) { return plan.device(1)->cardMemory()->free; };

    auto nearlyAll = planWith({0}, 4 * MiB).load(runtimeWith("GPU:0=reserve"));
    ASSERT_TRUE(nearlyAll.ok()) << nearlyAll.status().message();
    const uint64_t reserved = (*nearlyAll)->device(1)->budget()->use().reserved;
    EXPECT_EQ(reserved, total - total / 20);
    EXPECT_EQ((*nearlyAll)->device(1)->budget()->use().limit, reserved);
    EXPECT_LE(freeOf(**nearlyAll), total - reserved);
    { // Sessions come and go in it.
      const uint64_t before = freeOf(**nearlyAll);
      std::vector<std::shared_ptr<Session>> sessions;
      for (int i = 0; i < 5; ++i)
        sessions.push_back(Session::create(*nearlyAll).take());
      sessions.erase(sessions.begin() + 1, sessions.begin() + 3);
      sessions.push_back(Session::create(*nearlyAll).take());
      EXPECT_EQ(freeOf(**nearlyAll), before);
      EXPECT_EQ((*nearlyAll)->device(1)->budget()->use().now, 16 * MiB);
    }
    // Another runtime finds what is left, as another program would.
    auto late = planWith({0}, 4 * MiB).load(runtimeWith("GPU:0=limit:512MiB,reserve"));
    ASSERT_TRUE(late.ok()) << late.status().message();
    const uint64_t left = (*late)->device(1)->budget()->use().reserved;
    EXPECT_LT(left, total / 16);
    ASSERT_EQ(said.size(), 1u);
    EXPECT_TRUE(said[0].starts_with("GPU:0 of this machine: 512 MiB are to be reserved, of which "))
        << said[0];
    EXPECT_TRUE(said[0].ends_with(" are free; the budget is that")) << said[0];
    *late = nullptr, *nearlyAll = nullptr;

    auto split = planWith({64 * MiB, 32 * MiB}, MiB).load(runtimeWith("GPU:0=limit:80MiB,reserve"));
    ASSERT_TRUE(split.ok()) << split.status().message();
    EXPECT_EQ((*split)->device(2)->budget()->use().reserved, 80 * MiB);
    EXPECT_LE(freeOf(**split), total - 80 * MiB);
    EXPECT_OK(Session::create(*split).status());
    // Two plans on the parts of one card have one budget.
    auto fits = planWith({64 * MiB, 32 * MiB}, 31 * MiB);
    auto second = fits.load((*split)->runtime().shared_from_this());
    ASSERT_TRUE(second.ok()) << second.status().message();
    EXPECT_EQ(fits.load((*split)->runtime().shared_from_this()).status().message(),
              "'test.gantry': the plan (constants 0 bytes, variables 0 bytes, one session 62 MiB) "
              "needs 62 MiB, the memory setting of GPU:0 of this machine allows 80 MiB and plans "
              "that are loaded need 64 MiB; raise it to at least 126 MiB, unload a plan, or "
              "declare them serial");
    *split = nullptr, *second = nullptr;
    EXPECT_STREQ(fake.faults(), "");
    EXPECT_STREQ(fake.leaks(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(, MemorySettings, ::testing::ValuesIn(driversOfDevices()), nameOf);

/// Whichever allocation of the device or of pinned memory fails: DOES_NOT_FIT, and the same plan
/// and session work when there is room again.
TEST(MemoryFailures, leaveSessionsUsable) {
  const fake_cuda_control_t &fake = fakeCUDA(GANTRY_FAKE_CUDA);
  for (int mapped : {1, 0})
    for (const char *function : {"cuMemCreate", "cuMemAlloc_v2", "cuMemHostAlloc"}) {
      unsigned failures = 0;
      for (uint64_t n = 1;; ++n) {
        fake_cuda_options_t options = fakeOptions();
        options.has_vmm = mapped;
        fake.reset(&options);
        {
          PlanBuilder builder;
          const uint32_t gpu = builder.addDevice(task + "GPU:0", "cuda");
          const uint32_t constants = builder.addArena(fb::ArenaKind::constants, 4096, gpu);
          const uint32_t variables = builder.addArena(fb::ArenaKind::variables, 64, gpu);
          const uint32_t arena = builder.addArena(fb::ArenaKind::transient, 3 * MiB, gpu);
          builder.addConstant(constants, 0, std::vector<float>(16, 5));
          builder.addVariable("v", variables, 0, {16});
          builder.addFunction("main", /*writesVariables=*/true);
          builder.addInput("x", {16}), builder.addOutput("y", {16});
          auto move = [&](fb::BufferRef from, fb::BufferRef to, fb::CopyKind kind) {
            fb::CommandT &copy = builder.copy(from, to);
            copy.device = gpu, copy.copy_kind = kind;
          };
          move(input(0, 64), memory(arena, 2 * MiB, 64), fb::CopyKind::hostToDevice);
          move(memory(arena, 2 * MiB, 64), memory(variables, 0, 64), fb::CopyKind::sameDevice);
          move(memory(variables, 0, 64), output(0, 64), fb::CopyKind::deviceToHost);
          auto runtime = createRuntime({.threads = 1});
          fake.fail_in(function, n, outOfMemory);
          auto attempt = [&](auto make) { // again, when it did not fit
            auto made = make();
            if (made.ok())
              return made;
            EXPECT_EQ(made.status().code(), StatusCode::doesNotFit) << made.status().message();
            EXPECT_NE(fake.failed(), nullptr);
            return make();
          };
          auto plan = attempt([&] { return builder.load(runtime); });
          ASSERT_TRUE(plan.ok()) << plan.status().message();
          auto session = attempt([&] { return Session::create(*plan); });
          ASSERT_TRUE(session.ok()) << session.status().message();
          auto bindings = Bindings::create(*plan, 0u).take();
          const TensorType type{ElementType::f32, {16}};
          Tensor x = Tensor::allocate(type).take(), y = Tensor::allocate(type).take();
          std::fill_n(x.dataAs<float>(), 16, 3.0f);
          ASSERT_OK(bindings->bindInput(0, x));
          ASSERT_OK(bindings->bindOutput(0, y));
          for (int i = 0; i < 2; ++i) {
            Status status = (*session)->run(*bindings);
            if (!status.ok()) {
              EXPECT_EQ(status.code(), StatusCode::doesNotFit) << status.message();
              status = (*session)->run(*bindings);
            }
            ASSERT_OK(status);
            ASSERT_EQ(y.dataAs<float>()[15], 3.0f);
          }
        }
        const bool isOver = !fake.failed();
        fake.fail(0, 0);
        ASSERT_STREQ(fake.leaks(), "") << function << ", call " << n;
        ASSERT_STREQ(fake.faults(), "") << function << ", call " << n;
        if (isOver)
          break;
        ++failures;
      }
      const bool isUsed = std::string(function) == "cuMemHostAlloc" ||
                          (std::string(function) == "cuMemCreate") == (mapped == 1);
      EXPECT_EQ(failures > 0, isUsed) << function << ", mapped " << mapped;
    }
}

} // namespace
} // namespace gantry::runtime::test
