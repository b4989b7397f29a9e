// Loads and stores: addresses are computed for all lanes, sorted by space, checked, and moved.
#include "Runner.h"

#include <bit>
#include <cstring>

using namespace gantry;
using namespace gantry::ptx;

void Runner::computeAddresses(Warp &warp, const Access &access, uint32_t exec, Addresses &to) {
  uint64_t offset = uint64_t(access.offset);
  if (access.base.offset == noSlot) {
    for (unsigned lane = 0; lane < warpSize; ++lane)
      to.at[lane] = offset;
  } else if (access.base.bytes == 8) {
    to.summarised(compute.addresses(slot<uint64_t>(warp, access.base.offset), offset, to.at, exec,
                                    uint64_t(access.width) * access.count));
    return;
  } else {
    const uint32_t *base = slot<uint32_t>(warp, access.base.offset);
    for (unsigned lane = 0; lane < warpSize; ++lane)
      to.at[lane] = uint32_t(base[lane] + uint32_t(offset));
  }
  to.summarised(compute.summarise(to.at, exec, uint64_t(access.width) * access.count));
}

/// The same for an op whose pattern is kept. An access has a space of its own.
void Runner::locate(Warp &warp, const Access &access, uint32_t exec, Pattern &pattern,
                    Addresses &to) {
  const bool hasBase = access.base.offset != noSlot;
  const char *base = hasBase ? warp.registers + access.base.offset : nullptr;
  if (!compute.locate(base, hasBase ? access.base.bytes : 0, uint64_t(access.offset), to.at, exec,
                      pattern)) [[unlikely]]
    learn(pattern, access, exec, to);
  uint64_t first = to.at[firstLane(exec)];
  to.summary = {first + pattern.low, first + pattern.high, first | pattern.bits,
                pattern.layout == Layout::neighbours};
  to.layout = pattern.layout;
  to.pattern = &pattern;
}

void Runner::learn(Pattern &pattern, const Access &access, uint32_t exec, Addresses &addresses) {
  unsigned bytes = unsigned(access.width) * access.count;
  uint64_t first = addresses.at[firstLane(exec)];
  addresses.pattern = nullptr;
  addresses.summary = compute.summarise(addresses.at, exec, bytes);
  pattern = Pattern();
  pattern.mask = exec;
  pattern.low = addresses.summary.low - first;
  pattern.high = addresses.summary.high - first;
  pattern.phase = first & 31;
  pattern.rising = exec == allLanes;
  uint64_t before = 0;
  for (unsigned lane : Lanes{exec}) {
    pattern.delta[lane] = addresses.at[lane] - first;
    pattern.bits |= pattern.delta[lane];
    pattern.rising &= addresses.at[lane] >= before;
    before = addresses.at[lane];
  }
  if (checkAll)
    for (uint32_t left = exec; left;) {
      unsigned leader = firstLane(left);
      pattern.leaders |= 1u << leader;
      for (unsigned lane : Lanes{left}) {
        if (pattern.delta[lane] != pattern.delta[leader])
          continue;
        pattern.last[leader] = uint8_t(lane);
        left &= ~(1u << lane);
      }
    }
  if (exec == allLanes)
    pattern.layout = addresses.summary.contiguous ? Layout::neighbours
                     : pattern.bits == 0          ? Layout::same
                                                  : Layout::scattered;
  if (access.space == Space::shared) {
    Counts::Shared count;
    countShared(count, addresses, exec, bytes);
    pattern.wavefronts = uint32_t(count.wavefronts);
    pattern.leastWavefronts = uint32_t(count.leastWavefronts);
  } else {
    Counts::Global count;
    countGlobal(count, addresses, exec, bytes);
    pattern.sectors = uint32_t(count.sectors);
    pattern.leastSectors = uint32_t(count.leastSectors);
  }
}

