// Topologies from flags and JSON, and what is refused of both.
#include "gantry/Device/Topology.h"

#include <gtest/gtest.h>

#include <cmath>

namespace {
using namespace gantry;

std::string flagError(std::string_view text) { return Topology::fromFlag(text).status().message(); }
std::string jsonError(std::string_view text) { return Topology::fromJSON(text).status().message(); }

TEST(Topology, HostOnlyIsSound) {
  Topology topology = Topology::hostOnly();
  EXPECT_TRUE(topology.check().ok());
  EXPECT_EQ(topology.deviceList(), "/job:localhost/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(topology.physical[0].driver, Driver::host);
}

TEST(Topology, d5_flag_form) {
  Expected<Topology> topology = Topology::fromFlag("CPU:0,GPU:0,GPU:1@16GiB");
  ASSERT_TRUE(topology.ok()) << topology.status().message();
  ASSERT_EQ(topology->logical.size(), 3u);
  EXPECT_EQ(topology->logical[2].name, DeviceName::local(DeviceType::GPU, 1));
  EXPECT_EQ(topology->limitOf(topology->logical[2]), uint64_t(16) << 30);
  EXPECT_EQ(topology->limitOf(topology->logical[1]), 0u);
  EXPECT_EQ(topology->physical[1].driver, Driver::cuda);
  EXPECT_EQ(Topology::fromFlag("gpu:0", Driver::sim)->physical[1].driver, Driver::sim);
}

TEST(Topology, d5_the_host_is_always_there_and_first) {
  Expected<Topology> topology = Topology::fromFlag("GPU:1,GPU:0,/job:worker/task:1/GPU:0");
  ASSERT_TRUE(topology.ok()) << topology.status().message();
  EXPECT_EQ(topology->deviceList(), "/job:localhost/replica:0/task:0/device:CPU:0, "
                                    "/job:localhost/replica:0/task:0/device:GPU:0, "
                                    "/job:localhost/replica:0/task:0/device:GPU:1, "
                                    "/job:worker/replica:0/task:1/device:CPU:0, "
                                    "/job:worker/replica:0/task:1/device:GPU:0");
}

TEST(Topology, d5_flag_form_refused) {
  EXPECT_EQ(flagError(""), "the device name is empty; write a name like GPU:0 or "
                           "/job:worker/task:1/device:GPU:0");
  EXPECT_EQ(flagError("GPU:0,"), flagError(""));
  EXPECT_EQ(flagError("GPU"),
            "'GPU' in a device list does not name one device; write a type and an "
            "id, like GPU:0");
  EXPECT_EQ(
      flagError("GPU:0@lots"),
      "'lots' is not a byte count: it does not start with a digit; write a number and B, KiB, "
      "MiB, GiB, TiB, KB, MB, GB or TB");
  EXPECT_EQ(flagError("GPU:0@0"), "'GPU:0@0': a limit of 0 bytes holds nothing");
  EXPECT_EQ(flagError("GPU:0,GPU:0"), "topology: '/job:localhost/replica:0/task:0/"
                                      "physical_device:GPU:0' is there twice");
}

std::string placed(const char *wanted, bool isSoft = false, std::vector<uint64_t> held = {}) {
  Topology topology = Topology::fromFlag("GPU:0,GPU:1,/job:worker/GPU:0").take();
  auto device = topology.place(DeviceName::parse(wanted).take(), isSoft, held);
  return device ? topology.logical[*device].name.shortStr() : "none";
}

TEST(Topology, p6_gpus_before_cpus_then_the_lowest_id) {
  EXPECT_EQ(placed("/job:localhost"), "GPU:0");
  EXPECT_EQ(placed("/task:0"), "GPU:0");
  EXPECT_EQ(placed("GPU"), "GPU:0");
  EXPECT_EQ(placed("GPU:1"), "GPU:1");
  EXPECT_EQ(placed("CPU"), "CPU:0");
}

TEST(Topology, p6_of_one_type_the_one_that_holds_most) {
  EXPECT_EQ(placed("/job:localhost", false, {9, 0, 1, 0, 0}),
            "GPU:1"); // the host's count for nothing
  EXPECT_EQ(placed("GPU", false, {0, 4, 4, 0, 3}), "GPU:0");
  EXPECT_EQ(placed("GPU:0", false, {0, 4, 9, 0, 0}), "GPU:0");
}

TEST(Topology, p5_any_id_then_any_type_of_that_task) {
  EXPECT_EQ(placed("GPU:7"), "none");
  EXPECT_EQ(placed("GPU:7", true), "GPU:0");
  EXPECT_EQ(placed("GPU:7", true, {0, 0, 1, 0, 0}), "GPU:1");
  EXPECT_EQ(placed("CPU:3", true), "CPU:0");
  EXPECT_EQ(placed("/job:worker/GPU:5", true), "/job:worker/replica:0/task:0/device:GPU:0");
  EXPECT_EQ(placed("/job:nobody/GPU:0", true), "none");
  Topology host = Topology::hostOnly();
  EXPECT_EQ(host.place(DeviceName::local(DeviceType::GPU, 0), true), 0u);
}

TEST(Topology, FindsByFullName) {
  Topology topology = Topology::hostOnly();
  EXPECT_EQ(topology.find(DeviceName::local(DeviceType::CPU, 0)), &topology.logical[0]);
  EXPECT_EQ(topology.find(DeviceName::local(DeviceType::GPU, 0)), nullptr);
}

constexpr const char *twoGPUs = R"({
  "physical": [
    {"name": "CPU:0", "driver": "host", "memory": "24GiB"},
    {"name": "GPU:0", "driver": "sim", "model": "a card", "memory": 2147483648,
     "architecture": "sm_90", "launch": 4e-6, "bandwidth": 1e12, "peak_flops": {"f32": 2e13, "bf16": 1e14}}
  ],
  "logical": [
    {"name": "CPU:0", "physical": "CPU:0"},
    {"name": "GPU:0", "physical": "GPU:0", "limit": "1GiB"},
    {"name": "GPU:1", "physical": "GPU:0", "limit": "1GiB"}
  ],
  "links": [{"from": "CPU:0", "to": "GPU:0", "bandwidth": 2.5e10, "latency": 1e-5}]
})";

