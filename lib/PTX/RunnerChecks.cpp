// Counts of sectors and banks, races, what was never written, and the texts of faults.
#include "Runner.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/Names.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace gantry;
using namespace gantry::ptx;

// Counts.

void Runner::countGlobal(Counts::Global &count, const Addresses &addresses, uint32_t exec,
                         unsigned bytes) {
  ++count.requests;
  count.bytes += uint64_t(std::popcount(exec)) * bytes;
  if (const Pattern *pattern = addresses.pattern) {
    bool samePhase = (addresses.at[firstLane(exec)] & 31) == pattern->phase;
    if (samePhase || (pattern->rising && !addresses.summary.contiguous)) {
      count.leastSectors += pattern->leastSectors;
      count.sectors += samePhase ? pattern->sectors : compute.risingSectors(addresses.at);
      return;
    }
  }
  if (addresses.summary.contiguous) {
    uint64_t total = uint64_t(bytes) * warpSize;
    count.sectors += ((addresses.summary.low + total - 1) >> 5) - (addresses.summary.low >> 5) + 1;
    count.leastSectors += (total + 31) / 32;
    return;
  }
  if (addresses.summary.low == addresses.summary.high) {
    ++count.sectors;
    ++count.leastSectors;
    return;
  }
  uint64_t sorted[warpSize];
  unsigned lanes = 0;
  bool inOrder = true;
  for (unsigned lane : Lanes{exec}) {
    sorted[lanes] = addresses.at[lane];
    inOrder &= lanes == 0 || sorted[lanes - 1] <= sorted[lanes];
    ++lanes;
  }
  if (!inOrder)
    std::sort(sorted, sorted + lanes);
  uint64_t distinct = 0, sectors = 0;
  for (unsigned i = 0; i < lanes; ++i) {
    distinct += i == 0 || sorted[i] != sorted[i - 1];
    sectors += i == 0 || sorted[i] >> 5 != sorted[i - 1] >> 5;
  }
  count.sectors += sectors;
  count.leastSectors += (distinct * bytes + 31) / 32;
}

/// Lanes of 8 bytes are served by halves of the warp, of 16 bytes by quarters; lanes that want the
/// same word share it.
void Runner::countShared(Counts::Shared &count, const Addresses &addresses, uint32_t exec,
                         unsigned bytes) {
  ++count.requests;
  if (const Pattern *pattern = addresses.pattern) {
    count.wavefronts += pattern->wavefronts;
    count.leastWavefronts += pattern->leastWavefronts;
    return;
  }
  unsigned parts = bytes <= 4 ? 1 : std::min(bytes / 4, 8u), lanesEach = warpSize / parts;
  bool easy = bytes >= 4 &&
              (addresses.summary.contiguous || addresses.summary.low == addresses.summary.high);
  for (unsigned part = 0; part < parts; ++part) {
    uint32_t lanes = exec >> (part * lanesEach);
    lanes &= lanesEach == warpSize ? allLanes : (1u << lanesEach) - 1;
    if (!lanes)
      continue;
    ++count.leastWavefronts;
    if (easy) {
      ++count.wavefronts;
      continue;
    }
    // Mostly no two lanes want different words of a bank.
    uint64_t wordOf[32];
    uint32_t used = 0;
    bool conflict = bytes > 4;
    for (uint32_t left = lanes; left && !conflict; left &= left - 1) {
      uint64_t word = addresses.at[part * lanesEach + firstLane(left)] / 4;
      unsigned bank = word & 31;
      conflict = used >> bank & 1 && wordOf[bank] != word;
      wordOf[bank] = word;
      used |= 1u << bank;
    }
    if (!conflict) {
      ++count.wavefronts;
      continue;
    }
    uint64_t words[64];
    unsigned total = 0;
    for (unsigned lane : Lanes{lanes}) {
      uint64_t at = addresses.at[part * lanesEach + lane];
      for (unsigned i = 0; i < std::max(1u, bytes / 4) && total < 64; ++i)
        words[total++] = at / 4 + i;
    }
    std::sort(words, words + total);
    uint8_t perBank[32] = {};
    uint8_t most = 0;
    for (unsigned i = 0; i < total; ++i)
      if (i == 0 || words[i] != words[i - 1])
        most = std::max(most, ++perBank[words[i] & 31]);
    count.wavefronts += most;
  }
}

// Races.

namespace {

Record makeRecord(uint64_t epoch, uint64_t block, uint64_t tick, uint64_t thread, bool strong,
                  bool nonCoherent) {
  return epoch << record::epochShift | (block & record::blockMask) << record::blockShift |
         std::min(tick, record::maxTick) << record::tickShift | thread << record::threadShift |
         (strong ? record::strong : 0) | (nonCoherent ? record::nonCoherent : 0);
}

} // namespace

