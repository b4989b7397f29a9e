// What may differ between the replicas of a region, and what is computed of their shares.
//
// Differences spread from shards and values per replica along operands, out of branches and loops
// whose conditions differ, and through variables that are assigned them: mirrors keep what they
// hold over runs, so an assignment in any function counts. An all-reduce ends them. Whatever is not
// reached is the same on every replica. Shares spread in the same way, from gantry.share alone.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"

namespace gantry {

/// Values and variables that something reaches, with the reasons.
class Differences {
public:
  enum class Of { replicas, shares };

  explicit Differences(mlir::ModuleOp module, Of of = Of::replicas);

  bool contains(mlir::Value value) const { return reasons.contains(value); }

  /// Of an assignment, the value or the condition that is reached; null where none is.
  mlir::Value reasonOf(mlir::Operation *assignment) const { return assignments.lookup(assignment); }

  /// Adds a note that says where the difference comes from.
  void explain(mlir::Value value, mlir::InFlightDiagnostic &error) const;

private:
  /// `value` is reached since `reason` is; a value that is its own reason is where it begins.
  void add(mlir::Value value, mlir::Value reason) {
    hasChanged |= reasons.try_emplace(value, reason).second;
  }
  void addAll(mlir::ValueRange values, mlir::Value reason) {
    for (mlir::Value value : values)
      add(value, reason);
  }
  mlir::Value firstIn(mlir::ValueRange values) const;

  void enter(ReplicateOp op);
  void visit(mlir::Block &block, mlir::Value condition);
  void visit(mlir::Operation &op, mlir::Value condition);
  void visitBranch(mlir::RegionBranchOpInterface op, mlir::Value condition);
  void spread(mlir::RegionBranchOpInterface op);
  void differentiate(GradientOp op);

  Of of;
  llvm::DenseMap<mlir::Value, mlir::Value> reasons;
  llvm::DenseMap<mlir::StringAttr, mlir::Operation *> variables; ///< by name: the assignment
  llvm::DenseMap<mlir::Operation *, mlir::Value> assignments;
  bool hasChanged = false;
};

} // namespace gantry
