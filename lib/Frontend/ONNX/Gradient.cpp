// Gradient of ai.onnx.preview.training: the ops between tensors of the graph once more, in a region
// that is differentiated. Equal ops become one later on, so that where the node's operands are the
// tensors that it names, nothing is computed twice.

#include "Importer.h"
#include "Regions.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

/// The operands of an op, and what its regions read from outside.
static SmallVector<Value> readBy(Operation *op) {
  llvm::SetVector<Value> above;
  getUsedValuesDefinedAbove(op->getRegions(), above);
  SmallVector<Value> values(op->getOperands());
  llvm::append_range(values, above);
  return values;
}

/// The ops that `value` is computed by of values that `mapping` has, each behind those that it
/// reads. A file may hold chains of any length, so there is no recursion.
static SmallVector<Operation *> opsBetween(const IRMapping &mapping, Value value) {
  SmallVector<Operation *> ops;
  llvm::DenseSet<Operation *> seen;
  struct Step {
    Operation *op;
    SmallVector<Value> reads;
  };
  std::vector<Step> steps;
  auto open = [&](Value read) {
    Operation *op = mapping.contains(read) ? nullptr : read.getDefiningOp();
    if (op && seen.insert(op).second)
      steps.push_back({op, readBy(op)});
  };
  open(value);
  while (!steps.empty()) {
    if (steps.back().reads.empty()) {
      ops.push_back(steps.back().op);
      steps.pop_back();
      continue;
    }
    open(steps.back().reads.pop_back_val());
  }
  return ops;
}

/// The tensors that an attribute names; nothing after a failure.
static std::optional<Values> namedTensors(NodeContext &n, StringRef attribute,
                                          ArrayRef<StringRef> names) {
  Values values;
  for (StringRef name : names) {
    Value value = n.tensorNamed(name);
    if (!value) {
      n.fail("attribute '" + attribute + "' names '" + name +
             "', which is made by no node, input or initializer before this node");
      return std::nullopt;
    }
    values.push_back(value);
  }
  return values;
}

/// The way from `wrt`, of the gradient, and from `others` to `y`.
static Values differentiate(NodeContext &n, ArrayRef<Value> wrt, ArrayRef<Value> others, Value y) {
  SmallVector<Value> operands(n.allInputs().take_front(wrt.size()));
  SmallVector<mlir::Type> types = llvm::to_vector(ValueRange(operands).getTypes());
  auto region = buildRegion(n, types, [&](Block &block) {
    IRMapping mapping;
    for (auto [from, to] : llvm::zip(others, n.allInputs().drop_front(wrt.size())))
      mapping.map(from, to);
    for (auto [from, to] : llvm::zip(wrt, block.getArguments()))
      mapping.map(from, Value(to));
    for (Operation *op : opsBetween(mapping, y))
      n.builder.clone(*op, mapping);
    return std::optional(Values{mapping.lookupOrDefault(y)});
  });
  mlir::OperationState state(n.getLoc(), GradientOp::getOperationName());
  // Of several elements it is their sum that is differentiated.
  if (n.rankOf(y) != 0) {
    operands.push_back(n.full(n.shapeOf(y), n.elementOf(y), 1));
    state.addAttribute("seeds", n.builder.getI64IntegerAttr(1));
  }
  state.addOperands(operands);
  state.addTypes(y.getType());
  state.addTypes(types);
  state.addRegion(std::move(region));
  Values results = n.finish(state);
  return results.empty() ? results : Values(results.begin() + 1, results.end());
}

static Values gradient(NodeContext &n) {
  std::vector<StringRef> wrt = n.stringsAttr("xs"), others = n.stringsAttr("zs");
  if (n.hasFailed())
    return {};
  if (wrt.empty() || wrt.size() + others.size() != n.numInputs())
    return {n.fail("it has " + Twine(n.numInputs()) + " operands, and names " + Twine(wrt.size()) +
                   " tensors by 'xs' and " + Twine(others.size()) +
                   " by 'zs'; it needs one operand for each, and at least one in 'xs'")};
  auto x = namedTensors(n, "xs", wrt), z = namedTensors(n, "zs", others),
       y = namedTensors(n, "y", {n.stringAttr("y", "")});
  if (!x || !z || !y)
    return {};
  Values named(*x);
  llvm::append_range(named, *z);
  for (auto [i, operand, tensor] : llvm::enumerate(n.allInputs(), named))
    if (!operand || operand.getType() != tensor.getType())
      return {n.fail("operand " + Twine(i) + " stands for '" +
                     (i < wrt.size() ? wrt[i] : others[i - wrt.size()]) +
                     "' and has another type than it")};
  if (!n.isFloat(y->front()))
    return {n.fail("'" + n.stringAttr("y", "") +
                   "' is differentiated, and is of integers; only floats have gradients")};
  return differentiate(n, *x, *z, y->front());
}

void gantry::onnx::addGradientOps(OpTable &table) {
  table.add("Gradient", gradient, {1, kAny, kAny}, kTraining);
}
