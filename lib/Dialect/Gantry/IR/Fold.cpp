// Folding: identities of any type, told by the ops, and arithmetic on small integer constants, for
// all ops alike.
//
// Only integers and truth values are computed here, because that is what shapes are made of.
// Compute on floating-point constants is placed and logged like any other, and so is what does
// nothing but was asked to run somewhere: every fold ends with unlessRequested (spec P1).

#include "Fold.h"

#include "gantry/Dialect/Gantry/IR/Elements.h"
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

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Whether the operand's constant asks for a device: its other shape would not.
static bool requestsInput(Operation *op) {
  Operation *maker = op->getOperand(0).getDefiningOp();
  return maker && hasRequest(maker);
}

static bool isIntegerConstant(Attribute attr) {
  auto elements = dyn_cast_if_present<ElementsAttr>(attr);
  return elements && isa<IntegerType>(elements.getElementType());
}

LogicalResult ConstantFolder::fold(Operation *op, ArrayRef<Attribute> operands,
                                   SmallVectorImpl<OpFoldResult> &results) const {
  if (op->getNumResults() != 1 || operands.empty() || !llvm::all_of(operands, isIntegerConstant))
    return failure();
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape() || !isa<IntegerType>(type.getElementType()) ||
      type.getNumElements() > kMaxFolded || (isa<ReshapeOp>(op) && requestsInput(op)))
    return failure();
  std::optional<KnownElements> elements =
      evaluateOp(op, [&](unsigned i) { return readElements(cast<ElementsAttr>(operands[i])); });
  if (!elements)
    return failure();
  OpFoldResult folded = unlessRequested(op, Attribute(makeElements(type, *elements)));
  if (!folded)
    return failure();
  results.push_back(folded);
  return success();
}

//===----------------------------------------------------------------------===//
// Identities
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? unlessRequested(*this, getInput()) : OpFoldResult();
}

OpFoldResult DropoutOp::fold(FoldAdaptor) { return unlessRequested(*this, getInput()); }

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

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType() && getType().hasStaticShape())
    return unlessRequested(*this, getInput());
  return {};
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getInputs().size() == 1 && getInputs()[0].getType() == getType())
    return unlessRequested(*this, getInputs()[0]);
  // An empty piece adds nothing; one has to stay when there is nothing else.
  SmallVector<Value> pieces = llvm::filter_to_vector(getInputs(), [&](Value input) {
    return cast<RankedTensorType>(input.getType()).getDimSize(getAxis()) != 0;
  });
  if (pieces.empty())
    pieces.push_back(getInputs()[0]);
  if (pieces.size() == getInputs().size())
    return {};
  getInputsMutable().assign(pieces);
  return getResult();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool whole = getInput().getType() == getType() && getType().hasStaticShape() &&
               llvm::all_of(getStarts(), [](int64_t s) { return s == 0; }) &&
               llvm::all_of(getSteps(), [](int64_t s) { return s == 1; });
  return whole ? unlessRequested(*this, getInput()) : OpFoldResult();
}