/// Whether a store puts the bytes there that the other access left, or leaves, there: two threads
/// that write the same are no race. Lanes of one instruction are checked before any of them stores,
/// so their values are compared, else memory's.
bool Runner::storesSame(Warp &warp, const Touch &touch, unsigned lane, Record other,
                        const char *memory) {
  const Access &access = touch.access;
  const Addresses &addresses = touch.addresses;
  uint64_t thread = record::thread(other);
  unsigned otherLane = unsigned(thread % warpSize);
  bool together = thread / warpSize == warp.index && otherLane < lane &&
                  touch.exec >> otherLane & 1 && addresses.at[otherLane] == addresses.at[lane];
  for (unsigned i = 0; i < access.count; ++i) {
    if (access.values[i].offset == noSlot)
      return false;
    uint64_t value = readLane(warp, access.values[i], lane), there = 0;
    if (together)
      there = readLane(warp, access.values[i], otherLane);
    else
      std::memcpy(&there, memory + i * access.width, access.width);
    if (std::memcmp(&value, &there, access.width) != 0)
      return false;
  }
  return true;
}

CellCheck Runner::cellCheck(Warp &warp, const Touch &touch, const Shadow &shadow, uint64_t epoch,
                            uint64_t ofBlock) const {
  const Access &access = touch.access;
  CellCheck check;
  check.written = shadow.written.get();
  check.read = shadow.read.get();
  check.shift = unsigned(std::countr_zero(shadow.granule));
  check.perLane = touch.bytes / shadow.granule;
  check.mine = makeRecord(epoch, ofBlock, tick, uint64_t(warp.index) * warpSize, access.strong,
                          access.nonCoherent);
  check.epochBegin = epoch << record::epochShift;
  check.blockBegin = makeRecord(epoch, ofBlock, 0, 0, false, false);
  check.unordered = makeRecord(epoch, ofBlock, warp.blockSync, 0, false, false);
  return check;
}

/// `exact` looks at a lane whose cells do not simply pass. Accesses that the short way does not
/// know (atomic ones, after a barrier of a warp, across cells) are looked at lane by lane.
template <class Exact>
void Runner::checkCells(Warp &warp, const Touch &touch, const CellCheck &check, uint64_t first,
                        Exact exact) {
  uint64_t granule = uint64_t(1) << check.shift;
  bool simple = !touch.access.strong && touch.read != touch.write && tick < record::maxTick &&
                warp.blockSync == warp.warpSync && touch.bytes % granule == 0 &&
                ((touch.addresses.summary.bits | first) & (granule - 1)) == 0;
  const Pattern *pattern = touch.addresses.pattern;
  if (pattern && pattern->mask != touch.exec)
    pattern = nullptr;
  auto note = touch.write ? compute.noteWrite : compute.noteRead;
  for (uint32_t left = touch.exec; left; left &= left - 1) {
    if (simple)
      left = note(check, touch.addresses.at, left, pattern);
    if (!left)
      return;
    exact(firstLane(left));
    pattern = nullptr;
  }
}

void Runner::checkShared(Warp &warp, const Touch &touch) {
  CellCheck check = cellCheck(warp, touch, sharedShadow, sharedEpoch, 0);
  check.mustBeWritten = true;
  checkCells(warp, touch, check, 0, [&](unsigned lane) { checkSharedLane(warp, touch, lane); });
}

