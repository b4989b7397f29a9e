// A plan's devices as a topology: what the virtual clock and predictions start from.
#include "gantry/Plan/PlanTopology.h"

#include "gantry/Device/CostModel.h"

#include <gtest/gtest.h>

namespace gantry::plan {
namespace {

void addDevice(fb::PlanT &plan, const char *name, const char *driver, uint32_t physical) {
  auto device = std::make_unique<fb::DeviceT>();
  device->name = std::string("/job:localhost/replica:0/task:0/device:") + name;
  device->type = std::string(name).starts_with("GPU") ? fb::DeviceType::gpu : fb::DeviceType::cpu;
  device->driver = driver;
  device->physical = physical;
  plan.devices.push_back(std::move(device));
}

void addLink(fb::PlanT &plan, uint32_t from, uint32_t to, double bandwidth) {
  auto link = std::make_unique<fb::LinkT>();
  link->from = from, link->to = to, link->bandwidth = bandwidth;
  plan.links.push_back(std::move(link));
}

Topology topologyOf(const fb::PlanT &plan) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Plan::Pack(builder, &plan));
  return plan::topologyOf(*flatbuffers::GetRoot<fb::Plan>(builder.GetBufferPointer()));
}

TEST(PlanTopology, d4_partsOfOneCardShareIt) {
  fb::PlanT plan;
  addDevice(plan, "CPU:0", "host", 0);
  addDevice(plan, "GPU:0", "sim", 0); // physical devices are numbered within their type
  addDevice(plan, "GPU:1", "sim", 0);
  addDevice(plan, "GPU:2", "", 1);
  plan.devices[1]->memory_limit = plan.devices[2]->memory_limit = 1 << 20;
  plan.devices[1]->peak_flops = 1e12;
  plan.devices[3]->bandwidth = 1e11;
  plan.devices[3]->launch = 5e-6;
  addLink(plan, 0, 1, 1e9);
  addLink(plan, 0, 2, 1e9);
  addLink(plan, 1, 2, 1e9); // inside of the card
  Topology topology = topologyOf(plan);
  EXPECT_TRUE(topology.check().ok()) << topology.check().message();
  ASSERT_EQ(topology.physical.size(), 3u);
  EXPECT_EQ(topology.logical[2].physical, 1u);
  EXPECT_EQ(topology.logical[2].limit, 1u << 20);
  EXPECT_EQ(topology.physical[2].driver, Driver::cuda); // of plans that name none
  EXPECT_EQ(topology.physical[2].bandwidth, 1e11);
  CostModel costs = CostModel::of(topology);
  EXPECT_EQ(costs.flopRate(2), 1e12);
  EXPECT_EQ(costs.launchSeconds(3), 5e-6);
  EXPECT_EQ(costs.launchSeconds(2), StandInRates::gpuLaunch);
  EXPECT_EQ(costs.linkOrigin(1, 2), LinkOrigin::same);
  EXPECT_EQ(costs.linkOrigin(0, 2), LinkOrigin::given);
}

TEST(PlanTopology, d4_tasksHaveCardsOfTheirOwn) {
  fb::PlanT plan;
  for (int i = 0; i < 4; ++i)
    addDevice(plan, "GPU:0", "sim", 0);
  plan.devices[1]->name = "/job:localhost/replica:0/task:1/device:GPU:0";
  plan.devices[2]->name = "/job:localhost/replica:1/task:0/device:GPU:0";
  plan.devices[3]->name = "/job:worker/replica:0/task:0/device:GPU:0";
  Topology topology = topologyOf(plan);
  ASSERT_EQ(topology.physical.size(), 4u);
  for (uint32_t i = 1; i < 4; ++i) {
    EXPECT_EQ(topology.logical[i].physical, i);
    EXPECT_NE(CostModel::of(topology).linkOrigin(0, i), LinkOrigin::same);
  }
}

TEST(PlanTopology, APlanMayDoWithoutAHost) {
  fb::PlanT plan;
  addDevice(plan, "GPU:0", "sim", 0);
  addDevice(plan, "GPU:1", "sim", 1);
  CostModel costs = CostModel::of(topologyOf(plan));
  EXPECT_EQ(costs.linkOrigin(0, 1), LinkOrigin::assumed);
}

} // namespace
} // namespace gantry::plan
