// What lanes of a warp, and warps of a block, do together.
#include "Runner.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

using namespace gantry;
using namespace gantry::ptx;

namespace {

std::string hexMask(uint32_t mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

} // namespace

/// Whether every lane names all lanes.
bool Runner::isFull(Warp &warp, Slot members) {
  const uint32_t *masks = slot<uint32_t>(warp, members.offset);
  uint32_t all = allLanes;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    all &= masks[lane];
  return all == allLanes;
}

/// Whether all lanes that the member masks name are here. If not, the group waits while a missing
/// lane can still come; when none can, it is a fault, and the group goes on with those that are
/// here.
bool Runner::membersPresent(Warp &warp, const Op &op, Slot members, uint32_t mask, uint32_t exec,
                            bool forced) {
  if (exec == allLanes && (members.offset == noSlot || isFull(warp, members)))
    return true;
  uint32_t named = 0;
  bool selfMissing = false;
  unsigned who = firstLane(exec);
  if (members.offset == noSlot) {
    named = lanesOf(warp);
  } else {
    const uint32_t *masks = slot<uint32_t>(warp, members.offset);
    for (unsigned lane : Lanes{exec}) {
      named |= masks[lane];
      if (!(masks[lane] >> lane & 1) && !selfMissing) {
        selfMissing = true;
        who = lane;
      }
    }
    // A full mask in a block whose last warp is not full is what everybody writes.
    named &= lanesOf(warp);
  }
  uint32_t missing = named & ~exec;
  if (!missing && !selfMissing)
    return true;
  uint32_t canCome = missing & warp.live & ~warp.blocked & ~(mask & ~exec);
  if (canCome && !forced && !selfMissing)
    return false;
  if (checkMemory) {
    std::string what =
        selfMissing
            ? "the lane is not in its own member mask " + hexMask(named)
            : "member mask " + hexMask(named) + " names lane " +
                  std::to_string(std::countr_zero(missing)) + ", which " +
                  (warp.live >> std::countr_zero(missing) & 1 ? "is elsewhere" : "has ended");
    fault(FaultKind::absentLane, warp, op, who, what);
  }
  return true;
}

/// Whether all lanes shuffle by the same distance in a segment that is the whole warp.
static bool isWhole(const uint32_t *b, const uint32_t *c) {
  uint32_t differ = 0;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    differ |= (b[lane] ^ b[0]) | ((c[lane] & 0x1f1f) ^ 0x1f);
  return differ == 0;
}

void Runner::shuffle(Warp &warp, const Op &op, uint32_t exec) {
  const SyncDetail &detail = program.syncs[op.detail];
  const uint32_t *a = slot<uint32_t>(warp, detail.a.offset),
                 *b = slot<uint32_t>(warp, detail.b.offset),
                 *c = slot<uint32_t>(warp, detail.c.offset);
  uint32_t values[warpSize];
  uint32_t valid = 0;
  auto choose = [&](unsigned lane) {
    uint32_t distance = b[lane] & 31, clamp = c[lane] & 31, segment = c[lane] >> 8 & 31;
    int most = int((lane & segment) | (clamp & ~segment)), least = int(lane & segment),
        from = int(lane);
    bool inRange;
    switch (detail.fn) {
    case SyncDetail::Fn::up:
      from = int(lane) - int(distance);
      inRange = from >= most;
      break;
    case SyncDetail::Fn::down:
      from = int(lane) + int(distance);
      inRange = from <= most;
      break;
    case SyncDetail::Fn::bfly:
      from = int(lane ^ distance);
      inRange = from <= most;
      break;
    default:
      from = least | int(distance & ~segment);
      inRange = from <= most;
    }
    if (!inRange)
      from = int(lane);
    if (!(exec >> from & 1) && checkMemory)
      fault(FaultKind::absentLane, warp, op, lane,
            "the value comes from lane " + std::to_string(from) + ", which does not take part");
    values[lane] = a[from];
    valid |= uint32_t(inRange) << lane;
  };
  if (exec == allLanes && detail.fn == SyncDetail::Fn::bfly && isWhole(b, c)) {
    for (unsigned lane = 0; lane < warpSize; ++lane)
      values[lane] = a[lane ^ (b[0] & 31)];
    valid = allLanes;
  } else {
    for (unsigned lane : Lanes{exec})
      choose(lane);
  }
  uint32_t *to = slot<uint32_t>(warp, detail.dst.offset);
  for (unsigned lane : Lanes{exec})
    to[lane] = values[lane];
  if (detail.predicate.offset != noSlot) {
    uint32_t &bits = predicate(warp, detail.predicate.offset);
    bits = (bits & ~exec) | valid;
  }
}

void Runner::vote(Warp &warp, const Op &op, uint32_t exec) {
  const SyncDetail &detail = program.syncs[op.detail];
  uint32_t votes = predicate(warp, detail.a.offset);
  if (detail.negated)
    votes = ~votes;
  const uint32_t *members = slot<uint32_t>(warp, detail.members.offset);
  uint32_t result[warpSize];
  for (unsigned lane : Lanes{exec}) {
    uint32_t group = members[lane] & exec, yes = votes & group;
    switch (detail.fn) {
    case SyncDetail::Fn::all:
      result[lane] = yes == group;
      break;
    case SyncDetail::Fn::any:
      result[lane] = yes != 0;
      break;
    case SyncDetail::Fn::uni:
      result[lane] = yes == 0 || yes == group;
      break;
    default:
      result[lane] = yes;
    }
  }
  for (unsigned lane : Lanes{exec})
    writeLane(warp, detail.dst, lane, result[lane]);
}

void Runner::match(Warp &warp, const Op &op, uint32_t exec) {
  const SyncDetail &detail = program.syncs[op.detail];
  const uint32_t *members = slot<uint32_t>(warp, detail.members.offset);
  uint32_t result[warpSize], all = 0;
  for (unsigned lane : Lanes{exec}) {
    uint32_t group = members[lane] & exec;
    uint64_t mine = readLane(warp, detail.a, lane);
    uint32_t same =
        lanesWhere(group, [&](unsigned other) { return readLane(warp, detail.a, other) == mine; });
    bool isAll = same == group;
    all |= uint32_t(isAll) << lane;
    result[lane] = detail.fn == SyncDetail::Fn::any ? same : isAll ? group : 0;
  }
  for (unsigned lane : Lanes{exec}) {
    writeLane(warp, detail.dst, lane, result[lane]);
    writeLane(warp, detail.predicate, lane, all >> lane & 1);
  }
}

void Runner::redux(Warp &warp, const Op &op, uint32_t exec) {
  const SyncDetail &detail = program.syncs[op.detail];
  const uint32_t *members = slot<uint32_t>(warp, detail.members.offset),
                 *a = slot<uint32_t>(warp, detail.a.offset);
  uint32_t result[warpSize];
  for (unsigned lane : Lanes{exec}) {
    uint32_t group = members[lane] & exec;
    uint32_t made = group ? a[firstLane(group)] : 0;
    for (unsigned other : Lanes{group & (group - 1)}) {
      uint32_t value = a[other];
      bool less = isSigned(detail.type) ? int32_t(value) < int32_t(made) : value < made;
      switch (detail.fn) {
      case SyncDetail::Fn::add:
        made += value;
        break;
      case SyncDetail::Fn::min:
        made = less ? value : made;
        break;
      case SyncDetail::Fn::max:
        made = less ? made : value;
        break;
      case SyncDetail::Fn::land:
        made &= value;
        break;
      case SyncDetail::Fn::lor:
        made |= value;
        break;
      default:
        made ^= value;
      }
    }
    result[lane] = made;
  }
  for (unsigned lane : Lanes{exec})
    writeLane(warp, detail.dst, lane, result[lane]);
}

void Runner::elect(Warp &warp, const Op &op, uint32_t exec) {
  const SyncDetail &detail = program.syncs[op.detail];
  const uint32_t *members = slot<uint32_t>(warp, detail.members.offset);
  uint32_t leaders[warpSize];
  for (unsigned lane : Lanes{exec})
    leaders[lane] = firstLane(members[lane] & exec);
  for (unsigned lane : Lanes{exec}) {
    writeLane(warp, detail.dst, lane, leaders[lane]);
    writeLane(warp, detail.predicate, lane, leaders[lane] == lane);
  }
}

void Runner::warpBarrier(Warp &warp) { warp.warpSync = ++tick; }

/// True: wait for the rest of the warp. Else the lanes have arrived, and maybe wait for other
/// warps.
bool Runner::barrier(Warp &warp, const Op &op, uint32_t mask, uint32_t exec, bool forced) {
  const SyncDetail &detail = program.syncs[op.detail];
  unsigned lane = firstLane(exec);
  uint32_t missing = warp.live & ~exec;
  if (detail.aligned && missing) {
    if ((missing & ~warp.blocked & ~(mask & ~exec)) && !forced) {
      warp.waiting |= mask;
      return true;
    }
    if (checkMemory)
      fault(FaultKind::divergentBarrier, warp, op, lane,
            "lane " + std::to_string(std::countr_zero(missing)) + " of the warp is elsewhere");
  }
  uint64_t id = readLane(warp, detail.barrier, lane);
  if (id >= barriers.size()) {
    fault(FaultKind::divergentBarrier, warp, op, lane,
          "no barrier " + std::to_string(id) + ": there are 16");
    id = 0;
  }
  BlockBarrier &at = barriers[id];
  at.expected = detail.threads.offset == noSlot ? uint32_t(state.threadsPerBlock)
                                                : uint32_t(readLane(warp, detail.threads, lane));
  at.arrived +=
      detail.threads.offset != noSlot && detail.aligned ? warpSize : uint32_t(std::popcount(exec));
  bool reduces = detail.a.offset != noSlot;
  if (reduces) {
    uint32_t votes = predicate(warp, detail.a.offset);
    votes = (detail.negated ? ~votes : votes) & exec;
    at.popcount += uint32_t(std::popcount(votes));
    at.all &= votes == exec;
    at.any |= votes != 0;
  }
  uint32_t pc = uint32_t(&op - program.ops.data());
  if (detail.fn != SyncDetail::Fn::arrive) {
    warp.blocked |= exec;
    parkAt(warp, exec, pc + 1);
    if (exec == allLanes) {
      std::memset(warp.barrier, int(id), sizeof warp.barrier);
    } else {
      for (unsigned each : Lanes{exec})
        warp.barrier[each] = uint8_t(id);
    }
  }
  if (at.arrived >= at.expected)
    release(unsigned(id));
  return false;
}

/// Lets all lanes go that wait at the barrier.
void Runner::release(unsigned id) {
  BlockBarrier done = barriers[id];
  barriers[id] = {};
  ++counts.barriers;
  ++tick;
  for (Warp &warp : warps) {
    uint32_t here = 0;
    for (unsigned lane = 0; lane < warpSize; ++lane)
      here |= uint32_t(warp.barrier[lane] == id) << lane;
    here &= warp.blocked;
    if (!here)
      continue;
    warp.blocked &= ~here;
    warp.blockSync = warp.warpSync = tick;
    // Mostly the warp came as one, to a barrier that gives no value.
    if (here == allLanes && areEqual(warp.pcs) &&
        program.syncs[program.ops[warp.pcs[0] - 1].detail].a.offset == noSlot)
      continue;
    for (unsigned lane : Lanes{here}) {
      const SyncDetail &detail = program.syncs[program.ops[warp.pcs[lane] - 1].detail];
      if (detail.a.offset == noSlot)
        continue;
      uint64_t value = detail.fn == SyncDetail::Fn::popc  ? done.popcount
                       : detail.fn == SyncDetail::Fn::all ? done.all
                                                          : done.any;
      writeLane(warp, detail.dst, lane, value);
    }
  }
}

/// mbarrier: a word in shared memory: pending 20 bits, expected 20 bits, phase above. Arrivals of
/// lanes come one after the other.
void Runner::memoryBarrier(Warp &warp, const Op &op, uint32_t exec) {
  const BarrierDetail &detail = program.barriers[op.detail];
  using Fn = BarrierDetail::Fn;
  constexpr uint64_t countMask = (1u << 20) - 1;
  for (unsigned lane : Lanes{exec}) {
    Addresses addresses;
    computeAddresses(warp, detail.access, 1u << lane, addresses);
    addresses.at[lane] &= ~windowMask;
    uint64_t offset = addresses.at[lane];
    if (offset % 8 || offset + 8 > state.sharedBytes) {
      fault(offset % 8 ? FaultKind::misaligned : FaultKind::outOfBounds, warp, op, lane,
            "barrier at " + addressText(offset, 8, Space::shared));
      continue;
    }
    if (checkAll) // its users may read it: it counts as written
      sharedShadow.written[offset / sharedShadow.granule] =
          sharedEpoch << record::epochShift | tick << record::tickShift | record::strong;
    uint64_t word;
    std::memcpy(&word, shared.get() + offset, 8);
    uint64_t pending = word & countMask, expected = word >> 20 & countMask, phase = word >> 40;
    uint64_t value = detail.operand.offset == noSlot ? 1 : readLane(warp, detail.operand, lane);
    switch (detail.fn) {
    case Fn::init:
      pending = expected = value & countMask;
      phase = 0;
      break;
    case Fn::invalidate:
      break;
    case Fn::arrive:
    case Fn::arriveDrop:
      writeLane(warp, detail.dst, lane, word);
      pending = pending > value ? pending - value : 0;
      if (detail.fn == Fn::arriveDrop && expected)
        --expected;
      if (pending == 0) {
        pending = expected;
        ++phase;
        ++tick;
      }
      break;
    default: {
      bool done = detail.fn == Fn::testParity ? (phase & 1) != (value & 1) : phase != value >> 40;
      writeLane(warp, detail.dst, lane, done);
      if (done)
        warp.blockSync = warp.warpSync = tick;
    }
    }
    word = pending | expected << 20 | phase << 40;
    std::memcpy(shared.get() + offset, &word, 8);
  }
}
