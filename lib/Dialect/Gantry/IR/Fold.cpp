// Folding: identities of any type, and arithmetic on small integer constants.
//
// Only integers and truth values are computed here, because that is what shapes are made of.
// Compute on floating-point constants is placed and logged like any other, and so is what does
// nothing but was asked to run somewhere: every fold ends with unlessRequested (spec P1).

#include "gantry/Dialect/Gantry/IR/Requests.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace gantry;

/// Most elements of a constant that takes part in shape arithmetic.
static constexpr int64_t kMaxFolded = 1024;

using Ints = SmallVector<int64_t>;

ElementsAttr gantry::getConstantElements(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? constant.getValue() : ElementsAttr();
}

static bool isIntegral(Type element) { return isa<IntegerType>(element); }

std::optional<Ints> gantry::getConstantIntegers(Attribute attr) {
  auto elements = dyn_cast_if_present<DenseIntElementsAttr>(attr);
  if (!elements || elements.getNumElements() > kMaxFolded)
    return std::nullopt;
  auto type = dyn_cast<IntegerType>(elements.getElementType());
  if (!type)
    return std::nullopt;
  bool zeroExtend = type.getWidth() == 1 || type.isUnsigned();
  Ints values;
  for (const APInt &v : elements.getValues<APInt>())
    values.push_back(zeroExtend ? int64_t(v.getZExtValue()) : v.getSExtValue());
  return values;
}

/// `values` as a constant of `type`, or null when that is not a small static integer tensor.
static Attribute makeIntegers(Type type, ArrayRef<int64_t> values) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || !isIntegral(tensor.getElementType()) ||
      tensor.getNumElements() != int64_t(values.size()))
    return {};
  unsigned width = tensor.getElementTypeBitWidth();
  SmallVector<APInt> elements;
  for (int64_t v : values)
    elements.push_back(APInt(width, uint64_t(v), /*isSigned=*/false, /*implicitTrunc=*/true));
  return DenseElementsAttr::get(tensor, elements);
}

static bool isSmallStatic(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() <= kMaxFolded;
}

/// Applies `compute` to the broadcast operands when all are small integer constants. `compute` gets
/// one integer per operand and may give nothing to refuse.
static OpFoldResult
foldElementwise(Operation *op, ArrayRef<Attribute> operands,
                function_ref<std::optional<int64_t>(ArrayRef<int64_t>)> compute) {
  Type type = op->getResult(0).getType();
  if (!isSmallStatic(type) || !isIntegral(cast<RankedTensorType>(type).getElementType()))
    return {};
  SmallVector<Ints> values;
  for (Attribute operand : operands) {
    auto ints = getConstantIntegers(operand);
    if (!ints)
      return {};
    values.push_back(std::move(*ints));
  }
  auto shape = cast<RankedTensorType>(type).getShape();
  Ints result;
  for (int64_t i = 0, n = cast<RankedTensorType>(type).getNumElements(); i < n; ++i) {
    Ints at;
    for (auto [value, operand] : llvm::zip(values, op->getOperands()))
      at.push_back(
          value[broadcastPosition(i, shape, cast<RankedTensorType>(operand.getType()).getShape())]);
    std::optional<int64_t> element = compute(at);
    if (!element)
      return {};
    result.push_back(*element);
  }
  return unlessRequested(op, makeIntegers(type, result));
}

static bool hasUnsigned(Operation *op) {
  return getElementTypeOrSelf(op->getOperand(0)).isUnsignedInteger();
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

// Wrap-around is what the kernels do; unsigned arithmetic has it without undefined behaviour.
OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  return foldElementwise(*this, adaptor.getOperands(), [](ArrayRef<int64_t> v) {
    return int64_t(uint64_t(v[0]) + uint64_t(v[1]));
  });
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  return foldElementwise(*this, adaptor.getOperands(), [](ArrayRef<int64_t> v) {
    return int64_t(uint64_t(v[0]) - uint64_t(v[1]));
  });
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  return foldElementwise(*this, adaptor.getOperands(), [](ArrayRef<int64_t> v) {
    return int64_t(uint64_t(v[0]) * uint64_t(v[1]));
  });
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  if (hasUnsigned(*this))
    return {};
  return foldElementwise(*this, adaptor.getOperands(),
                         [](ArrayRef<int64_t> v) -> std::optional<int64_t> {
                           if (v[1] == 0 || (v[0] == INT64_MIN && v[1] == -1))
                             return std::nullopt;
                           return v[0] / v[1];
                         });
}

OpFoldResult ModOp::fold(FoldAdaptor adaptor) {
  if (hasUnsigned(*this))
    return {};
  return foldElementwise(*this, adaptor.getOperands(),
                         [](ArrayRef<int64_t> v) -> std::optional<int64_t> {
                           if (v[1] == 0 || v[1] == -1)
                             return std::nullopt;
                           int64_t r = v[0] % v[1];
                           return r != 0 && (r < 0) != (v[1] < 0) ? r + v[1] : r;
                         });
}

OpFoldResult MaximumOp::fold(FoldAdaptor adaptor) {
  if (hasUnsigned(*this))
    return {};
  return foldElementwise(*this, adaptor.getOperands(),
                         [](ArrayRef<int64_t> v) { return std::max(v[0], v[1]); });
}

