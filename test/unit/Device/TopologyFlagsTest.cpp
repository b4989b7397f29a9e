// Visible, split and simulated devices, and the flags that make them (spec D4, D6, D8).
#include "gantry/Device/Topology.h"

#include <gtest/gtest.h>

namespace {
using namespace gantry;

/// Two physical GPUs of 2 GiB beside a host.
Topology twoGPUs() {
  Topology topology = Topology::fromFlag("CPU:0,GPU:0,GPU:1").take();
  topology.physical[1].memory = topology.physical[2].memory = uint64_t(2) << 30;
  return topology;
}

size_t countGPUs(const Topology &topology) { return topology.logical.size() - 1; }

Expected<Topology> withVisible(const Topology &topology, std::string_view list) {
  Expected<VisibleGPUs> visible = VisibleGPUs::parse(list);
  return visible ? topology.withVisible(*visible) : Expected<Topology>(visible.status());
}

Expected<Topology> withSplits(const Topology &topology, const std::vector<std::string> &texts) {
  std::vector<GPUSplit> splits;
  for (const std::string &text : texts) {
    Expected<GPUSplit> split = GPUSplit::parse(text);
    if (!split)
      return split.status();
    splits.push_back(split.take());
  }
  return topology.withSplits(splits);
}

/// What the flags make of the machine.
Expected<Topology> applyFlags(const TopologyFlags &flags, const Topology &machine) {
  Expected<TopologyRequest> request = TopologyRequest::parse(flags);
  return request ? request->applyTo(machine) : Expected<Topology>(request.status());
}

std::string visibleError(std::string_view list) {
  return withVisible(twoGPUs(), list).status().message();
}

std::string splitError(const std::vector<std::string> &splits,
                       const Topology &topology = twoGPUs()) {
  return withSplits(topology, splits).status().message();
}

TEST(TopologyFlags, d8_visible_filters_and_renumbers) {
  Expected<Topology> topology = withVisible(*Topology::fromFlag("GPU:0,GPU:1,GPU:2"), "0,2");
  ASSERT_TRUE(topology.ok()) << topology.status().message();
  ASSERT_EQ(countGPUs(*topology), 2u);
  EXPECT_EQ(topology->logical[2].name.shortStr(), "GPU:1");
  EXPECT_EQ(topology->physical[topology->logical[2].physical].name.shortStr(), "GPU:2");
  EXPECT_TRUE(topology->check().ok());
}

TEST(TopologyFlags, d8_one_of_two_is_visible) { // golden: 2 physical, 1 logical
  for (const char *list : {"0", "GPU:0", "/physical_device:GPU:0"}) {
    Expected<Topology> topology = withVisible(twoGPUs(), list);
    ASSERT_TRUE(topology.ok()) << topology.status().message();
    EXPECT_EQ(topology->physical.size(), 3u);
    EXPECT_EQ(countGPUs(*topology), 1u);
  }
  EXPECT_EQ(countGPUs(*withVisible(twoGPUs(), "none")), 0u);
}

TEST(TopologyFlags, d8_visible_refused) {
  EXPECT_EQ(visibleError("0,2"), "'2': unknown device; the GPUs are GPU:0, GPU:1");
  EXPECT_EQ(visibleError("CPU:0"), "'CPU:0' is not one GPU; write it like GPU:0");
  EXPECT_EQ(visibleError("0,"), "the device name is empty; write a name like GPU:0 or "
                                "/job:worker/task:1/device:GPU:0");
  EXPECT_EQ(withVisible(Topology::hostOnly(), "0").status().message(),
            "'0': unknown device; there is no GPU");
}

TEST(TopologyFlags, d4_ids_follow_physical_devices_then_splits) { // golden: 2 physical, 3 logical
  Expected<Topology> topology = withSplits(twoGPUs(), {"GPU:0=1GiB,1GiB"});
  ASSERT_TRUE(topology.ok()) << topology.status().message();
  EXPECT_EQ(topology->physical.size(), 3u);
  ASSERT_EQ(countGPUs(*topology), 3u);
  const uint32_t physical[] = {1, 1, 2};
  const uint64_t limits[] = {uint64_t(1) << 30, uint64_t(1) << 30, 0};
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(topology->logical[i + 1].name, DeviceName::local(DeviceType::GPU, i));
    EXPECT_EQ(topology->logical[i + 1].physical, physical[i]);
    EXPECT_EQ(topology->logical[i + 1].limit, limits[i]);
  }
}

