#include "Memory.h"

#include "gantry/Support/Bytes.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace gantry::runtime::cuda {

namespace {
// Addresses cost nothing: with a few times the capacity, gaps between allocations never make one
// fail that the capacity allows, short of contrived patterns.
constexpr uint64_t addressesPerByte = 4;

AllocationProperties propertiesOf(const PhysicalGPU &gpu) {
  AllocationProperties properties;
  properties.location.id = gpu.number();
  return properties;
}
} // namespace

Memory::Memory(PhysicalGPU &gpu, uint64_t limit)
    : gpu(gpu), capacity(limit ? std::min(limit, gpu.memory()) : gpu.memory()) {}

Memory::~Memory() {
  if (aside == 0 || wasForked())
    return;
  std::shared_ptr<Context> last = context; // goes after what it has
  CurrentContext current(*last, CurrentContext::For::release);
  if (gpu.hasVirtualMemory())
    drop(0, aside);
  else
    (void)gpu.api().free(base);
  aside = 0;
  unreserveIfEmpty();
}

uint64_t Memory::spareBytes() const {
  std::lock_guard lock(mutex);
  uint64_t allocated = 0;
  for (auto [offset, bytes] : ranges)
    allocated += bytes;
  return (gpu.hasVirtualMemory() ? mapped : aside) - allocated;
}

Status Memory::reserve() {
  if (base)
    return {};
  const AllocationProperties properties = propertiesOf(gpu);
  size_t granularity = 0;
  GANTRY_RETURN_IF_ERROR(
      GANTRY_CUDA_IN(*context, granularity, &granularity, &properties, Granularity::minimum));
  const uint64_t wanted =
      (capacity * addressesPerByte + granularity) / granularity * granularity + granularity;
  DevicePointer start = 0;
  GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_IN(*context, reserve, &start, wanted, 0, 0, 0));
  base = start, reserved = wanted, unit = granularity;
  return {};
}

/// Gives back addresses and context with the last allocation.
void Memory::unreserveIfEmpty() {
  if (!ranges.empty() || wholes != 0 || aside != 0)
    return;
  if (base && gpu.hasVirtualMemory())
    (void)gpu.api().unreserve(base, reserved);
  base = 0;
  context.reset();
}

/// Offset of the first gap of as many bytes.
uint64_t Memory::findGap(uint64_t bytes) const {
  uint64_t offset = 0;
  for (auto [start, size] : ranges) {
    if (start - offset >= bytes)
      return offset;
    offset = alignTo(start + size, alignment);
  }
  return offset;
}

/// Makes sure that there is a context, and that it works.
Status Memory::enter() {
  if (!context) {
    Expected<std::shared_ptr<Context>> made = gpu.context();
    if (!made)
      return made.status();
    context = made.take();
  }
  return context->lost();
}

Status Memory::setAside(uint64_t bytes) {
  std::lock_guard lock(mutex);
  auto run = [&]() -> Status {
    GANTRY_RETURN_IF_ERROR(enter());
    CurrentContext current(*context);
    GANTRY_RETURN_IF_ERROR(current.status());
    if (!gpu.hasVirtualMemory()) {
      GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_IN(*context, allocate, &base, bytes));
    } else {
      GANTRY_RETURN_IF_ERROR(reserve());
      GANTRY_RETURN_IF_ERROR(mapUnits(0, bytes));
    }
    aside = bytes;
    return {};
  };
  Status status = run();
  if (!status.ok())
    unreserveIfEmpty();
  return status;
}

Expected<void *> Memory::take(uint64_t bytes) {
  std::lock_guard lock(mutex);
  auto run = [&]() -> Expected<void *> {
    GANTRY_RETURN_IF_ERROR(enter());
    CurrentContext current(*context);
    GANTRY_RETURN_IF_ERROR(current.status());
    if (!gpu.hasVirtualMemory())
      return takeWhole(bytes);
    if (bytes > capacity)
      return Status::doesNotFit(gpu.name() + " has " + formatBytes(capacity) +
                                " of memory, asked for " + formatBytes(bytes));
    GANTRY_RETURN_IF_ERROR(reserve());
    const uint64_t offset = findGap(bytes);
    if (!rangeFits(offset, bytes, reserved))
      return Status::doesNotFit("the addresses of the device are too fragmented for " +
                                formatBytes(bytes));
    GANTRY_RETURN_IF_ERROR(mapUnits(offset, offset + bytes));
    ranges.emplace(offset, bytes);
    return reinterpret_cast<void *>(base + offset);
  };
  Expected<void *> data = run();
  if (!data)
    unreserveIfEmpty();
  return data;
}