/// Reports what lanes may not do; they are no longer meant.
void Runner::refuse(FaultKind kind, Warp &warp, Touch &touch, Space space, uint32_t lanes) {
  const char *what = !touch.write ? "read of " : touch.read ? "atomic on " : "write of ";
  for (unsigned lane : Lanes{lanes})
    fault(kind, warp, touch.op, lane,
          what + std::to_string(touch.bytes) + " bytes at " +
              addressText(touch.addresses.at[lane], touch.bytes, space));
  touch.exec &= ~lanes;
}

/// Refuses what is in no region, or in one that must not be written. `region` becomes the last that
/// was found.
void Runner::checkRegions(Warp &warp, Touch &touch, Space space, CachedRegion &region) {
  const Region *regionOf[warpSize] = {};
  for (unsigned lane : Lanes{touch.exec}) {
    uint64_t at = touch.addresses.at[lane];
    const Region *found = regionOf[lane] = state.image.memory().find(at);
    if (!found || found->end() - at < touch.bytes)
      refuse(FaultKind::outOfBounds, warp, touch, space, 1u << lane);
    else if (touch.write && !found->writable)
      refuse(FaultKind::readOnly, warp, touch, space, 1u << lane);
  }
  // Lanes may be in several regions: those of each are checked together.
  for (uint32_t left = touch.exec; left;) {
    const Region *found = regionOf[firstLane(left)];
    Touch part = touch;
    part.exec = lanesWhere(left, [&](unsigned lane) { return regionOf[lane] == found; });
    left &= ~part.exec;
    region = {found->begin, found->end(), found->writable, found->shadow.get()};
    if (checkAll && space == Space::global)
      checkGlobal(warp, part, region);
  }
}

/// Checks the addresses and makes host addresses of them. Gives the lanes that may go on.
uint32_t Runner::resolve(Warp &warp, const Op &op, const Access &access, Space space, uint32_t exec,
                         Addresses &addresses, bool write, bool read, uint64_t slotOfCache) {
  const unsigned bytes = unsigned(access.width) * access.count;
  const bool isOfRegions = space == Space::global || space == Space::constant;
  Touch touch{op, access, addresses, exec, bytes, write, read};
  auto refuseWhere = [&](FaultKind kind, auto isBad) {
    refuse(kind, warp, touch, space,
           lanesWhere(touch.exec, [&](unsigned lane) { return isBad(addresses.at[lane]); }));
  };
  if (checkMemory && (addresses.summary.bits & (bytes - 1))) [[unlikely]]
    refuseWhere(FaultKind::misaligned, [&](uint64_t at) { return (at & (bytes - 1)) != 0; });
  if (isOfRegions) {
    CachedRegion &region = regionCache[slotOfCache];
    if (checkMemory && !region.holds(addresses.summary, bytes, write)) [[unlikely]]
      checkRegions(warp, touch, space, region);
    else if (checkAll && space == Space::global)
      checkGlobal(warp, touch, region);
  } else {
    uint64_t size = space == Space::shared ? state.sharedBytes : program.info.localBytes;
    auto isOutside = [&](uint64_t at) { return at >= size || size - at < bytes; };
    if (isOutside(addresses.summary.high)) [[unlikely]]
      refuseWhere(FaultKind::outOfBounds, isOutside);
  }
  if (touch.exec != exec)
    addresses.scatter();
  if (isOfRegions || !touch.exec)
    return touch.exec;
  if (space == Space::shared) {
    if (checkAll)
      checkShared(warp, touch);
    for (uint64_t &at : addresses.at)
      at += reinterpret_cast<uint64_t>(shared.get());
    return touch.exec;
  }
  ++counts.localRequests;
  if (checkAll)
    checkLocal(warp, touch);
  uint64_t base =
      reinterpret_cast<uint64_t>(local.data()) + (oneRegisterFile ? 0 : warp.index * localStride);
  for (unsigned lane = 0; lane < warpSize; ++lane)
    addresses.at[lane] += base + lane * program.info.localBytes;
  addresses.scatter();
  return touch.exec;
}

