// What handlers use to read their node and to build ops; see NodeContext.h.

#include "Importer.h"

#include "gantry/Dialect/Gantry/IR/Requests.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

//===----------------------------------------------------------------------===//
// The node
//===----------------------------------------------------------------------===//

StringRef gantry::onnx::nameOfNode(const Node &node) {
  if (!node.name.empty())
    return node.name;
  for (StringRef output : node.outputs)
    if (!output.empty())
      return output;
  return node.op;
}

NodeContext::NodeContext(Importer &importer, Scope &scope, const Node &node, int64_t opset,
                         Location loc, ArrayRef<Value> inputs)
    : builder(importer.getBuilder()), importer(importer), scope(scope), node(node), version(opset),
      loc(loc), name(builder.getStringAttr(nameOfNode(node))), inputs(inputs),
      issuesBefore(importer.issueCount()) {
  for (const onnx::Attribute &attr : node.attributes) {
    const onnx::Attribute *meant = &attr;
    if (!attr.reference.empty()) {
      // Stands for an attribute of the function's caller; absent there, it is absent here.
      meant = scope.callAttributes ? scope.callAttributes->lookup(attr.reference) : nullptr;
      if (!meant)
        continue;
    }
    attrs[attr.name] = meant;
  }
}

bool NodeContext::isNarrow(size_t i) const { return input(i) && importer.isNarrow(input(i)); }

//===----------------------------------------------------------------------===//
// Failure
//===----------------------------------------------------------------------===//

Value NodeContext::fail(const Twine &message) {
  // The first reason is the one that matters.
  if (!failed)
    emitError(loc) << message;
  failed = true;
  return {};
}

bool NodeContext::attempt(llvm::function_ref<bool()> build, std::string *why) {
  std::string reason;
  bool succeeded = importer.attempt(build, reason);
  failed &= succeeded;
  if (why)
    *why = reason;
  return succeeded;
}

std::string NodeContext::whyFails(function_ref<bool()> build) { return importer.whyFails(build); }

void NodeContext::askFor(ArrayRef<std::string> inputs, StringRef why) {
  importer.askFor(loc, inputs, why, issuesBefore);
  failed = true;
}

Value NodeContext::tensorNamed(StringRef name) const {
  const Value *value = name.empty() ? nullptr : scope.find(name);
  return value ? *value : Value();
}

bool NodeContext::hasReported() const { return importer.issueCount() > issuesBefore; }

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const onnx::Attribute *NodeContext::find(StringRef name) {
  read.insert(name);
  return attrs.lookup(name);
}

const onnx::Attribute *NodeContext::find(StringRef name, onnx::Attribute::Type type,
                                         StringRef what) {
  const onnx::Attribute *attr = find(name);
  if (attr && attr->type != type) {
    fail("attribute '" + name + "' must be " + what);
    return nullptr;
  }
  return attr;
}

int64_t NodeContext::intAttr(StringRef name, int64_t otherwise) {
  const onnx::Attribute *attr = find(name, onnx::Attribute::Int, "an integer");
  return attr ? attr->i : otherwise;
}

double NodeContext::floatAttr(StringRef name, double otherwise) {
  const onnx::Attribute *attr = find(name, onnx::Attribute::Float, "a floating-point number");
  return attr ? attr->f : otherwise;
}

StringRef NodeContext::stringAttr(StringRef name, StringRef otherwise) {
  const onnx::Attribute *attr = find(name, onnx::Attribute::String, "a string");
  return attr ? StringRef(attr->s) : otherwise;
}

std::optional<Ints> NodeContext::intsAttr(StringRef name) {
  const onnx::Attribute *attr = find(name, onnx::Attribute::Ints, "a list of integers");
  if (!attr)
    return std::nullopt;
  return Ints(attr->ints.begin(), attr->ints.end());
}

std::optional<std::vector<float>> NodeContext::floatsAttr(StringRef name) {
  const onnx::Attribute *attr =
      find(name, onnx::Attribute::Floats, "a list of floating-point numbers");
  if (!attr)
    return std::nullopt;
  return attr->floats;
}

std::vector<StringRef> NodeContext::stringsAttr(StringRef name) {
  const onnx::Attribute *attr = find(name, onnx::Attribute::Strings, "a list of strings");
  return attr ? std::vector<StringRef>(attr->strings.begin(), attr->strings.end())
              : std::vector<StringRef>();
}

const Tensor *NodeContext::tensorAttr(StringRef name) {
  const onnx::Attribute *attr = find(name, onnx::Attribute::Tensor, "a tensor");
  return attr ? attr->tensor.get() : nullptr;
}

const Graph *NodeContext::graphAttr(StringRef name) {
  const onnx::Attribute *attr = find(name, onnx::Attribute::Graph, "a graph");
  return attr ? attr->graph.get() : nullptr;
}

