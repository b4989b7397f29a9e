// cp.async: bytes that are on their way from global to shared memory.
//
// Addresses are checked when the copy is asked for, the bytes move when the thread waits for the
// group: whoever reads too early sees what was there before, as he may on hardware, and with all
// checks it is a fault. Records of what is on its way have the last tick, so that no barrier orders
// them, and a flag.
#include "Runner.h"

#include <algorithm>
#include <cstring>

using namespace gantry;
using namespace gantry::ptx;

/// The lanes whose source may be read; their addresses are those of the host.
uint32_t Runner::checkCopySource(Warp &warp, const Op &op, const CopyDetail &copy, uint32_t exec,
                                 const uint8_t *read, uint64_t *from) {
  uint64_t cache = uint64_t(&op - program.ops.data());
  uint32_t whole = lanesWhere(exec, [&](unsigned lane) { return read[lane] == copy.bytes; });
  uint32_t odd = lanesWhere(exec & ~whole, [&](unsigned lane) { return read[lane] != 0; }),
           good = 0;
  Addresses addresses;
  if (whole) {
    computeAddresses(warp, copy.from, whole, addresses);
    countGlobal(counts.globalLoad, addresses, whole, copy.bytes);
    good = resolve(warp, op, copy.from, Space::global, whole, addresses, false, true, cache);
    std::copy(addresses.at, addresses.at + warpSize, from);
  }
  // The alignment is that of the whole copy, the bounds those of the bytes that are read.
  for (unsigned lane : Lanes{odd}) {
    uint32_t only = 1u << lane, inside = only;
    computeAddresses(warp, copy.from, only, addresses);
    countGlobal(counts.globalLoad, addresses, only, read[lane]);
    if (checkMemory && addresses.at[lane] % copy.bytes) {
      resolve(warp, op, copy.from, Space::global, only, addresses, false, true, cache);
      continue;
    }
    Access byte = copy.from;
    byte.width = 1;
    for (unsigned i = 0; i < read[lane] && inside; ++i) {
      Addresses one = addresses;
      one.at[lane] += i;
      one.summarised(compute.summarise(one.at, only, 1));
      inside = resolve(warp, op, byte, Space::global, only, one, false, true, cache);
    }
    from[lane] = addresses.at[lane];
    good |= inside;
  }
  return good;
}

void Runner::copyAsync(Warp &warp, const Op &op, uint32_t exec) {
  const CopyDetail &copy = program.copies[op.detail];
  uint8_t read[warpSize];
  for (unsigned lane = 0; lane < warpSize; ++lane)
    read[lane] = copy.size.offset == noSlot
                     ? copy.bytes
                     : uint8_t(std::min<uint64_t>(copy.bytes, readLane(warp, copy.size, lane)));
  uint64_t from[warpSize] = {};
  uint32_t sources = checkCopySource(warp, op, copy, exec, read, from);
  Addresses to;
  computeAddresses(warp, copy.to, exec, to);
  if (to.summary.bits & windowMask) {
    for (uint64_t &at : to.at)
      at &= ~windowMask;
    to.summarised(compute.summarise(to.at, exec, copy.bytes));
  }
  countShared(counts.sharedStore, to, exec, copy.bytes);
  uint32_t good = resolve(warp, op, copy.to, Space::shared, exec, to, true, false, 0);
  for (unsigned lane : Lanes{good}) {
    uint64_t offset = to.at[lane] - reinterpret_cast<uint64_t>(shared.get());
    bool isRead = sources >> lane & 1;
    warp.copies.push_back({from[lane], uint32_t(offset), warp.group[lane], uint8_t(lane),
                           copy.bytes, isRead ? read[lane] : uint8_t(0)});
    noteCopy(warp, warp.copies.back(), false);
  }
}

void Runner::commitCopies(Warp &warp, uint32_t exec) {
  for (unsigned lane : Lanes{exec})
    ++warp.group[lane];
}

/// All but the last `groups` of each lane's groups arrive.
void Runner::finishCopies(Warp &warp, uint32_t exec, uint64_t groups) {
  auto isDone = [&](const PendingCopy &copy) {
    bool waits = exec >> copy.lane & 1 &&
                 (groups == allGroups || copy.group + groups < warp.group[copy.lane]);
    if (!waits)
      return false;
    char *to = shared.get() + copy.to;
    if (copy.read)
      std::memcpy(to, reinterpret_cast<const char *>(copy.from), copy.read);
    std::memset(to + copy.read, 0, size_t(copy.bytes) - copy.read);
    noteCopy(warp, copy, true);
    return true;
  };
  // In the order they were asked for: a predicate that acts must see each once.
  auto keep = warp.copies.begin();
  for (const PendingCopy &copy : warp.copies)
    if (!isDone(copy))
      *keep++ = copy;
  warp.copies.erase(keep, warp.copies.end());
}

/// Records the write, which is of the thread that waited, at the time it waited.
void Runner::noteCopy(Warp &warp, const PendingCopy &copy, bool finished) {
  if (!checkAll)
    return;
  unsigned granule = sharedShadow.granule;
  Record thread = (uint64_t(warp.index) * warpSize + copy.lane) << record::threadShift;
  Record when = std::min(finished ? tick : record::maxTick, record::maxTick) << record::tickShift;
  Record mine =
      sharedEpoch << record::epochShift | when | thread | (finished ? 0 : record::unfinished);
  for (uint32_t at = copy.to / granule; at * granule < copy.to + copy.bytes; ++at)
    sharedShadow.written[at] = mine;
}
