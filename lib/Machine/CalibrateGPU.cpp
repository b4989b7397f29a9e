// Rates of GPUs, through the driver that runs plans, so that they are what plans see: copies by its
// staging, kernels from its queues. The kernels are written here, since no compiler need be there.
//
// Each measurement grows until it takes long enough to be told from its beginning and its end: on a
// GPU that is milliseconds of work, on a stand-in that interprets a few blocks.
#include "gantry/Machine/Calibrate.h"

#include "gantry/Drivers/CUDADriver.h"
#include "gantry/Machine/Machine.h"
#include "gantry/Runtime/Device.h"
#include "gantry/Runtime/ThreadPool.h"
#include "gantry/Support/Environment.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace gantry::machine {

using runtime::Allocation;
using runtime::Device;

namespace {

constexpr double longEnough = 0.005; ///< seconds
constexpr uint32_t threads = 256, maxBlocks = 16384;
constexpr uint64_t bytesOfBlock = 16 * threads; ///< of each array: four f32 a thread
constexpr int chains = 8, steps = 64;

std::string repeated(int count, const std::string &line) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    std::string each = line;
    for (size_t at; (at = each.find('#')) != std::string::npos;)
      each.replace(at, 1, std::to_string(i));
    text += each;
  }
  return text;
}

/// Where a thread has its 16 bytes of the array in %rd1.
const std::string place = "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\n"
                          "mad.lo.u32 %r1, %r1, 256, %r2;\nmul.wide.u32 %rd2, %r1, 16;\n"
                          "add.s64 %rd1, %rd1, %rd2;\n";
const std::string loopBegin = "mov.u32 %r0, 0;\nLOOP:\n";
const std::string loopEnd =
    "add.u32 %r0, %r0, 1;\nsetp.lt.u32 %p0, %r0, " + std::to_string(steps) + ";\n@%p0 bra LOOP;\n";

std::string kernel(const std::string &name, const std::string &body) {
  return ".visible .entry " + name +
         "(.param .u64 a)\n{\n.reg .pred %p<1>; .reg .b32 %r<8>; "
         ".reg .b64 %rd<4>; .reg .f32 %f<48>; .reg .f32 %g<8>;\nld.param.u64 %rd1, [a];\n" +
         body + "ret;\n}\n";
}

/// Independent chains of multiply-adds in registers: nothing but the units is busy.
std::string multiplyAdd() {
  return kernel("multiply_add",
                place + repeated(chains, "mov.f32 %f#, 0f3F800000;\n") + loopBegin +
                    repeated(chains, "fma.rn.f32 %f#, %f#, 0f3F7FBE77, 0f3F000000;\n") + loopEnd +
                    repeated(chains - 1, "add.f32 %f7, %f7, %f#;\n") +
                    "st.global.f32 [%rd1], %f7;\n");
}

/// The same with products of 16 x 16 by 16 x 8 on tensor cores, sums in f32.
std::string multiplyTiles(const std::string &name, const std::string &type) {
  const std::string sums = "{%f#, %f1#, %f2#, %f3#}";
  return kernel(name,
                place + "mov.b32 %r3, 0;\n" +
                    repeated(chains, "mov.f32 %f#, 0f00000000;\nmov.f32 %f1#, 0f00000000;\n"
                                     "mov.f32 %f2#, 0f00000000;\nmov.f32 %f3#, 0f00000000;\n") +
                    loopBegin +
                    repeated(chains, "mma.sync.aligned.m16n8k16.row.col.f32." + type + "." + type +
                                         ".f32 " + sums + ", {%r3,%r3,%r3,%r3}, {%r3,%r3}, " +
                                         sums + ";\n") +
                    loopEnd + repeated(chains - 1, "add.f32 %f7, %f7, %f#;\n") +
                    "st.global.f32 [%rd1], %f7;\n");
}

/// a = a + a: each byte once up and once down.
std::string addArrays() {
  const std::string four = "{%f0, %f1, %f2, %f3}";
  return kernel("add_arrays", place + "ld.global.v4.f32 " + four + ", [%rd1];\n" +
                                  repeated(4, "add.rn.f32 %f#, %f#, %f#;\n") +
                                  "st.global.v4.f32 [%rd1], " + four + ";\n");
}

std::string module(const char *target, const std::string &kernels) {
  return std::string(".version 7.0\n.target ") + target + "\n.address_size 64\n" + kernels;
}

double now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

/// Seconds of the best of three.
template <typename Work>
Expected<double> best(Work work) {
  double least = 1e9;
  for (int round = 0; round < 3; ++round) {
    const double start = now();
    GANTRY_RETURN_IF_ERROR(work());
    least = std::min(least, now() - start);
  }
  return least;
}