TEST(Topology, d4_two_logical_devices_on_one_physical) {
  Expected<Topology> topology = Topology::fromJSON(twoGPUs);
  ASSERT_TRUE(topology.ok()) << topology.status().message();
  EXPECT_EQ(topology->physical.size(), 2u);
  EXPECT_EQ(topology->logical.size(), 3u);
  EXPECT_EQ(topology->logical[2].physical, 1u);
  EXPECT_EQ(topology->physical[1].peakFlops[size_t(ElementType::bf16)], 1e14);
  EXPECT_EQ(topology->physical[1].architecture, 90u);
  EXPECT_EQ(topology->physical[1].launch, 4e-6);
  EXPECT_EQ(topology->links[0].latency, 1e-5);
}

TEST(Topology, JSONRoundTrips) {
  Expected<Topology> topology = Topology::fromJSON(twoGPUs);
  ASSERT_TRUE(topology.ok());
  Expected<Topology> again = Topology::fromJSON(topology->toJSON());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *topology);
}

TEST(Topology, JSONWithoutLogicalDevicesIsOneToOne) {
  Expected<Topology> topology =
      Topology::fromJSON(R"({"physical": [{"name": "CPU:0", "driver": "host"}]})");
  ASSERT_TRUE(topology.ok()) << topology.status().message();
  EXPECT_EQ(*topology, Topology::hostOnly());
}

TEST(Topology, JSONWithAnInvalidNameStillPrints) {
  Topology topology = Topology::hostOnly();
  topology.physical[0].model = "caf\xe9";
  EXPECT_NE(topology.toJSON().find("caf"), std::string::npos);
}

