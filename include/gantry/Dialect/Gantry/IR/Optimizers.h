// gantry.optimizer_step and its rules, which Optimizers.def has.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Support/Status.h"

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

/// A rule as a command line asks for it.
struct OptimizerChoice {
  std::string name; ///< as it was asked for; what it keeps is named by it
  const OptimizerRule *rule = nullptr;
  double rate = 0;
  llvm::SmallVector<std::pair<llvm::StringRef, double>> numbers; ///< that are not the rule's own
};
/// Reads "adamw,rate=1e-3,beta1=0.95". INVALID_ARGUMENT for what is no such text, with what is
/// known.
Expected<OptimizerChoice> readOptimizer(llvm::StringRef text);

} // namespace gantry
