// Tasks, and topology files of jobs.
#include "gantry/Device/CostModel.h"
#include "gantry/Device/Task.h"
#include "gantry/Device/Topology.h"

#include <gtest/gtest.h>

namespace {
using namespace gantry;

TEST(Task, IsWhatADevicesNameSaysOfIt) {
  EXPECT_EQ(taskOf(*DeviceName::parse("/job:worker/task:3/GPU:1")), (TaskName{"worker", 0, 3}));
  EXPECT_EQ(taskOf(*DeviceName::parse("GPU:1")), TaskName());
  EXPECT_EQ(TaskName::parse("/job:ps/replica:2")->str(), "/job:ps/replica:2/task:0");
  EXPECT_EQ((TaskName{"w", 0, 7}.shortStr()), "/job:w/task:7");
  EXPECT_EQ((TaskName{"w", 1, 7}.shortStr()), "/job:w/replica:1/task:7");
  EXPECT_EQ((TaskName{"w", 0, 7}.device(DeviceType::GPU, 1).str()),
            "/job:w/replica:0/task:7/device:GPU:1");
  EXPECT_EQ(TaskName::parse("/task:1/GPU:0").status().message(),
            "'/task:1/GPU:0' names a device; a task is written like /job:worker/task:1");
}

TEST(Task, RanksAreInTheOrderOfNames) {
  Topology topology = *Topology::fromFlag("/job:b/task:{9..11}/GPU:0,/job:a/task:2/CPU:0");
  EXPECT_EQ(tasksOf(topology),
            (std::vector<TaskName>{{"a", 0, 2}, {"b", 0, 9}, {"b", 0, 10}, {"b", 0, 11}}));
  EXPECT_EQ(foldTasks(tasksOf(topology)), "/job:a/task:2, /job:b/task:{9..11}");
  EXPECT_EQ(foldTasks(std::vector<TaskName>{{"a", 0, 0}, {"a", 0, 2}, {"a", 1, 3}, {"a", 1, 4}}),
            "/job:a/task:0, /job:a/task:2, /job:a/replica:1/task:{3..4}");
  EXPECT_EQ(foldTasks({}), "");
}

/// `tasks` and `network` stand in a file with a kind of one CPU and two GPUs.
Expected<Topology> job(const std::string &tasks, const std::string &network = "") {
  return Topology::fromJSON(
      R"({"kinds": {"node": {"physical": [{"name": "CPU:0", "driver": "host", "memory": "8GiB"},
                                          {"name": "GPU:{0..1}", "driver": "cuda"}],
                             "links": [{"from": "CPU:0", "to": "GPU:{0..1}", "bandwidth": 5e10}]}},
          "tasks": [)" +
      tasks + "]" + (network.empty() ? "" : ", \"network\": " + network) + "}");
}
std::string errorOf(const std::string &tasks, const std::string &network = "") {
  return job(tasks, network).status().message();
}

const std::string four =
    R"({"name": "/job:worker/task:{0..3}", "kind": "node", "host": "n{0..3}"})";
const std::string network =
    R"({"bandwidth": 4.5e10, "latency": 2.5e-6, "inside": {"bandwidth": 8e9, "latency": 5e-7},
        "gpus": "nccl", "links": [{"from": "n{0..1}", "to": "n{2..3}", "bandwidth": 2e10}]})";

TEST(JobFile, WritesWhatIsAlikeOnce) {
  Expected<Topology> read = job(four, network);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->logical.size(), 12u);
  EXPECT_EQ(read->links.size(), 8u);
  EXPECT_EQ(read->tasks.size(), 4u);
  EXPECT_EQ(read->hosts, (std::vector<std::string>{"n0", "n1", "n2", "n3"}));
  EXPECT_EQ(read->logical[11].name.str(), "/job:worker/replica:0/task:3/device:GPU:1");
  EXPECT_EQ(read->links[7].from, 9u);
  EXPECT_EQ(read->links[7].to, 11u);
  EXPECT_TRUE(read->network->joinsGPUs);
  EXPECT_EQ(read->network->insideBandwidth, 8e9);
  EXPECT_EQ(read->network->links[0].to, (std::vector<uint32_t>{2, 3}));
  // Written in full it is the same topology.
  Expected<Topology> again = Topology::fromJSON(read->toJSON());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *read);
  // Several tasks of one host need no network.
  EXPECT_TRUE(job(R"({"name": "/job:w/task:{0..3}", "kind": "node", "host": "n0"})").ok());
}

