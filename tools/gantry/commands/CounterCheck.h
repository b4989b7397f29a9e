// The plan's ledger against what the runtime counted: they must be equal (spec X3).
#pragma once

#include "Execution.h"

#include "gantry/Plan/Ledger.h"

namespace gantry::tool {

/// Made after loading and before the first run.
class CounterCheck {
public:
  explicit CounterCheck(const Execution &execution);

  /// After so many runs. INTERNAL names the device, the kind, and both numbers.
  Status compare(uint64_t runs) const;

  /// `copies counted as planned: 4 per run, 64 bytes (h2d 2, d2h 1, d2d 1); 1 at load, 16 bytes`;
  /// what branches and loops copied comes as it was counted.
  std::string summary(uint64_t runs) const;

private:
  Status compareDevice(uint32_t device, uint64_t runs) const;
  template <typename Of>
  Status compareCount(uint32_t device, uint64_t runs, const std::string &name, Of of) const;

  const runtime::LoadedPlan &plan;
  plan::Ledger ledger;                ///< of the function that runs
  std::vector<plan::CopyTally> load;  ///< of the whole plan, by device
  std::vector<plan::CopyTally> start; ///< counted before the first run, by device
};

} // namespace gantry::tool
