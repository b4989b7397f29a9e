// If, Loop and Scan. What is known when compiling is decided here: a known condition leaves one
// branch, and a loop that stacks up per-step results has to have a known number of steps. The rest
// becomes gantry.if and gantry.while, whose bodies see the values around them.

#include "Regions.h"
#include "Steps.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

static std::optional<bool> knownFlag(NodeContext &n, Value v) {
  auto ints = n.knownInts(v);
  return ints && ints->size() == 1 ? std::optional(ints->front() != 0) : std::nullopt;
}

static TypeRange yieldedTypes(Region &region) {
  return region.front().getTerminator()->getOperandTypes();
}

static Values ifOp(NodeContext &n) {
  const Graph *thenGraph = n.graphAttr("then_branch"), *elseGraph = n.graphAttr("else_branch");
  if (!thenGraph || !elseGraph || n.hasFailed())
    return {n.fail("attributes 'then_branch' and 'else_branch' are needed")};
  Value condition = n.input(0);
  if (n.typeOf(condition).getNumElements() != 1 || !n.isBool(condition))
    return {n.fail("the condition must be one truth value")};
  if (auto known = knownFlag(n, condition)) {
    auto results = n.importBody(*known ? *thenGraph : *elseGraph, {});
    return results ? *results : Values();
  }
  std::unique_ptr<Region> thenRegion, elseRegion;
  auto build = [&](const Graph &graph, std::unique_ptr<Region> &into) {
    return n.whyFails([&] {
      into = buildRegion(n, {}, [&](Block &) { return n.importBody(graph, {}); });
      return bool(into);
    });
  };
  std::string wrong = build(*thenGraph, thenRegion), wrongElse = build(*elseGraph, elseRegion);
  // One branch may be all that is needed.
  bool mayAsk = wrong.empty() || wrongElse.empty();
  if (wrong.empty())
    wrong = wrongElse;
  if (wrong.empty() && !llvm::equal(yieldedTypes(*thenRegion), yieldedTypes(*elseRegion)))
    wrong = "the branches give different types, which is not supported; they must agree in element "
            "type and shape";
  if (!wrong.empty()) {
    std::vector<std::string> deciders = n.decidingInputs(condition);
    if (mayAsk && !deciders.empty())
      n.askFor(deciders, wrong);
    else
      emitError(n.getLoc()) << wrong;
    return {};
  }
  SmallVector<mlir::Type> types(yieldedTypes(*thenRegion));
  return createWithRegions<IfOp>(n, n.reshape(condition, {}), types, {&thenRegion, &elseRegion});
}

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

namespace {
struct LoopParts {
  const Graph *body = nullptr;
  std::optional<int64_t> trips; ///< when known
  std::optional<bool> condition;
  SmallVector<Value> carried;
  size_t stacked = 0; ///< outputs of the body that are stacked up, one element a step
};
} // namespace

/// Whether the body gives more than a condition and what is carried: those are stacked up.
static bool stacksResults(const Node &node) {
  for (const onnx::Attribute &attribute : node.attributes)
    if (attribute.name == "body" && attribute.graph)
      return attribute.graph->outputs.size() + 1 > std::max<size_t>(node.inputs.size(), 2);
  return false;
}

/// Stacks per-step values along a new first dimension.
static Value stack(NodeContext &n, ArrayRef<Value> values) {
  SmallVector<Value> rows;
  for (Value v : values) {
    Ints shape = n.shapeOf(v);
    shape.insert(shape.begin(), 1);
    rows.push_back(n.reshape(v, shape));
  }
  return n.concat(rows, 0);
}

/// Whether the first output of a loop's body can say if it goes on.
static bool checkGoesOn(NodeContext &n, Value condition) {
  if (n.isBool(condition) && n.typeOf(condition).getNumElements() == 1)
    return true;
  n.fail("the body's first output, its condition, must be one truth value");
  return false;
}

/// A step of the body. Counter and condition are lists of one element where the body declares them
/// so.
static std::optional<Values> importStep(NodeContext &n, const LoopParts &loop, Value counter,
                                        Value condition, ArrayRef<Value> carried) {
  auto asDeclared = [&](size_t i, Value v) {
    const onnx::Type &type = loop.body->inputs[i].type;
    return type.hasShape && type.dims.size() == 1 ? n.reshape(v, {1}) : v;
  };
  SmallVector<Value> arguments{asDeclared(0, counter), asDeclared(1, condition)};
  llvm::append_range(arguments, carried);
  if (onnx::detail::isMissing(ArrayRef<Value>(arguments)))
    return std::nullopt;
  return n.importBody(*loop.body, arguments);
}

