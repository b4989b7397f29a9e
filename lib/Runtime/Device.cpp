// Accounting around a device's memory: the limit is enforced here, for every driver alike.
#include "gantry/Runtime/Device.h"

#include "gantry/Runtime/Budget.h"
#include "gantry/Support/Bytes.h"

namespace gantry::runtime {

Allocation::~Allocation() {
  if (start)
    device->release(start, length);
}

Status Device::checkFits(uint64_t bytes, const std::string &what) {
  uint64_t used = inUse.load(std::memory_order_relaxed);
  if (memoryLimit != 0 && (used > memoryLimit || bytes > memoryLimit - used))
    return Status::doesNotFit("'" + fullName + "': " + what + " needs " + formatBytes(bytes) +
                              ", the limit is " + formatBytes(memoryLimit) + " and " +
                              formatBytes(used) + " are in use; raise the limit to at least " +
                              formatBytes(used + bytes));
  if (shared)
    GANTRY_RETURN_IF_ERROR(shared->check(bytes, "'" + fullName + "': " + what));
  Expected<MemoryInfo> info = memoryInfo();
  if (!info)
    return info.status();
  if (bytes > info->free)
    return Status::doesNotFit("'" + fullName + "': " + what + " needs " + formatBytes(bytes) +
                              ", but only " + formatBytes(info->free) + " of " +
                              formatBytes(info->total) + " are free at the moment");
  return {};
}

/// Books the bytes unless that would pass the limit; exact also when several threads allocate.
bool Device::reserve(uint64_t bytes) {
  uint64_t used = inUse.load(std::memory_order_relaxed);
  do {
    if (memoryLimit != 0 && (used > memoryLimit || bytes > memoryLimit - used))
      return false;
  } while (!inUse.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  uint64_t highest = peak.load(std::memory_order_relaxed);
  while (highest < used + bytes &&
         !peak.compare_exchange_weak(highest, used + bytes, std::memory_order_relaxed)) {
  }
  return true;
}

Expected<Allocation> Device::allocate(uint64_t bytes, const std::string &what) {
  if (bytes == 0)
    return Allocation();
  if (!reserve(bytes))
    return checkFits(bytes, what);
  if (shared && !shared->take(bytes)) {
    add(inUse, -bytes);
    return shared->check(bytes, "'" + fullName + "': " + what);
  }
  Expected<void *> data = takeMemory(bytes);
  if (!data) {
    add(inUse, -bytes);
    if (shared)
      shared->give(bytes);
    const Status &why = data.status();
    return Status(why.code(), "'" + fullName + "': " + what + ": " + why.message());
  }
  add(allocations, 1);
  return Allocation(this, *data, bytes);
}

void Device::release(void *data, uint64_t bytes) {
  giveMemory(data, bytes);
  add(inUse, -bytes);
  if (shared)
    shared->give(bytes);
}

void Device::resetPeak() { peak.store(inUse.load(std::memory_order_relaxed)); }

plan::CopyTally Device::Tally::read() const {
  plan::CopyTally tally;
  for (size_t kind = 0; kind < plan::numCopyKinds; ++kind)
    tally.kinds[kind] = {counts[kind].copies.load(std::memory_order_relaxed),
                         counts[kind].bytes.load(std::memory_order_relaxed),
                         counts[kind].transfers.load(std::memory_order_relaxed)};
  const uint64_t messages = sent.copies.load(std::memory_order_relaxed);
  tally.sent = {messages, sent.bytes.load(std::memory_order_relaxed), messages};
  return tally;
}

DeviceStats Device::stats() const {
  auto read = [](const Counter &counter) { return counter.load(std::memory_order_relaxed); };
  DeviceStats stats;
  stats.bytesInUse = read(inUse), stats.peakBytes = read(peak);
  stats.mappedBytes = read(mappedBytes), stats.allocations = read(allocations);
  stats.stagedCopies = read(stagedCopies), stats.stagedBytes = read(stagedBytes);
  stats.pinnedBytes = read(pinnedBytes) + sharedPinnedBytes();
  stats.run = runCopies.read(), stats.load = loadCopies.read(), stats.arrays = arrayCopies.read();
  for (const plan::CopyCount &count : stats.run.kinds) {
    stats.copies += count.copies;
    stats.copiedBytes += count.bytes;
  }
  return stats;
}

} // namespace gantry::runtime