void Runner::load(Warp &warp, const Op &op, uint32_t exec) {
  const Access &access = program.accesses[op.detail];
  Addresses addresses;
  if (access.space != Space::generic) {
    locate(warp, access, exec, patterns[2 * op.detail + (exec != allLanes)], addresses);
    return loadFrom(warp, op, access, access.space, exec, addresses);
  }
  computeAddresses(warp, access, exec, addresses);
  bySpace(access, exec, addresses, [&](Space space, uint32_t lanes, Addresses &part) {
    loadFrom(warp, op, access, space, lanes, part);
  });
}

void Runner::loadFrom(Warp &warp, const Op &op, const Access &access, Space space, uint32_t exec,
                      Addresses &addresses) {
  unsigned bytes = unsigned(access.width) * access.count;
  if (space == Space::param) { // by an address that was made of a parameter's
    for (unsigned lane : Lanes{exec}) {
      uint64_t at = addresses.at[lane];
      bool inside = at < state.argumentBytes && state.argumentBytes - at >= bytes;
      if (!inside)
        fault(FaultKind::outOfBounds, warp, op, lane,
              "read of " + std::to_string(bytes) + " bytes at " + addressText(at, bytes, space));
      addresses.at[lane] = reinterpret_cast<uint64_t>(state.arguments.data()) + (inside ? at : 0);
      if (!inside)
        exec &= ~(1u << lane);
    }
    addresses.scatter();
  } else {
    acquired |= access.acquire;
    if (space == Space::global)
      countGlobal(counts.globalLoad, addresses, exec, bytes);
    else if (space == Space::shared)
      countShared(counts.sharedLoad, addresses, exec, bytes);
    uint32_t good = resolve(warp, op, access, space, exec, addresses, false, true,
                            uint64_t(&op - program.ops.data()));
    for (unsigned lane : Lanes{exec & ~good})
      for (unsigned i = 0; i < access.count; ++i)
        writeLane(warp, access.values[i], lane, 0);
    exec = good;
  }
  access.move(warp.registers, access, addresses.at, exec, addresses.layout);
}

void Runner::loadParameter(Warp &warp, const Op &op, uint32_t exec) {
  const Access &access = program.accesses[op.detail];
  Addresses addresses;
  computeAddresses(warp, access, exec, addresses);
  loadFrom(warp, op, access, Space::param, exec, addresses);
}

void Runner::store(Warp &warp, const Op &op, uint32_t exec) {
  const Access &access = program.accesses[op.detail];
  Addresses addresses;
  if (access.space != Space::generic) {
    locate(warp, access, exec, patterns[2 * op.detail + (exec != allLanes)], addresses);
    return storeTo(warp, op, access, access.space, exec, addresses);
  }
  computeAddresses(warp, access, exec, addresses);
  bySpace(access, exec, addresses, [&](Space space, uint32_t lanes, Addresses &part) {
    storeTo(warp, op, access, space, lanes, part);
  });
}

void Runner::storeTo(Warp &warp, const Op &op, const Access &access, Space space, uint32_t exec,
                     Addresses &addresses) {
  unsigned bytes = unsigned(access.width) * access.count;
  if (space == Space::param) {
    fault(FaultKind::readOnly, warp, op, firstLane(exec), "write to a parameter of the kernel");
    return;
  }
  if (access.release) {
    fenceTick = tick + 1;
    releasedBlocks[block & record::blockMask] = fenceTick;
  }
  if (space == Space::global)
    countGlobal(counts.globalStore, addresses, exec, bytes);
  else if (space == Space::shared)
    countShared(counts.sharedStore, addresses, exec, bytes);
  exec = resolve(warp, op, access, space, exec, addresses, true, false,
                 uint64_t(&op - program.ops.data()));
  access.move(warp.registers, access, addresses.at, exec, addresses.layout);
}
