// Whatever searches: the one place that compiles more than once and picks. Passes never call back.
#pragma once

#include "PlacementGraph.h"
#include "Probe.h"
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
  /// What a plan may be off what the search believes of it, without that being looked into.
  static constexpr double kExplained = 0.005;

  /// Kernels that are lowered on the way are known to who compiles next.
  PlacementSearch(const CompileOptions &options, LoweredKernels &lowered)
      : options(options), lowered(lowered) {}

  /// From here on the search is for placements on the first devices of the topology, and begins
  /// with those that were found before. Requests, locks and rules stay what they are: ops that they
  /// place are fixed, as Place places them in a copy of the module, which has to outlive the
  /// search. False where some op has to be on another device.
  bool begin(mlir::ModuleOp module, uint32_t devices);

  /// Searches; again, with what was learned from plans since, if it did before.
  llvm::LogicalResult run();

  /// Placements that were found: so many of the search, the best first.
  size_t numCandidates() const;

  /// Three more, which need not fit: what the default policy does, what `follow` does, which is the
  /// same where that policy cannot be followed, and the best without limits.
  static constexpr size_t byDefault = SIZE_MAX, byFollowing = SIZE_MAX - 1,
                          unlimited = SIZE_MAX - 2;

  /// Whether two candidates are the same on every device.
  bool areAlike(size_t a, size_t b) const;

  /// Whether the search believes it to be within limits and budgets.
  bool isWithinLimits(size_t candidate) const;

  /// What the search believes a run of all functions to take.
  double secondsOf(size_t candidate) const;

  /// The same of the last suggestion, with what was learned since.
  double secondsSuggested() const;

  /// Equal for suggestions that are the same.
  uint64_t hashSuggested() const;

  /// Learns from the plan of a candidate what kernels take where the candidate has them: they, and
  /// the layouts of what they read and make, may be others at borders than they were in the probe.
  /// Where that does not explain the seconds that the plan takes, more or less of the room is left
  /// free by what the host keeps.
  void learn(mlir::ModuleOp planned, size_t candidate, double seconds);

  /// Whether a placement that fits was found for every function.
  bool fits() const;

  /// Whether something is made when the plan is loaded, and kept.
  bool makesAtLoad() const { return probe && probe->makesAtLoad(); }

  /// A copy of the module with a candidate's suggestions (`gantry.search`) on its ops, in an order
  /// that suits it.
  mlir::OwningOpRef<mlir::ModuleOp> suggest(size_t candidate);

  /// The next search gets limits that are smaller by so many bytes of each device, and a little
  /// more. False where all are 0.
  bool tightenLimits(llvm::ArrayRef<int64_t> missing);

  /// Whether `module` (placed, with its copies) has copies in loops that no budget can hold; then
  /// the next search puts these loops on other devices.
  bool leaveLoops(mlir::ModuleOp module);

  /// In words, what was found for each function. `seconds` is what the plan takes that was made of
  /// it, or 0 where it is what the search believes. `isRepaired`: that plan is not of the candidate
  /// alone, and was never predicted.
  std::vector<std::string> findings(size_t candidate, double seconds, bool isRepaired) const;

  /// In words, what a MiB more or less would bring on each device that has a limit.
  std::vector<std::string> pricesOfMemory() const;

private:
  struct Fixed;
  /// Where an op is, and whether anything but the policy wants it there.
  struct FixedEntry {
    uint32_t device;
    bool isFixed;
  };
  using FixedOps = llvm::StringMap<FixedEntry>; ///< by function and name
  void learnRoomLeftFree(size_t candidate, double seconds);
  mlir::OwningOpRef<mlir::ModuleOp> placedBy(PlacementPolicy policy, mlir::ModuleOp module);
  llvm::LogicalResult placeCopy(mlir::ModuleOp module, Fixed &fixed);
  static placement::AutoPlacement asPlaced(const MachineModel &machine, const PlacementGraph &graph,
                                           mlir::func::FuncOp func, const FixedOps &ops);
  struct Found {
    mlir::func::FuncOp func;
    std::unique_ptr<PlacementGraph> graph;
    std::vector<uint64_t> limits;                    ///< as they are, nothing reserved
    placement::AutoPlacement byDefault, byFollowing; ///< in the order of the graph
    std::string compared;                            ///< with the policies, in words
    std::vector<placement::AutoStart> starts;
    placement::AutoOutcome outcome;
    bool isSearched = false; ///< on as many devices
    placement::AutoPlacement suggested = {};

    const placement::AutoPlacement &candidate(size_t number) const;
  };
  void prepare();
  void addProblem(const MachineModel &machine, mlir::func::FuncOp func, const Fixed &fixed);
  llvm::LogicalResult search(Found &one);
  std::string finding(const Found &one, size_t candidate, double seconds, bool isRepaired) const;
  std::string comparison(const Found &one, const Fixed &fixed,
                         const placement::AutoPlacement &baseline) const;

  const CompileOptions &options;
  LoweredKernels &lowered;
  std::optional<Probe> probe;     ///< of a machine with several devices
  std::vector<uint64_t> reserved; ///< by device: bytes that the search leaves alone
  /// Ops in loops, by function and name, and devices where their loops shall not be.
  std::set<std::pair<std::string, uint32_t>> barred;
  mlir::ModuleOp module;
  uint32_t numDevices = 0;
  bool isPrepared = false;
  std::vector<Found> found; ///< by function
};

} // namespace gantry