static Value constantTrue(NodeContext &n) {
  return n.constant(DenseElementsAttr::get(RankedTensorType::get({}, n.i1()), true));
}

static Values unrollLoop(NodeContext &n, const LoopParts &loop) {
  SmallVector<Value> carried = loop.carried;
  std::vector<SmallVector<Value>> stacked(loop.stacked);
  bool running = loop.condition.value_or(true);
  int64_t trips = loop.trips.value_or(kMaxUnrolled + 1), step = 0;
  for (; running && step < trips; ++step) {
    if (step == kMaxUnrolled)
      return {n.fail("a loop that collects results runs more than " + Twine(kMaxUnrolled) +
                     " steps, which is not supported")};
    auto results = importStep(n, loop, n.scalarInt(n.i64(), step), constantTrue(n), carried);
    // What is wrong with one step is wrong with the next.
    if (!results || n.hasReported() || !checkGoesOn(n, results->front()))
      return {};
    auto goesOn = knownFlag(n, results->front());
    if (!goesOn)
      return {n.fail("the number of steps of a loop that collects results, or whose values change "
                     "shape, depends on data, "
                     "which is not supported")};
    running = *goesOn;
    carried.assign(results->begin() + 1, results->begin() + 1 + carried.size());
    for (size_t i = 0; i < loop.stacked; ++i)
      stacked[i].push_back((*results)[1 + carried.size() + i]);
  }
  Values out(carried.begin(), carried.end());
  for (const SmallVector<Value> &values : stacked) {
    if (values.empty())
      return {n.fail("a loop of no steps that collects results is not supported")};
    out.push_back(stack(n, values));
  }
  return out;
}

/// A known number of steps, of which none may end the loop. One that never begins is not ended by
/// its body, whatever that says.
static std::optional<Values> loopOverTrips(NodeContext &n, const LoopParts &loop) {
  bool begins = loop.condition.value_or(false) && loop.trips.value_or(1) > 0;
  if (begins && !loop.trips)
    return std::nullopt;
  int64_t count = begins ? *loop.trips : 0;
  Value going = constantTrue(n);
  auto step = [&](Step &at, ArrayRef<Value> carried) -> std::optional<StepResult> {
    auto results = importStep(n, loop, at.index(Order::forward), going, carried);
    if (!results || (begins && !knownFlag(n, results->front()).value_or(false)))
      return std::nullopt;
    auto next = results->begin() + 1, rows = next + carried.size();
    return StepResult{Values(next, rows), Values(rows, results->end())};
  };
  SmallVector<Collect> collect(loop.stacked);
  return runStepsAsLoop(n, {count, ArrayRef<Value>(loop.carried), collect, step});
}

/// Carried through gantry.while: step, condition, then the loop's own values.
static Values buildWhile(NodeContext &n, const LoopParts &loop, Value limit, Value condition) {
  SmallVector<Value> inits{n.scalarInt(n.i64(), 0), condition};
  llvm::append_range(inits, loop.carried);
  SmallVector<mlir::Type> types = llvm::to_vector(ValueRange(inits).getTypes());
  auto test = buildRegion(n, types, [&](Block &block) -> std::optional<Values> {
    Value flag = block.getArgument(1);
    if (limit)
      flag =
          n.make<LogicalAndOp>(n.compare(CompareDirection::LT, block.getArgument(0), limit), flag);
    return flag ? std::optional(Values{flag}) : std::nullopt;
  });
  auto body = buildRegion(n, types, [&](Block &block) -> std::optional<Values> {
    SmallVector<Value> arguments(block.args_begin(), block.args_end());
    auto results =
        importStep(n, loop, arguments[0], arguments[1], ArrayRef(arguments).drop_front(2));
    if (!results || !checkGoesOn(n, results->front()))
      return std::nullopt;
    Values next{n.addScalar(block.getArgument(0), 1), n.reshape(results->front(), {})};
    next.append(results->begin() + 1, results->end());
    return onnx::detail::isMissing(next) ? std::nullopt : std::optional(next);
  });
  if (!test || !body)
    return {};
  if (!llvm::equal(yieldedTypes(*body), types))
    return {n.fail("a value that the loop carries changes its type or shape from step to step, "
                   "which is not supported")};
  Values results = createWithRegions<WhileOp>(n, inits, types, {&test, &body});
  return results.size() < 2 ? Values() : Values(results.begin() + 2, results.end());
}

