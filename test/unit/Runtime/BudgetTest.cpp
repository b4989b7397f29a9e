// What may be taken of a physical device's memory (spec M4): settings as text, the environment,
// parts of one card, several plans.
#include "gantry/Runtime/Budget.h"
#include "gantry/Drivers/SimDriver.h"
#include "gantry/Runtime/Session.h"

#include "Runtime/PlanBuilder.h"

#include <cstdlib>

namespace gantry::runtime::test {
namespace {

const std::string task = "/job:localhost/replica:0/task:0/device:";
constexpr uint64_t MiB = 1 << 20;

MemorySetting setting(std::string_view text) { return MemorySetting::parse(text).take(); }
std::string parseError(std::string_view text) {
  return MemorySetting::parse(text).status().message();
}

const std::string howTo =
    "; write DEVICE=SETTING[,SETTING], a device like GPU:0 or GPU:*, settings "
    "limit:4GiB, fraction:0.5, growth, reserve or serial";

TEST(MemorySetting, m4_reads_what_people_write) {
  MemorySetting all = setting("GPU:*=limit:4GiB,fraction:0.25,growth,reserve,serial");
  EXPECT_EQ(all.device.type, DeviceType::GPU);
  EXPECT_FALSE(all.device.id);
  EXPECT_EQ(all.limit, uint64_t(4) << 30);
  EXPECT_EQ(all.fraction, 0.25);
  EXPECT_EQ(all.growth, true);
  EXPECT_TRUE(all.serial);
  EXPECT_TRUE(all.reserve);
  EXPECT_FALSE(setting("GPU:*=serial").reserve);
  EXPECT_EQ(setting("cpu:0=limit:100").limit, 100u);
}

TEST(MemorySetting, m4_refuses_what_is_wrong) {
  EXPECT_EQ(parseError("GPU:0"), "the memory setting 'GPU:0' names no setting" + howTo);
  EXPECT_EQ(parseError("/task:0=growth"),
            "the memory setting '/task:0=growth' names no type of device" + howTo);
  EXPECT_EQ(parseError("GPU:0=much"), "the memory setting 'GPU:0=much' says 'much'" + howTo);
  EXPECT_EQ(parseError("GPU:0=growth,"), "the memory setting 'GPU:0=growth,' says ''" + howTo);
  EXPECT_EQ(parseError("CPU:0=limit:1GiB,reserve"),
            "the memory setting 'CPU:0=limit:1GiB,reserve' reserves memory of the host, which is "
            "every program's: only that of GPUs can be taken ahead" +
                howTo);
  for (std::string value : {"", "0", "-1", "4 GB of memory", "99999999999999999999"})
    EXPECT_EQ(parseError("GPU:0=limit:" + value), "the memory setting 'GPU:0=limit:" + value +
                                                      "' has a limit of '" + value +
                                                      "', which is no count of bytes" + howTo);
  for (std::string value : {"", "0", "1.5", "-0.5", "half", "nan", "0.5x"})
    EXPECT_EQ(parseError("GPU:0=fraction:" + value),
              "the memory setting 'GPU:0=fraction:" + value + "' has a fraction of '" + value +
                  "', which is not over 0 and up to 1" + howTo);
}

TEST(MemorySetting, m4_the_nearest_and_the_latest_count) {
  std::vector<MemorySetting> settings = {setting("GPU:1=limit:3"), setting("GPU:*=limit:1,growth"),
                                         setting("GPU:*=fraction:0.5"), setting("CPU:0=limit:9"),
                                         setting("GPU:1=limit:4,reserve")};
  MemorySetting one = settingFor(settings, DeviceType::GPU, 1);
  EXPECT_EQ(one.limit, 4u);
  EXPECT_EQ(one.fraction, 0.5);
  EXPECT_EQ(one.growth, true);
  EXPECT_TRUE(one.reserve);
  EXPECT_EQ(settingFor(settings, DeviceType::GPU, 0).limit, 1u);
  EXPECT_FALSE(settingFor(settings, DeviceType::GPU, 0).reserve);
  EXPECT_EQ(settingFor(settings, DeviceType::CPU, 0).limit, 9u);
  EXPECT_FALSE(settingFor(settings, DeviceType::CPU, 1).limit);
}

TEST(MemorySetting, m4_is_for_devices_that_are_there) {
  const std::vector<DeviceName> there = {DeviceName::local(DeviceType::CPU, 0),
                                         DeviceName::local(DeviceType::GPU, 2),
                                         DeviceName::local(DeviceType::GPU, 0)};
  auto check = [&](std::string_view text) {
    return checkSettings(std::vector{setting(text)}, there).message();
  };
  for (const char *fine : {"GPU:*=growth", "GPU:0=growth", "GPU:2=growth", "CPU:0=limit:1"})
    EXPECT_EQ(check(fine), "");
  EXPECT_EQ(
      check("GPU:1=limit:1"),
      "the memory setting of GPU:1 is for a device that is not there; there are GPU:0, GPU:2: "
      "name one that is, or all by GPU:*");
  EXPECT_EQ(
      checkSettings(std::vector{setting("GPU:9=limit:1")}, std::span(there).first(1)).message(),
      ""); // no GPU plays a part
}

/// The environment with those two variables; null: not set.
Expected<std::vector<MemorySetting>> fromEnvironment(const char *gantry, const char *tensorFlow) {
  auto set = [](const char *name, const char *value) {
    value ? setenv(name, value, 1) : unsetenv(name);
  };
  set("GANTRY_MEMORY", gantry), set("TF_FORCE_GPU_ALLOW_GROWTH", tensorFlow);
  auto settings = MemorySetting::fromEnvironment();
  set("GANTRY_MEMORY", nullptr), set("TF_FORCE_GPU_ALLOW_GROWTH", nullptr);
  return settings;
}

TEST(MemorySetting, m4_comes_from_the_environment) {
  EXPECT_TRUE(fromEnvironment(nullptr, nullptr)->empty());
  auto both = fromEnvironment("GPU:0=limit:1KiB;CPU:0=limit:2KiB", "true");
  ASSERT_EQ(both->size(), 3u);
  EXPECT_EQ((*both)[0].growth, true);
  EXPECT_EQ(settingFor(*both, DeviceType::GPU, 0).limit, 1024u);
  EXPECT_EQ(settingFor(*both, DeviceType::GPU, 0).growth, true);
  EXPECT_EQ(settingFor(*both, DeviceType::CPU, 0).limit, 2048u);
  EXPECT_EQ((*fromEnvironment(nullptr, "false"))[0].growth, false);
  EXPECT_EQ(fromEnvironment(nullptr, "yes").status().message(),
            "TF_FORCE_GPU_ALLOW_GROWTH is 'yes'; it takes true or false");
  EXPECT_EQ(fromEnvironment("GPU:0=all", nullptr).status().message(),
            "GANTRY_MEMORY: the memory setting 'GPU:0=all' says 'all'" + howTo);
}

/// Two logical devices of 2 MiB each that are parts of one card, and what a plan wants of them.
struct SplitCard : PlanBuilder {
  explicit SplitCard(uint64_t first, uint64_t second) {
    for (auto [name, bytes] : {std::pair("GPU:0", first), {"GPU:1", second}}) {
      uint32_t device = addDevice(task + name, "sim");
      plan.devices[device]->physical = 0;
      plan.devices[device]->memory_limit = 2 * MiB;
      addArena(fb::ArenaKind::transient, bytes, device);
    }
    addFunction("main");
  }
};

std::shared_ptr<Runtime> runtimeWith(std::vector<std::string> texts, LogCallback log = {}) {
  RuntimeOptions options;
  options.threads = 1;
  options.log = std::move(log);
  for (const std::string &text : texts)
    options.memory.push_back(setting(text));
  return createRuntime(std::move(options));
}

std::string loadError(std::vector<std::string> texts, uint64_t first, uint64_t second) {
  SplitCard builder(first, second);
  return builder.load(runtimeWith(std::move(texts))).status().message();
}

TEST(Budget, m4_parts_of_a_card_share_it) {
  EXPECT_EQ(loadError({}, MiB, MiB), "");
  EXPECT_EQ(loadError({"GPU:0=limit:2MiB"}, MiB, MiB), ""); // to the last byte
  EXPECT_EQ(
      loadError({"GPU:*=limit:2MiB"}, MiB, MiB + 64),
      "'test.gantry': the plan (constants 0 bytes, variables 0 bytes, one session 2 MiB) needs "
      "2 MiB, the memory setting of GPU:0 of this machine allows 2 MiB and plans that are "
      "loaded need 0 bytes; raise it to at least 2097216 bytes");
  EXPECT_EQ(
      loadError({"GPU:0=limit:1MiB"}, MiB + 64, 64),
      "'test.gantry': '" + task +
          "GPU:0': the plan (constants 0 bytes, variables 0 bytes, one session 1 MiB) needs "
          "1 MiB, the memory setting of GPU:0 of this machine allows 1 MiB and 0 bytes are in "
          "use; raise it to at least 1048640 bytes");
  EXPECT_EQ(
      loadError({"GPU:1=limit:1MiB"}, MiB, MiB),
      "'test.gantry': the memory setting of GPU:1 is for a device that is not there; there is "
      "GPU:0: name one that is, or all by GPU:*");
}

/// A GPU:0 of 1 MiB in each of two tasks.
struct TwoTasks : PlanBuilder {
  TwoTasks() {
    for (const char *job : {"localhost", "worker"}) {
      uint32_t device =
          addDevice("/job:" + std::string(job) + "/replica:0/task:0/device:GPU:0", "sim");
      plan.devices[device]->physical = 0;
      addArena(fb::ArenaKind::transient, MiB, device);
    }
    addFunction("main");
  }
};

TEST(Budget, m4_each_task_has_its_own) {
  std::vector<std::string> warnings;
  auto log = [&](Severity severity, const std::string &text) {
    if (severity == Severity::warning)
      warnings.push_back(text);
  };
  EXPECT_EQ(TwoTasks().load(runtimeWith({"GPU:0=limit:1MiB"}, log)).status().message(), "");
  EXPECT_EQ(warnings,
            std::vector<std::string>{
                "'test.gantry': the devices of all its tasks run in this process "
                "(/job:localhost/task:0, /job:worker/task:0); jobs of several processes are not "
                "supported"});
  EXPECT_EQ(
      TwoTasks().load(runtimeWith({"GPU:0=limit:1000KiB"})).status().message(),
      "'test.gantry': '" + task +
          "GPU:0': the plan (constants 0 bytes, variables 0 bytes, one session 1 MiB) needs 1 MiB, "
          "the memory setting of GPU:0 of this machine allows 1000 KiB and 0 bytes are in use; "
          "raise it to at least 1 MiB");
}

TEST(Budget, m4_a_fraction_is_of_the_whole_card) {
  EXPECT_EQ(loadError({"GPU:0=fraction:0.5"}, MiB, MiB), ""); // of 2 + 2 MiB
  EXPECT_EQ(
      loadError({"GPU:0=fraction:0.25"}, MiB / 2, MiB),
      "'test.gantry': the plan (constants 0 bytes, variables 0 bytes, one session 1.5 MiB) "
      "needs 1.5 MiB, the memory setting of GPU:0 of this machine allows 1 MiB and plans that "
      "are loaded need 0 bytes; raise it to at least 1.5 MiB");
  EXPECT_EQ(loadError({"GPU:0=fraction:1,limit:1MiB"}, MiB / 2, MiB / 2), "");
  EXPECT_NE(loadError({"GPU:0=fraction:1,limit:1MiB"}, MiB / 2, MiB), "");
}

/// What the parts of the card have reserved and may take, once a plan is there that uses both.
BudgetUse useOf(std::vector<std::string> texts, std::vector<std::string> *remarks = nullptr) {
  SplitCard builder(MiB / 4, MiB / 4);
  auto plan = builder.load(runtimeWith(std::move(texts), [&](Severity, const std::string &text) {
    if (remarks)
      remarks->push_back(text);
  }));
  EXPECT_OK(plan.status());
  return plan.ok() ? (*plan)->device(2)->budget()->use() : BudgetUse();
}

TEST(Budget, m4_reserve_takes_the_budget_at_once) {
  auto expect = [](std::string text, uint64_t reserved, uint64_t limit) {
    std::vector<std::string> remarks;
    const BudgetUse use = useOf({text}, &remarks);
    EXPECT_EQ(use.reserved, reserved) << text;
    EXPECT_EQ(use.limit, limit) << text;
    EXPECT_EQ(use.now, 0u) << text;
    EXPECT_EQ(remarks.size(), 0u) << text << ": " << remarks.front();
  };
  const uint64_t nearlyAll = 4 * MiB - 4 * MiB / 20; // of two parts of 2 MiB
  expect("GPU:0=reserve", nearlyAll, nearlyAll);
  expect("GPU:0=limit:1MiB,reserve", MiB, MiB);
  expect("GPU:*=limit:3MiB,reserve", 3 * MiB, 3 * MiB);
  expect("GPU:0=fraction:0.5,reserve", 2 * MiB, 2 * MiB);
  expect("GPU:0=limit:1MiB,fraction:0.5,reserve", MiB, MiB);
  expect("GPU:0=limit:1MiB,serial,reserve", MiB, MiB);
  expect("GPU:0=limit:1MiB,growth,reserve", MiB, MiB);
  expect("GPU:0=growth,reserve", nearlyAll, 0); // may grow beyond
  expect("GPU:0=limit:1MiB", 0, MiB);
}

TEST(Budget, m4_what_is_reserved_lets_plans_in) {
  EXPECT_EQ(loadError({"GPU:0=reserve"}, MiB, MiB), "");
  EXPECT_EQ(
      loadError({"GPU:0=reserve"}, 2 * MiB, 2 * MiB),
      "'test.gantry': the plan (constants 0 bytes, variables 0 bytes, one session 4 MiB) needs "
      "4 MiB, the memory setting of GPU:0 of this machine allows 3.8 MiB and plans that are "
      "loaded need 0 bytes; raise it to at least 4 MiB");
  EXPECT_EQ(loadError({"GPU:0=growth,reserve"}, 2 * MiB, 2 * MiB), "");
}

TEST(Budget, m4_plans_are_let_in_by_their_peaks) {
  SplitCard builder(MiB / 2, MiB / 2), same(MiB / 2, MiB / 2);
  auto runtime = runtimeWith({"GPU:0=limit:1.5MiB"});
  auto first = builder.load(runtime);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(
      same.load(runtime).status().message(),
      "'test.gantry': the plan (constants 0 bytes, variables 0 bytes, one session 1 MiB) needs "
      "1 MiB, the memory setting of GPU:0 of this machine allows 1.5 MiB and plans that are "
      "loaded need 1 MiB; raise it to at least 2 MiB, unload a plan, or declare them serial");
  *first = nullptr; // unloaded: its share is free again
  EXPECT_OK(same.load(runtime).status());
}

TEST(Budget, m4_serial_plans_need_the_largest_peak) {
  SplitCard one(MiB / 2, MiB / 2), other(MiB, MiB / 4), large(MiB, MiB);
  auto runtime = runtimeWith({"GPU:0=limit:1.5MiB,serial"});
  auto first = one.load(runtime), second = other.load(runtime);
  ASSERT_TRUE(first.ok() && second.ok()) << second.status().message();
  EXPECT_EQ(
      large.load(runtime).status().message(),
      "'test.gantry': the plan (constants 0 bytes, variables 0 bytes, one session 2 MiB) needs "
      "2 MiB, the memory setting of GPU:0 of this machine allows 1.5 MiB and plans that are "
      "loaded need 1.25 MiB; raise it to at least 2 MiB or unload a plan");
}

TEST(Budget, m4_growth_lets_plans_in_until_memory_is_taken) {
  SplitCard one(MiB / 2, MiB / 2), other(MiB / 2, MiB / 2);
  auto runtime = runtimeWith({"GPU:*=limit:1.5MiB", "GPU:0=growth"});
  auto first = one.load(runtime), second = other.load(runtime);
  ASSERT_TRUE(first.ok() && second.ok()) << second.status().message();
  auto session = Session::create(*first);
  ASSERT_TRUE(session.ok()) << session.status().message();
  EXPECT_EQ(Session::create(*second).status().message().substr(0, task.size() + 6),
            "'" + task + "GPU:1");
  Budget *budget = (*first)->device(1)->budget();
  ASSERT_EQ(budget, (*first)->device(2)->budget());
  EXPECT_EQ(budget->use().now, MiB);
  *session = nullptr;
  EXPECT_EQ(budget->use().now, 0u);
  EXPECT_GE(budget->use().peak, MiB);
  budget->resetPeak();
  EXPECT_EQ(budget->use().peak, 0u);
  EXPECT_OK(Session::create(*second).status()); // nothing is lost
}

TEST(Budget, m4_peaks_of_devices_are_reset) {
  SplitCard builder(MiB, MiB);
  auto plan = builder.load(runtimeWith({})).take();
  (void)Session::create(plan).take();
  EXPECT_EQ(plan->device(1)->stats().peakBytes, MiB);
  plan->device(1)->resetPeak();
  EXPECT_EQ(plan->device(1)->stats().peakBytes, 0u);
}

TEST(Budget, m4_late_configuration_is_an_error) {
  SplitCard builder(64, 64);
  auto runtime = createRuntime({.threads = 1});
  EXPECT_OK(runtime->configureDevices({.memory = {setting("GPU:0=limit:1MiB")}}));
  auto plan = builder.load(runtime);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ((*plan)->device(1)->budget()->use().limit, MiB);
  EXPECT_EQ(runtime->configureDevices({.memory = {setting("GPU:0=limit:2MiB")}}).code(),
            StatusCode::failedPrecondition);
}

TEST(Budget, m4_counts_what_is_bound) {
  SplitCard builder(64, 64);
  auto binding = std::make_unique<fb::BindingT>();
  binding->name = "x";
  binding->type = std::make_unique<fb::TensorTypeT>();
  binding->type->element = fb::ElementType::f32;
  binding->type->shape = {1 << 18};
  binding->device = 1;
  builder.function().inputs.push_back(std::move(binding));
  EXPECT_EQ(
      builder.load(runtimeWith({"GPU:0=limit:1MiB"})).status().message(),
      "'test.gantry': '" + task +
          "GPU:0': the plan (constants 0 bytes, variables 0 bytes, one session 64 bytes, inputs "
          "and outputs 1 MiB) needs 1 MiB, the memory setting of GPU:0 of this machine allows "
          "1 MiB and 0 bytes are in use; raise it to at least 1048640 bytes");
}

} // namespace
} // namespace gantry::runtime::test