TEST(Topology, LinksJoinDevicesThatAreThere) {
  Topology topology = Topology::hostOnly();
  topology.links.push_back({0, 0, 1e10, 1e-7}); // copies inside the host's memory
  EXPECT_TRUE(topology.check().ok());
  EXPECT_EQ(*Topology::fromJSON(topology.toJSON()), topology);
  topology.links.push_back({0, 1, 1e10, 1e-7});
  EXPECT_EQ(topology.check().message(),
            "topology: the link from 0 to 1 does not join devices; there are 1 physical devices");
}

TEST(Topology, TooManyDevicesAreRefused) {
  EXPECT_EQ(flagError("GPU:{0..16383}"),
            "topology: there are 16385 devices; at most 16384 are supported");
}

TEST(Topology, JSONRefused) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "topology: this is not JSON"},
      {"[1", "topology: this is not JSON, see line 1, column 2"},
      {"{\n  \"physical\" []}", "topology: this is not JSON, see line 2, column 14"},
      {"[]", "topology: file: expected an object"},
      {"{}", "topology: there is no device"},
      {R"({"devices": []})",
       "topology: file: unknown key 'devices'; the keys are physical, logical, links, "
       "kinds, tasks, network"},
      {R"({"physical": 1})", "topology: physical: expected a list"},
      {R"({"physical": [1]})", "topology: physical[0]: expected an object"},
      {R"({"physical": [{"driver": "host"}]})", "topology: physical[0]: the key 'name' is missing"},
      {R"({"physical": [{"name": 1, "driver": "host"}]})",
       "topology: physical[0]: 'name' is not a text"},
      {R"({"physical": [{"name": "CPU", "driver": "host"}]})",
       "topology: physical[0]: 'CPU' does not name one device"},
      {R"({"physical": [{"name": "CPU:0", "driver": "tpu"}]})",
       "topology: physical[0]: unknown driver 'tpu'; the drivers are host, sim and cuda"},
      {R"({"physical": [{"name": "CPU:0", "driver": "cuda"}]})",
       "topology: '/job:localhost/replica:0/task:0/physical_device:CPU:0' cannot be run by the "
       "driver 'cuda'"},
      {R"({"physical": [{"name": "CPU:0", "driver": "host", "memory": -1}]})",
       "topology: physical[0]: 'memory' is not a byte count, like 1073741824 or \"1GiB\""},
      {R"({"physical": [{"name": "CPU:0", "driver": "host", "bandwidth": -1}]})",
       "topology: physical[0]: 'bandwidth' is not a number above 0; leave it out when it is not "
       "known"},
      {R"({"physical": [{"name": "CPU:0", "driver": "host", "bandwidth": 0}]})",
       "topology: physical[0]: 'bandwidth' is not a number above 0; leave it out when it is not "
       "known"},
      {R"({"physical": [{"name": "CPU:0", "driver": "host", "peak_flops": {"f32": 0}}]})",
       "topology: physical[0]: 'peak_flops' has 'f32'; it maps the element types f32, f64, f16, "
       "bf16, i8, u8, i16, u16, i32, u32, i64, u64, i1 to numbers above 0"},
      {R"({"physical": [{"name": "CPU:0", "driver": "host"}],
           "links": [{"from": "CPU:0", "to": "CPU:0", "bandwidth": 0}]})",
       "topology: links[0]: 'bandwidth' is not a number above 0; leave it out when it is not "
       "known"},
      {R"({"physical": [{"name": "CPU:0", "driver": "host", "memory": 0}]})",
       "topology: physical[0]: 'memory' is 0 bytes, which holds nothing; leave it out for none"},
      {R"({"physical": [{"name": "CPU:0", "driver": "host"}],
           "logical": [{"name": "CPU:0", "physical": "CPU:0", "limit": "0MiB"}]})",
       "topology: logical[0]: 'limit' is 0 bytes, which holds nothing; leave it out for none"},
      {R"({"physical": [{"name": "CPU:0", "driver": "host", "architecture": "sm_9x"}]})",
       "topology: physical[0]: 'architecture' is 'sm_9x', expected a form like sm_90"},
      {R"({"physical": [{"name": "CPU:0", "driver": "host", "launch": 3601}]})",
       "topology: '/job:localhost/replica:0/task:0/physical_device:CPU:0' takes 3601 "
       "seconds to start a kernel, expected 0 to 3600"},
      {R"({"physical": [{"name": "CPU:0", "driver": "host", "peak_flops": {"f8": 1}}]})",
       "topology: physical[0]: 'peak_flops' has 'f8'; it maps the element types f32, f64, f16, "
       "bf16, "
       "i8, u8, i16, u16, i32, u32, i64, u64, i1 to numbers above 0"},
      {R"({"physical": [{"name": "GPU:0", "driver": "cuda"}]})",
       "topology: '/job:localhost/replica:0/task:0/device:GPU:0' has no host: "
       "'/job:localhost/replica:0/task:0/device:CPU:0' is missing"},
      {R"({"physical": [{"name": "CPU:0", "driver": "host", "memory": 100}],
           "logical": [{"name": "CPU:0", "physical": "CPU:0", "limit": 101}]})",
       "topology: the limits on '/job:localhost/replica:0/task:0/physical_device:CPU:0', 101 bytes "
       "together, are over its memory of 100 bytes; lower them by 1 byte"},
      {R"({"physical": [{"name": "CPU:0", "driver": "host"}, {"name": "GPU:0", "driver": "sim"}],
           "logical": [{"name": "CPU:0", "physical": "CPU:0"},
                       {"name": "GPU:0", "physical": "GPU:0", "limit": "1GiB"},
                       {"name": "GPU:1", "physical": "GPU:0"}]})",
       "topology: '/job:localhost/replica:0/task:0/device:GPU:1' shares "
       "'/job:localhost/replica:0/task:0/physical_device:GPU:0' with others and has no limit; give "
       "each of them one"},
      {R"({"physical": [{"name": "CPU:0", "driver": "host"}],
           "logical": [{"name": "CPU:0", "physical": "CPU:1"}]})",
       "topology: logical[0]: 'physical' names no physical device: "
       "'/job:localhost/replica:0/task:0/physical_device:CPU:1'"},
  };
  for (auto [text, expected] : cases)
    EXPECT_EQ(jsonError(text), expected) << text;
}

