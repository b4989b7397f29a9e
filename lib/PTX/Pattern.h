// How the addresses of a warp's access lie to each other. An op in a loop has the same distances
// between its lanes each time, so that what follows from them (order, sectors, banks, whether lanes
// are neighbours) is found once and then only compared.
#pragma once

#include "Op.h"
#include "Shadow.h"

#include <cstdint>

namespace gantry::ptx {

struct Pattern {
  alignas(64) uint64_t delta[warpSize] = {}; ///< from the first active lane; of inactive lanes 0
  uint32_t mask = 0;                         ///< active lanes; 0: no pattern is known
  Layout layout = Layout::scattered;
  bool rising = false;         ///< all 32 lanes, none below the one before
  uint8_t phase = 0;           ///< of the first address in its sector: what `sectors` is true for
  uint64_t low = 0, high = 0;  ///< the least and the greatest address, from the first lane's
  uint64_t bits = 0;           ///< deltas or'ed: are all multiples of the access's width?
  uint32_t leaders = 0;        ///< the first lane of each address
  uint8_t last[warpSize] = {}; ///< of a leader: the last lane that has its address
  uint32_t sectors = 0, leastSectors = 0;
  uint32_t wavefronts = 0, leastWavefronts = 0;
};

/// A check of an access against the records of its cells (Shadow.h). A record passes that is of
/// another launch (below `epochBegin`), of this block before the last barrier (from `blockBegin`
/// to `unordered`), or of the same thread.
struct CellCheck {
  Record *written = nullptr, *read = nullptr;
  uint64_t origin = 0;  ///< address of cell 0
  unsigned shift = 0;   ///< logarithm of the bytes of a cell
  unsigned perLane = 1; ///< cells
  Record mine = 0;      ///< of lane 0
  Record epochBegin = 0, blockBegin = 0, unordered = 0;
  bool mustBeWritten = false;    ///< a read of what nobody wrote is a fault
  bool mustNotBeWritten = false; ///< ld.global.nc
};

} // namespace gantry::ptx
