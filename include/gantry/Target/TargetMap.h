// Whose an op is, and what that target is asked for: from the module's topology and
// `gantry.targets`.
#pragma once

#include "gantry/Device/CostModel.h"
#include "gantry/Device/Topology.h"
#include "gantry/Target/Target.h"

#include "llvm/ADT/DenseMap.h"

namespace gantry {

class TargetMap {
public:
  explicit TargetMap(mlir::ModuleOp module);

  const Topology topology;
  const CostModel costs;
  const TargetsAttr asked; ///< what is asked of all targets

  /// The targets that kernels of an op are for, that of its device's driver first; behind it those
  /// of drivers that may run the device in its place. Ops without a device are the host's.
  llvm::ArrayRef<const Target *> targetsOf(mlir::Operation *op) const;

  /// Whether an op runs on a device of a type and all its kernels are a target's. What is done to
  /// such an op no other target sees.
  bool isOnlyOf(mlir::Operation *op, llvm::StringRef target, DeviceType type) const;

  /// Whether a kernel of an op may be a target's.
  bool mayBeOf(mlir::Operation *op, llvm::StringRef target) const;

  /// What kernels of a target are for.
  TargetAttr configOf(llvm::StringRef target) const { return asked.configOf(target); }

  /// The drivers that are to run devices of another one in its place.
  llvm::SmallVector<llvm::StringRef> standInsFor(Driver own) const;

  /// Number of the logical device that an op is on; 0 where it is on none.
  uint32_t deviceNumberOf(mlir::Operation *op) const;

private:
  llvm::SmallVector<const Target *, 1> targetsFor(Driver own) const;

  llvm::DenseMap<mlir::Attribute, uint32_t> numbers;           ///< by device
  llvm::SmallVector<llvm::SmallVector<const Target *, 1>> all; ///< by number
  llvm::SmallVector<const Target *, 1> ofHost;
};

} // namespace gantry