TEST(JobFile, GivesItsFirstTasks) {
  auto first = [](const std::string &tasks) {
    TopologyFlags flags;
    flags.file = "job.json";
    flags.json = job(four, network)->toJSON();
    flags.tasks = tasks;
    return TopologyRequest::parse(flags);
  };
  // What a file of fewer tasks would say: devices, links and hosts are counted anew.
  Expected<TopologyRequest> three = first("worker=3");
  ASSERT_TRUE(three.ok()) << three.status().message();
  std::string fewer = network;
  fewer.replace(fewer.find("n{2..3}"), 7, "n2");
  EXPECT_EQ(
      *three->devices,
      *job(R"({"name": "/job:worker/task:{0..2}", "kind": "node", "host": "n{0..2}"})", fewer));
  // No link is left where one of its sides has no host.
  EXPECT_TRUE(first("worker=2")->devices->network->links.empty());
  EXPECT_EQ(*first("worker=4")->devices, *job(four, network));
  EXPECT_EQ(first("worker=1,ps=1").status().message(),
            "--tasks=worker=1,ps=1: 'ps=1' is more tasks than the topology has, which are "
            "/job:worker/task:{0..3}");
}

TEST(JobFile, SaysWhatIsWrong) {
  EXPECT_EQ(errorOf(four), "topology: there are 4 hosts and no network that joins them; give its "
                           "bandwidth and latency in 'network'");
  EXPECT_EQ(errorOf(four + R"(, {"name": "/job:worker/task:2", "kind": "node"})", network),
            "topology: '/job:worker/replica:0/task:2/physical_device:CPU:0' is there twice");
  EXPECT_EQ(
      errorOf(R"({"name": "/job:w/task:{0..3}", "kind": "node", "host": "n{0..2}"})", network),
      "topology: tasks[0]: there are 4 tasks and 3 hosts; give as many hosts, or one for all");
  EXPECT_EQ(errorOf(R"({"name": "/job:w/task:0", "kind": "gpu"})"),
            "topology: tasks[0]: unknown kind 'gpu'");
  EXPECT_EQ(errorOf(R"({"name": "/job:w/task:0/GPU:0", "kind": "node"})"),
            "topology: tasks[0]: '/job:w/task:0/GPU:0' names a device; a task is written like "
            "/job:worker/task:1");
  EXPECT_EQ(errorOf(R"({"name": "/job:w/task:0"})"), "topology: there is no device");
  EXPECT_EQ(errorOf(R"({"name": "/job:w/task:{0..99999}", "kind": "node"})"),
            "topology: tasks[0]: '/job:w/task:{0..99999}', column 13: these are more than 65536 "
            "names");
  EXPECT_EQ(errorOf(R"({"name": "/job:w/task:{0..9999}", "kind": "node"})"),
            "topology: tasks: they have 30000 devices; at most 16384 are supported");
  EXPECT_EQ(errorOf(four, R"({"links": [{"from": "n{0..1}", "to": "n{2..9}"}]})"),
            "topology: network.links[0]: 'to' names 'n4', which is the host of no task");
  EXPECT_EQ(errorOf(four, R"({"bandwidth": 0})"),
            "topology: network: 'bandwidth' is not a number above 0; leave it out when it is not "
            "known");
  EXPECT_EQ(errorOf(four, R"({"inside": {"latency": -1}})"),
            "topology: network.inside: 'latency' is not a number from 0 on");
  EXPECT_EQ(errorOf(four, R"({"bandwidth": 0.5})"),
            "topology: the network has a rate of 0.5 bytes a second, expected 1 to 1e+30, or 0 "
            "where it is not known");
  EXPECT_EQ(errorOf(four, R"({"gpus": "smoke"})"),
            "topology: network: 'gpus' is 'smoke'; the one mover of GPUs' bytes that is known is "
            "nccl");
  EXPECT_EQ(errorOf(four, R"({"speed": 1})"),
            "topology: network: unknown key 'speed'; the keys are bandwidth, latency, inside, "
            "gpus, links");
}

