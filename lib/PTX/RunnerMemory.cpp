// Loads and stores: addresses are computed for all lanes, sorted by space, checked, and moved.
#include "Runner.h"

#include <bit>
#include <cstring>

using namespace gantry;
using namespace gantry::ptx;

namespace {

/// One element of each lane from memory into a register slot, extended to its width.
template <class T, class R>
void gather(char *to, const uint64_t *at, uint64_t offset, uint32_t mask, bool contiguous) {
  R *slot = reinterpret_cast<R *>(to);
  if constexpr (sizeof(T) == sizeof(R)) {
    if (contiguous) {
      std::memcpy(slot, reinterpret_cast<const char *>(at[0] + offset), sizeof(T) * warpSize);
      return;
    }
  }
  if (mask == allLanes) {
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      T value;
      std::memcpy(&value, reinterpret_cast<const char *>(at[lane] + offset), sizeof(T));
      slot[lane] = R(value);
    }
    return;
  }
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(std::countr_zero(mask));
    T value;
    std::memcpy(&value, reinterpret_cast<const char *>(at[lane] + offset), sizeof(T));
    slot[lane] = R(value);
  }
}

template <class T, class R>
void scatter(const char *from, const uint64_t *at, uint64_t offset, uint32_t mask,
             bool contiguous) {
  const R *slot = reinterpret_cast<const R *>(from);
  if constexpr (sizeof(T) == sizeof(R)) {
    if (contiguous) {
      std::memcpy(reinterpret_cast<char *>(at[0] + offset), slot, sizeof(T) * warpSize);
      return;
    }
  }
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(std::countr_zero(mask));
    T value = T(slot[lane]);
    std::memcpy(reinterpret_cast<char *>(at[lane] + offset), &value, sizeof(T));
  }
}

using Gather = void (*)(char *, const uint64_t *, uint64_t, uint32_t, bool);
using Scatter = void (*)(const char *, const uint64_t *, uint64_t, uint32_t, bool);

/// Widths by their logarithm: memory 1, 2, 4, 8 bytes; register 2, 4, 8.
constexpr Gather gathers[2][4][3] = {
    {{gather<uint8_t, uint16_t>, gather<uint8_t, uint32_t>, gather<uint8_t, uint64_t>},
     {gather<uint16_t, uint16_t>, gather<uint16_t, uint32_t>, gather<uint16_t, uint64_t>},
     {nullptr, gather<uint32_t, uint32_t>, gather<uint32_t, uint64_t>},
     {nullptr, nullptr, gather<uint64_t, uint64_t>}},
    {{gather<int8_t, int16_t>, gather<int8_t, int32_t>, gather<int8_t, int64_t>},
     {gather<int16_t, int16_t>, gather<int16_t, int32_t>, gather<int16_t, int64_t>},
     {nullptr, gather<int32_t, int32_t>, gather<int32_t, int64_t>},
     {nullptr, nullptr, gather<int64_t, int64_t>}}};
constexpr Scatter scatters[4][3] = {
    {scatter<uint8_t, uint16_t>, scatter<uint8_t, uint32_t>, scatter<uint8_t, uint64_t>},
    {scatter<uint16_t, uint16_t>, scatter<uint16_t, uint32_t>, scatter<uint16_t, uint64_t>},
    {nullptr, scatter<uint32_t, uint32_t>, scatter<uint32_t, uint64_t>},
    {nullptr, nullptr, scatter<uint64_t, uint64_t>}};

unsigned memoryIndex(unsigned bytes) { return unsigned(std::countr_zero(bytes)); }
unsigned registerIndex(unsigned bytes) { return unsigned(std::countr_zero(bytes)) - 1; }

} // namespace

void Runner::computeAddresses(Warp &warp, const Access &access, uint32_t exec, Addresses &to) {
  uint64_t offset = uint64_t(access.offset);
  if (access.base.offset == noSlot) {
    for (unsigned lane = 0; lane < warpSize; ++lane)
      to.at[lane] = offset;
  } else if (access.base.bytes == 8) {
    to.summary = compute.addresses(slot<uint64_t>(warp, access.base.offset), offset, to.at, exec,
                                   uint64_t(access.width) * access.count);
    return;
  } else {
    const uint32_t *base = slot<uint32_t>(warp, access.base.offset);
    for (unsigned lane = 0; lane < warpSize; ++lane)
      to.at[lane] = uint32_t(base[lane] + uint32_t(offset));
  }
  to.summary = compute.summarise(to.at, exec, uint64_t(access.width) * access.count);
}

