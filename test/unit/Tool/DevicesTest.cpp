// gantry devices, and the flags of run that are about devices (spec D4-D9). GPUs are those of a
// fake NVML, so that the tests say the same on every machine.
#include "ToolFixture.h"

using namespace gantry;
using namespace gantry::tool::test;

namespace {
class DevicesTool : public GantryTool {
protected:
  /// On a machine with two GPUs of 2 GiB.
  Result onTwoGPUs(const std::string &arguments, const std::string &before = "") {
    return gantry(arguments, before + " LD_LIBRARY_PATH=" GANTRY_FAKE_NVML_FOLDER);
  }
  Topology listed(const std::string &arguments) {
    const Result result = onTwoGPUs("devices --json " + arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    Expected<Topology> topology = Topology::fromJSON(result.out);
    EXPECT_TRUE(topology.ok()) << topology.status().message() << result.out;
    return topology ? topology.take() : Topology::hostOnly();
  }
};

TEST_F(DevicesTool, d7_lists_gpus_with_what_there_is_to_know) {
  const Result devices = onTwoGPUs("devices");
  EXPECT_EQ(devices.status, 0) << devices.err;
  EXPECT_HAS(devices.out, "GPU:1  Fake H100\n"
                          "  driver     cuda\n"
                          "  target     sm_90\n"
                          "  uuid       GPU-2000-fake\n"
                          "  memory     1 GiB free of 2 GiB\n"
                          "  f32        40 TFLOP/s\n"
                          "  bandwidth  1 TB/s\n"
                          "  launch     1.1 µs (assumed)\n");
  EXPECT_TRUE(std::regex_search(devices.out, std::regex("NVML +570\\.86 +lists GPUs")));
  EXPECT_TRUE(std::regex_search(devices.out,
                                std::regex("GPU:0 +GPU:1 +direct, NVLink +atomics\n *GPU:1 +GPU:0 "
                                           "+direct, NVLink *\n")))
      << devices.out;
  EXPECT_TRUE(std::regex_search(devices.out, std::regex("GPU:0 +GPU:1 +300 GB/s +10 µs +assumed")))
      << devices.out;
}

TEST_F(DevicesTool, d7_json_has_the_ways_and_architectures_of_gpus) {
  const Topology machine = listed("");
  EXPECT_EQ(machine.physical[1].architecture, 90u);
  EXPECT_EQ(machine.physical[2].launch, 1.1e-6); // a stand-in, spelled out
  for (auto [from, to] : {std::pair(1u, 2u), {2u, 1u}})
    EXPECT_NE(std::find(machine.links.begin(), machine.links.end(), Link{from, to, 3e11, 1e-5}),
              machine.links.end());
}

// Golden rows of spec section 9.
TEST_F(DevicesTool, d4_d8_physical_and_logical) {
  const std::pair<const char *, const char *> rows[] = {
      {"", "GPUs: 2 physical, 2 logical\n"},
      {"--visible 0", "GPUs: 2 physical, 1 logical\n"},
      {"--devices GPU:0@1GiB,GPU:1", "GPUs: 2 physical, 2 logical\n"},
      {"--split GPU:0=1GiB,1GiB", "GPUs: 2 physical, 3 logical\n"},
      {"--visible none", "GPUs: 2 physical, 0 logical\n"},
  };
  for (auto [flags, expected] : rows)
    EXPECT_HAS(onTwoGPUs(std::string("devices ") + flags).out, expected);
}

TEST_F(DevicesTool, d8_honours_CUDA_VISIBLE_DEVICES) {
  EXPECT_HAS(onTwoGPUs("devices", "CUDA_VISIBLE_DEVICES=1").out, "GPUs: 1 physical, 1 logical\n");
  EXPECT_HAS(onTwoGPUs("devices", "CUDA_VISIBLE_DEVICES=").out, "GPUs: 0 physical, 0 logical\n");
  // What is behind a number that is not there does not count, as in CUDA itself.
  EXPECT_HAS(onTwoGPUs("devices", "CUDA_VISIBLE_DEVICES=0,7,1").out,
             "GPUs: 1 physical, 1 logical\n");
  EXPECT_HAS(onTwoGPUs("devices", "CUDA_VISIBLE_DEVICES=GPU-2000").out, "GPU-2000-fake");
  for (auto [text, count] : {std::pair("-1", 0),
                             {"1,-1,0", 1},
                             {"0,x", 1},
                             {"0,0", 0},
                             {"' 1, 0'", 2},
                             {"1gpu", 1},
                             {"0,", 1},
                             {"GPU-", 0},
                             {"GPU-2000,GPU-2000-fake", 0},
                             {"GPU-2000,0", 1},
                             {"0,GPU-2000", 1}})
    EXPECT_HAS(onTwoGPUs("devices", std::string("CUDA_VISIBLE_DEVICES=") + text).out,
               "GPUs: " + std::to_string(count) + " physical")
        << text;
  EXPECT_EQ(onTwoGPUs("devices --visible 1", "CUDA_VISIBLE_DEVICES=1").err,
            "gantry: error: --visible: '1': unknown device; the GPUs are GPU:0\n");
}

TEST_F(DevicesTool, d5_json_is_a_topology_file) {
  Topology machine = listed("");
  ASSERT_EQ(machine.physical.size(), 3u);
  EXPECT_EQ(machine.physical[1].memory, uint64_t(2) << 30);
  write(folder / "machine.json", machine.toJSON());
  EXPECT_EQ(listed("--topology machine.json"), machine);
  Topology simulated = listed("--topology machine.json --simulate --split GPU:0=1GiB,1GiB");
  EXPECT_EQ(simulated.physical[2].driver, Driver::sim);
  EXPECT_EQ(simulated.logical.size(), 4u);
}

TEST_F(DevicesTool, d7_calibrates) {
  Topology machine = listed("--calibrate");
  const PhysicalDevice &host = machine.physical[0];
  EXPECT_GT(host.peakFlops[size_t(ElementType::f32)], 1e9);
  EXPECT_GT(host.peakFlops[size_t(ElementType::f64)], 1e8);
  EXPECT_GT(host.bandwidth, 1e8);
  const auto inside = std::find_if(machine.links.begin(), machine.links.end(),
                                   [](const Link &link) { return link.from == 0 && link.to == 0; });
  ASSERT_NE(inside, machine.links.end());
  EXPECT_GT(inside->bandwidth, 1e8);
  EXPECT_TRUE(std::regex_search(gantry("devices --calibrate").out,
                                std::regex("CPU:0 +CPU:0 .* measured\n")));
}

TEST_F(DevicesTool, d7_calibrates_gpus_through_cuda) {
  const std::string with = "GANTRY_CUDA_LIB=" GANTRY_FAKE_CUDA " FAKE_CUDA_DEVICES=2";
  const Result devices = onTwoGPUs("devices --calibrate --json", with);
  EXPECT_EQ(devices.status, 0) << devices.err;
  EXPECT_EQ(devices.err, "");
  Expected<Topology> read = Topology::fromJSON(devices.out);
  ASSERT_TRUE(read.ok()) << read.status().message();
  // What comes from a stand-in never passes for a GPU's.
  EXPECT_EQ(read->physical[1].model, "Fake H100 (rates of a stand-in for CUDA, of no GPU)");
  for (uint32_t gpu : {1, 2}) {
    EXPECT_GT(read->physical[gpu].bandwidth, 0);
    EXPECT_NE(read->physical[gpu].bandwidth, 1e12); // NVML's
    EXPECT_NE(read->physical[gpu].launch, 1.1e-6);  // that of the stand-in
    for (ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16})
      EXPECT_GT(read->physical[gpu].peakFlops[size_t(type)], 0);
  }
  EXPECT_EQ(read->links.size(), 9u); // all pairs of three
  // What is told of the ways does not depend on the numbers, which take seconds to interpret.
  const std::string quick = with + " FAKE_CUDA_SKIP=1";
  const std::string text = onTwoGPUs("devices --calibrate", quick).out;
  EXPECT_TRUE(std::regex_search(text, std::regex("GPU:0 +GPU:1 .* measured\n"))) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("launch +[0-9.]+ (n|µ)s\n"))) << text;
  // CUDA's word on the ways between GPUs, and their ranks, which NVML does not know.
  EXPECT_TRUE(
      std::regex_search(text, std::regex("GPU:0 +GPU:1 +direct, NVLink +atomics, rank 0\n *"
                                         "GPU:1 +GPU:0 +direct, NVLink +atomics, rank 0\n")))
      << text;
  const std::string apart = onTwoGPUs("devices --calibrate", quick + " FAKE_CUDA_PEERS=0").out;
  EXPECT_TRUE(std::regex_search(apart, std::regex("GPU:0 +GPU:1 +through the host *\n"))) << apart;
}

