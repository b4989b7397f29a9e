#include "gantry/PTX/Outcome.h"

#include "gantry/Support/Format.h"
#include "gantry/Support/Names.h"

#include <cstdio>

using namespace gantry;
using namespace gantry::ptx;

std::string_view gantry::ptx::faultName(FaultKind kind) {
  constexpr std::string_view names[] = {
#define GANTRY_PTX_FAULT(name, id, summary) id,
#include "gantry/PTX/Faults.def"
  };
  return names[size_t(kind)];
}

std::string_view gantry::ptx::className(size_t index) {
  constexpr std::string_view names[] = {"integer", "float",   "half", "conversion", "move",
                                        "memory",  "control", "sync", "matrix"};
  return names[index];
}

namespace {

std::string triple(const Index3 &index) {
  return "(" + std::to_string(index[0]) + "," + std::to_string(index[1]) + "," +
         std::to_string(index[2]) + ")";
}

std::string ratio(uint64_t part, uint64_t least) {
  return format("%.2f", least ? double(part) / double(least) : 1.0);
}

} // namespace

std::string Fault::text(std::string_view file) const {
  std::string made = printable(file) + ":" + std::to_string(place.line) + ":" +
                     std::to_string(place.column) + ": error: " + std::string(faultName(kind)) +
                     ": " + detail + "\n  kernel '" + printable(kernel) + "', block " +
                     triple(block) + ", thread " + triple(thread) + ", lane " +
                     std::to_string(lane) + ": " + printable(opcode);
  if (!source.empty())
    made += " from " + source;
  if (count > 1)
    made += "; " + std::to_string(count) + " times";
  return made;
}

Counts &Counts::operator+=(const Counts &other) {
  warpInstructions += other.warpInstructions;
  laneInstructions += other.laneInstructions;
  for (size_t i = 0; i < byClass.size(); ++i)
    byClass[i] += other.byClass[i];
  branches += other.branches;
  divergedBranches += other.divergedBranches;
  barriers += other.barriers;
  auto addGlobal = [](Global &to, const Global &from) {
    to.requests += from.requests;
    to.sectors += from.sectors;
    to.leastSectors += from.leastSectors;
    to.bytes += from.bytes;
  };
  addGlobal(globalLoad, other.globalLoad);
  addGlobal(globalStore, other.globalStore);
  addGlobal(globalAtomic, other.globalAtomic);
  auto addShared = [](Shared &to, const Shared &from) {
    to.requests += from.requests;
    to.wavefronts += from.wavefronts;
    to.leastWavefronts += from.leastWavefronts;
  };
  addShared(sharedLoad, other.sharedLoad);
  addShared(sharedStore, other.sharedStore);
  localRequests += other.localRequests;
  return *this;
}

std::string Counts::text() const {
  std::string made = "instructions: " + std::to_string(warpInstructions) + " of warps, " +
                     std::to_string(laneInstructions) + " of lanes";
  if (warpInstructions)
    made += " (" + ratio(laneInstructions, warpInstructions) + " of 32 lanes active)";
  made += "\n ";
  for (size_t i = 0; i < byClass.size(); ++i)
    if (byClass[i])
      made += " " + std::string(className(i)) + " " + std::to_string(byClass[i]);
  made += "\nbranches: " + std::to_string(branches) + ", " + std::to_string(divergedBranches) +
          " diverged\n";
  auto global = [&](const char *name, const Global &count) {
    if (count.requests)
      made += std::string(name) + ": " + std::to_string(count.requests) + " requests, " +
              std::to_string(count.sectors) + " sectors of 32 bytes, " +
              ratio(count.sectors, count.leastSectors) + " times the least possible\n";
  };
  global("global loads", globalLoad);
  global("global stores", globalStore);
  global("global atomics", globalAtomic);
  auto shared = [&](const char *name, const Shared &count) {
    if (count.requests)
      made += std::string(name) + ": " + std::to_string(count.requests) + " requests, " +
              std::to_string(count.wavefronts) + " wavefronts, " +
              std::to_string(count.wavefronts - count.leastWavefronts) +
              " of them by bank conflicts\n";
  };
  shared("shared loads", sharedLoad);
  shared("shared stores", sharedStore);
  if (localRequests)
    made += "local memory: " + std::to_string(localRequests) + " requests\n";
  if (barriers)
    made += "barriers: " + std::to_string(barriers) + "\n";
  return made;
}