static Values loopOp(NodeContext &n) {
  LoopParts loop;
  loop.body = n.graphAttr("body");
  Value trips = n.input(0), condition = n.input(1);
  if (!loop.body || n.hasFailed())
    return {n.fail("attribute 'body' is missing")};
  loop.carried.assign(n.allInputs().begin() + std::min<size_t>(2, n.numInputs()),
                      n.allInputs().end());
  size_t outputs = 1 + loop.carried.size();
  if (loop.body->inputs.size() != loop.carried.size() + 2 || loop.body->outputs.size() < outputs ||
      onnx::detail::isMissing(ArrayRef<Value>(loop.carried)))
    return {n.fail("the body does not take and give what the loop carries")};
  loop.stacked = loop.body->outputs.size() - outputs;
  if ((trips && n.typeOf(trips).getNumElements() != 1) ||
      (condition && n.typeOf(condition).getNumElements() != 1))
    return {n.fail("the number of steps and the condition must be scalars")};
  if ((trips && n.isFloat(trips)) || (condition && !n.isBool(condition)))
    return {n.fail("the number of steps must be an integer and the condition a truth value")};
  if (auto known = trips ? n.knownInts(trips) : std::nullopt)
    loop.trips = known->front();
  loop.condition = condition ? knownFlag(n, condition) : std::optional(true);

  if (loop.stacked > 0) {
    if (trips && !n.shapeScalar(0, "trip count"))
      return {};
    if (!loop.condition) {
      n.knownOperand(1, "condition");
      return {};
    }
    auto results = loopOverTrips(n, loop);
    return results ? *results : n.hasFailed() ? Values() : unrollLoop(n, loop);
  }
  Value limit = trips ? n.cast(n.reshape(trips, {}), n.i64()) : Value();
  Value flag = condition ? n.reshape(condition, {}) : constantTrue(n);
  return buildWhile(n, loop, limit, flag);
}

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

/// Axis and direction attributes of the scanned values, one entry each, or defaults.
static Ints perValue(NodeContext &n, StringRef name, size_t count) {
  Ints values = n.intsAttr(name).value_or(Ints(count, 0));
  if (values.size() != count)
    n.fail("attribute '" + name + "' has " + Twine(values.size()) + " entries, expected " +
           Twine(count));
  return values;
}

namespace {
/// How the values of a Scan are cut into steps, and put together.
struct ScanAxes {
  Ints inputs, inputsBackward, outputs, outputsBackward;
};
} // namespace

/// Nothing after a failure. Opset 8 has directions of the inputs, and no more.
static std::optional<ScanAxes> readScanAxes(NodeContext &n, ArrayRef<Value> scanned,
                                            size_t numOutputs, bool batched) {
  Ints zeros(numOutputs, 0);
  ScanAxes axes{Ints(scanned.size(), 0), {}, zeros, zeros};
  axes.inputsBackward =
      perValue(n, batched ? "directions" : "scan_input_directions", scanned.size());
  if (!batched) {
    axes.inputs = perValue(n, "scan_input_axes", scanned.size());
    axes.outputs = perValue(n, "scan_output_axes", numOutputs);
    axes.outputsBackward = perValue(n, "scan_output_directions", numOutputs);
  }
  if (n.hasFailed())
    return std::nullopt;
  for (auto [v, axis] : llvm::zip(scanned, axes.inputs)) {
    auto checked = n.axis(axis, n.rankOf(v) - (batched ? 1 : 0));
    if (!checked)
      return std::nullopt;
    axis = *checked;
  }
  return axes;
}