void Runner::checkSharedLane(Warp &warp, const Touch &touch, unsigned lane) {
  const auto &[op, access, offsets, exec, bytes, write, read] = touch;
  unsigned granule = sharedShadow.granule;
  Record *written = sharedShadow.written.get(), *lastRead = sharedShadow.read.get();
  bool tracked = tick < record::maxTick;
  uint64_t thread = uint64_t(warp.index) * warpSize + lane, begin = offsets.at[lane] / granule;
  uint64_t end = (offsets.at[lane] + bytes + granule - 1) / granule;
  Record mine = makeRecord(sharedEpoch, 0, tick, thread, access.strong, false);
  auto unordered = [&](Record other) {
    uint64_t when = record::tick(other), who = record::thread(other);
    return tracked && who != thread && when >= warp.blockSync &&
           !(who / warpSize == warp.index && when < warp.warpSync);
  };
  auto race = [&](Record other, const char *did) {
    if (write && !read && storesSame(warp, touch, lane, other, shared.get() + offsets.at[lane]))
      return;
    fault(FaultKind::sharedRace, warp, op, lane,
          std::string(write ? "write" : "read") + " of " +
              addressText(offsets.at[lane], bytes, Space::shared) + ", which thread " +
              threadText(record::thread(other)) + " " + did + " with no barrier in between");
  };
  for (uint64_t cell = begin; cell < end; ++cell) {
    Record before = written[cell];
    bool isWritten = record::epoch(before) == sharedEpoch;
    if (isWritten && before & record::unfinished) {
      fault(FaultKind::unfinishedCopy, warp, op, lane,
            std::string(write ? "write" : "read") + " of " +
                addressText(offsets.at[lane], bytes, Space::shared) +
                ", which cp.async of thread " + threadText(record::thread(before)) +
                " writes until that thread waits for it");
      return;
    }
    if (read && !isWritten) {
      fault(FaultKind::uninitialisedShared, warp, op, lane,
            "read of " + addressText(offsets.at[lane], bytes, Space::shared) +
                ", which the block has not written");
      written[cell] = mine; // once is enough
    }
    if (isWritten && unordered(before) && !(access.strong && before & record::strong))
      race(before, "wrote");
    Record &reads = lastRead[cell];
    bool isRead = record::epoch(reads) == sharedEpoch;
    if (write) {
      bool others = isRead && (unordered(reads) || (reads & record::several && tracked &&
                                                    record::tick(reads) >= warp.blockSync));
      if (others && !(access.strong && reads & record::strong))
        race(reads, "read");
      written[cell] = mine;
    } else {
      Record flags = 0;
      if (isRead && unordered(reads))
        flags = record::several;
      else if (isRead && record::tick(reads) >= warp.blockSync)
        flags = reads & record::several;
      Record made = mine | flags;
      if (isRead && (flags & record::several) && !(reads & record::strong))
        made &= ~record::strong;
      reads = made;
    }
  }
}

void Runner::checkGlobal(Warp &warp, const Touch &touch, const CachedRegion &region) {
  if (!region.shadow)
    return;
  // Of lanes that are in another region, the nearest that this one has.
  const AddressSummary &all = touch.addresses.summary;
  region.shadow->noteTouch(std::max(all.low, region.begin) - region.begin,
                           std::min(all.high + touch.bytes, region.end) - region.begin);
  CellCheck check = cellCheck(warp, touch, *region.shadow, state.epoch, block & record::blockMask);
  check.origin = region.begin;
  check.mustNotBeWritten = touch.access.nonCoherent;
  checkCells(warp, touch, check, region.begin,
             [&](unsigned lane) { checkGlobalLane(warp, touch, region, lane); });
}

void Runner::checkGlobalLane(Warp &warp, const Touch &touch, const CachedRegion &region,
                             unsigned lane) {
  const auto &[op, access, addresses, exec, bytes, write, read] = touch;
  Shadow &shadow = *region.shadow;
  unsigned granule = shadow.granule;
  Record *written = shadow.written.get(), *lastRead = shadow.read.get();
  uint64_t epoch = state.epoch;
  bool tracked = tick < record::maxTick;
  uint64_t thread = uint64_t(warp.index) * warpSize + lane;
  uint64_t offset = addresses.at[lane] - region.begin;
  uint64_t begin = offset / granule, end = (offset + bytes + granule - 1) / granule;
  Record mine = makeRecord(epoch, block, tick, thread, access.strong, access.nonCoherent);
  auto sameBlock = [&](Record other) {
    return record::block(other) == (block & record::blockMask);
  };
  auto unordered = [&](Record other) {
    uint64_t when = record::tick(other), who = record::thread(other);
    return tracked && who != thread && when >= warp.blockSync &&
           !(who / warpSize == warp.index && when < warp.warpSync);
  };
  /// A block that fenced and then did an atomic operation has published what it did before; a
  /// block that did an atomic operation may see it.
  auto published = [&](Record other) {
    auto found = releasedBlocks.find(record::block(other));
    return acquired && found != releasedBlocks.end() && record::tick(other) < found->second;
  };
  auto report = [&](FaultKind kind, Record other, const char *did) {
    if (write && !read && kind != FaultKind::nonCoherentRead &&
        storesSame(warp, touch, lane, other, reinterpret_cast<const char *>(addresses.at[lane])))
      return;
    std::string who = sameBlock(other) ? "thread " + threadText(record::thread(other))
                                       : "block " + blockText(record::block(other));
    fault(kind, warp, op, lane,
          std::string(write ? "write" : "read") + " of " +
              addressText(addresses.at[lane], bytes, Space::global) + ", which " + who + " " + did +
              (kind == FaultKind::nonCoherentRead ? ""
               : sameBlock(other)                 ? " with no barrier in between"
                                                  : " in the same launch"));
  };
  for (uint64_t cell = begin; cell < end; ++cell) {
    Record before = written[cell];
    if (record::epoch(before) == epoch) {
      bool bothStrong = access.strong && before & record::strong;
      if (access.nonCoherent)
        report(FaultKind::nonCoherentRead, before, "writes: ld.global.nc must not read it");
      else if (!sameBlock(before) && !bothStrong && !published(before))
        report(FaultKind::blockRace, before, "wrote");
      else if (sameBlock(before) && !bothStrong && unordered(before))
        report(FaultKind::globalRace, before, "wrote");
    }
    Record &reads = lastRead[cell];
    bool isRead = record::epoch(reads) == epoch;
    if (write) {
      if (isRead) {
        bool bothStrong = access.strong && reads & record::strong;
        bool others = unordered(reads) ||
                      (reads & record::several && tracked && record::tick(reads) >= warp.blockSync);
        if (reads & record::nonCoherent)
          report(FaultKind::nonCoherentRead, reads, "reads by ld.global.nc");
        else if ((!sameBlock(reads) || reads & record::otherBlocks) && !bothStrong &&
                 !published(reads))
          report(FaultKind::blockRace, reads, "read");
        else if (sameBlock(reads) && !bothStrong && others)
          report(FaultKind::globalRace, reads, "read");
      }
      written[cell] = mine;
    } else {
      Record flags = 0;
      if (isRead) {
        flags = reads & (record::nonCoherent | record::otherBlocks);
        if (!sameBlock(reads))
          flags |= record::otherBlocks;
        else if (unordered(reads))
          flags |= record::several;
        else if (record::tick(reads) >= warp.blockSync)
          flags |= reads & record::several;
      }
      Record made = mine | flags;
      if (isRead && !(reads & record::strong))
        made &= ~record::strong;
      reads = made;
    }
  }
}

