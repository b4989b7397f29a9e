// Reads Optimizers.def.

#include "gantry/Dialect/Gantry/IR/Optimizers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace gantry;

#define GET_OP_CLASSES
#include "gantry/Dialect/Gantry/IR/OptimizerOps.cpp.inc"

/// "beta1=0.9 beta2=0.999"
static OptimizerRule makeRule(StringRef name, StringRef numbers, StringRef slots, StringRef formula,
                              StringRef source) {
  OptimizerRule rule{name, formula, source, {{"l2", 0}, {"decay", 0}}, {}};
  for (StringRef word : split(numbers, ' ')) {
    auto [number, text] = word.split('=');
    double value = 0;
    [[maybe_unused]] bool isWrong = text.getAsDouble(value);
    assert(!isWrong && "a number of an optimizer is none");
    rule.numbers.emplace_back(number, value);
  }
  for (StringRef word : split(slots, ' ')) {
    auto [slot, initial] = word.split('=');
    bool isScalar = slot.consume_back("[]");
    rule.slots.push_back({slot, isScalar, initial.empty() ? "0" : initial});
  }
  return rule;
}

ArrayRef<OptimizerRule> gantry::optimizerRules() {
  static const SmallVector<OptimizerRule> rules = {
#define GANTRY_OPTIMIZER(rule, ...) makeRule(#rule, __VA_ARGS__),
#include "gantry/Dialect/Gantry/IR/Optimizers.def"
#undef GANTRY_OPTIMIZER
  };
  return rules;
}

const OptimizerRule *gantry::findOptimizer(StringRef name) {
  const auto *found =
      find_if(optimizerRules(), [&](const OptimizerRule &rule) { return rule.name == name; });
  return found == optimizerRules().end() ? nullptr : found;
}
