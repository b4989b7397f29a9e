// Reads Optimizers.def.

#include "gantry/Dialect/Gantry/IR/Optimizers.h"

#include "gantry/Support/Names.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace llvm;
using namespace gantry;

#define GET_OP_CLASSES
#include "gantry/Dialect/Gantry/IR/OptimizerOps.cpp.inc"

using Numbers = SmallVector<std::pair<StringRef, double>>;

/// "beta1=0.9 beta2=0.999"
static void addNumbers(StringRef text, Numbers &numbers) {
  for (StringRef word : split(text, ' ')) {
    auto [number, digits] = word.split('=');
    double value = 0;
    [[maybe_unused]] bool isWrong = digits.getAsDouble(value);
    assert(!isWrong && "a number of an optimizer is none");
    numbers.emplace_back(number, value);
  }
}

static OptimizerRule makeRule(StringRef name, StringRef numbers, StringRef slots, StringRef formula,
                              StringRef source) {
  OptimizerRule rule{name, formula, source, {{"l2", 0}, {"decay", 0}}, {}};
  addNumbers(numbers, rule.numbers);
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
  };
  return rules;
}

const OptimizerRule *gantry::findOptimizer(StringRef name) {
  const auto *found =
      find_if(optimizerRules(), [&](const OptimizerRule &rule) { return rule.name == name; });
  return found == optimizerRules().end() ? nullptr : found;
}

//===----------------------------------------------------------------------===//
// As text
//===----------------------------------------------------------------------===//

namespace {
struct OptimizerAlias {
  StringRef name, rule, numbers;
};
} // namespace

static constexpr OptimizerAlias aliases[] = {
#define GANTRY_OPTIMIZER(...)
#define GANTRY_OPTIMIZER_ALIAS(name, rule, numbers) {#name, #rule, numbers},
#include "gantry/Dialect/Gantry/IR/Optimizers.def"
};

static Status refuse(StringRef text, const Twine &why) {
  return Status::invalidArgument(("--optimizer " + text + ": " + why).str());
}

/// With what may have been meant, and all that there are.
static std::string describeUnknown(StringRef word, ArrayRef<std::string> known) {
  return "'" + word.str() + "'" + didYouMean(word, {known.data(), known.size()}) + "; there are " +
         join(known, ", ");
}

/// The rule of that name, or of that alias with its numbers.
static Status findRule(StringRef text, OptimizerChoice &choice) {
  StringRef rule = choice.name;
  const auto *alias = find_if(aliases, [&](auto &each) { return each.name == rule; });
  if (alias != std::end(aliases)) {
    rule = alias->rule;
    addNumbers(alias->numbers, choice.numbers);
  }
  choice.rule = findOptimizer(rule);
  if (!choice.rule) {
    std::vector<std::string> known;
    for (const OptimizerRule &each : optimizerRules())
      known.push_back(each.name.str());
    for (const OptimizerAlias &alias : aliases)
      known.push_back(alias.name.str());
    return refuse(text, "no optimizer " + describeUnknown(choice.name, known));
  }
  return {};
}

/// Puts a number of the text in the place of the rule's, or of the alias's.
static Status setNumber(StringRef text, StringRef word, OptimizerChoice &choice) {
  auto [name, digits] = word.split('=');
  double value = 0;
  if (digits.getAsDouble(value) || !std::isfinite(value))
    return refuse(text, "'" + word + "' is not NAME=NUMBER");
  if (name == "rate") {
    choice.rate = value;
    return {};
  }
  const auto *own = find_if(choice.rule->numbers, [&](auto &each) { return each.first == name; });
  if (own == choice.rule->numbers.end()) {
    std::vector<std::string> known{"rate"};
    for (auto [number, unused] : choice.rule->numbers)
      known.push_back(number.str());
    return refuse(text, "'" + choice.name + "' has no number " + describeUnknown(name, known));
  }
  erase_if(choice.numbers, [&](auto &each) { return each.first == name; });
  choice.numbers.emplace_back(own->first, value);
  return {};
}

gantry::Expected<OptimizerChoice> gantry::readOptimizer(StringRef text) {
  SmallVector<StringRef> words;
  text.split(words, ',');
  OptimizerChoice choice;
  choice.name = words.front().trim().str();
  GANTRY_RETURN_IF_ERROR(findRule(text, choice));
  bool hasRate = false;
  for (StringRef word : ArrayRef(words).drop_front()) {
    hasRate |= word.trim().starts_with("rate=");
    GANTRY_RETURN_IF_ERROR(setNumber(text, word.trim(), choice));
  }
  if (!hasRate)
    return refuse(text, "the rate is missing, as in " + Twine(choice.name) + ",rate=1e-3");
  return choice;
}
