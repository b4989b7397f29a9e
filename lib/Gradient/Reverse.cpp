// See Gradient.h.

#include "gantry/Dialect/Gantry/IR/GradientBuilder.h"
#include "gantry/Gradient/Gradient.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringExtras.h"

#include <deque>

using namespace mlir;
using namespace gantry;

SmallVector<Value> gantry::valuesReadBy(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  if (op->getNumRegions() != 0) {
    llvm::SetVector<Value> above;
    getUsedValuesDefinedAbove(op->getRegions(), above);
    llvm::append_range(values, above);
  }
  return values;
}

bool gantry::leadsTo(Operation *op, const llvm::DenseSet<Value> &values) {
  auto rule = dyn_cast<GradientOpInterface>(op);
  return !(rule && rule.stopsGradient()) &&
         llvm::any_of(valuesReadBy(op), [&](Value value) { return values.contains(value); });
}

llvm::DenseSet<Value> gantry::dependentOn(Block &block, ValueRange from) {
  llvm::DenseSet<Value> found(from.begin(), from.end());
  for (Operation &op : block.without_terminator()) {
    auto isFloat = [](Value result) { return carriesGradients(result.getType()); };
    if (llvm::any_of(op.getResults(), isFloat) && leadsTo(&op, found))
      found.insert_range(llvm::make_filter_range(op.getResults(), isFloat));
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// The fewest ops of the block of `to` that lead from its end to `to`, the first one the last to
/// run.
static SmallVector<Operation *> wayInBlock(Operation *to, ValueRange from) {
  DenseMap<Operation *, Operation *> before;
  std::deque<Operation *> queue;
  auto reach = [&](ValueRange values, Operation *reader) {
    for (Value value : values)
      if (Operation *maker = value.getDefiningOp();
          maker && maker->getBlock() == to->getBlock() && before.try_emplace(maker, reader).second)
        queue.push_back(maker);
  };
  reach(from, nullptr);
  for (; !queue.empty() && queue.front() != to; queue.pop_front())
    reach(valuesReadBy(queue.front()), queue.front());
  SmallVector<Operation *> way;
  for (Operation *op = before.lookup(to); op; op = before.lookup(op))
    way.insert(way.begin(), op);
  return way;
}

/// What a region gives that its op goes on with.
static ValueRange endsOf(Operation *op) {
  ValueRange ends = op->getBlock()->getTerminator()->getOperands();
  auto gradient = dyn_cast<GradientOp>(op->getParentOp());
  return gradient ? ends.take_front(std::max(1u, gradient.getNumSeeds())) : ends;
}

static std::string describe(Operation *op) {
  StringRef name = givenNameOf(op);
  return op->getName().getStringRef().str() + (name.empty() ? "" : " '" + name.str() + "'");
}

/// In words; of a long way both ends.
static std::string describe(ArrayRef<Operation *> way) {
  constexpr size_t most = 12, shown = 5;
  auto list = [](ArrayRef<Operation *> ops) {
    return llvm::join(llvm::map_range(ops, [](Operation *op) { return describe(op); }), ", ");
  };
  if (way.size() <= most)
    return list(way);
  return list(way.take_front(shown)) + ", ... " + std::to_string(way.size() - 2 * shown) +
         " more ..., " + list(way.take_back(shown));
}

std::string gantry::describeWay(Operation *to, ValueRange from) {
  return describe(wayInBlock(to, from));
}

/// Says where the op is differentiated, and the shortest way from the loss to it.
static void explain(Operation *op, InFlightDiagnostic &error) {
  SmallVector<Operation *> way;
  Operation *at = op;
  while (at->getParentOp() && !isa<GradientOp>(at->getParentOp()) &&
         at->getParentOp()->getBlock()) {
    SmallVector<Operation *> inner = wayInBlock(at, endsOf(at));
    way.insert(way.begin(), inner.begin(), inner.end());
    at = at->getParentOp();
    way.insert(way.begin(), at);
  }
  auto gradient = dyn_cast_if_present<GradientOp>(at->getParentOp());
  if (!gradient)
    return;
  SmallVector<Operation *> outer = wayInBlock(at, endsOf(at));
  way.insert(way.begin(), outer.begin(), outer.end());
  Diagnostic &note = error.attachNote(gradient.getLoc());
  note << "it is differentiated here; ";
  way.empty() ? note << "it makes the loss itself"
              : note << "the way from the loss to it: " << describe(way);
}

//===----------------------------------------------------------------------===//
// The engine
//===----------------------------------------------------------------------===//

namespace {
class Reverse {
public:
  Reverse(Block &block, ValueRange wrt) : block(block), varied(dependentOn(block, wrt)) {
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
  }

  LogicalResult run() {
    for (Operation *op : llvm::reverse(ops))
      if (failed(visit(op)))
        return failure();
    return success();
  }

  /// `op`: who gives the part; null for seeds.
  void give(Value value, Value part, Operation *op) {
    if (!varied.contains(value))
      return;
    Value &sum = cotangents[value];
    if (!sum) {
      sum = part;
      return;
    }
    // The sum is where the value is; a weight's is where it is used first.
    Operation *maker = value.getDefiningOp();
    Operation *owner = maker && maker->getBlock() == &block ? maker : op ? op : &block.back();
    GradientBuilder builder(owner, block, {}, [](Value) { return false; });
    sum = builder.make<AddOp>(sum, part);
  }

  Value cotangentOf(Value value) const { return cotangents.lookup(value); }

private:
  bool isVaried(Value value) const { return varied.contains(value); }

  LogicalResult visit(Operation *op);
  LogicalResult check(Operation *op) const;

  Block &block;
  SmallVector<Operation *> ops;
  llvm::DenseSet<Value> varied; ///< of floats, and dependent on what is differentiated for
  DenseMap<Value, Value> cotangents;
};
} // namespace

static LogicalResult refuse(Operation *op, StringRef why) {
  InFlightDiagnostic error = op->emitOpError() << why;
  explain(op, error);
  return error;
}

std::string gantry::whyNoGradient(Operation *op, function_ref<bool(Value)> isVaried) {
  auto rule = dyn_cast<GradientOpInterface>(op);
  if (!rule)
    return "has no gradient; GradientOpInterface gives an op one, gantry.custom_gradient a region";
  // An op with regions answers for all that they read.
  const unsigned count = op->getNumRegions() ? 1 : op->getNumOperands();
  for (unsigned i = 0; i < count; ++i)
    if (op->getNumRegions() || isVaried(op->getOperand(i)))
      if (std::string why = rule.refuseGradient(i); !why.empty())
        return why;
  return "";
}

/// Whether the op has a rule for what is wanted of it.
LogicalResult Reverse::check(Operation *op) const {
  if (std::string why = whyNoGradient(op, [&](Value value) { return isVaried(value); });
      !why.empty())
    return refuse(op, why);
  for (Value value : op->getResults())
    if (auto type = dyn_cast<RankedTensorType>(value.getType()); !type || !type.hasStaticShape())
      return op->emitOpError() << "has the open shape " << value.getType()
                               << "; shapes must be known when compiling, give sizes with --dim";
  return success();
}

LogicalResult Reverse::visit(Operation *op) {
  SmallVector<Value> own = llvm::map_to_vector(
      op->getResults(), [&](Value result) { return cotangents.lookup(result); });
  if (!llvm::any_of(own, [](Value value) { return bool(value); }) || !leadsTo(op, varied))
    return success();
  if (failed(check(op)))
    return failure();
  GradientBuilder builder(op, block, own, [&](Value value) { return isVaried(value); });
  if (failed(cast<GradientOpInterface>(op).buildGradient(builder)))
    return failure();
  for (auto [value, part] : llvm::reverse(builder.getParts()))
    give(value, part, builder.getOp());
  return success();
}

LogicalResult gantry::differentiate(Block &block, ValueRange of, ValueRange seeds, ValueRange wrt,
                                    SmallVectorImpl<Value> &gradients) {
  Reverse reverse(block, wrt);
  for (auto [value, seed] : llvm::zip_equal(of, seeds))
    if (seed)
      reverse.give(value, seed, nullptr);
  if (failed(reverse.run()))
    return failure();
  for (Value value : wrt)
    gradients.push_back(reverse.cotangentOf(value));
  return success();
}