TEST(TopologyFlags, d4_splits_refused) {
  EXPECT_EQ(splitError({"GPU:0"}), "'GPU:0' has no limits; write it like GPU:0=1GiB,1GiB");
  EXPECT_EQ(splitError({"GPU:2=1GiB"}), "'GPU:2': unknown device; the GPUs are GPU:0, GPU:1");
  EXPECT_EQ(splitError({"CPU:0=1GiB"}), "'CPU:0' is not one GPU; write it like GPU:0");
  EXPECT_EQ(splitError({"GPU=1GiB"}), "'GPU' is not one GPU; write it like GPU:0");
  EXPECT_EQ(splitError({"GPU:0=0,1GiB"}), "'GPU:0=0,1GiB': a limit of 0 bytes holds nothing");
  EXPECT_EQ(
      splitError({"GPU:0=1GiB,2GiB"}),
      "topology: the limits on '/job:localhost/replica:0/task:0/physical_device:GPU:0', 3 GiB "
      "together, are over its memory of 2 GiB; lower them by 1 GiB");
  EXPECT_EQ(splitError({"GPU:0=1GiB,1GiB", "GPU:0=1GiB"}),
            "'GPU:0' is split already; split it once");
  EXPECT_EQ(splitError({"GPU:0=1GiB"}, *Topology::fromFlag("GPU:0@4GiB")),
            "'GPU:0' has a limit of 4 GiB already; give the limits of its parts alone");
  EXPECT_EQ(splitError({"GPU:0=1GiB"}, *withVisible(twoGPUs(), "1")),
            "'GPU:0' is not visible; make it visible or do not split it");
}

TEST(TopologyFlags, d6_simulated_gpus) {
  Topology topology = twoGPUs().simulated();
  EXPECT_EQ(topology.physical[0].driver, Driver::host);
  EXPECT_EQ(topology.physical[2].driver, Driver::sim);
  // Tasks have CPUs of their own, whose memory is closed to the others.
  Expected<Topology> job =
      applyFlags({.tasks = "worker=2", .simulate = true}, Topology::hostOnly());
  ASSERT_TRUE(job.ok()) << job.status().message();
  ASSERT_EQ(job->physical.size(), 2u);
  for (const PhysicalDevice &device : job->physical)
    EXPECT_EQ(device.driver, Driver::sim) << device.name.str();
}

TEST(TopologyFlags, AllTogether) {
  TopologyFlags flags;
  EXPECT_FALSE(TopologyRequest::parse(flags)->any());
  EXPECT_EQ(*applyFlags(flags, twoGPUs()), twoGPUs());
  flags.devices = "GPU:0,GPU:1,GPU:2";
  flags.visible = "1,2";
  flags.splits = {"GPU:1=1GiB,2GiB"};
  flags.simulate = true;
  EXPECT_TRUE(TopologyRequest::parse(flags)->any());
  Expected<Topology> topology = applyFlags(flags, Topology::hostOnly());
  ASSERT_TRUE(topology.ok()) << topology.status().message();
  EXPECT_EQ(topology->physical.size(), 4u);
  ASSERT_EQ(countGPUs(*topology), 3u);
  EXPECT_EQ(topology->logical[2].limit, uint64_t(2) << 30);
  EXPECT_EQ(topology->physical[3].driver, Driver::sim);
}

TEST(TopologyFlags, ErrorsNameTheFlag) {
  auto error = [](const TopologyFlags &flags) {
    return applyFlags(flags, Topology::hostOnly()).status().message();
  };
  EXPECT_EQ(
      error({.devices = "GPU:0", .file = "t.json"}),
      "--devices=GPU:0 and --topology=t.json both say what the devices are; give one of them");
  EXPECT_EQ(error({.devices = "GPU:-1"}), "--devices: device name 'GPU:-1', column 5: a negative "
                                          "number; ids count from 0");
  EXPECT_EQ(error({.devices = "GPU:0", .visible = "3"}),
            "--visible: '3': unknown device; the GPUs are GPU:0");
  EXPECT_EQ(error({.splits = {"GPU:0=1GiB"}}), "--split: 'GPU:0': unknown device; there is no GPU");
  EXPECT_EQ(error({.simulate = true}),
            "--simulate: there is no GPU to simulate; list some, like --devices=CPU:0,GPU:0");
}

TEST(TopologyFlags, AFileIsNamedInItsErrors) {
  TopologyFlags flags{.file = "t.json", .json = "{\"physical\": [}"};
  EXPECT_EQ(applyFlags(flags, Topology::hostOnly()).status().message(),
            "--topology: 't.json': topology: this is not JSON, see line 1, column 15");
  flags.json = twoGPUs().toJSON();
  Expected<Topology> topology = applyFlags(flags, Topology::hostOnly());
  ASSERT_TRUE(topology.ok()) << topology.status().message();
  EXPECT_EQ(*topology, twoGPUs());
  EXPECT_TRUE(TopologyRequest::parse(flags)->isComplete);
}

} // namespace
