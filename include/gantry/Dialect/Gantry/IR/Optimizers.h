// gantry.optimizer_step and its rules, which Optimizers.def has.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#define GET_OP_CLASSES
#include "gantry/Dialect/Gantry/IR/OptimizerOps.h.inc"

#include <utility>

namespace gantry {

/// What a rule keeps between steps.
struct OptimizerSlot {
  llvm::StringRef name;
  bool isScalar;           ///< of f64; else it has the variable's shape
  llvm::StringRef initial; ///< a number, or the name of one
};

struct OptimizerRule {
  llvm::StringRef name, formula, source;
  /// With what they are where the op does not say.
  llvm::SmallVector<std::pair<llvm::StringRef, double>> numbers;
  llvm::SmallVector<OptimizerSlot> slots;
};

llvm::ArrayRef<OptimizerRule> optimizerRules();
/// Null when there is none of that name.
const OptimizerRule *findOptimizer(llvm::StringRef name);

} // namespace gantry