TEST(Topology, SizesEndBelow2To63) {
  const std::string over = " is not a byte count: it is over 2^63 - 1; write a number and B, KiB, "
                           "MiB, GiB, TiB, KB, MB, GB or TB";
  EXPECT_TRUE(Topology::fromFlag("CPU:0@9223372036854775807").ok());
  EXPECT_EQ(flagError("CPU:0@9223372036854775808"), "'9223372036854775808'" + over);
  EXPECT_EQ(flagError("CPU:0@10000000TB"), "'10000000TB'" + over);
  EXPECT_EQ(flagError("CPU:0@18446744073709551615"), "'18446744073709551615'" + over);
  const std::string cpu = "'/job:localhost/replica:0/task:0/physical_device:CPU:0'";
  Topology topology = Topology::hostOnly();
  topology.physical[0].memory = uint64_t(1) << 63;
  EXPECT_EQ(topology.check().message(), "topology: " + cpu + " has over 2^63 - 1 bytes of memory");
  topology.physical[0].memory = 0;
  topology.logical[0].limit = uint64_t(1) << 63;
  EXPECT_EQ(topology.check().message(),
            "topology: the limits on " + cpu + " are over 2^63 - 1 bytes together");
  // Two parts that each can be said, and together cannot.
  Expected<Topology> whole = Topology::fromFlag("GPU:0", Driver::sim);
  ASSERT_TRUE(whole.ok());
  Expected<GPUSplit> split = GPUSplit::parse("GPU:0=8388607TiB,1TiB");
  ASSERT_TRUE(split.ok()) << split.status().message();
  EXPECT_EQ(whole->withSplits({{*split}}).status().message(),
            "topology: the limits on '/job:localhost/replica:0/task:0/physical_device:GPU:0' are "
            "over 2^63 - 1 bytes together");
}