/// Checks the addresses and makes host addresses of them. Gives the lanes that may go on.
uint32_t Runner::resolve(Warp &warp, const Op &op, const Access &access, Space space, uint32_t exec,
                         Addresses &addresses, bool write, bool read, uint64_t slotOfCache) {
  unsigned bytes = unsigned(access.width) * access.count;
  uint32_t good = exec;
  auto drop = [&](unsigned lane, FaultKind kind) {
    fault(kind, warp, op, lane,
          std::string(write && !read  ? "write of "
                      : read && write ? "atomic on "
                                      : "read of ") +
              std::to_string(bytes) + " bytes at " + addressText(addresses.at[lane], bytes, space));
    good &= ~(1u << lane);
  };
  if (checkMemory && (addresses.summary.bits & (bytes - 1))) [[unlikely]]
    for (uint32_t left = good; left; left &= left - 1) {
      unsigned lane = unsigned(std::countr_zero(left));
      if (addresses.at[lane] & (bytes - 1))
        drop(lane, FaultKind::misaligned);
    }
  if (space == Space::global || space == Space::constant) {
    CachedRegion &region = regionCache[slotOfCache];
    bool inside = addresses.summary.low >= region.begin && addresses.summary.high < region.end &&
                  region.end - addresses.summary.high >= bytes && (region.writable || !write);
    if (!inside && checkMemory) {
      const Region *regionOf[warpSize] = {};
      for (uint32_t left = good; left; left &= left - 1) {
        unsigned lane = unsigned(std::countr_zero(left));
        uint64_t at = addresses.at[lane];
        const Region *found = state.image.memory().find(at);
        if (!found || found->end() - at < bytes) {
          drop(lane, FaultKind::outOfBounds);
          continue;
        }
        if (write && !found->writable) {
          drop(lane, FaultKind::readOnly);
          continue;
        }
        regionOf[lane] = found;
      }
      // Lanes may be in several regions: those of each are checked together.
      for (uint32_t left = good; left;) {
        const Region *found = regionOf[std::countr_zero(left)];
        uint32_t lanes = 0;
        for (uint32_t each = left; each; each &= each - 1)
          lanes |= uint32_t(regionOf[std::countr_zero(each)] == found) << std::countr_zero(each);
        left &= ~lanes;
        region = {found->begin, found->end(), found->writable, found->shadow.get()};
        if (!checkAll || space != Space::global)
          continue;
        Addresses part = addresses;
        part.summary.contiguous &= lanes == allLanes;
        checkGlobal(warp, op, lanes, part, bytes, write, read, access, region);
      }
    } else if (checkAll && space == Space::global) {
      checkGlobal(warp, op, good, addresses, bytes, write, read, access, region);
    }
    if (good != exec)
      addresses.summary.contiguous = false;
    return good;
  }
  uint64_t size = space == Space::shared ? state.sharedBytes : program.info.localBytes;
  if (addresses.summary.high >= size || size - addresses.summary.high < bytes) [[unlikely]] {
    for (uint32_t left = good; left; left &= left - 1) {
      unsigned lane = unsigned(std::countr_zero(left));
      if (addresses.at[lane] >= size || size - addresses.at[lane] < bytes)
        drop(lane, FaultKind::outOfBounds);
    }
  }
  if (good != exec)
    addresses.summary.contiguous = false;
  if (!good)
    return 0;
  if (space == Space::shared) {
    if (checkAll)
      checkShared(warp, op, good, addresses, bytes, write, read, access);
    for (uint64_t &at : addresses.at)
      at += reinterpret_cast<uint64_t>(shared.get());
    return good;
  }
  ++counts.localRequests;
  if (checkAll)
    checkLocal(warp, op, good, addresses, bytes, write);
  uint64_t base =
      reinterpret_cast<uint64_t>(local.data()) + (oneRegisterFile ? 0 : warp.index * localStride);
  for (unsigned lane = 0; lane < warpSize; ++lane)
    addresses.at[lane] += base + lane * program.info.localBytes;
  addresses.summary.contiguous = false;
  return good;
}

void Runner::load(Warp &warp, const Op &op, uint32_t exec) {
  const Access &access = program.accesses[op.detail];
  Addresses addresses;
  computeAddresses(warp, access, exec, addresses);
  bySpace(access, exec, addresses, [&](Space space, uint32_t lanes, Addresses &part) {
    loadFrom(warp, op, access, space, lanes, part);
  });
}

