// What `gantry explain` tells of a plan, put together once for people and for programs.
#pragma once

#include "Model.h"
#include "Options.h"
#include "Reports.h"

#include "gantry/Device/CostModel.h"
#include "gantry/Plan/CommandClock.h"
#include "gantry/Plan/Ledger.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gantry::tool {

/// A kernel of a function: the ops in it and how often it is launched.
struct KernelUse {
  std::string symbol;
  uint64_t launches = 0;
  uint64_t items = 0;
  std::string ops;
};

/// What one device does in a run of a function, by the cost model: a launch or copy inside a loop
/// counts once.
struct DeviceLoad {
  uint64_t ops = 0;    ///< of the graph
  double compute = 0;  ///< seconds
  double copies = 0;   ///< seconds, counted where the ledger counts them
  uint64_t copied = 0; ///< bytes
};

/// Bytes of a device's arenas, and the transient one for the chart.
struct DeviceMemory {
  uint64_t sizes[3] = {}; ///< by ArenaKind
  uint64_t lowerBound = 0;
  std::optional<uint32_t> transient;
};

struct Subject {
  const Options &options;
  const Model &model;
  const plan::fb::Plan &plan;
  CostModel costs;

  Subject(const Options &options, const Model &model);

  /// Those that --function asks for.
  std::vector<const plan::fb::Function *> functions() const;
  /// --function must name one that is there.
  Status checkFunction() const;
  /// Whether --op is about it.
  bool wants(const plan::fb::PlacedOp &op) const;
  bool wants(const plan::LedgerCopy &copy) const;
  /// A location for tables: "node 'x' of path/to/model.onnx" without the file where it is the one
  /// that the first line names.
  std::string where(std::string_view location) const;

  /// Seconds of an op alone, as the compiler predicted it, or by the plan's rates.
  double seconds(const plan::fb::PlacedOp &op) const;
  double seconds(const plan::LedgerCopy &copy) const;

  std::vector<KernelUse> kernelsOf(const plan::fb::Function &function) const;
  std::vector<DeviceLoad> loadsOf(const plan::fb::Function &function,
                                  const plan::Ledger &ledger) const;
  DeviceMemory memoryOf(uint32_t device) const;
};

/// The whole as text, tables and charts; `moments` are those of --timeline.
void explainForPeople(const Subject &subject, const std::vector<plan::Moment> &moments);
/// The same as one JSON object, printed.
void explainAsJson(const Subject &subject, const std::vector<plan::Moment> &moments);

/// That object, with members that `more` adds to the one of each function.
using MoreOfFunction = std::function<void(JSONWriter &, const plan::fb::Function &)>;
std::string explanation(const Subject &subject, const MoreOfFunction &more);

/// "values": what has a place in an arena, and in which commands it is live.
void addValues(JSONWriter &json, const plan::fb::Function &function);

} // namespace gantry::tool
