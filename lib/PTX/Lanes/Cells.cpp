// Addresses of a warp, compared with a known pattern, and records of who touched what.
//
// Records are words whose order is time (Shadow.h): whether an earlier access is of another launch,
// or before the last barrier, is one comparison. What does not simply pass is left to
// the Runner, which knows all reasons and says what is wrong.
#include "Lanes.h"
#include "Shadow.h"

namespace gantry::ptx::GANTRY_PTX_LANES {
namespace {

/// Launch, block and thread.
constexpr Record sameThread = ~Record(0) << record::blockShift | Record(1023)
                                                                     << record::threadShift;

[[gnu::always_inline]] inline Record ofLane(Record mine, unsigned lane) {
  return mine + (Record(lane) << record::threadShift);
}

/// Truth as 0 or 1 in a word, so that several records are one vector.
using Truth = uint64_t;

/// Whether the record of a write lets `mine` come after it.
template <bool isRead>
[[gnu::always_inline]] inline Truth passesWrite(const CellCheck &check, Record before,
                                                Record mine) {
  Truth none = before < check.epochBegin;
  if (isRead && check.mustNotBeWritten)
    return none;
  Truth ordered = before - check.blockBegin < check.unordered - check.blockBegin;
  Truth own = ((before ^ mine) & (sameThread | record::unfinished)) == 0;
  return isRead && check.mustBeWritten ? ordered | own : none | ordered | own;
}

/// Whether the record of reads lets a write of `mine` come after them.
[[gnu::always_inline]] inline Truth passesReads(const CellCheck &check, Record reads, Record mine) {
  constexpr Record others = record::otherBlocks | record::nonCoherent;
  Truth none = reads < check.epochBegin, ofBlock = (reads & others) == 0;
  Truth ordered = reads - check.blockBegin < check.unordered - check.blockBegin;
  Truth own = ((reads ^ mine) & (sameThread | record::several)) == 0;
  return none | (ofBlock & (ordered | own));
}

/// The record of a read after others.
[[gnu::always_inline]] inline Record afterReads(const CellCheck &check, Record reads, Record mine) {
  Truth thisLaunch = reads >= check.epochBegin, otherThread = ((reads ^ mine) & sameThread) != 0;
  Truth thisBlock = reads >> record::blockShift == mine >> record::blockShift;
  Truth otherBlock = thisLaunch & (thisBlock ^ 1);
  Truth since = thisBlock & Truth(reads >= check.unordered);
  Record kept = (0 - thisLaunch) & reads & (record::nonCoherent | record::otherBlocks);
  Record several = (0 - since) & ((reads & record::several) | (0 - otherThread)) & record::several;
  return mine | kept | several | ((0 - otherBlock) & record::otherBlocks);
}

template <bool isRead, unsigned cells>
[[gnu::always_inline]] inline bool noteLane(const CellCheck &check, uint64_t address, Record mine,
                                            unsigned perLane) {
  const size_t first = size_t((address - check.origin) >> check.shift);
  const unsigned count = cells ? cells : perLane;
  Record *written = check.written + first, *read = check.read + first;
  Truth good = 1;
  for (unsigned i = 0; i < count; ++i)
    good &= passesWrite<isRead>(check, written[i], mine) &
            (isRead ? 1 : passesReads(check, read[i], mine));
  if (!good)
    return false;
  for (unsigned i = 0; i < count; ++i)
    if (isRead)
      read[i] = afterReads(check, read[i], mine);
    else
      written[i] = mine;
  return true;
}

/// Lanes that are neighbours, all 32: their cells are one row.
template <bool isRead, unsigned cells>
[[gnu::always_inline]] inline bool noteRow(const CellCheck &check, uint64_t address) {
  const size_t first = size_t((address - check.origin) >> check.shift);
  Record *written = check.written + first, *read = check.read + first;
  Truth good = 1;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    for (unsigned i = 0; i < cells; ++i) {
      Record mine = ofLane(check.mine, lane);
      good &= passesWrite<isRead>(check, written[lane * cells + i], mine) &
              (isRead ? 1 : passesReads(check, read[lane * cells + i], mine));
    }
  if (!good)
    return false;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    for (unsigned i = 0; i < cells; ++i) {
      Record mine = ofLane(check.mine, lane);
      if (isRead)
        read[lane * cells + i] = afterReads(check, read[lane * cells + i], mine);
      else
        written[lane * cells + i] = mine;
    }
  return true;
}

/// Lanes that read the same are noted once, as if the last had come after the first. False when
/// not all pass; those that did may be noted again.
template <unsigned cells>
bool noteLeaders(const CellCheck &check, const uint64_t *at, const Pattern &pattern) {
  for (uint32_t left = pattern.leaders; left; left &= left - 1) {
    unsigned lane = unsigned(__builtin_ctz(left)), last = pattern.last[lane];
    if (!noteLane<true, cells>(check, at[lane], ofLane(check.mine, lane), check.perLane))
      return false;
    if (last != lane &&
        !noteLane<true, cells>(check, at[lane], ofLane(check.mine, last), check.perLane))
      return false;
  }
  return true;
}

template <bool isRead, unsigned cells>
uint32_t note(const CellCheck &given, const uint64_t *at, uint32_t mask, const Pattern *pattern) {
  const CellCheck check = given; // in registers, whatever is written through pointers
  if constexpr (cells != 0)
    if (pattern && pattern->layout == Layout::neighbours && noteRow<isRead, cells>(check, at[0]))
      return 0;
  if (isRead && pattern && pattern->leaders != mask && noteLeaders<cells>(check, at, *pattern))
    return 0;
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    if (!noteLane<isRead, cells>(check, at[lane], ofLane(check.mine, lane), check.perLane))
      return mask;
  }
  return 0;
}

template <bool isRead>
uint32_t noteBy(const CellCheck &check, const uint64_t *at, uint32_t mask, const Pattern *pattern) {
  switch (check.perLane) {
  case 1:
    return note<isRead, 1>(check, at, mask, pattern);
  case 2:
    return note<isRead, 2>(check, at, mask, pattern);
  case 4:
    return note<isRead, 4>(check, at, mask, pattern);
  default:
    return note<isRead, 0>(check, at, mask, pattern);
  }
}

} // namespace

