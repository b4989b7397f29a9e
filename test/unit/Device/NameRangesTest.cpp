// Ranges in names of devices, tasks and hosts.
#include "gantry/Device/NameRanges.h"
#include "gantry/Device/Topology.h"

#include <gtest/gtest.h>

namespace {
using namespace gantry;
using Names = std::vector<std::string>;

std::string errorOf(std::string_view text) { return expandRanges(text).status().message(); }

TEST(NameRanges, StandForEachName) {
  EXPECT_EQ(*expandRanges("n{0..2}"), (Names{"n0", "n1", "n2"}));
  EXPECT_EQ(*expandRanges("n{7..7}.rack"), Names{"n7.rack"});
  EXPECT_EQ(*expandRanges("alone"), Names{"alone"});
  EXPECT_EQ(*expandRanges(""), Names{""});
  // The first range is the outermost.
  EXPECT_EQ(*expandRanges("/task:{0..1}/GPU:{2..3}"),
            (Names{"/task:0/GPU:2", "/task:0/GPU:3", "/task:1/GPU:2", "/task:1/GPU:3"}));
  EXPECT_EQ(expandRanges("n{0..65535}")->size(), mostNames);
}

TEST(NameRanges, AreRefusedWithTheColumn) {
  for (const char *text : {"GPU:{0..}", "GPU:{..3}", "GPU:{0-3}", "GPU:{a..b}", "GPU:{0..3",
                           "GPU:{}", "GPU:{0..99999999999}", "GPU:{-1..3}", "GPU:{ 0..3}"})
    EXPECT_EQ(errorOf(text),
              "'" + std::string(text) + "', column 5: expected a range like {0..63}");
  EXPECT_EQ(errorOf("GPU:{3..0}"), "'GPU:{3..0}', column 5: the range ends before it begins");
  EXPECT_EQ(errorOf("n{0..65536}"), "'n{0..65536}', column 2: these are more than 65536 names");
  EXPECT_EQ(errorOf("a{0..4294967295}b{0..4294967295}c"),
            "'a{0..4294967295}b{0..4294967295}c', column 2: these are more than 65536 names");
}

TEST(NameRanges, ListsOfDevicesHaveThem) {
  Topology topology = *Topology::fromFlag("/job:w/task:{0..2}/GPU:{0..1}@1MiB,GPU:5", Driver::sim);
  EXPECT_EQ(topology.logical.size(), 3 * 3 + 2u);
  const DeviceName last = *DeviceName::parse("/job:w/replica:0/task:2/GPU:1");
  ASSERT_TRUE(topology.find(last));
  EXPECT_EQ(topology.find(last)->limit, 1u << 20);
  EXPECT_EQ(topology.find(*DeviceName::parse("/job:w/replica:0/task:3/GPU:1")), nullptr);
  EXPECT_EQ(Topology::fromFlag("GPU:{0..1}{").status().message(),
            "'GPU:{0..1}{', column 11: expected a range like {0..63}");
}

TEST(NameRanges, AStarIsAllThatMatch) {
  Topology topology =
      *Topology::fromFlag("/job:w/task:{0..2}/GPU:{0..1},/job:ps/CPU:0", Driver::sim);
  auto named = [&](std::string_view text) {
    std::string names;
    Expected<std::vector<DeviceName>> devices = topology.devicesNamed(text);
    for (const DeviceName &device : *devices)
      names += device.str() + " ";
    return names;
  };
  EXPECT_EQ(named("/job:w/task:*/GPU:1"), "/job:w/replica:0/task:0/device:GPU:1 "
                                          "/job:w/replica:0/task:1/device:GPU:1 "
                                          "/job:w/replica:0/task:2/device:GPU:1 ");
  EXPECT_EQ(named("/job:w/task:{1..2}/GPU:*"),
            "/job:w/replica:0/task:1/device:GPU:0 /job:w/replica:0/task:1/device:GPU:1 "
            "/job:w/replica:0/task:2/device:GPU:0 /job:w/replica:0/task:2/device:GPU:1 ");
  // Without one it is what is written, there or not.
  EXPECT_EQ(named("GPU:7"), "/device:GPU:7 ");
  EXPECT_EQ(named("GPU"), "/device:GPU:* ");
  EXPECT_EQ(topology.devicesNamed("/job:ps/GPU:*").status().message().substr(0, 59),
            "'/job:ps/GPU:*' matches no device; the devices are /job:ps/");
}

TEST(NameRanges, DevicesAreFoldedAsTheyAreWritten) {
  auto folded = [](std::string_view text) {
    std::vector<DeviceName> names;
    Expected<std::vector<DeviceName>> devices = expandDevices(text);
    for (const DeviceName &device : *devices)
      names.push_back(device.withDefaultTask());
    return foldDevices(names);
  };
  EXPECT_EQ(folded("/job:w/task:{0..63}/GPU:{0..7}"), "/job:w/task:{0..63}/GPU:{0..7}");
  EXPECT_EQ(folded("GPU:{0..1}"), "GPU:{0..1}");
  EXPECT_EQ(folded("GPU:3"), "GPU:3");
  EXPECT_EQ(folded("/job:w/replica:1/CPU:0"), "/job:w/replica:1/task:0/CPU:0");
  std::vector<DeviceName> uneven = *expandDevices("/job:w/replica:0/task:{0..2}/GPU:{0..1}");
  uneven.pop_back();
  EXPECT_EQ(foldDevices(uneven), "/job:w/task:2/GPU:0, /job:w/task:{0..1}/GPU:{0..1}");
  EXPECT_EQ(foldDevices({}), "");
}
} // namespace
