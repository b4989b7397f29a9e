// The table of one instruction set.
#include "Lanes.h"

namespace gantry::ptx {
extern const ComputeTable GANTRY_PTX_TABLE;
} // namespace gantry::ptx

namespace gantry::ptx::GANTRY_PTX_LANES {

static Handler find(const Compute &request) {
  for (auto *of : {findCompare, findConvert, findFloat, findHalf, findInteger})
    if (Handler handler = of(request))
      return handler;
  return nullptr;
}

AddressSummary summarise(const uint64_t *addresses, uint32_t mask, uint64_t stride) {
  uint64_t low = ~uint64_t(0), high = 0, bits = 0;
  if (mask == allLanes) {
    uint64_t off = 0, first = addresses[0];
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      uint64_t address = addresses[lane];
      low = address < low ? address : low;
      high = address > high ? address : high;
      bits |= address;
      off |= address - first - lane * stride;
    }
    return {low, high, bits, off == 0};
  }
  for (; mask; mask &= mask - 1) {
    uint64_t address = addresses[__builtin_ctz(mask)];
    low = address < low ? address : low;
    high = address > high ? address : high;
    bits |= address;
  }
  return {low, high, bits, false};
}

static AddressSummary addresses(const uint64_t *base, uint64_t offset, uint64_t *to, uint32_t mask,
                                uint64_t stride) {
  for (unsigned lane = 0; lane < warpSize; ++lane)
    to[lane] = base[lane] + offset;
  return summarise(to, mask, stride);
}

} // namespace gantry::ptx::GANTRY_PTX_LANES

#define GANTRY_PTX_TEXT(name) #name
#define GANTRY_PTX_NAME(name) GANTRY_PTX_TEXT(name)

const gantry::ptx::ComputeTable gantry::ptx::GANTRY_PTX_TABLE = {
    GANTRY_PTX_NAME(GANTRY_PTX_LANES),        gantry::ptx::GANTRY_PTX_LANES::find,
    gantry::ptx::GANTRY_PTX_LANES::summarise, gantry::ptx::GANTRY_PTX_LANES::addresses,
    gantry::ptx::GANTRY_PTX_LANES::locate,    gantry::ptx::GANTRY_PTX_LANES::risingSectors,
    gantry::ptx::GANTRY_PTX_LANES::findMover, gantry::ptx::GANTRY_PTX_LANES::findMultiplier,
    gantry::ptx::GANTRY_PTX_LANES::noteRead,  gantry::ptx::GANTRY_PTX_LANES::noteWrite};
