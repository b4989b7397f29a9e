// Who touched a piece of memory last: what races and uninitialised reads are found by.
//
// For each granule (the narrowest access of the kernel) there are two records, of the last write
// and the last read. A record is a word, so that a warp's neat access is checked by vector code:
//
//   epoch 10 | block 26 | tick 14 | thread 10 | flags 4
//
// The epoch is the launch (for shared memory: the block that runs); records of another epoch are
// nothing. The tick counts barriers of the block. An earlier access is ordered before a later one
// by the same thread, or when a barrier came between: of the block, or of the warp when both
// threads are in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace gantry::ptx {

using Record = uint64_t;

namespace record {
inline constexpr Record strong = 1;      ///< atomic, volatile, acquire, …
inline constexpr Record several = 2;     ///< a read: other threads of the block read it, too
inline constexpr Record otherBlocks = 4; ///< a read: other blocks read it, too
inline constexpr Record nonCoherent = 8; ///< a read by ld.global.nc
inline constexpr Record unfinished =
    8; ///< a write by cp.async that nobody waited for; its tick is the last
inline constexpr unsigned threadShift = 4, tickShift = 14, blockShift = 28, epochShift = 54;
inline constexpr uint64_t maxTick = (1u << 14) - 1;
inline constexpr uint64_t blockMask = (uint64_t(1) << 26) - 1, epochs = 1u << 10;

inline uint64_t epoch(Record r) { return r >> epochShift; }
inline uint64_t block(Record r) { return r >> blockShift & blockMask; }
inline uint64_t tick(Record r) { return r >> tickShift & maxTick; }
inline uint64_t thread(Record r) { return r >> threadShift & 1023; }
} // namespace record

/// Records of a range of memory, written and read.
struct Shadow {
  unsigned granule = 0; ///< bytes
  size_t cells = 0;
  std::unique_ptr<Record[], void (*)(void *)> written{nullptr, nullptr}, read{nullptr, nullptr};
  /// Of global memory: the launch that is tracked has touched nothing before and behind these
  /// bytes, so that a large buffer of which it reads a little is not looked through.
  uint64_t firstByte = UINT64_MAX, endByte = 0;

  void forgetTouches() { firstByte = UINT64_MAX, endByte = 0; }
  void noteTouch(uint64_t begin, uint64_t end) {
    firstByte = std::min(firstByte, begin);
    endByte = std::max(endByte, end);
  }
  /// False when there is no memory for it.
  bool resize(uint64_t bytes, unsigned granule);
  void clear();
};

} // namespace gantry::ptx