/// The state runs along; scanned inputs are cut into steps, scanned outputs stacked.
static std::optional<Values> scanOnce(NodeContext &n, const Graph &body, ArrayRef<Value> states,
                                      ArrayRef<Value> scanned, const ScanAxes &axes) {
  int64_t steps = -1;
  for (auto [v, axis] : llvm::zip(scanned, axes.inputs)) {
    int64_t size = n.shapeOf(v)[axis];
    if (steps >= 0 && size != steps) {
      n.fail("the scanned operands have different lengths");
      return std::nullopt;
    }
    steps = size;
  }
  auto step = [&](Step &at, ArrayRef<Value> carried) -> std::optional<StepResult> {
    SmallVector<Value> arguments(carried);
    for (auto [v, axis, backward] : llvm::zip(scanned, axes.inputs, axes.inputsBackward))
      arguments.push_back(at.take(v, axis, orderOf(backward)));
    if (onnx::detail::isMissing(ArrayRef<Value>(arguments)))
      return std::nullopt;
    auto results = n.importBody(body, arguments);
    if (!results)
      return std::nullopt;
    return StepResult{Values(results->begin(), results->begin() + carried.size()),
                      Values(results->begin() + carried.size(), results->end())};
  };
  SmallVector<Collect> collect;
  for (auto [axis, backward] : llvm::zip(axes.outputs, axes.outputsBackward))
    collect.push_back({axis, orderOf(backward)});
  return runSteps(n, {steps, states, collect, step});
}

/// One scan for each element of the batch, the first dimension of all operands.
static Values scanBatch(NodeContext &n, const Graph &body, ArrayRef<Value> states,
                        ArrayRef<Value> scanned, const ScanAxes &axes) {
  Value first = states.empty() ? scanned.front() : states.front();
  if (n.rankOf(first) < 1)
    return {n.fail("operands need a batch dimension")};
  int64_t batch = n.shapeOf(first)[0];
  if (batch < 1 || batch > 256)
    return {n.fail("a batch of " + Twine(batch) + " is not supported; 1 to 256 are")};
  std::vector<SmallVector<Value>> perOutput(body.outputs.size());
  for (int64_t b = 0; b < batch; ++b) {
    auto element = [&](Value v) -> Value {
      if (n.rankOf(v) < 1 || n.shapeOf(v)[0] != batch)
        return n.fail("operands differ in their batch dimension");
      Ints shape = n.shapeOf(v);
      shape.erase(shape.begin());
      return n.reshape(n.sliceAxis(v, 0, b, 1), shape);
    };
    SmallVector<Value> one = llvm::map_to_vector(states, element),
                       parts = llvm::map_to_vector(scanned, element);
    if (n.hasFailed())
      return {};
    auto results = scanOnce(n, body, one, parts, axes);
    if (!results)
      return {};
    for (auto [i, v] : llvm::enumerate(*results))
      perOutput[i].push_back(v);
  }
  Values out;
  for (const SmallVector<Value> &values : perOutput)
    out.push_back(stack(n, values));
  return out;
}

static Values scan(NodeContext &n) {
  const Graph *body = n.graphAttr("body");
  int64_t numScanned = n.intAttr("num_scan_inputs", 0);
  // Opset 8 has an operand for sequence lengths first and a batch dimension before all others.
  bool batched = n.opset() < 9;
  ArrayRef<Value> operands = n.allInputs().drop_front(batched ? 1 : 0);
  if (!body || n.hasFailed())
    return {n.fail("attribute 'body' is missing")};
  if (batched && n.input(0))
    return {n.fail("operand 0 (sequence_lens) is not supported; leave it out")};
  if (onnx::detail::isMissing(operands) || numScanned < 1 || size_t(numScanned) > operands.size() ||
      body->inputs.size() != operands.size() || body->outputs.size() < operands.size() - numScanned)
    return {n.fail("the body does not take and give what the scan carries")};
  ArrayRef<Value> states = operands.drop_back(numScanned), scanned = operands.take_back(numScanned);
  auto axes = readScanAxes(n, scanned, body->outputs.size() - states.size(), batched);
  if (!axes)
    return {};
  if (batched)
    return scanBatch(n, *body, states, scanned, *axes);
  auto results = scanOnce(n, *body, states, scanned, *axes);
  return results ? *results : Values();
}

void gantry::onnx::addControlFlowOps(OpTable &table) {
  table.add("If", ifOp, {1, 1, kAny});
  OpTable::Entry &loop = table.add("Loop", loopOp, {0, kAny, kAny});
  loop.shapeOperands = {0, 1};
  loop.decidesShapes = stacksResults;
  table.add("Scan", scan, {0, kAny, kAny});
}