uint32_t noteRead(const CellCheck &check, const uint64_t *at, uint32_t mask,
                  const Pattern *pattern) {
  return noteBy<true>(check, at, mask, pattern);
}

uint32_t noteWrite(const CellCheck &check, const uint64_t *at, uint32_t mask,
                   const Pattern *pattern) {
  return noteBy<false>(check, at, mask, pattern);
}

bool locate(const void *base, unsigned bytes, uint64_t offset, uint64_t *to, uint32_t mask,
            const Pattern &pattern) {
  if (bytes == 8) {
    for (unsigned lane = 0; lane < warpSize; ++lane)
      to[lane] = static_cast<const uint64_t *>(base)[lane] + offset;
  } else if (bytes == 4) {
    for (unsigned lane = 0; lane < warpSize; ++lane)
      to[lane] = uint32_t(static_cast<const uint32_t *>(base)[lane] + uint32_t(offset));
  } else {
    for (unsigned lane = 0; lane < warpSize; ++lane)
      to[lane] = offset;
  }
  if (mask != pattern.mask)
    return false;
  uint64_t first = to[__builtin_ctz(mask)], differ = 0;
  if (mask == allLanes) {
    for (unsigned lane = 0; lane < warpSize; ++lane)
      differ |= (to[lane] - first) ^ pattern.delta[lane];
  } else {
    for (unsigned lane = 0; lane < warpSize; ++lane)
      differ |= ((to[lane] - first) ^ pattern.delta[lane]) & (0 - uint64_t(mask >> lane & 1));
  }
  // Nothing may wrap between the least and the greatest.
  return differ == 0 && first + pattern.low <= first && first + pattern.high >= first;
}

unsigned risingSectors(const uint64_t *addresses) {
  unsigned sectors = 1;
  for (unsigned lane = 1; lane < warpSize; ++lane)
    sectors += addresses[lane] >> 5 != addresses[lane - 1] >> 5;
  return sectors;
}

} // namespace gantry::ptx::GANTRY_PTX_LANES