/// Without mapping: from what was set aside, else by CUDA.
Expected<void *> Memory::takeWhole(uint64_t bytes) {
  if (const uint64_t offset = findGap(bytes); rangeFits(offset, bytes, aside)) {
    ranges.emplace(offset, bytes);
    return reinterpret_cast<void *>(base + offset);
  }
  DevicePointer data = 0;
  GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_IN(*context, allocate, &data, bytes));
  ++wholes;
  mapped += bytes;
  return reinterpret_cast<void *>(data);
}

void Memory::give(void *data, uint64_t bytes) {
  if (wasForked())
    return;                      // what is there is the parent's
  std::shared_ptr<Context> last; // may go with this, after the lock
  std::lock_guard lock(mutex);
  last = context;
  CurrentContext current(*last, CurrentContext::For::release);
  const auto address = reinterpret_cast<DevicePointer>(data);
  const uint64_t offset = address - base;
  const bool isWhole = !gpu.hasVirtualMemory() && !(address >= base && offset < aside);
  if (isWhole) {
    (void)gpu.api().free(address);
    --wholes;
    mapped -= bytes;
  } else {
    ranges.erase(offset);
    if (gpu.hasVirtualMemory())
      drop(offset, offset + bytes);
  }
  unreserveIfEmpty();
}

/// Counts an allocation in every piece under it, after mapping what is not mapped yet; the last
/// unit is a piece of its own, so that what comes to share it does not keep the others. What was
/// mapped before a failure is given back.
Status Memory::mapUnits(uint64_t begin, uint64_t end) {
  const uint64_t last = unitEnd(end);
  uint64_t at = unitBegin(begin);
  while (at < last) {
    auto next = pieces.upper_bound(at);
    if (next != pieces.begin() && std::prev(next)->first + std::prev(next)->second.bytes > at) {
      auto &[offset, piece] = *std::prev(next);
      ++piece.users;
      at = offset + piece.bytes;
      continue;
    }
    const uint64_t wanted = at < unitBegin(end) ? unitBegin(end) : last;
    const uint64_t until = next == pieces.end() ? wanted : std::min(wanted, next->first);
    if (Status status = mapPiece(at, until - at); !status.ok()) {
      if (at > begin)
        drop(begin, at);
      return status;
    }
    at = until;
  }
  return {};
}

/// A part of a card takes no more than its limit, rounded up to a unit: what gaps between
/// allocations keep mapped counts, since another part may have been promised it.
Status Memory::mapPiece(uint64_t offset, uint64_t bytes) {
  if (mapped + bytes > unitEnd(capacity))
    return Status::doesNotFit("memory of " + gpu.name() + " comes in units of " +
                              formatBytes(unit) + ", and " + formatBytes(mapped) + " of " +
                              formatBytes(unitEnd(capacity)) + " are taken by them");
  const AllocationProperties properties = propertiesOf(gpu);
  MappedBlock piece{bytes, 0, 1};
  GANTRY_RETURN_IF_ERROR(
      GANTRY_CUDA_IN(*context, createMemory, &piece.handle, bytes, &properties, 0));
  Status status = GANTRY_CUDA_IN(*context, map, base + offset, bytes, 0, piece.handle, 0);
  if (!status.ok()) {
    (void)gpu.api().releaseMemory(piece.handle);
    return status;
  }
  mapped += bytes;
  status = grantAccess(offset, bytes);
  if (!status.ok()) {
    unmapPiece(offset, piece);
    return status;
  }
  pieces.emplace(offset, piece);
  return {};
}

Status Memory::grantAccess(uint64_t offset, uint64_t bytes) {
  std::vector<AccessDescription> who(1);
  who[0].location.id = gpu.number();
  for (int reader : readers) {
    who.emplace_back();
    who.back().location.id = reader;
  }
  return GANTRY_CUDA_IN(*context, setAccess, base + offset, bytes, who.data(), who.size());
}

Status Memory::shareWith(const PhysicalGPU &other) {
  std::lock_guard lock(mutex);
  if (&other == &gpu || !readers.insert(other.number()).second || !context)
    return {};
  CurrentContext current(*context);
  Status status = current.status();
  for (const auto &[offset, piece] : pieces)
    if (status.ok())
      status = grantAccess(offset, piece.bytes);
  if (!status.ok())
    readers.erase(other.number());
  return status;
}

/// One user less of each piece in the range; those without any go.
void Memory::drop(uint64_t begin, uint64_t end) {
  for (uint64_t at = unitBegin(begin); at < unitEnd(end);) {
    auto found = std::prev(pieces.upper_bound(at));
    auto &[offset, piece] = *found;
    at = offset + piece.bytes;
    if (--piece.users > 0)
      continue;
    unmapPiece(offset, piece);
    pieces.erase(found);
  }
}

/// Also where the context is lost: mappings are the process's.
void Memory::unmapPiece(uint64_t offset, const MappedBlock &piece) {
  (void)gpu.api().unmap(base + offset, piece.bytes);
  (void)gpu.api().releaseMemory(piece.handle);
  mapped -= piece.bytes;
}

} // namespace gantry::runtime::cuda