OpFoldResult MinimumOp::fold(FoldAdaptor adaptor) {
  if (hasUnsigned(*this))
    return {};
  return foldElementwise(*this, adaptor.getOperands(),
                         [](ArrayRef<int64_t> v) { return std::min(v[0], v[1]); });
}

OpFoldResult CompareOp::fold(FoldAdaptor adaptor) {
  if (hasUnsigned(*this))
    return {};
  CompareDirection direction = getDirection();
  return foldElementwise(*this, adaptor.getOperands(), [&](ArrayRef<int64_t> v) -> int64_t {
    switch (direction) {
    case CompareDirection::EQ:
      return v[0] == v[1];
    case CompareDirection::NE:
      return v[0] != v[1];
    case CompareDirection::LT:
      return v[0] < v[1];
    case CompareDirection::LE:
      return v[0] <= v[1];
    case CompareDirection::GT:
      return v[0] > v[1];
    case CompareDirection::GE:
      return v[0] >= v[1];
    }
    llvm_unreachable("all directions are handled");
  });
}

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  return foldElementwise(*this, adaptor.getOperands(),
                         [](ArrayRef<int64_t> v) { return v[0] ? v[1] : v[2]; });
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return unlessRequested(*this, getInput());
  bool toBool = getElementTypeOrSelf(getType()).isInteger(1);
  return foldElementwise(*this, adaptor.getOperands(),
                         [&](ArrayRef<int64_t> v) { return toBool ? int64_t(v[0] != 0) : v[0]; });
}

OpFoldResult DropoutOp::fold(FoldAdaptor) { return unlessRequested(*this, getInput()); }

OpFoldResult ReduceProdOp::fold(FoldAdaptor adaptor) {
  auto values = getConstantIntegers(adaptor.getInput());
  if (!values || !isSmallStatic(getType()) || getType().getNumElements() != 1)
    return {};
  uint64_t product = 1;
  for (int64_t v : *values)
    product *= uint64_t(v);
  return unlessRequested(*this, makeIntegers(getType(), {int64_t(product)}));
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

/// Whether the operand's constant asks for a device: its other shape would not.
static bool requestsInput(Operation *op) {
  Operation *maker = op->getOperand(0).getDefiningOp();
  return maker && hasRequest(maker);
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  // A requested view is a copy of the operand; it is neither skipped nor folded away.
  if (getInput().getType() == getType() && getType().hasStaticShape())
    return unlessRequested(*this, getInput());
  auto inner = getInput().getDefiningOp<ReshapeOp>();
  if (inner && (!hasRequest(inner) || getRequest(inner) == getRequest(*this))) {
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  // Any constant may take another shape: no element is touched.
  if (auto dense = dyn_cast_if_present<DenseElementsAttr>(adaptor.getInput()))
    if (getType().hasStaticShape() && !requestsInput(*this))
      return unlessRequested(*this, dense.reshape(getType()));
  return {};
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  auto identity = llvm::seq<int64_t>(0, getPermutation().size());
  if (llvm::equal(getPermutation(), identity) && getInput().getType() == getType())
    return unlessRequested(*this, getInput());
  return {};
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType() && getType().hasStaticShape())
    return unlessRequested(*this, getInput());
  return foldElementwise(*this, adaptor.getOperands(), [](ArrayRef<int64_t> v) { return v[0]; });
}

OpFoldResult ConcatOp::fold(FoldAdaptor adaptor) {
  if (getInputs().size() == 1 && getInputs()[0].getType() == getType())
    return unlessRequested(*this, getInputs()[0]);
  // An empty piece adds nothing.
  for (auto [i, input] : llvm::enumerate(getInputs()))
    if (cast<RankedTensorType>(input.getType()).getDimSize(getAxis()) == 0 &&
        getInputs().size() > 1) {
      getInputsMutable().erase(i);
      return getResult();
    }
  if (getType().getRank() != 1)
    return {};
  Ints all;
  for (Attribute input : adaptor.getInputs()) {
    auto values = getConstantIntegers(input);
    if (!values)
      return {};
    llvm::append_range(all, *values);
  }
  return unlessRequested(*this, makeIntegers(getType(), all));
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  bool whole = getInput().getType() == getType() && getType().hasStaticShape() &&
               llvm::all_of(getStarts(), [](int64_t s) { return s == 0; }) &&
               llvm::all_of(getSteps(), [](int64_t s) { return s == 1; });
  if (whole)
    return unlessRequested(*this, getInput());
  auto values = getConstantIntegers(adaptor.getInput());
  if (!values || getType().getRank() != 1)
    return {};
  Ints picked;
  for (int64_t i = 0; i < getSizes()[0]; ++i)
    picked.push_back((*values)[getStarts()[0] + i * getSteps()[0]]);
  return unlessRequested(*this, makeIntegers(getType(), picked));
}

OpFoldResult GatherOp::fold(FoldAdaptor adaptor) {
  auto values = getConstantIntegers(adaptor.getInput());
  auto indices = getConstantIntegers(adaptor.getIndices());
  if (!values || !indices || values->empty() || getInput().getType().getRank() != 1)
    return {};
  Ints picked;
  int64_t n = values->size();
  for (int64_t i : *indices)
    picked.push_back((*values)[std::clamp<int64_t>(i < 0 ? i + n : i, 0, n - 1)]);
  return unlessRequested(*this, makeIntegers(getType(), picked));
}