void Runner::checkLocal(Warp &warp, const Touch &touch) {
  uint8_t *base = localWritten.data() + (oneRegisterFile ? 0 : warp.index * localStride);
  for (unsigned lane : Lanes{touch.exec}) {
    uint64_t offset = touch.addresses.at[lane];
    uint8_t *at = base + lane * program.info.localBytes + offset;
    if (!touch.write && std::memchr(at, 0, touch.bytes))
      fault(FaultKind::uninitialisedLocal, warp, touch.op, lane,
            "read of " + addressText(offset, touch.bytes, Space::local) +
                ", which the thread has not written");
    std::memset(at, 1, touch.bytes); // once is enough
  }
}

// Faults.

namespace {

std::string tripleText(const Index3 &index) {
  return "(" + std::to_string(index[0]) + "," + std::to_string(index[1]) + "," +
         std::to_string(index[2]) + ")";
}

} // namespace

std::string Runner::threadText(uint64_t linear) const { return tripleText(threadIndex(linear)); }
std::string Runner::blockText(uint64_t linear) const { return tripleText(blockIndex(linear)); }

/// "byte 400 of 'x' (400 bytes)": the end of what may have been overrun.
std::string Runner::addressText(uint64_t address, unsigned bytes, Space space) const {
  if (space == Space::shared || space == Space::local || space == Space::param) {
    uint64_t size = space == Space::shared  ? state.sharedBytes
                    : space == Space::local ? program.info.localBytes
                                            : state.argumentBytes;
    return "byte " + std::to_string(address) + " of " +
           std::string(space == Space::param ? "the parameters" : spaceName(space)) +
           (space == Space::param ? "" : " memory") + " (" + formatBytes(size) + ")";
  }
  const Memory &memory = state.image.memory();
  const Region *region = memory.find(address);
  std::string made;
  if (!region) {
    region = memory.before(address);
    // Far from every buffer it is no overrun, but an address that is wrong.
    if (!region || address - region->begin > region->size + (uint64_t(1) << 30)) {
      char text[64];
      std::snprintf(text, sizeof text, "0x%llx, which is in no buffer",
                    static_cast<unsigned long long>(address));
      return text;
    }
  }
  (void)bytes;
  return "byte " + std::to_string(address - region->begin) + " of '" + printable(region->name) +
         "' (" + formatBytes(region->size) + ")";
}

void Runner::fault(FaultKind kind, Warp &warp, const Op &op, unsigned lane, std::string detail) {
  ++faultCount;
  auto [entry, isNew] = faultOf.try_emplace({op.instruction, kind}, faults.size());
  if (!isNew) {
    if (entry->second < faults.size())
      ++faults[entry->second].fault.count;
    return;
  }
  if (faults.size() >= state.launch.maxFaults) {
    entry->second = SIZE_MAX;
    return;
  }
  const Origin &origin = program.origins[op.instruction];
  Fault made;
  made.kind = kind;
  made.kernel = program.info.name;
  if (origin.instruction) {
    made.place = origin.instruction->place;
    made.source = state.image.module().describe(origin.instruction->source);
    made.opcode = std::string(origin.instruction->opcode);
  }
  made.block = blockAt;
  made.thread = threadIndex(uint64_t(warp.index) * warpSize + lane);
  made.lane = lane;
  made.detail = std::move(detail);
  faults.push_back({position, op.instruction, std::move(made)});
}
