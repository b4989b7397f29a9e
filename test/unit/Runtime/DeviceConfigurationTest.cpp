// Devices of plans on other devices (spec D9), and when that can be said (spec D8).
#include "gantry/Drivers/SimDriver.h"
#include "gantry/Runtime/DeviceBinding.h"

#include "Runtime/PlanBuilder.h"

namespace gantry::runtime::test {
namespace {

const std::string task = "/job:localhost/replica:0/task:0/device:";

struct TwoGPUs : PlanBuilder {
  TwoGPUs() {
    addArena(fb::ArenaKind::transient, 64, 0);
    for (const char *gpu : {"GPU:0", "GPU:1"})
      addArena(fb::ArenaKind::transient, 64, addDevice(task + gpu, "sim"));
    addFunction("main");
  }
};

DeviceBinding binding(std::string_view text) { return DeviceBinding::parse(text).take(); }

/// Names of the devices of a loaded plan, or why it did not load.
std::string devicesWith(std::vector<DeviceBinding> bindings) {
  RuntimeOptions options;
  options.threads = 1;
  options.bindings = std::move(bindings);
  TwoGPUs builder;
  auto plan = builder.load(createRuntime(std::move(options)));
  if (!plan)
    return plan.status().message();
  std::string names;
  for (uint32_t i = 0; i < 3; ++i)
    names += DeviceName::parse((*plan)->device(i)->name())->shortStr() + " ";
  return names;
}

TEST(DeviceBinding, d9_a_plan_runs_on_other_devices) {
  EXPECT_EQ(devicesWith({}), "CPU:0 GPU:0 GPU:1 ");
  EXPECT_EQ(devicesWith({binding("GPU:0=GPU:3")}), "CPU:0 GPU:3 GPU:1 ");
  EXPECT_EQ(devicesWith({binding("gpu:0=/physical_device:GPU:1"), binding("GPU:1=GPU:0")}),
            "CPU:0 GPU:1 GPU:0 ");
  EXPECT_EQ(devicesWith({binding("CPU:0=CPU:0")}), "CPU:0 GPU:0 GPU:1 ");
}

TEST(DeviceBinding, d9_refused_for_a_plan) {
  EXPECT_EQ(devicesWith({binding("GPU:5=GPU:3")}),
            "'test.gantry': '/device:GPU:5' cannot be bound: unknown device; the devices of the "
            "plan are " +
                task + "CPU:0, " + task + "GPU:0, " + task + "GPU:1");
  EXPECT_EQ(devicesWith({binding("GPU:0=GPU:1")}),
            "'test.gantry': 'GPU:0' and 'GPU:1' of the plan would both run on '" + task +
                "GPU:1'; bind each to a device of its own");
  EXPECT_EQ(devicesWith({binding("GPU:0=GPU:3"), binding("GPU:0=GPU:4")}),
            "'test.gantry': '" + task + "GPU:0' is bound twice, to 'GPU:3' and to 'GPU:4'");
  EXPECT_EQ(devicesWith({binding("CPU:0=CPU:1")}),
            "'test.gantry': '" + task + "CPU:0' cannot be bound to '" + task +
                "CPU:1': a task has one host, all of its cores");
}

TEST(DeviceBinding, d9_limits_hold_where_it_is_bound) {
  RuntimeOptions options;
  options.threads = 1;
  options.bindings = {binding("GPU:0=GPU:3")};
  auto runtime = createRuntime(std::move(options));
  ASSERT_TRUE(runtime->device(task + "GPU:3", "sim", 2 << 20).ok());
  TwoGPUs builder;
  builder.plan.devices[1]->memory_limit = 1 << 20;
  EXPECT_EQ(builder.load(runtime).status().message(),
            "'test.gantry': '" + task +
                "GPU:3' is simulated with 2 MiB of memory by an earlier plan, now with 1 MiB; load "
                "the plan in another runtime");
}

TEST(DeviceBinding, Malformed) {
  auto error = [](std::string_view text) { return DeviceBinding::parse(text).status().message(); };
  EXPECT_EQ(error("GPU:0"), "the binding 'GPU:0' is not PLANNED=PHYSICAL, like GPU:0=GPU:3");
  EXPECT_EQ(error("GPU:0=GPU"),
            "'GPU' in the binding 'GPU:0=GPU' does not name one device; write a "
            "type and an id, like GPU:0=GPU:3");
  EXPECT_EQ(error("GPU:0=CPU:0"),
            "the binding 'GPU:0=CPU:0' joins a GPU and a CPU; both must be of "
            "one type, since the plan's code is");
  EXPECT_EQ(error("=GPU:0").substr(0, 24), "the device name is empty");
}

TEST(DeviceConfiguration, d8_only_before_the_first_plan) {
  auto runtime = createRuntime({.threads = 1});
  EXPECT_OK(runtime->configureDevices({.hostMemoryLimit = 1 << 20,
                                       .commandOrder = CommandOrder::random(3),
                                       .bindings = {binding("GPU:0=GPU:2")}}));
  TwoGPUs builder;
  auto plan = builder.load(runtime);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ((*plan)->device(0)->limit(), uint64_t(1) << 20);
  EXPECT_EQ((*plan)->device(1)->name(), task + "GPU:2");
  EXPECT_TRUE(runtime->commandOrder().isRandom);
  Status late = runtime->configureDevices({});
  EXPECT_EQ(late.code(), StatusCode::failedPrecondition);
  EXPECT_EQ(late.message(), "devices cannot be configured any more: a plan that uses '" + task +
                                "CPU:0' has been loaded in this runtime; configure before, or make "
                                "another runtime");
}

TEST(CommandOrder, ParsesItsNames) {
  EXPECT_FALSE(CommandOrder::parse("virtual")->isRandom);
  EXPECT_TRUE(CommandOrder::parse("random:17")->isRandom);
  EXPECT_EQ(CommandOrder::parse("random:17")->seed, 17u);
  for (const char *text : {"", "random", "random:", "random:x", "random:1 ", "random:-1"})
    EXPECT_EQ(CommandOrder::parse(text).status().message(),
              "unknown order of simulated commands '" + std::string(text) +
                  "'; the orders are virtual and random:SEED");
}

} // namespace
} // namespace gantry::runtime::test
