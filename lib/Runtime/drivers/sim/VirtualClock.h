// How long a command takes on the virtual clock, and what it keeps busy meanwhile.
//
// The times are the cost model's, from the rates in the plan. Launches of one device take turns, as
// do copies over one link in one direction; everything else overlaps.
#pragma once

#include "gantry/Device/CostModel.h"
#include "gantry/Plan/Views.h"

#include <cstdint>
#include <utility>

namespace gantry::runtime {

class VirtualClock {
public:
  VirtualClock(const plan::fb::Plan &plan, const plan::fb::Function &function);

  /// Seconds that a launch, copy or fill takes; 0 for other commands.
  double duration(const plan::fb::Command &command) const;

  /// A device (with itself) or a link that one command at a time can use.
  using Resource = std::pair<uint32_t, uint32_t>;
  Resource resource(const plan::fb::Command &command) const;

private:
  const plan::fb::Plan &plan;
  const plan::fb::Function &function;
  CostModel costs;
};

} // namespace gantry::runtime
