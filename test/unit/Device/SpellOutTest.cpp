// What is spelled out is what the cost model would have assumed.
#include "gantry/Device/SpellOut.h"
#include "gantry/Device/CostModel.h"

#include <gtest/gtest.h>

namespace gantry {
namespace {

Topology parsed(const char *flag) {
  auto topology = Topology::fromFlag(flag, Driver::sim);
  EXPECT_TRUE(topology.ok()) << topology.status().message();
  return topology.take();
}

/// All that predictions are made of.
void expectSamePredictions(const Topology &a, const Topology &b) {
  const CostModel before = CostModel::of(a), after = CostModel::of(b);
  ASSERT_EQ(before.numDevices(), after.numDevices());
  for (uint32_t i = 0; i < before.numDevices(); ++i) {
    for (unsigned e = 0; e < numElementTypes; ++e)
      EXPECT_EQ(before.flopRate(i, ElementType(e)), after.flopRate(i, ElementType(e))) << i << e;
    EXPECT_EQ(before.byteRate(i), after.byteRate(i));
    EXPECT_EQ(before.launchSeconds(i), after.launchSeconds(i));
    for (uint32_t j = 0; j < before.numDevices(); ++j) {
      EXPECT_EQ(before.copySeconds(i, j, 12345), after.copySeconds(i, j, 12345)) << i << j;
      EXPECT_EQ(before.copyLatency(i, j), after.copyLatency(i, j));
    }
  }
}

TEST(SpellOut, changesNoPrediction) {
  for (const char *flag : {"CPU:0", "CPU:0,GPU:0,GPU:1@16GiB",
                           "/job:w/task:0/device:GPU:0,/job:w/task:1/device:GPU:3,GPU:1"}) {
    const Topology topology = parsed(flag), full = spelledOut(topology);
    expectSamePredictions(topology, full);
    auto again = Topology::fromJSON(full.toJSON());
    ASSERT_TRUE(again.ok()) << again.status().message();
    expectSamePredictions(topology, *again);
    EXPECT_EQ(spelledOut(full).toJSON(), full.toJSON());
  }
}

TEST(SpellOut, keepsWhatIsGiven) {
  Topology topology = parsed("CPU:0,GPU:0");
  topology.physical[1].bandwidth = 7e11;
  topology.physical[1].launch = 5e-6;
  topology.physical[1].peakFlops[size_t(ElementType::f32)] = 3e13;
  topology.links.push_back({0, 1, 5e10, 2e-6});
  const Topology full = spelledOut(topology);
  expectSamePredictions(topology, full);
  EXPECT_EQ(full.physical[1].bandwidth, 7e11);
  EXPECT_EQ(full.links.size(), 2U);
  EXPECT_EQ(full.links[0], topology.links[0]);
  EXPECT_EQ(full.links[1], (Link{1, 0, StandInRates::linkBandwidth, StandInRates::linkLatency}));
}

TEST(SpellOut, addsNoWaysThroughTheHost) {
  EXPECT_EQ(spelledOut(parsed("CPU:0,GPU:0,GPU:1")).links.size(), 4U);
}

} // namespace
} // namespace gantry
