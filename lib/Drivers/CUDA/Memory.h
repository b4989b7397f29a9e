// The memory of a logical device: one range of addresses, reserved once, into which memory of the
// card is mapped where it is needed. So nothing that is allocated ever moves, whatever is allocated
// after it, and graphs that were captured stay right.
//
// Memory comes in units of the card's granularity (2 MiB); allocations that begin in the same unit
// share it. Where the card cannot map memory, each allocation is one of CUDA's own, but for what is
// allocated from memory that was set aside.
#pragma once

#include "Context.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>

namespace gantry::runtime::cuda {

/// Thread-safe. Holds a context while something is allocated.
class Memory {
public:
  /// Bytes that a device may have allocated at most; the card's when there is no limit.
  Memory(PhysicalGPU &gpu, uint64_t limit);
  ~Memory();
  Memory(const Memory &) = delete;

  /// DOES_NOT_FIT when the card has no more.
  Expected<void *> take(uint64_t bytes);
  void give(void *data, uint64_t bytes);

  /// Maps so many bytes from the first address on, for good: allocations come to lie there first.
  Status setAside(uint64_t bytes);

  /// Lets another card read and write what is mapped here, from now on. Free when it may already.
  Status shareWith(const PhysicalGPU &other);

  /// Bytes that are mapped, or set aside, and not allocated: CUDA counts them as taken.
  uint64_t spareBytes() const;

private:
  static constexpr uint64_t alignment = 256; ///< as CUDA aligns

  /// A piece of the card's memory, mapped at an offset, with the number of allocations in it.
  struct MappedBlock {
    uint64_t bytes = 0;
    AllocationHandle handle = 0;
    unsigned users = 0;
  };

  Status reserve();
  void unreserveIfEmpty();
  uint64_t findGap(uint64_t bytes) const;
  Status mapUnits(uint64_t begin, uint64_t end);
  Status mapPiece(uint64_t offset, uint64_t bytes);
  Status grantAccess(uint64_t offset, uint64_t bytes);
  void drop(uint64_t begin, uint64_t end);
  void unmapPiece(uint64_t offset, const MappedBlock &piece);
  Expected<void *> takeWhole(uint64_t bytes);
  Status enter();
  uint64_t unitBegin(uint64_t offset) const { return offset / unit * unit; }
  uint64_t unitEnd(uint64_t offset) const { return (offset + unit - 1) / unit * unit; }

  PhysicalGPU &gpu;
  uint64_t capacity;
  mutable std::mutex mutex;
  std::shared_ptr<Context> context; ///< while something is allocated
  DevicePointer base = 0;
  uint64_t reserved = 0, unit = 0, mapped = 0;
  uint64_t aside = 0;                     ///< bytes from the base on that were set aside
  std::map<uint64_t, uint64_t> ranges;    ///< live allocations: offset to size
  std::map<uint64_t, MappedBlock> pieces; ///< by offset; disjoint
  std::set<int> readers;                  ///< numbers of other cards with access
  size_t wholes = 0;                      ///< allocations of CUDA's own
};

} // namespace gantry::runtime::cuda
