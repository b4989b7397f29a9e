// What changed from one plan to another in placement, copies, memory and prediction (spec P13).
// Functions are matched by name, ops by their stable names.
#pragma once

#include "gantry/Plan/Ledger.h"

#include <optional>
#include <string>
#include <vector>

namespace gantry::show {

/// An op that is elsewhere, or in one plan only: then the other device is empty.
struct OpChange {
  std::string name;
  std::string op;            ///< log name
  std::string node, type;    ///< what the model calls it, as nodeOf and typeOf say
  std::string sourceOp;      ///< empty where the plan does not say
  std::string before, after; ///< full device names
  std::string rule;          ///< that placed it, in the second plan if it is there
};

/// A copy that one of the plans makes more often than the other.
struct CopyChange {
  int64_t count = 0; ///< positive: in the second plan
  plan::CopyTime time = plan::CopyTime::run;
  plan::fb::CopyKind kind = plan::fb::CopyKind::sameDevice;
  std::string from, to; ///< full device names
  uint64_t bytes = 0;   ///< of one
  std::string cause;
};

template <typename T>
struct Both {
  T before{}, after{};
  bool differ() const { return before != after; }
};

struct FunctionDiff {
  std::string name;
  Both<bool> exists;
  std::vector<OpChange> moved, added, gone;
  std::vector<std::string> nodes; ///< of all ops of both plans, as nodeOf says
  std::vector<CopyChange> copies;
  Both<uint64_t> bytesPerRun, bytesAtLoad; ///< between devices
  Both<double> seconds;                    ///< predicted; 0: not predicted

  bool same() const;
};

struct MemoryDiff {
  std::string device;
  Both<uint64_t> sizes[3]; ///< by ArenaKind

  bool same() const;
};

struct PlanDiff {
  std::vector<FunctionDiff> functions; ///< all that either has, in order of the first
  std::vector<MemoryDiff> memory;      ///< of all devices that either has

  bool same() const;
};

PlanDiff diffPlans(const plan::fb::Plan &before, const plan::fb::Plan &after);

/// Lines for people; with `all` every row of what are groups otherwise.
std::string diffForPeople(const PlanDiff &diff, bool all, size_t width);

/// An object: "same", and what changed in each function and on each device.
std::string diffAsJSON(const PlanDiff &diff);

} // namespace gantry::show
