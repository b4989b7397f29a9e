// What a launch gives: faults and counts.
#pragma once

#include "gantry/PTX/Module.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::ptx {

enum class FaultKind : uint8_t {
#define GANTRY_PTX_FAULT(name, id, summary) name,
#include "gantry/PTX/Faults.def"
};

/// "out-of-bounds"
std::string_view faultName(FaultKind kind);

using Index3 = std::array<uint32_t, 3>;

struct Fault {
  FaultKind kind;
  std::string kernel;
  Place place;        ///< in the PTX
  std::string source; ///< "reduce.cu:12", of .loc; "" where there is none
  std::string opcode;
  Index3 block = {}, thread = {};
  unsigned lane = 0;
  std::string detail; ///< what was wrong: address, region, offset
  uint64_t count = 1; ///< how often this instruction had this kind of fault

  /// "kernel.ptx:41:3: error: out-of-bounds: …", with a line for the place.
  std::string text(std::string_view file) const;
};

/// Counts of a launch. A request is one execution of a memory instruction by a warp.
struct Counts {
  uint64_t warpInstructions = 0;
  uint64_t laneInstructions = 0;        ///< of lanes that were active
  std::array<uint64_t, 9> byClass = {}; ///< lane instructions, in the order of className()
  uint64_t branches = 0, divergedBranches = 0;
  uint64_t barriers = 0; ///< completed barriers of blocks
  struct Global {
    uint64_t requests = 0;
    uint64_t sectors = 0;      ///< sectors of 32 bytes that were touched
    uint64_t leastSectors = 0; ///< distinct bytes of each request, in sectors, rounded up
    uint64_t bytes = 0;        ///< that lanes asked for
  } globalLoad, globalStore, globalAtomic;
  struct Shared {
    uint64_t requests = 0;
    uint64_t wavefronts = 0;      ///< passes that the 32 banks of 4 bytes need
    uint64_t leastWavefronts = 0; ///< without conflicts
  } sharedLoad, sharedStore;
  uint64_t localRequests = 0;

  Counts &operator+=(const Counts &other);
  std::string text() const;
};

/// "integer", "float", …
std::string_view className(size_t index);

struct Outcome {
  std::vector<Fault> faults; ///< the first of each instruction and kind, in the order they came
  uint64_t faultCount = 0;   ///< all of them
  bool completed = false;    ///< false after a trap, a deadlock or too many steps
  Counts counts;
};

} // namespace gantry::ptx
