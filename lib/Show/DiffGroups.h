// What changed from one plan to another, in few rows: ops and copies that changed in the same way
// are one.
#pragma once

#include "gantry/Show/PlanDiff.h"

#include <string>
#include <vector>

namespace gantry::show {

/// Ops that go the same way by the same rule.
struct OpGroup {
  std::string from, to; ///< full device names; empty where the op is in one plan only
  std::string rule;
  size_t ops = 0;
  std::string which; ///< in the words of partsOf
};
/// The one of most ops first.
std::vector<OpGroup> groupsOf(const std::vector<OpChange> &changes, const FunctionDiff &diff);

/// Copies that came or went the same way at the same time.
struct CopyGroup {
  int64_t count = 0; ///< positive: in the second plan
  plan::CopyTime time = plan::CopyTime::run;
  plan::fb::CopyKind kind = plan::fb::CopyKind::sameDevice;
  std::string from, to; ///< full device names
  uint64_t bytes = 0;   ///< of all
  std::string causes;
};
/// The one of most bytes first.
std::vector<CopyGroup> groupsOf(const std::vector<CopyChange> &copies);

/// An array with an object for each function that changed: "name", "ops" and "copies" with the
/// groups, and whether the function is in both plans.
std::string groupsAsJSON(const PlanDiff &diff);

} // namespace gantry::show
