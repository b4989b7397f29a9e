// Steps, as one loop or one after the other; see Steps.h.

#include "Steps.h"

#include "Regions.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

/// Fewer steps than this are no loop: the loop itself is a few commands a step.
static constexpr int64_t kFewestInLoop = 5;

/// Integers like these may be what shapes are made of, which have to be known when compiling.
static constexpr int64_t kMaxShapeSteps = 64, kMaxShapeElements = 1024;

/// The axis of the result, which has one dimension more than the row; -1 after a failure.
static int64_t axisOf(NodeContext &n, const Collect &collect, Value row) {
  return n.axis(collect.axis, n.rankOf(row) + 1).value_or(-1);
}

static Ints withDim(Value row, int64_t axis, int64_t size) {
  Ints shape = NodeContext::shapeOf(row);
  shape.insert(shape.begin() + axis, size);
  return shape;
}

static Ints withoutDim(Value v, int64_t axis) {
  Ints shape = NodeContext::shapeOf(v);
  shape.erase(shape.begin() + axis);
  return shape;
}

static bool isComplete(const Steps &steps, const std::optional<StepResult> &result) {
  return result && result->carried.size() == steps.carried.size() &&
         result->rows.size() == steps.collect.size() && !onnx::detail::isMissing(result->carried) &&
         !onnx::detail::isMissing(result->rows);
}

//===----------------------------------------------------------------------===//
// As a loop
//===----------------------------------------------------------------------===//

namespace {
/// Builds the body, with a carried value for all that changes from step to step: the number of
/// steps done, positions, what the steps carry, and what they collect.
///
/// Positions are apart from the number, which is for the condition alone: that is computed on the
/// host, and they are where the data are.
class LoopBuilder final : public Step {
public:
  LoopBuilder(NodeContext &n, const Steps &steps) : n(n), steps(steps) {}
  ~LoopBuilder() override {
    for (std::optional<size_t> position : positions)
      if (position)
        n.counters().erase(all[*position].argument);
  }

  bool build();
  std::optional<Values> finish();

  Value index(Order order) override;
  Value take(Value v, int64_t axis, Order order) override;

private:
  struct Carried {
    Value argument, next;
    std::function<Value()> init; ///< makes the first value, in front of the loop
  };

  /// The place of the new value among the carried ones.
  size_t carry(mlir::Type type, std::function<Value()> init) {
    all.push_back({body->addArgument(type, n.getLoc()), Value(), std::move(init)});
    return all.size() - 1;
  }
  bool fill();
  bool collect(const Collect &how, Value row);
  void hoist();

  NodeContext &n;
  const Steps &steps;
  std::unique_ptr<Region> region = std::make_unique<Region>();
  Block *body = nullptr;
  SmallVector<Carried> all;
  std::optional<size_t> positions[2]; ///< by order, where it was asked for
};
} // namespace

/// Steered by the host, whatever the node asks for.
template <typename Make>
static Value onHost(NodeContext &n, Make make) {
  DeviceAttr request = std::exchange(n.request, {});
  Value made = make();
  n.request = request;
  return made;
}

Value LoopBuilder::index(Order order) {
  std::optional<size_t> &position = positions[size_t(order)];
  if (!position)
    position = carry(RankedTensorType::get({}, n.i64()), [this, order] {
      return n.scalarInt(n.i64(), order == Order::forward ? 0 : steps.count - 1);
    });
  n.counters()[all[*position].argument] = steps.count;
  return all[*position].argument;
}

/// Of no steps only types are wanted, and there is nothing at any index.
Value LoopBuilder::take(Value v, int64_t axis, Order order) {
  if (v && steps.count == 0)
    return n.full(withoutDim(v, axis), n.elementOf(v), 0);
  return v ? n.make<GatherOp>(v, index(order), uint64_t(axis)) : Value();
}

/// Whether all that the steps give may be needed to know shapes. What no step gives is known.
static bool decidesShapes(const Steps &steps, ArrayRef<Value> given) {
  return steps.count > 0 && steps.count <= kMaxShapeSteps && llvm::all_of(given, [](Value v) {
           return !NodeContext::isFloat(v) &&
                  NodeContext::typeOf(v).getNumElements() <= kMaxShapeElements;
         });
}

bool LoopBuilder::collect(const Collect &how, Value row) {
  int64_t axis = axisOf(n, how, row);
  if (axis < 0)
    return false;
  Ints shape = withDim(row, axis, steps.count);
  mlir::Type element = n.elementOf(row);
  gantry::Expected<RankedTensorType> type = makeTensorType(shape, element);
  if (!type)
    return false;
  Value at = index(how.order);
  size_t place = carry(*type, [this, shape, element] { return n.full(shape, element, 0); });
  all[place].next = steps.count == 0
                        ? all[place].argument
                        : n.make<SetSliceOp>(all[place].argument, row, at, uint64_t(axis));
  return all[place].next != nullptr;
}

bool LoopBuilder::fill() {
  mlir::Type number = RankedTensorType::get({}, n.i64());
  carry(number, [this] { return n.scalarInt(n.i64(), 0); });
  SmallVector<Value> arguments;
  for (Value v : steps.carried)
    arguments.push_back(all[carry(v.getType(), [v] { return v; })].argument);
  std::optional<StepResult> result = steps.body(*this, arguments);
  if (!isComplete(steps, result) ||
      !llvm::equal(ValueRange(result->carried).getTypes(), ValueRange(steps.carried).getTypes()))
    return false;
  SmallVector<Value> given(result->carried.begin(), result->carried.end());
  llvm::append_range(given, result->rows);
  if (decidesShapes(steps, given))
    return false;
  for (auto [i, next] : llvm::enumerate(result->carried))
    all[1 + i].next = next;
  for (auto [how, row] : llvm::zip(steps.collect, result->rows))
    if (!collect(how, row))
      return false;
  all[0].next = onHost(n, [&] { return n.addScalar(all[0].argument, 1); });
  for (Order order : {Order::forward, Order::backward})
    if (auto position = positions[size_t(order)])
      all[*position].next = n.addScalar(all[*position].argument, order == Order::forward ? 1 : -1);
  return llvm::all_of(all, [](const Carried &carried) { return carried.next != nullptr; });
}