void NodeContext::ignoreAttrs(std::initializer_list<StringRef> names) {
  for (StringRef name : names)
    read.insert(name);
}

mlir::Type NodeContext::elementType(int64_t onnxType) {
  auto type = DataType(int32_t(onnxType));
  mlir::Type element = makeElementType(type, builder.getContext());
  if (!element)
    fail(Twine("element type ") + nameOf(type) + " is not supported; " + supportedElementTypes() +
         " are");
  return element;
}

//===----------------------------------------------------------------------===//
// Values known now
//===----------------------------------------------------------------------===//

bool gantry::onnx::isShapeConstant(Value value) {
  return getConstantIntegers(getConstantElements(value)).has_value();
}

llvm::DenseMap<Value, int64_t> &NodeContext::counters() { return importer.getCounters(); }

std::optional<KnownElements> NodeContext::known(Value value, int64_t limit, std::string *why) {
  if (!value)
    return std::nullopt;
  if (auto elements = evaluateValue(value))
    return elements;
  Evaluation computed = importer.compute(value);
  if (why)
    *why = computed.why;
  if (computed.elements && why && typeOf(value).getNumElements() > limit)
    *why = "it has more than " + std::to_string(limit) + " elements";
  return computed.elements ? readElements(computed.elements, limit) : std::nullopt;
}

std::optional<Ints> NodeContext::knownInts(Value value) {
  auto elements = known(value);
  if (!elements || elements->isFloat)
    return std::nullopt;
  return Ints(elements->ints.begin(), elements->ints.end());
}

/// The graph's inputs that `value` is computed from.
static SmallVector<BlockArgument> findInputs(Value value) {
  SmallVector<Value> pending{value};
  llvm::SmallPtrSet<void *, 16> seen;
  SmallVector<BlockArgument> found;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!seen.insert(next.getAsOpaquePointer()).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      if (isa_and_nonnull<func::FuncOp>(argument.getOwner()->getParentOp()))
        found.push_back(argument);
      continue;
    }
    llvm::append_range(pending, next.getDefiningOp()->getOperands());
  }
  return found;
}

static std::string nameOfArgument(BlockArgument argument) {
  auto function = llvm::cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return inputName(function, argument.getArgNumber());
}

/// Most elements of an input that a user would give by value.
static constexpr int64_t kMaxGiven = 64;

std::vector<std::string> NodeContext::decidingInputs(Value value) {
  std::vector<std::string> names;
  for (BlockArgument argument : findInputs(value)) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (!type.getElementType().isInteger() || type.getNumElements() > kMaxGiven)
      return {};
    names.push_back(nameOfArgument(argument));
  }
  llvm::sort(names);
  return names;
}

std::optional<KnownElements> NodeContext::knownOperand(size_t i, StringRef what) {
  Value value = input(i);
  if (!value) {
    fail("operand " + Twine(i) + " (" + what + ") is missing");
    return std::nullopt;
  }
  std::string why;
  if (auto elements = known(value, kMaxEvaluated, &why))
    return elements;
  SmallVector<BlockArgument> inputs = findInputs(value);
  std::string message = "operand " + std::to_string(i) + " (" + what.str() +
                        ") decides a shape and must be known when compiling";
  if (!why.empty()) {
    message += "; constants decide it, but " + why;
  } else if (!inputs.empty()) {
    std::string name = nameOfArgument(inputs.front());
    message += "; it comes from input '" + name + "', give that with --value " + name + "=VALUE";
  } else {
    message += "; shapes that depend on data are not supported";
  }
  fail(message);
  return std::nullopt;
}

std::optional<KnownElements> NodeContext::decidingElements(size_t i) {
  std::string why;
  constexpr int64_t limit = kMaxEvaluatedBytes / int64_t(sizeof(int64_t));
  if (auto elements = known(input(i), limit, &why))
    return elements;
  if (!why.empty()) {
    fail("the shape of its output depends on operand " + Twine(i) + "; constants decide it, but " +
         why);
    return std::nullopt;
  }
  SmallVector<std::string_view> before;
  for (auto [name, value] : llvm::zip(node.inputs, inputs))
    if (scope.depth == 0 && value && value.getDefiningOp() && !getConstantElements(value))
      before.push_back(name);
  fail(describeDataShape(before));
  return std::nullopt;
}

std::optional<Ints> NodeContext::shapeOperand(size_t i, StringRef what) {
  auto elements = knownOperand(i, what);
  if (!elements)
    return std::nullopt;
  if (elements->isFloat || rankOf(input(i)) > 1) {
    fail("operand " + Twine(i) + " (" + what + ") must be a list of integers");
    return std::nullopt;
  }
  return Ints(elements->ints.begin(), elements->ints.end());
}

