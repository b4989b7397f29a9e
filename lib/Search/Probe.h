// What ops become in a plan: kernels with others or of their own, made at load, moved nowhere. Read
// from plans that have the whole graph on one kind of device, since nobody else knows all of it.
#pragma once

#include "PlacementGraph.h"
#include "gantry/Pipeline/Pipeline.h"

#include "llvm/ADT/StringMap.h"

namespace gantry {

/// An op in the plan for one kind of device.
struct PlannedOp {
  bool isAtLoad = false; ///< of what runs when the plan is loaded
  /// What the launches take of which it is the last op, and its moves within the device, by logical
  /// device; empty: none.
  std::vector<double> seconds;
  uint32_t bytesWith = noBuffer; ///< its results lie in the bytes of a buffer of that number
  bool isPart = false;           ///< of a whole that is joined or cut
  bool isTurned = false;         ///< its results are in another layout than the graph has them in
  static constexpr uint32_t noBuffer = UINT32_MAX;
};

/// Plans without limits, one for each kind of device: those of one type and driver have the same
/// kernels.
class Probe {
public:
  /// `module` is the one after Replicate. What cannot be planned is left out, and nothing is said.
  Probe(const MachineModel &machine, mlir::ModuleOp module, const CompileOptions &options,
        LoweredKernels &known);

  /// In the plan for the kind of that device; null where the op was not on such a one.
  const PlannedOp *find(llvm::StringRef function, llvm::StringRef op, uint32_t device) const;

  /// Whether anything is made at load.
  bool makesAtLoad() const;

private:
  using Ops = llvm::StringMap<PlannedOp>; ///< by function and name
  friend class PlannedTimes;
  static void read(mlir::ModuleOp module, mlir::ModuleOp planned, uint32_t device, Ops &ops);
  static Ops plan(const MachineModel &machine, mlir::ModuleOp module, uint32_t device,
                  const CompileOptions &options, LoweredKernels &known);

  std::vector<uint32_t> kindOf; ///< by device
  std::vector<Ops> kinds;
};

/// What ops take in one plan, which has them on several devices: kernels, and the layouts of what
/// they read and make, may be others at borders than where all is on one.
class PlannedTimes {
public:
  /// `planned` is the plan of `module`.
  PlannedTimes(const MachineModel &machine, mlir::ModuleOp module, mlir::ModuleOp planned);

  /// Seconds that the ops take together on the device, as in PlannedOp; 0 for what the plan makes
  /// no command of. Nothing where it has one of them elsewhere.
  std::optional<double> secondsOf(llvm::StringRef function, llvm::ArrayRef<mlir::Operation *> ops,
                                  uint32_t device) const;

private:
  std::vector<Probe::Ops> byDevice;
};

} // namespace gantry