/// What is the same in every step is computed once; there is a first step that would.
void LoopBuilder::hoist() {
  for (Operation &op : llvm::make_early_inc_range(*body)) {
    // An op without regions reads values of its block, or of those around it, which may belong to
    // no op yet.
    auto isOutside = [&](Value operand) { return operand.getParentBlock() != body; };
    if (op.getNumRegions() == 0 && isPure(&op) && llvm::all_of(op.getOperands(), isOutside)) {
      op.remove();
      n.builder.insert(&op);
    }
  }
}

bool LoopBuilder::build() {
  body = new Block;
  region->push_back(body);
  OpBuilder::InsertionGuard guard(n.builder);
  n.builder.setInsertionPointToEnd(body);
  return fill();
}

std::optional<Values> LoopBuilder::finish() {
  Values inits;
  SmallVector<Value> nexts;
  for (Carried &carried : all) {
    inits.push_back(carried.init());
    nexts.push_back(carried.next);
  }
  if (onnx::detail::isMissing(inits))
    return std::nullopt;
  Values results = inits;
  if (steps.count > 0) {
    hoist();
    {
      OpBuilder::InsertionGuard guard(n.builder);
      n.builder.setInsertionPointToEnd(body);
      YieldOp::create(n.builder, n.getLoc(), nexts);
    }
    SmallVector<mlir::Type> types = llvm::to_vector(ValueRange(inits).getTypes());
    auto test = buildRegion(n, types, [&](Block &block) -> std::optional<Values> {
      Value more = onHost(n, [&] {
        return n.compare(CompareDirection::LT, block.getArgument(0),
                         n.scalarInt(n.i64(), steps.count));
      });
      return more ? std::optional(Values{more}) : std::nullopt;
    });
    if (!test)
      return std::nullopt;
    results = createWithRegions<WhileOp>(n, inits, types, {&test, &region});
  }
  if (results.size() != all.size())
    return std::nullopt;
  // Carried values follow the number; positions stand between them and the rows.
  Values out(results.begin() + 1, results.begin() + 1 + steps.carried.size());
  for (size_t i = 1 + steps.carried.size(); i < results.size(); ++i)
    if (positions[0] != i && positions[1] != i)
      out.push_back(results[i]);
  return out;
}

std::optional<Values> gantry::onnx::runStepsAsLoop(NodeContext &n, const Steps &steps,
                                                   std::string *why) {
  if (steps.count > 0 && steps.count < kFewestInLoop)
    return std::nullopt;
  LoopBuilder loop(n, steps);
  if (!n.attempt([&] { return loop.build(); }, why))
    return std::nullopt;
  return loop.finish();
}

//===----------------------------------------------------------------------===//
// One after the other
//===----------------------------------------------------------------------===//

namespace {
struct KnownStep final : Step {
  NodeContext &n;
  int64_t number, count;

  KnownStep(NodeContext &n, int64_t number, int64_t count) : n(n), number(number), count(count) {}

  int64_t at(Order order) const { return order == Order::forward ? number : count - 1 - number; }
  Value index(Order order) override { return n.scalarInt(n.i64(), at(order)); }
  Value take(Value v, int64_t axis, Order order) override {
    if (!v)
      return {};
    return n.reshape(n.sliceAxis(v, axis, at(order), 1), withoutDim(v, axis));
  }
};
} // namespace

static std::optional<Values> unroll(NodeContext &n, const Steps &steps) {
  SmallVector<Value> carried(steps.carried);
  std::vector<SmallVector<Value>> rows(steps.collect.size());
  for (int64_t i = 0; i < steps.count; ++i) {
    KnownStep step(n, i, steps.count);
    std::optional<StepResult> result = steps.body(step, carried);
    if (!isComplete(steps, result) || n.hasFailed())
      return std::nullopt;
    carried.assign(result->carried.begin(), result->carried.end());
    for (auto [list, row] : llvm::zip(rows, result->rows))
      list.push_back(row);
  }
  Values out(carried.begin(), carried.end());
  for (auto [list, how] : llvm::zip(rows, steps.collect)) {
    if (how.order == Order::backward)
      std::reverse(list.begin(), list.end());
    int64_t axis = axisOf(n, how, list.front());
    if (axis < 0)
      return std::nullopt;
    for (Value &row : list)
      row = n.reshape(row, withDim(row, axis, 1));
    out.push_back(n.concat(list, axis));
  }
  return onnx::detail::isMissing(out) ? std::nullopt : std::optional(out);
}

std::optional<Values> gantry::onnx::runSteps(NodeContext &n, const Steps &steps) {
  std::string why;
  if (std::optional<Values> results = runStepsAsLoop(n, steps, &why))
    return results;
  if (n.hasFailed())
    return std::nullopt;
  if (steps.count < 1 || steps.count > kMaxUnrolled) {
    n.fail(Twine(steps.count) + " steps that cannot be one loop are not supported, 1 to " +
           Twine(kMaxUnrolled) + " are" + (why.empty() ? "" : "; in a loop: " + why));
    return std::nullopt;
  }
  return unroll(n, steps);
}