std::optional<int64_t> NodeContext::shapeScalar(size_t i, StringRef what) {
  auto values = shapeOperand(i, what);
  if (values && values->size() != 1) {
    fail("operand " + Twine(i) + " (" + what + ") must be one integer, it holds " +
         Twine(values->size()));
    return std::nullopt;
  }
  return values ? std::optional<int64_t>(values->front()) : std::nullopt;
}

std::optional<int64_t> NodeContext::axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    fail("axis " + Twine(axis) + " is outside the " + Twine(rank) + " dimensions of the operand");
    return std::nullopt;
  }
  return axis < 0 ? axis + rank : axis;
}

std::optional<Ints> NodeContext::axes(IntsRef axes, int64_t rank) {
  Ints out;
  for (int64_t a : axes) {
    auto checked = axis(a, rank);
    if (!checked)
      return std::nullopt;
    if (llvm::is_contained(out, *checked)) {
      fail("axis " + Twine(a) + " is given twice");
      return std::nullopt;
    }
    out.push_back(*checked);
  }
  return out;
}

//===----------------------------------------------------------------------===//
// Rows that data decide
//===----------------------------------------------------------------------===//

const Bound *NodeContext::boundOf(Value value) const {
  auto found = importer.getBounds().find(value);
  return found == importer.getBounds().end() ? nullptr : &found->second;
}

void NodeContext::setBound(Value value, Bound bound) {
  if (value && bound.count)
    importer.getBounds()[value] = bound;
}

bool NodeContext::needsFixedRows(Value value, int64_t axis, StringRef what) {
  const Bound *bound = boundOf(value);
  if (bound && bound->axis == axis)
    fail(what + ", and how many rows its operand has is known in the run alone");
  return !hasFailed();
}