TEST(JobFile, TasksMayHaveDevicesOfTheirOwn) {
  auto file = [](const char *task) {
    return Topology::fromJSON(
        std::string(R"({"physical": [{"name": "/job:a/task:{0..1}/CPU:0", "driver": "host"}],
                        "tasks": [{"name": ")") +
        task + R"(", "host": "n0"}]})");
  };
  EXPECT_TRUE(file("/job:a/task:{0..1}").ok());
  EXPECT_EQ(file("/job:a/task:1").status().message(),
            "topology: '/job:a/task:0' has devices and is not in the list of tasks");
  EXPECT_EQ(file("/job:a/task:{0..2}").status().message(),
            "topology: task '/job:a/task:2' has no device");
}

TEST(Flags, TasksHaveTheDevicesThatAreListed) {
  auto devicesOf = [](const char *tasks, const char *devices) {
    TopologyFlags flags;
    flags.tasks = tasks;
    flags.devices = devices;
    return TopologyRequest::parse(flags);
  };
  Expected<TopologyRequest> request = devicesOf("worker=4,ps=1", "CPU:0,GPU:{0..1}@1GiB");
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_EQ(foldTasks(tasksOf(*request->devices)), "/job:ps/task:0, /job:worker/task:{0..3}");
  EXPECT_EQ(request->devices->logical.size(), 15u);
  EXPECT_EQ(devicesOf("w=2", "")->devices->logical.size(), 2u);
  for (const char *wrong : {"w", "w=", "w=0", "w=-1", "w=x", "w=99999", ""})
    if (*wrong) {
      EXPECT_EQ(devicesOf(wrong, "").status().message(),
                "--tasks=" + std::string(wrong) + ": '" + wrong +
                    "' is not a job and how many tasks it has, like worker=4");
    }
  EXPECT_EQ(devicesOf("w=2", "/task:1/CPU:0").status().message(),
            "--tasks=w=2 gives each task the devices of --devices=/task:1/CPU:0, which are then "
            "written without tasks, like CPU:0,GPU:0");
}

TEST(JobCosts, TasksOfOneKindShareTheirWays) {
  Expected<Topology> read = job(four, network);
  ASSERT_TRUE(read.ok()) << read.status().message();
  CostModel costs = CostModel::of(*read);
  // Inside of a task: by its links, and by way of its host.
  for (uint32_t task = 0; task < 4; ++task) {
    const uint32_t cpu = 3 * task, gpu = cpu + 1;
    EXPECT_DOUBLE_EQ(costs.copySeconds(cpu, gpu, 1'000'000), 2e-5);
    EXPECT_EQ(costs.linkOrigin(gpu, gpu + 1), LinkOrigin::byHost);
    EXPECT_EQ(costs.linkOrigin(gpu, gpu), LinkOrigin::same);
  }
  // Between tasks: from host to host and, with NCCL, from GPU to GPU; a slower link counts.
  EXPECT_EQ(costs.linkOrigin(0, 3), LinkOrigin::network);
  EXPECT_DOUBLE_EQ(costs.copySeconds(0, 3, 4'500'000), 2.5e-6 + 1e-4);
  EXPECT_DOUBLE_EQ(costs.copySeconds(1, 4, 4'500'000), 2.5e-6 + 1e-4);
  EXPECT_DOUBLE_EQ(costs.copySeconds(0, 9, 2'000'000), 2.5e-6 + 1e-4);
  // From a GPU to a host: down, and over the network.
  EXPECT_DOUBLE_EQ(costs.copySeconds(1, 3, 4'500'000),
                   costs.copySeconds(1, 0, 4'500'000) + costs.copySeconds(0, 3, 4'500'000));
  read->network->joinsGPUs = false;
  CostModel staged = CostModel::of(*read);
  EXPECT_DOUBLE_EQ(staged.copySeconds(1, 4, 1000), staged.copySeconds(1, 0, 1000) +
                                                       staged.copySeconds(0, 3, 1000) +
                                                       staged.copySeconds(3, 4, 1000));
}

TEST(JobCosts, MemoryGrowsWithDevicesNotWithTheirSquare) {
  // A table of all pairs would be 6 GB here.
  Expected<Topology> read =
      job(R"({"name": "/job:w/task:{0..5399}", "kind": "node", "host": "n{0..5399}"})",
          R"({"bandwidth": 1e9})");
  ASSERT_TRUE(read.ok()) << read.status().message();
  CostModel costs = CostModel::of(*read);
  EXPECT_DOUBLE_EQ(costs.copySeconds(0, 16197, 1'000'000), 1e-3);
}
} // namespace
