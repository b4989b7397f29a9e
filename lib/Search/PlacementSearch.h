// Whatever searches: the one place that compiles more than once and picks. Passes never call back.
#pragma once

#include "PlacementGraph.h"
#include "gantry/Pipeline/Pipeline.h"
#include "gantry/Target/Plan/WritePlan.h"

#include "llvm/ADT/StringMap.h"

#include <set>

namespace gantry {

using Predictions = std::map<std::string, PredictedSteps>; ///< by function

/// Fills in the bounds, from a module before Place.
void predictBounds(mlir::ModuleOp module, bool fuse, Predictions &predictions);

/// Fills in the seconds, from a module after Place and before Copy.
void predictSeconds(mlir::ModuleOp module, bool fuse, Predictions &predictions);

/// Automatic placement (spec P11) of a module after Replicate.
class PlacementSearch {
public:
  explicit PlacementSearch(const CompileOptions &options) : options(options) {}

  /// Searches. Requests, locks and rules stay what they are: ops that they place are fixed, as
  /// Place places them in a copy of the module, which has to outlive the search. Fails with Place's
  /// errors.
  llvm::LogicalResult run(mlir::ModuleOp module);

  /// What was found: the best, and where limits make that slower others whose plans may be better.
  size_t numCandidates() const;

  /// A copy of the module with a candidate's suggestions (`gantry.search`) on its ops, in an order
  /// that suits it.
  mlir::OwningOpRef<mlir::ModuleOp> suggest(size_t candidate) const;

  /// Whether the planned arenas of `module` (after Memory) are over a limit; then the next search
  /// gets limits that are smaller by as much and a little more.
  bool tightenLimits(mlir::ModuleOp module);

  /// Whether `module` (placed, with its copies) has copies in loops that no budget can hold; then
  /// the next search puts these loops on other devices.
  bool leaveLoops(mlir::ModuleOp module);

  /// In words, what was found for each function. `seconds` is what the plan takes that was made of
  /// it, or 0 where it is what the search believes.
  std::vector<std::string> findings(size_t candidate, double seconds) const;

private:
  struct Fixed;
  /// Where an op is, and whether anything but the policy wants it there.
  struct FixedEntry {
    uint32_t device;
    bool isFixed;
  };
  using FixedOps = llvm::StringMap<FixedEntry>; ///< by function and name
  mlir::OwningOpRef<mlir::ModuleOp> placedBy(PlacementPolicy policy, mlir::ModuleOp module);
  llvm::LogicalResult placeCopy(mlir::ModuleOp module, Fixed &fixed);
  static placement::AutoPlacement asPlaced(const MachineModel &machine, const PlacementGraph &graph,
                                           mlir::func::FuncOp func, const FixedOps &ops);
  struct Found {
    mlir::func::FuncOp func;
    std::unique_ptr<PlacementGraph> graph;
    std::vector<uint32_t> written; ///< the order of the graph
    placement::AutoOutcome outcome;
    std::string compared; ///< with the policies, in words

    const placement::AutoPlacement &candidate(size_t number) const;
  };
  llvm::LogicalResult search(const MachineModel &machine, mlir::func::FuncOp func,
                             const Fixed &fixed);
  std::string comparison(const Found &one, const Fixed &fixed,
                         const placement::AutoPlacement &baseline) const;

  const CompileOptions &options;
  std::vector<uint64_t> reserved; ///< by device: bytes that the search leaves alone
  /// Ops in loops, by function and name, and devices where their loops shall not be.
  std::set<std::pair<std::string, uint32_t>> barred;
  mlir::ModuleOp module;
  std::vector<Found> found; ///< by function
};

} // namespace gantry
