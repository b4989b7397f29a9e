// A launch: what it asks for is checked, then blocks are shared out to threads of the host.
#include "Runner.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/Names.h"
#include "gantry/Support/Thread.h"

#include <algorithm>
#include <atomic>
#include <map>

using namespace gantry;
using namespace gantry::ptx;

namespace {

std::string triple(const Index3 &index) {
  return std::to_string(index[0]) + "x" + std::to_string(index[1]) + "x" + std::to_string(index[2]);
}

Status checkLaunch(const KernelInfo &info, const Launch &launch) {
  std::string kernel = "kernel '" + printable(info.name) + "'";
  uint64_t threads = 1, blocks = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (launch.grid[axis] == 0 || launch.block[axis] == 0)
      return Status::invalidArgument(kernel + ": the grid of " + triple(launch.grid) +
                                     " blocks of " + triple(launch.block) + " threads is empty");
    threads *= launch.block[axis];
    blocks *= launch.grid[axis];
    if (threads > 1024 || launch.block[axis] > 1024)
      return Status::invalidArgument(kernel + ": a block of " + triple(launch.block) +
                                     " threads has more than 1024");
    if (blocks >> 32 || launch.grid[axis] > 0x7fffffff)
      return Status::invalidArgument(kernel + ": a grid of " + triple(launch.grid) +
                                     " is too large");
  }
  if (launch.block[2] > 64)
    return Status::invalidArgument(kernel + ": a block has at most 64 threads in z, not " +
                                   std::to_string(launch.block[2]));
  if (info.requiredThreads[0] && info.requiredThreads != launch.block)
    return Status::invalidArgument(kernel + " requires blocks of " + triple(info.requiredThreads) +
                                   " threads, not " + triple(launch.block));
  uint64_t bound = uint64_t(info.maxThreads[0]) * info.maxThreads[1] * info.maxThreads[2];
  if (bound && threads > bound)
    return Status::invalidArgument(kernel + " allows " + std::to_string(bound) +
                                   " threads in a block, not " + std::to_string(threads));
  if (launch.arguments.size() != info.parameterBytes)
    return Status::invalidArgument(kernel + " takes " + std::to_string(info.parameterBytes) +
                                   " bytes of arguments, not " +
                                   std::to_string(launch.arguments.size()));
  if (info.staticShared + launch.dynamicShared > maxSharedBytes)
    return Status::invalidArgument(
        kernel + " needs " + formatBytes(info.staticShared + launch.dynamicShared) +
        " of shared memory; a block has at most " + formatBytes(maxSharedBytes));
  return {};
}

/// The order of blocks: as they are numbered, or mixed by the seed.
std::vector<uint32_t> orderOf(uint64_t blocks, uint64_t seed) {
  std::vector<uint32_t> order;
  if (seed == 0)
    return order;
  order.resize(blocks);
  for (uint64_t i = 0; i < blocks; ++i)
    order[i] = uint32_t(i);
  uint64_t random = seed;
  for (uint64_t i = blocks; i > 1; --i) { // splitmix64
    random += 0x9e3779b97f4a7c15u;
    uint64_t z = random;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    std::swap(order[i - 1], order[(z ^ (z >> 31)) % i]);
  }
  return order;
}

/// The faults that one thread would have told: of an instruction and a kind the first in the order
/// of blocks, and none of blocks behind the one that ended the launch.
std::vector<Fault> merge(std::vector<KeptFault> kept, uint64_t stoppedAt, size_t most) {
  std::stable_sort(kept.begin(), kept.end(),
                   [](const KeptFault &a, const KeptFault &b) { return a.position < b.position; });
  std::vector<Fault> faults;
  std::map<std::pair<uint32_t, FaultKind>, size_t> placeOf;
  for (KeptFault &each : kept) {
    if (each.position > stoppedAt)
      break;
    auto [place, isNew] = placeOf.try_emplace({each.instruction, each.fault.kind}, faults.size());
    if (!isNew)
      faults[place->second].count += each.fault.count;
    else if (faults.size() == most)
      placeOf.erase(place);
    else
      faults.push_back(std::move(each.fault));
  }
  return faults;
}

} // namespace

Expected<Outcome> gantry::ptx::run(Image &image, const Launch &launch) {
  auto program = image.program(launch.kernel);
  if (!program)
    return program.status();
  GANTRY_RETURN_IF_ERROR(checkLaunch((*program)->info, launch));
  LaunchState state{.program = **program, .launch = launch, .image = image};
  state.arguments.assign(launch.arguments.begin(), launch.arguments.end());
  state.arguments.resize(state.arguments.size() + 32);
  state.argumentBytes = launch.arguments.size();
  state.blocks = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  state.threadsPerBlock = uint64_t(launch.block[0]) * launch.block[1] * launch.block[2];
  state.sharedBytes = (*program)->info.staticShared + launch.dynamicShared;
  if (launch.checks == Checks::all) {
    auto epoch = image.memory().beginTracking((*program)->globalGranule);
    if (!epoch)
      return epoch.status();
    state.epoch = *epoch;
  }
  std::vector<uint32_t> order = orderOf(state.blocks, launch.seed);
  auto blockAt = [&](uint64_t i) { return order.empty() ? i : order[i]; };

  // Records of races are kept by one thread.
  uint64_t threads =
      launch.checks == Checks::all ? 1 : std::clamp<uint64_t>(launch.threads, 1, state.blocks);
  std::vector<std::unique_ptr<Runner>> runners;
  for (uint64_t i = 0; i < threads; ++i)
    runners.push_back(std::make_unique<Runner>(state));
  // A few blocks at a time: they take different times, and so do the host's threads.
  const uint64_t portion = std::max<uint64_t>(1, state.blocks / (threads * 16));
  std::atomic<uint64_t> next = 0, stoppedAt = state.blocks;
  auto work = [&](uint64_t which) {
    for (;;) {
      uint64_t begin = next.fetch_add(portion), end = std::min(begin + portion, state.blocks);
      for (uint64_t i = begin; i < end; ++i) {
        if (i > stoppedAt)
          return;
        if (runners[which]->runBlock(blockAt(i), i))
          continue;
        for (uint64_t first = stoppedAt; i < first && !stoppedAt.compare_exchange_weak(first, i);)
          ;
        return;
      }
      if (end >= state.blocks)
        return;
    }
  };
  std::vector<Thread> others(threads - 1);
  for (uint64_t i = 1; i < threads; ++i)
    if (!others[i - 1].start([&work, i] { work(i); }))
      break; // then those that there are do all of it
  work(0);
  others.clear();
  Outcome outcome;
  outcome.completed = true;
  std::vector<KeptFault> kept;
  for (auto &runner : runners)
    runner->finish(outcome, kept);
  outcome.faults = merge(std::move(kept), stoppedAt, launch.maxFaults);
  return outcome;
}