/// Amounts of work a second, by as much of it as takes long enough, doubled up to `most`.
template <typename Work>
Expected<double> rateOf(uint64_t least, uint64_t most, Work work) {
  for (uint64_t amount = least;; amount *= 2) {
    Expected<double> seconds = best([&] { return work(amount); });
    if (!seconds)
      return seconds.status();
    if (*seconds >= longEnough || 2 * amount > most)
      return static_cast<double>(amount) / *seconds;
  }
}

/// A GPU at work on one array.
class Bench {
public:
  Bench(Device &device, Allocation memory)
      : device(device), memory(std::move(memory)), queue(device.createQueue()) {}

  /// Blocks of a kernel a second; each block has its bytes of the array.
  Expected<double> blocks(const std::string &code, const std::string &name) {
    auto loaded = device.loadCode({reinterpret_cast<const uint8_t *>(code.data()), code.size()});
    if (!loaded)
      return loaded.status();
    GANTRY_RETURN_IF_ERROR(device.fill(memory.data(), 0, memory.size()));
    return rateOf(1, uint64_t(maxBlocks) << 10, [&](uint64_t amount) -> Status {
      const auto grid = static_cast<uint32_t>(std::min<uint64_t>(amount, mostBlocks()));
      auto handle = (*loaded)->lookup(name, {{grid, 1, 1}, {threads, 1, 1}, 0});
      if (!handle)
        return handle.status();
      void *buffers[] = {memory.data()};
      for (uint64_t done = 0; done < amount; done += grid)
        GANTRY_RETURN_IF_ERROR(queue->launch({*handle, buffers, 1, 1, 1}));
      return queue->finish().status;
    });
  }

  /// Launches a second, of one block that does nothing.
  Expected<double> launches() {
    const std::string code = module("sm_75", kernel("nothing", ""));
    auto loaded = device.loadCode({reinterpret_cast<const uint8_t *>(code.data()), code.size()});
    if (!loaded)
      return loaded.status();
    auto handle = (*loaded)->lookup("nothing", {{1, 1, 1}, {1, 1, 1}, 0});
    if (!handle)
      return handle.status();
    void *buffers[] = {memory.data()};
    return rateOf(16, 1 << 16, [&](uint64_t amount) -> Status {
      for (uint64_t i = 0; i < amount; ++i)
        GANTRY_RETURN_IF_ERROR(queue->launch({*handle, buffers, 1, 1, 1}));
      return queue->finish().status;
    });
  }

  Expected<double> copyRate(Device &source, const uint8_t *from) {
    return rateOf(1 << 16, memory.size() / 2, [&](uint64_t bytes) -> Status {
      const bool isOwn = &source == &device;
      GANTRY_RETURN_IF_ERROR(
          isOwn ? queue->copy(memory.data() + memory.size() / 2, from, bytes)
                : queue->copyFrom(source, memory.data() + memory.size() / 2, from, bytes));
      return queue->finish().status;
    });
  }

  uint64_t mostBlocks() const { return memory.size() / bytesOfBlock; }
  Device &device;
  Allocation memory;

private:
  std::unique_ptr<runtime::Queue> queue;
};

/// `few`: copies so little that its time is the latency.
template <typename Copy>
Status addLink(Topology &topology, uint32_t from, uint32_t to, Expected<double> rate, Copy few) {
  if (!rate)
    return rate.status();
  Expected<double> latency = best(few);
  if (!latency)
    return latency.status();
  std::erase_if(topology.links,
                [&](const Link &link) { return link.from == from && link.to == to; });
  topology.links.push_back({from, to, *rate, *latency});
  return {};
}

Status measureCopies(Bench &bench, Topology &topology, uint32_t host, uint32_t gpu) {
  std::vector<uint8_t> array(bench.memory.size());
  uint8_t *there = bench.memory.data();
  auto up = [&](uint64_t bytes) { return bench.device.upload(there, array.data(), bytes); };
  auto down = [&](uint64_t bytes) { return bench.device.download(array.data(), there, bytes); };
  GANTRY_RETURN_IF_ERROR(
      addLink(topology, host, gpu, rateOf(1 << 16, array.size(), up), [&] { return up(64); }));
  GANTRY_RETURN_IF_ERROR(
      addLink(topology, gpu, host, rateOf(1 << 16, array.size(), down), [&] { return down(64); }));
  Expected<double> rate = bench.copyRate(bench.device, there);
  auto queue = bench.device.createQueue();
  return addLink(topology, gpu, gpu, std::move(rate), [&]() -> Status {
    GANTRY_RETURN_IF_ERROR(queue->copy(there + array.size() / 2, there, 64));
    return queue->finish().status;
  });
}

