// How long a command takes on the virtual clock, and what it keeps busy meanwhile.
//
// A launch takes the longer of its arithmetic and its memory traffic, a copy its link's latency and
// its bytes at the link's rate. Launches of one device take turns, as do copies over one link in
// one direction; everything else overlaps. Where a plan gives no rates, the ones below stand in:
// round numbers of a data-centre card, a server CPU and PCIe 4.
#pragma once

#include "gantry/Plan/Views.h"

#include <cstdint>
#include <map>
#include <utility>

namespace gantry::runtime {

/// Stand-ins, in operations, bytes and seconds.
struct SimDefaults {
  static constexpr double gpuFlops = 10e12, gpuBandwidth = 500e9;
  static constexpr double cpuFlops = 100e9, cpuBandwidth = 20e9;
  static constexpr double linkBandwidth = 16e9, linkLatency = 10e-6;
};

/// Device index of a buffer of a function.
uint32_t deviceOf(const plan::fb::Plan &plan, const plan::fb::Function &function,
                  const plan::fb::BufferRef &buffer);

class VirtualClock {
public:
  VirtualClock(const plan::fb::Plan &plan, const plan::fb::Function &function);

  /// Seconds that a launch, copy or fill takes; 0 for other commands.
  double duration(const plan::fb::Command &command) const;

  /// A device (with itself) or a link that one command at a time can use.
  using Resource = std::pair<uint32_t, uint32_t>;
  Resource resource(const plan::fb::Command &command) const;

private:
  double copyDuration(uint32_t from, uint32_t to, double bytes) const;
  double flopRate(uint32_t device) const;
  double byteRate(uint32_t device) const;

  const plan::fb::Plan &plan;
  const plan::fb::Function &function;
  std::map<Resource, const plan::fb::Link *> links;
};

} // namespace gantry::runtime
