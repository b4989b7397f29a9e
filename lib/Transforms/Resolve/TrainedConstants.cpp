#include "TrainedConstants.h"

#include "gantry/Dialect/Gantry/IR/GradientBuilder.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Gradient/Gradient.h"
#include "gantry/Placement/OpPattern.h"
#include "gantry/Support/Names.h"

using namespace mlir;
using namespace gantry;

/// Of lists in messages.
static constexpr size_t kMostListed = 8;

std::string gantry::listed(ArrayRef<std::string> names) {
  std::string text;
  for (const std::string &name : names.take_front(kMostListed))
    text += (text.empty() ? "'" : ", '") + printable(name) + "'";
  if (names.size() > kMostListed)
    text += " and " + std::to_string(names.size() - kMostListed) + " more";
  return text;
}

/// Of a node of a model, which is no weight; what other nodes are made of has no name of its own.
static bool isNode(ConstantOp constant) { return constant->hasAttr(kSourceOpAttr); }
static bool isOwnNode(ConstantOp constant) {
  auto source = constant->getAttrOfType<StringAttr>(kSourceOpAttr);
  return !source || source.getValue() == "Constant";
}

FailureOr<Weights> gantry::hoistNamedConstants(func::FuncOp func) {
  Weights weights;
  SmallVector<ConstantOp> constants;
  func.walk([&](ConstantOp op) { constants.push_back(op); });
  Operation *last = nullptr; // of those at the start
  for (ConstantOp constant : constants) {
    auto name = constant->getAttrOfType<StringAttr>(kNameAttr);
    if (!name || name.empty() || !carriesGradients(constant.getType()) || !isOwnNode(constant))
      continue;
    auto [known, isNew] = weights.insert({name, constant});
    if (isNew) {
      last ? constant->moveAfter(last) : constant->moveBefore(&func.front(), func.front().begin());
      last = constant;
      continue;
    }
    if (known->second.getValueAttr() != constant.getValueAttr()) {
      InFlightDiagnostic error = constant.emitError()
                                 << "--train: two constants are called " << name
                                 << " and have other values; a variable has one";
      error.attachNote(known->second.getLoc()) << "the other one";
      return error;
    }
    constant.replaceAllUsesWith(known->second.getResult());
    constant.erase();
  }
  return weights;
}

/// Values that the loss depends on by floats, and by ops that have gradients or should have.
static llvm::DenseSet<Value> waysTo(Value loss) {
  llvm::DenseSet<Value> reached{loss};
  for (Operation &op : llvm::reverse(*loss.getParentBlock())) {
    auto rule = dyn_cast<GradientOpInterface>(&op);
    if ((rule && rule.stopsGradient()) ||
        llvm::none_of(op.getResults(), [&](Value result) { return reached.contains(result); }))
      continue;
    for (Value read : valuesReadBy(&op))
      if (carriesGradients(read.getType()))
        reached.insert(read);
  }
  return reached;
}

/// Of a batch norm; they are averages, and no gradient leads to a better one.
static bool isStatistic(ConstantOp constant) {
  return llvm::any_of(constant->getUses(), [](OpOperand &use) {
    auto norm = dyn_cast<BatchNormOp>(use.getOwner());
    return norm && (use.get() == norm.getMean() || use.get() == norm.getVariance());
  });
}

namespace {
/// Those that are trained, in the order of the graph.
struct Chooser {
  func::FuncOp func;
  const Weights &weights;
  ArrayRef<std::string> patterns;
  llvm::DenseSet<Value> reached;
  std::vector<std::string> unreached = {}; ///< that a pattern names

  FailureOr<SmallVector<ConstantOp>> run() {
    SmallVector<ConstantOp> chosen;
    for (auto [name, constant] : weights)
      if (patterns.empty() ? isWeight(constant) : isAskedFor(name, constant))
        chosen.push_back(constant);
    if (failed(checkPatterns()))
      return failure();
    if (!chosen.empty())
      return chosen;
    if (!unreached.empty())
      return func.emitError() << "--trainable: the loss does not depend on " << listed(unreached)
                              << " by floats";
    return func.emitError()
           << "--train: the loss depends on no constant of floats that has a name, so that nothing "
              "can be trained"
           << (weights.empty() ? "" : "; such constants are " + listed(names()));
  }

private:
  bool isWeight(ConstantOp constant) {
    return typeOf(constant.getResult()).getRank() > 0 && !isNode(constant) &&
           !isStatistic(constant) && reached.contains(constant.getResult());
  }

  bool isAskedFor(StringAttr name, ConstantOp constant) {
    bool isNamed = llvm::any_of(patterns, [&](const std::string &pattern) {
      return placement::globMatches(pattern, name.getValue());
    });
    const bool isReached = reached.contains(constant.getResult());
    if (isNamed && !isReached)
      unreached.push_back(name.str());
    return isNamed && isReached;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (auto [name, constant] : weights)
      all.push_back(name.str());
    return all;
  }

  LogicalResult checkPatterns() {
    for (const std::string &pattern : patterns)
      if (llvm::none_of(weights, [&](const auto &each) {
            return placement::globMatches(pattern, each.first.getValue());
          }))
        return func.emitError() << "--trainable " << pattern
                                << " matches no constant of floats that has a name"
                                << (weights.empty() ? "" : "; these are " + listed(names()));
    return success();
  }
};
} // namespace

FailureOr<SmallVector<ConstantOp>> gantry::chooseTrained(func::FuncOp func, const Weights &weights,
                                                         Value loss,
                                                         ArrayRef<std::string> patterns) {
  return Chooser{func, weights, patterns, waysTo(loss)}.run();
}