/// Tensor cores from sm_80 on; a GPU without them keeps what is assumed.
Status measureKernels(Bench &bench, PhysicalDevice &device) {
  Expected<double> launches = bench.launches();
  if (!launches)
    return launches.status();
  device.launch = 1 / *launches;
  Expected<double> added = bench.blocks(module("sm_75", addArrays()), "add_arrays");
  if (!added)
    return added.status();
  device.bandwidth = *added * 2 * bytesOfBlock;
  Expected<double> summed = bench.blocks(module("sm_75", multiplyAdd()), "multiply_add");
  if (!summed)
    return summed.status();
  device.peakFlops[static_cast<size_t>(ElementType::f32)] =
      *summed * 2.0 * threads * chains * steps;
  for (auto [element, type] : {std::pair(ElementType::f16, "f16"), {ElementType::bf16, "bf16"}})
    if (Expected<double> tiles =
            bench.blocks(module("sm_80", multiplyTiles("tiles", type)), "tiles"))
      device.peakFlops[static_cast<size_t>(element)] =
          *tiles * (threads / 32) * 2.0 * 16 * 8 * 16 * chains * steps;
  return {};
}

} // namespace

Status askPeers(Machine &machine) {
  auto numberOf = [&](uint32_t physical) {
    return machine.topology.physical[physical].name.id.value_or(0);
  };
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (const PeerAccess &peer : machine.peers)
    pairs.emplace_back(numberOf(peer.from), numberOf(peer.to));
  if (pairs.empty())
    return {};
  Expected<std::vector<runtime::CUDAPeer>> told = runtime::askCUDAPeers(pairs);
  if (!told)
    return told.status();
  for (size_t i = 0; i < pairs.size(); ++i) {
    PeerAccess &peer = machine.peers[i];
    const runtime::CUDAPeer &own = (*told)[i];
    peer.access = own.isDirect, peer.atomics = own.hasAtomics;
    if (own.isDirect)
      peer.rank = own.rank;
  }
  return {};
}

Status measureGPUs(Topology &topology, unsigned threads) {
  runtime::ThreadPool pool(threads);
  std::unique_ptr<runtime::Driver> driver =
      runtime::createCUDADriver({.graphs = true, .syncEach = false, .copyingPool = &pool});
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Bench>> benches;
  std::vector<uint32_t> measured; ///< indices into Topology::physical
  const auto host = std::find_if(topology.physical.begin(), topology.physical.end(),
                                 [](const auto &each) { return each.driver == Driver::host; });
  const auto hostIndex = static_cast<uint32_t>(host - topology.physical.begin());
  for (uint32_t i = 0; i < topology.physical.size(); ++i) {
    PhysicalDevice &physical = topology.physical[i];
    if (physical.driver != Driver::cuda)
      continue;
    auto opened = driver->open({physical.name.shortStr(), 0, 0, physical.name.id.value_or(0)});
    if (!opened)
      return opened.status();
    devices.push_back(opened.take());
    auto memory = devices.back()->allocate(maxBlocks * bytesOfBlock, "the measurement");
    if (!memory)
      return memory.status();
    benches.push_back(std::make_unique<Bench>(*devices.back(), memory.take()));
    measured.push_back(i);
    GANTRY_RETURN_IF_ERROR(measureKernels(*benches.back(), physical));
    if (hostIndex < topology.physical.size())
      GANTRY_RETURN_IF_ERROR(measureCopies(*benches.back(), topology, hostIndex, i));
  }
  for (size_t from = 0; from < benches.size(); ++from)
    for (size_t to = 0; to < benches.size(); ++to) {
      if (from == to)
        continue;
      Bench &source = *benches[from], &target = *benches[to];
      auto queue = target.device.createQueue();
      GANTRY_RETURN_IF_ERROR(
          addLink(topology, measured[from], measured[to],
                  target.copyRate(source.device, source.memory.data()), [&]() -> Status {
                    GANTRY_RETURN_IF_ERROR(queue->copyFrom(source.device, target.memory.data(),
                                                           source.memory.data(), 64));
                    return queue->finish().status;
                  }));
    }
  // Figures of a stand-in for CUDA are those of no GPU, wherever they go.
  if (!environment("GANTRY_CUDA_LIB").empty())
    for (uint32_t each : measured)
      topology.physical[each].model += " (rates of a stand-in for CUDA, of no GPU)";
  return {};
}

} // namespace gantry::machine