/// Says of the result of a new op how it is bounded.
bool NodeContext::passBound(Operation *op, Value result) {
  const Bounds &bounds = importer.getBounds();
  if (bounds.empty() ||
      llvm::none_of(op->getOperands(), [&](Value operand) { return bounds.contains(operand); }))
    return true;
  auto bound = rowsOfReshape && isa<ReshapeOp>(op)
                   ? std::optional(Bound{*rowsOfReshape, bounds.at(op->getOperand(0)).count})
                   : boundOfResult(*this, op, bounds);
  if (!bound)
    fail("its operand has as many rows as data say, and not each row of its result comes from one "
         "of them");
  else
    setBound(result, *bound);
  return !hasFailed();
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// Whether an operand is an initializer of floats that may be trained: what is made of it stays to
/// be computed.
static bool readsWeight(Operation *op) {
  return llvm::any_of(op->getOperands(), [](Value operand) {
    auto constant = operand.getDefiningOp<ConstantOp>();
    return constant && constant->hasAttr(kNameAttr) && !constant->hasAttr(kSourceOpAttr) &&
           isa<FloatType>(getElementTypeOrSelf(operand.getType()));
  });
}

Values NodeContext::finish(OperationState &state) {
  if (!importer.countOp()) {
    fail("the graph unrolls to more than " + Twine(kMaxOps) + " ops");
    return {};
  }
  for (mlir::Type type : state.types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return failWith();
    if (!tensor.hasStaticShape()) {
      fail("the shape of the result is not known");
      return {};
    }
    if (auto checked = makeTensorType(tensor.getShape(), tensor.getElementType()); !checked) {
      fail(checked.status().message());
      return {};
    }
  }
  state.addAttribute(kNameAttr, name);
  state.addAttribute(kSourceOpAttr, builder.getStringAttr(node.op));
  Operation *op = builder.create(state);
  if (mlir::failed(op->getName().verifyInvariants(op))) {
    op->erase();
    return failWith();
  }
  // A request counts, but for shape arithmetic.
  SmallVector<Value> folded;
  const bool mayFold = getUse() == ModelUse::asWritten || !readsWeight(op);
  bool isFolded = mayFold && succeeded(builder.tryFold(op, folded)) && !folded.empty() &&
                  folded.front() != op->getResult(0);
  if (request)
    op->setAttr(kDeviceAttr, request);
  const bool givesWay =
      isFolded && (isShapeConstant(folded.front()) || mayGiveWay(op, folded.front()));
  if (op->getNumResults() != 0 && !passBound(op, givesWay ? folded.front() : op->getResult(0)))
    return {};
  if (givesWay) {
    op->erase();
    return Values(folded.begin(), folded.end());
  }
  return Values(op->result_begin(), op->result_end());
}

bool NodeContext::countTable(int64_t elements) {
  if (importer.countTable(elements))
    return true;
  fail("windows, transforms and filters of the model have more than " + Twine(kMaxTableElements) +
       " elements, which is not supported");
  return false;
}

ModelUse NodeContext::getUse() const { return importer.getUse(); }

void NodeContext::updateInitializer(size_t operand, Value next) {
  auto constant = input(operand).getDefiningOp<ConstantOp>();
  auto initializer = constant ? constant->getAttrOfType<StringAttr>(kNameAttr) : StringAttr();
  if (!initializer || constant->hasAttr(kSourceOpAttr) || !next)
    return;
  importer.readVariable(constant, initializer);
  AssignOp::create(builder, loc, FlatSymbolRefAttr::get(initializer), next);
}

Value NodeContext::constant(ElementsAttr attr) {
  auto op = ConstantOp::create(builder, loc, attr);
  op->setAttr(kNameAttr, name);
  op->setAttr(kSourceOpAttr, builder.getStringAttr(node.op)); // it is no initializer
  return op;
}

Value NodeContext::tensor(const Tensor &tensor) {
  auto attr = importer.getTensors().read(tensor);
  return attr ? constant(*attr) : fail("attribute tensor: " + attr.status().message());
}

Value NodeContext::ints(IntsRef values, mlir::Type element) {
  KnownElements elements;
  elements.ints.assign(values.begin(), values.end());
  return constant(makeElements(
      RankedTensorType::get({int64_t(values.size())}, element ? element : i64()), elements));
}

Value NodeContext::scalar(mlir::Type element, double value) {
  KnownElements elements;
  elements.isFloat = true;
  elements.floats = {value};
  return constant(makeElements(RankedTensorType::get({}, element), elements));
}

Value NodeContext::scalarInt(mlir::Type element, int64_t value) {
  KnownElements elements;
  elements.ints = {value};
  return constant(makeElements(RankedTensorType::get({}, element), elements));
}

Value NodeContext::full(IntsRef shape, mlir::Type element, double value) {
  return broadcast(scalar(element, value), shape);
}

Value NodeContext::cast(Value v, mlir::Type element) {
  if (!v || !element)
    return {};
  return elementOf(v) == element ? v : makeTyped<CastOp>(shapeOf(v), element, v);
}

Value NodeContext::reshape(Value v, IntsRef shape, std::optional<int64_t> rows) {
  llvm::SaveAndRestore keep(rowsOfReshape, rows);
  if (!v || typeOf(v).getShape() == shape)
    return v;
  // Weights take another shape where they are: the same bytes, no op.
  auto weights = dyn_cast_if_present<DenseResourceElementsAttr>(getConstantElements(v));
  if (auto type = makeTensorType(shape, elementOf(v));
      weights && type && type->getNumElements() == typeOf(v).getNumElements())
    return constant(DenseResourceElementsAttr::get(*type, weights.getRawHandle()));
  return makeTyped<ReshapeOp>(shape, elementOf(v), v);
}

Value NodeContext::broadcast(Value v, IntsRef shape) {
  if (!v || typeOf(v).getShape() == shape)
    return v;
  return makeTyped<BroadcastOp>(shape, elementOf(v), v);
}

Value NodeContext::transpose(Value v, IntsRef permutation) {
  return make<TransposeOp>(v, permutation);
}

Value NodeContext::slice(Value v, IntsRef starts, IntsRef sizes, IntsRef steps) {
  Ints ones(starts.size(), 1);
  return make<SliceOp>(v, starts, sizes, steps.empty() ? IntsRef(ones) : steps);
}

Value NodeContext::sliceAxis(Value v, int64_t axis, int64_t start, int64_t size, int64_t step) {
  if (!v)
    return {};
  Ints starts(rankOf(v), 0), sizes = shapeOf(v), steps(rankOf(v), 1);
  starts[axis] = start;
  sizes[axis] = size;
  steps[axis] = step;
  return slice(v, starts, sizes, steps);
}

Value NodeContext::concat(ArrayRef<Value> values, int64_t axis) {
  if (detail::isMissing(values))
    return {};
  return make<ConcatOp>(ValueRange(values), uint64_t(axis));
}

Value NodeContext::iota(IntsRef shape, mlir::Type element, int64_t axis) {
  return makeTyped<IotaOp>(shape, element, uint64_t(axis));
}

Value NodeContext::matmul(Value a, Value b, bool transposeA, bool transposeB) {
  return make<MatmulOp>(a, b, transposeA, transposeB);
}

Value NodeContext::alignChannels(Value v, int64_t axis, int64_t rank) {
  if (!v)
    return {};
  if (axis < 0 || axis >= rank)
    return fail("axis " + Twine(axis) + " is outside the " + Twine(rank) +
                " dimensions of the operand");
  Ints shape(rank, 1);
  shape[axis] = typeOf(v).getNumElements();
  return reshape(v, shape);
}

std::optional<Values> NodeContext::importBody(const Graph &graph, ArrayRef<Value> arguments) {
  return importer.importBody(scope, graph, arguments);
}