TEST_F(DevicesTool, d7_calibrates_what_there_is) {
  const Result devices = onTwoGPUs("devices --calibrate", "GANTRY_CUDA_LIB=/nowhere.so");
  EXPECT_EQ(devices.status, 0);
  EXPECT_HAS(devices.err, "gantry: warning: GPUs are not measured: 'GPU:0': NVIDIA's driver "
                          "cannot be opened");
  EXPECT_HAS(devices.out, "measured\n");
}

/// With a libcuda that is named there is no cuBLASLt but one that is named as well.
TEST_F(DevicesTool, d7_lists_the_libraries_that_plans_use) {
  const std::string cuda = "GANTRY_CUDA_LIB=" GANTRY_FAKE_CUDA;
  const std::string without = onTwoGPUs("devices", cuda).out;
  EXPECT_TRUE(
      std::regex_search(without, std::regex("cuBLASLt +not found +kernels are generated\n")))
      << without;
  const std::string with =
      onTwoGPUs("devices", cuda + " GANTRY_CUBLASLT_LIB=" GANTRY_FAKE_CUDA).out;
  EXPECT_TRUE(std::regex_search(with, std::regex("cuBLASLt +13.1.0 +matrix products of plans that "
                                                 "name it \\(--libraries\\)\n")))
      << with;
}