void Runner::loadFrom(Warp &warp, const Op &op, const Access &access, Space space, uint32_t exec,
                      Addresses &addresses) {
  unsigned bytes = unsigned(access.width) * access.count;
  if (space == Space::param) { // by an address that was made of a parameter's
    for (uint32_t left = exec; left; left &= left - 1) {
      unsigned lane = unsigned(std::countr_zero(left));
      uint64_t at = addresses.at[lane];
      bool inside = at < state.argumentBytes && state.argumentBytes - at >= bytes;
      if (!inside)
        fault(FaultKind::outOfBounds, warp, op, lane,
              "read of " + std::to_string(bytes) + " bytes at " + addressText(at, bytes, space));
      addresses.at[lane] = reinterpret_cast<uint64_t>(state.arguments.data()) + (inside ? at : 0);
      if (!inside)
        exec &= ~(1u << lane);
    }
    addresses.summary.contiguous = false;
  } else {
    acquired |= access.acquire;
    if (space == Space::global)
      countGlobal(counts.globalLoad, addresses, exec, bytes);
    else if (space == Space::shared)
      countShared(counts.sharedLoad, addresses, exec, bytes);
    uint32_t good = resolve(warp, op, access, space, exec, addresses, false, true,
                            uint64_t(&op - program.ops.data()));
    for (uint32_t left = exec & ~good; left; left &= left - 1)
      for (unsigned i = 0; i < access.count; ++i)
        writeLane(warp, access.values[i], unsigned(std::countr_zero(left)), 0);
    exec = good;
  }
  bool contiguous = addresses.summary.contiguous && access.count == 1 && exec == allLanes;
  for (unsigned i = 0; i < access.count; ++i) {
    const Slot &to = access.values[i];
    if (to.offset != noSlot)
      gathers[access.extend == Access::Extend::sign][memoryIndex(access.width)]
             [registerIndex(to.bytes)](warp.registers + to.offset, addresses.at,
                                       uint64_t(i) * access.width, exec, contiguous);
  }
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
  computeAddresses(warp, access, exec, addresses);
  bySpace(access, exec, addresses, [&](Space space, uint32_t lanes, Addresses &part) {
    storeTo(warp, op, access, space, lanes, part);
  });
}

void Runner::storeTo(Warp &warp, const Op &op, const Access &access, Space space, uint32_t exec,
                     Addresses &addresses) {
  unsigned bytes = unsigned(access.width) * access.count;
  if (space == Space::param) {
    fault(FaultKind::readOnly, warp, op, unsigned(std::countr_zero(exec)),
          "write to a parameter of the kernel");
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
  bool contiguous = addresses.summary.contiguous && access.count == 1 && exec == allLanes;
  for (unsigned i = 0; i < access.count; ++i) {
    const Slot &from = access.values[i];
    scatters[memoryIndex(access.width)][registerIndex(from.bytes)](
        warp.registers + from.offset, addresses.at, uint64_t(i) * access.width, exec, contiguous);
  }
}

/// The copy is done at once: whoever reads before wait_group sees what it would see after it.
void Runner::copyAsync(Warp &warp, const Op &op, uint32_t exec) {
  const CopyDetail &copy = program.copies[op.detail];
  for (; exec; exec &= exec - 1) {
    unsigned lane = unsigned(std::countr_zero(exec));
    uint32_t only = 1u << lane;
    Addresses from, to;
    computeAddresses(warp, copy.from, only, from);
    computeAddresses(warp, copy.to, only, to);
    uint64_t bytes = copy.bytes;
    if (copy.size.offset != noSlot)
      bytes = std::min<uint64_t>(bytes, readLane(warp, copy.size, lane));
    uint32_t good = only;
    if (bytes) {
      countGlobal(counts.globalLoad, from, only, unsigned(bytes));
      Access part = copy.from;
      part.width = uint8_t(bytes);
      // The alignment is that of the whole copy, the bounds those of what is read.
      if (std::has_single_bit(bytes)) {
        good = resolve(warp, op, part, Space::global, only, from, false, true,
                       uint64_t(&op - program.ops.data()));
      } else {
        for (uint64_t i = 0; i < bytes && good; ++i) {
          Access byte = copy.from;
          byte.width = 1;
          Addresses one = from;
          one.at[lane] += i;
          one.summary = compute.summarise(one.at, only, 1);
          good = resolve(warp, op, byte, Space::global, only, one, false, true,
                         uint64_t(&op - program.ops.data()));
        }
      }
    }
    to.at[lane] &= ~windowMask;
    to.summary = compute.summarise(to.at, only, copy.bytes);
    countShared(counts.sharedStore, to, only, copy.bytes);
    uint64_t source = from.at[lane];
    if (!resolve(warp, op, copy.to, Space::shared, only, to, true, false, 0))
      continue;
    char *target = reinterpret_cast<char *>(to.at[lane]);
    std::memset(target, 0, copy.bytes);
    if (good && bytes)
      std::memcpy(target, reinterpret_cast<const char *>(source), size_t(bytes));
  }
}
