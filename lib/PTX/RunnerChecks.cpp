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

/// Whether nothing orders an access of the lane after `other`, which is of its block.
inline bool Runner::isUnordered(const Warp &warp, unsigned lane, Record other) const {
  uint64_t when = record::tick(other), who = record::thread(other);
  return tick < record::maxTick && who != uint64_t(warp.index) * warpSize + lane &&
         when >= warp.blockSync && !(who / warpSize == warp.index && when < warp.warpSync);
}

/// The same of reads, which may have been of several threads.
inline bool Runner::areUnordered(const Warp &warp, unsigned lane, Record reads) const {
  return isUnordered(warp, lane, reads) || (reads & record::several && tick < record::maxTick &&
                                            record::tick(reads) >= warp.blockSync);
}

/// Whether reads of the block since its last barrier are of several threads, with the lane's.
inline Record Runner::several(const Warp &warp, unsigned lane, Record reads) const {
  if (isUnordered(warp, lane, reads))
    return record::several;
  return record::tick(reads) >= warp.blockSync ? reads & record::several : 0;
}

bool Runner::isOfThisBlock(Record other) const {
  return record::block(other) == (block & record::blockMask);
}

/// Reports an access that nothing orders after another, unless both leave the same bytes.
void Runner::race(FaultKind kind, Warp &warp, const Touch &touch, unsigned lane, Record other,
                  const char *did) {
  const bool isShared = kind == FaultKind::sharedRace;
  const bool isNonCoherent = kind == FaultKind::nonCoherentRead;
  uint64_t at = touch.addresses.at[lane];
  const char *memory = isShared ? shared.get() + at : reinterpret_cast<const char *>(at);
  if (touch.write && !touch.read && !isNonCoherent && storesSame(warp, touch, lane, other, memory))
    return;
  bool isSameBlock = isShared || isOfThisBlock(other);
  fault(kind, warp, touch.op, lane,
        std::string(touch.write ? "write" : "read") + " of " +
            addressText(at, touch.bytes, isShared ? Space::shared : Space::global) + ", which " +
            (isSameBlock ? "thread " + threadText(record::thread(other))
                         : "block " + blockText(record::block(other))) +
            " " + did +
            (isNonCoherent ? ""
             : isSameBlock ? " with no barrier in between"
                           : " in the same launch"));
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
  const unsigned granule = sharedShadow.granule;
  const uint64_t offset = offsets.at[lane];
  Record mine = makeRecord(sharedEpoch, 0, tick, uint64_t(warp.index) * warpSize + lane,
                           access.strong, false);
  for (uint64_t cell = offset / granule; cell * granule < offset + bytes; ++cell) {
    Record &written = sharedShadow.written[cell], &reads = sharedShadow.read[cell];
    bool isWritten = record::epoch(written) == sharedEpoch,
         isRead = record::epoch(reads) == sharedEpoch;
    if (isWritten && written & record::unfinished)
      return fault(FaultKind::unfinishedCopy, warp, op, lane,
                   std::string(write ? "write" : "read") + " of " +
                       addressText(offset, bytes, Space::shared) + ", which cp.async of thread " +
                       threadText(record::thread(written)) +
                       " writes until that thread waits for it");
    if (isWritten && isUnordered(warp, lane, written) &&
        !(access.strong && written & record::strong))
      race(FaultKind::sharedRace, warp, touch, lane, written, "wrote");
    if (read && !isWritten) {
      fault(FaultKind::uninitialisedShared, warp, op, lane,
            "read of " + addressText(offset, bytes, Space::shared) +
                ", which the block has not written");
      written = mine; // once is enough
    }
    if (write) {
      if (isRead && areUnordered(warp, lane, reads) && !(access.strong && reads & record::strong))
        race(FaultKind::sharedRace, warp, touch, lane, reads, "read");
      written = mine;
    } else {
      Record flags = isRead ? several(warp, lane, reads) : 0;
      Record kept = flags && !(reads & record::strong) ? ~record::strong : ~Record(0);
      reads = (mine | flags) & kept;
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
  const Access &access = touch.access;
  const unsigned granule = region.shadow->granule;
  const uint64_t offset = touch.addresses.at[lane] - region.begin, epoch = state.epoch;
  Record mine = makeRecord(epoch, block, tick, uint64_t(warp.index) * warpSize + lane,
                           access.strong, access.nonCoherent);
  // A block that fenced and then did an atomic operation has published what it did before; a block
  // that did an atomic operation may see it.
  auto isPublished = [&](Record other) {
    auto found = releasedBlocks.find(record::block(other));
    return acquired && found != releasedBlocks.end() && record::tick(other) < found->second;
  };
  auto raceWith = [&](Record other, bool ofOtherBlocks, bool unordered, const char *did) {
    if (access.strong && other & record::strong)
      return;
    if (ofOtherBlocks && !isPublished(other))
      race(FaultKind::blockRace, warp, touch, lane, other, did);
    else if (isOfThisBlock(other) && unordered)
      race(FaultKind::globalRace, warp, touch, lane, other, did);
  };
  for (uint64_t cell = offset / granule; cell * granule < offset + touch.bytes; ++cell) {
    Record &written = region.shadow->written[cell], &reads = region.shadow->read[cell];
    bool isWritten = record::epoch(written) == epoch, isRead = record::epoch(reads) == epoch;
    if (isWritten && access.nonCoherent)
      race(FaultKind::nonCoherentRead, warp, touch, lane, written,
           "writes: ld.global.nc must not read it");
    else if (isWritten)
      raceWith(written, !isOfThisBlock(written), isUnordered(warp, lane, written), "wrote");
    if (touch.write) {
      if (isRead && reads & record::nonCoherent)
        race(FaultKind::nonCoherentRead, warp, touch, lane, reads, "reads by ld.global.nc");
      else if (isRead)
        raceWith(reads, !isOfThisBlock(reads) || reads & record::otherBlocks,
                 areUnordered(warp, lane, reads), "read");
      written = mine;
      continue;
    }
    Record flags = 0;
    if (isRead)
      flags = (reads & (record::nonCoherent | record::otherBlocks)) |
              (isOfThisBlock(reads) ? several(warp, lane, reads) : record::otherBlocks);
    Record kept = isRead && !(reads & record::strong) ? ~record::strong : ~Record(0);
    reads = (mine | flags) & kept;
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