/// What is run here is compiled for the GPUs that are here; what is kept is not.
TEST_F(DevicesTool, d5_run_asks_for_the_architecture_of_this_machine) {
  compiler = fake;
  write(folder / "m.onnx", "flags\nplan " + (folder / "p.gantry"));
  auto said = [&](const std::string &arguments) {
    return onTwoGPUs(arguments + " --fill ones --no-cache").err;
  };
  EXPECT_HAS(said("run m.onnx --devices=CPU:0,GPU:0 -v"),
             "kernels are for sm_90, as this machine's GPUs are; --gpu-arch says otherwise\n");
  EXPECT_HAS(said("run m.onnx --devices=CPU:0,GPU:0"), ": devices=CPU:0,GPU:0 gpu-arch=sm_90 ");
  EXPECT_HAS(said("bench m.onnx --devices=CPU:0,GPU:0 --runs 1"), "gpu-arch=sm_90");
  for (const char *other :
       {"run m.onnx", "run m.onnx --devices=CPU:0", "run m.onnx --devices=CPU:0,GPU:0 --simulate",
        "run m.onnx --devices=CPU:0,GPU:0 --emulate"})
    EXPECT_EQ(said(other).find("gpu-arch"), std::string::npos) << other;
  EXPECT_EQ(said("run m.onnx --devices=CPU:0,GPU:0 --gpu-arch=sm_80").find("sm_90"),
            std::string::npos);
  EXPECT_EQ(onTwoGPUs("compile m.onnx --devices=CPU:0,GPU:0 -o k.gantry").err.find("gpu-arch"),
            std::string::npos);
}

TEST_F(DevicesTool, Refuses) {
  EXPECT_EQ(
      onTwoGPUs("devices --split GPU:0=1GiB,1.5GiB").err,
      "gantry: error: --split: topology: the limits on "
      "'/job:localhost/replica:0/task:0/physical_device:GPU:0', 2.5 GiB together, are over its "
      "memory of 2 GiB; lower them by 512 MiB\n");
  EXPECT_EQ(onTwoGPUs("devices --topology none.json").status, 1);
  EXPECT_EQ(onTwoGPUs("devices --place op:MatMul=GPU:0").status, 2);
}

TEST_F(DevicesTool, d9_run_binds_what_the_plan_has) {
  EXPECT_EQ(gantry("run p.gantry --fill ones --bind CPU:0=CPU:0 --sim-order=random:3").status, 0);
  EXPECT_EQ(
      gantry("run p.gantry --fill ones --bind GPU:0=GPU:3").err,
      "gantry: error: 'p.gantry': '/device:GPU:0' cannot be bound: unknown device; the devices "
      "of the plan are /job:localhost/replica:0/task:0/device:CPU:0\n");
  EXPECT_EQ(gantry("run p.gantry --bind CPU:0").err,
            "gantry: error: --bind: the binding 'CPU:0' is not PLANNED=PHYSICAL, like GPU:0=GPU:3\n"
            "gantry: `gantry run --help` shows the usage\n");
  EXPECT_EQ(
      gantry("run p.gantry --sim-order=sideways").err,
      "gantry: error: --sim-order: unknown order of simulated commands 'sideways'; the orders "
      "are virtual and random:SEED\ngantry: `gantry run --help` shows the usage\n");
}
} // namespace