TEST(Topology, RatesGiveTimesThatAreNumbers) {
  const std::string cpu = "'/job:localhost/replica:0/task:0/physical_device:CPU:0'";
  const auto error = [](double bandwidth, double flops, double launch) {
    Topology topology = Topology::hostOnly();
    topology.physical[0].bandwidth = bandwidth;
    topology.physical[0].peakFlops[0] = flops;
    topology.physical[0].launch = launch;
    return topology.check().message();
  };
  const std::string expected = " a second, expected 1 to 1e+30, or 0 where it is not known";
  EXPECT_EQ(error(0, 0, 0), "");
  EXPECT_EQ(error(-0.0, -0.0, -0.0), "");
  EXPECT_EQ(error(1, 1e30, 3600), "");
  EXPECT_EQ(error(1e-300, 0, 0), "topology: " + cpu + " has a rate of 1e-300 bytes" + expected);
  EXPECT_EQ(error(INFINITY, 0, 0), "topology: " + cpu + " has a rate of inf bytes" + expected);
  EXPECT_EQ(error(0, 1e31, 0), "topology: " + cpu + " has a rate of 1e+31 operations" + expected);
  EXPECT_EQ(error(0, NAN, 0), "topology: " + cpu + " has a rate of nan operations" + expected);
  EXPECT_EQ(error(0, 0, NAN),
            "topology: " + cpu + " takes nan seconds to start a kernel, expected 0 to 3600");
  const auto linkError = [](double bandwidth, double latency) {
    Topology topology = Topology::hostOnly();
    topology.links.push_back({0, 0, bandwidth, latency});
    return topology.check().message();
  };
  EXPECT_EQ(linkError(1e30, 3600), "");
  EXPECT_EQ(linkError(0.5, 0), "topology: the link from 0 to 0 has a rate of 0.5 bytes" + expected);
  EXPECT_EQ(linkError(1, 1e300), "topology: the link from 0 to 0 takes 1e+300 seconds before the "
                                 "first byte, expected 0 to 3600");
}

/// A topology of one host, where `member` is one more of its members.
std::string withMember(const std::string &member) {
  return R"({"physical": [{"name": "CPU:0", "driver": "host", )" + member + "}]}";
}

TEST(Topology, JSONNumbersAtTheirEnds) {
  const auto error = [](const std::string &member) { return jsonError(withMember(member)); };
  EXPECT_EQ(error(R"("memory": 9223372036854775807)"), "");
  EXPECT_EQ(error(R"("memory": 9223372036854775808)"),
            "topology: physical[0]: 'memory' is over 2^63 - 1 bytes");
  EXPECT_EQ(error(R"("memory": 18446744073709551615)"),
            "topology: physical[0]: 'memory' is over 2^63 - 1 bytes");
  const std::string noCount =
      R"(topology: physical[0]: 'memory' is not a byte count, like 1073741824 or "1GiB")";
  for (const char *number : {"18446744073709551616", "1e30", "1e3", "-1", "1.0", "null", "[1]"})
    EXPECT_EQ(error(R"("memory": )" + std::string(number)), noCount) << number;
  EXPECT_EQ(error(R"("memory": -0)"), noCount);
  const std::string noRate = "topology: physical[0]: 'bandwidth' is not a number above 0; leave it "
                             "out when it is not known";
  for (const char *number : {"0", "-0", "-0.0", "1e-400"})
    EXPECT_EQ(error(R"("bandwidth": )" + std::string(number)), noRate) << number;
  EXPECT_EQ(error(R"("launch": -0.0)"), "");
  EXPECT_EQ(error(R"("bandwidth": 1e400)"),
            "topology: a number is beyond 1.8e308, see line 1, column 68");
  EXPECT_EQ(error(R"("bandwidth": -1e400)"),
            "topology: a number is beyond 1.8e308, see line 1, column 69");
}

} // namespace
