// One mmap of addresses without access. Allocation is first fit over whole pages: released pages go
// back to the system at once, and the bytes that count are those that were asked for, so that a
// plan that fits its limit exactly fits here.
#include "SimMemory.h"

#include "gantry/Support/Bytes.h"

#include <cerrno>
#include <cstring>
#include <iterator>
#include <sys/mman.h>
#include <unistd.h>

namespace gantry::runtime {

namespace {

uint64_t pageSize() {
  static const auto size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// Addresses cost nothing: with a few times the capacity, gaps between allocations never make one
// fail that the capacity allows, short of contrived patterns.
constexpr uint64_t addressesPerByte = 4;
constexpr uint64_t leastAddresses = uint64_t(64) << 20;

} // namespace

SimMemory::~SimMemory() {
  if (base)
    munmap(base, reserved);
}

Status SimMemory::reserve() {
  if (base)
    return {};
  uint64_t wanted;
  if (mulOverflows(capacity, addressesPerByte, &wanted) ||
      addOverflows(wanted, leastAddresses, &wanted) ||
      alignToOverflows(wanted, pageSize(), &wanted))
    wanted = UINT64_MAX;
  void *data = wanted > INT64_MAX ? MAP_FAILED
                                  : mmap(nullptr, wanted, PROT_NONE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return Status::doesNotFit("the system has no addresses for a simulated device of " +
                              formatBytes(capacity));
  // Opening and closing costs time by the page; where the system has large ones, it costs little.
  (void)madvise(data, wanted, MADV_HUGEPAGE);
  base = static_cast<uint8_t *>(data);
  reserved = wanted;
  return {};
}

/// Offset of the first gap of as many bytes.
uint64_t SimMemory::findGap(uint64_t bytes) const {
  uint64_t offset = 0;
  for (auto [start, size] : ranges) {
    if (start - offset >= bytes)
      return offset;
    offset = alignTo(start + size, pageSize());
  }
  return offset;
}

Expected<void *> SimMemory::allocate(uint64_t bytes) {
  if (bytes > free())
    return Status::doesNotFit("a simulated device with " + formatBytes(capacity) +
                              " of memory has only " + formatBytes(free()) + " free, asked for " +
                              formatBytes(bytes));
  GANTRY_RETURN_IF_ERROR(reserve());
  uint64_t offset = findGap(bytes);
  if (!rangeFits(offset, bytes, reserved))
    return Status::doesNotFit("the simulated device's memory is too fragmented for " +
                              formatBytes(bytes));
  uint64_t end = alignTo(offset + bytes, pageSize());
  if (end > touched) {
    GANTRY_RETURN_IF_ERROR(protect(touched, end - touched, isOpen));
    touched = end;
  }
  ranges.emplace(offset, bytes);
  used += bytes;
  return static_cast<void *>(base + offset);
}

void SimMemory::release(void *data, uint64_t bytes) {
  auto offset = static_cast<uint64_t>(static_cast<uint8_t *>(data) - base);
  if (ranges.erase(offset) == 0)
    return;
  used -= bytes;
  (void)madvise(data, alignTo(bytes, pageSize()), MADV_DONTNEED);
}

bool SimMemory::covers(const void *data) const {
  auto address = reinterpret_cast<uintptr_t>(data), start = reinterpret_cast<uintptr_t>(base);
  return base && address >= start && address - start < reserved;
}

bool SimMemory::holds(const void *data, uint64_t bytes) const {
  if (!covers(data))
    return false;
  auto offset = static_cast<uint64_t>(static_cast<const uint8_t *>(data) - base);
  auto after = ranges.upper_bound(offset);
  if (after == ranges.begin())
    return false;
  auto [start, size] = *std::prev(after);
  return rangeFits(offset - start, bytes, size);
}

Status SimMemory::protect(uint64_t offset, uint64_t bytes, bool accessible) {
  if (bytes == 0)
    return {};
  int access = accessible ? PROT_READ | PROT_WRITE : PROT_NONE;
  if (mprotect(base + offset, bytes, access) == 0)
    return {};
  return Status::unavailable("cannot protect the memory of '" + name +
                             "': " + std::strerror(errno));
}

Status SimMemory::setOpen(bool wanted) {
  if (isOpen == wanted)
    return {};
  GANTRY_RETURN_IF_ERROR(protect(0, touched, wanted));
  isOpen = wanted;
  return {};
}

} // namespace gantry::runtime
