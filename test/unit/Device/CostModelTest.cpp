// Predicted times: the roofline, links given, assumed and by way of the host, and stand-ins.
#include "gantry/Device/CostModel.h"

#include <gtest/gtest.h>

namespace {
using namespace gantry;

constexpr uint32_t cpu = 0, gpu0 = 1, gpu1 = 2;

Topology twoGPUs() {
  Topology topology = Topology::fromFlag("GPU:0,GPU:1", Driver::sim).take();
  for (uint32_t gpu : {gpu0, gpu1}) {
    topology.physical[gpu].peakFlops[size_t(ElementType::f32)] = 1e12;
    topology.physical[gpu].bandwidth = 1e11;
  }
  return topology;
}

TEST(CostModel, AnOpTakesTheLongerOfArithmeticAndTraffic) {
  CostModel model = CostModel::of(twoGPUs());
  double start = StandInRates::gpuLaunch + StandInRates::gpuLatency;
  EXPECT_DOUBLE_EQ(model.seconds(gpu0, {1000000000, 0}), start + 1e-3);
  EXPECT_DOUBLE_EQ(model.seconds(gpu0, {1000000000, 200000000}), start + 2e-3);
  EXPECT_EQ(model.seconds(gpu0, {0, 0}), 0);
}

TEST(CostModel, UnknownRatesAreStandIns) {
  CostModel model = CostModel::of(Topology::hostOnly());
  EXPECT_EQ(model.flopRate(cpu), StandInRates::cpuFlops);
  EXPECT_EQ(model.byteRate(cpu), StandInRates::cpuBandwidth);
  EXPECT_EQ(model.launchSeconds(cpu), StandInRates::cpuLaunch);
}

TEST(CostModel, ALaunchTakesWhatTheTopologySays) {
  Topology topology = twoGPUs();
  topology.physical[gpu1].launch = 7e-6;
  CostModel model = CostModel::of(topology);
  EXPECT_EQ(model.launchSeconds(gpu0), StandInRates::gpuLaunch);
  EXPECT_DOUBLE_EQ(model.seconds(gpu1, {1000000000, 0}), 7e-6 + StandInRates::gpuLatency + 1e-3);
}

TEST(CostModel, AnUnknownTypeFollowsTheDevicesF32) {
  Topology topology = twoGPUs();
  topology.physical[gpu1].peakFlops[size_t(ElementType::bf16)] = 7e12;
  CostModel model = CostModel::of(topology);
  EXPECT_DOUBLE_EQ(model.flopRate(gpu0, ElementType::bf16),
                   1e12 * StandInRates::gpuHalfFlops / StandInRates::gpuFlops);
  EXPECT_DOUBLE_EQ(model.flopRate(gpu1, ElementType::bf16), 7e12);
  EXPECT_LT(model.flopRate(gpu0, ElementType::f64), model.flopRate(gpu0));
}

TEST(CostModel, ACopyTakesLatencyAndBytes) {
  Topology topology = twoGPUs();
  topology.links.push_back({cpu, gpu0, 1e9, 5e-6});
  CostModel model = CostModel::of(topology);
  EXPECT_DOUBLE_EQ(model.copySeconds(cpu, gpu0, 1000000), 5e-6 + 1e-3);
  EXPECT_EQ(model.linkOrigin(cpu, gpu0), LinkOrigin::given);
  // The way back is another link, and not known.
  EXPECT_DOUBLE_EQ(model.copySeconds(gpu0, cpu, 1000000),
                   StandInRates::linkLatency + 1e6 / StandInRates::linkBandwidth);
  EXPECT_EQ(model.linkOrigin(gpu0, cpu), LinkOrigin::assumed);
  EXPECT_EQ(model.copySeconds(cpu, gpu0, 0), 0);
}

TEST(CostModel, WithoutALinkCopiesGoThroughTheHost) {
  Topology topology = twoGPUs();
  topology.links = {{gpu0, cpu, 1e9, 5e-6}, {cpu, gpu1, 2e9, 6e-6}};
  CostModel model = CostModel::of(topology);
  EXPECT_EQ(model.linkOrigin(gpu0, gpu1), LinkOrigin::byHost);
  EXPECT_DOUBLE_EQ(model.copySeconds(gpu0, gpu1, 1000000), 11e-6 + 1.5e-3);
  topology.links.push_back({gpu0, gpu1, 1e11, 1e-6});
  EXPECT_DOUBLE_EQ(CostModel::of(topology).copySeconds(gpu0, gpu1, 1000000), 1e-6 + 1e-5);
}

TEST(CostModel, PartsOfOneDeviceShareItsMemory) {
  Topology topology = twoGPUs();
  topology.physical.resize(2);
  topology.logical[gpu1].physical = gpu0;
  CostModel model = CostModel::of(topology);
  EXPECT_EQ(model.linkOrigin(gpu0, gpu1), LinkOrigin::same);
  EXPECT_DOUBLE_EQ(model.copySeconds(gpu0, gpu1, 1000000), 2e-5);
  EXPECT_DOUBLE_EQ(model.copySeconds(gpu0, gpu0, 1000000), 2e-5);
}

TEST(CostModel, ALinkToItselfIsTheRateOfCopiesInside) {
  Topology topology = Topology::hostOnly();
  topology.links.push_back({cpu, cpu, 1e10, 1e-7});
  EXPECT_DOUBLE_EQ(CostModel::of(topology).copySeconds(cpu, cpu, 1000000), 1e-7 + 1e-4);
}

TEST(CostModel, HostsOfTwoTasksAreJoined) {
  CostModel model =
      CostModel::of(Topology::fromFlag("GPU:0,/job:worker/task:1/GPU:0", Driver::sim).take());
  ASSERT_EQ(model.numDevices(), 4u);
  double hop = StandInRates::linkLatency + 1e6 / StandInRates::linkBandwidth;
  EXPECT_DOUBLE_EQ(model.copySeconds(1, 3, 1000000), 3 * hop);
}

} // namespace
