#include "gantry/Dialect/Gantry/IR/GradientBuilder.h"

#include "gantry/Dialect/Gantry/IR/Requests.h"

using namespace mlir;
using namespace gantry;

bool gantry::carriesGradients(Type type) {
  return isa<RankedTensorType>(type) && isa<FloatType>(getElementTypeOrSelf(type));
}

StringRef gantry::givenNameOf(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(kNameAttr);
  return name && !name.empty() ? name.getValue() : nodeNameOf(op->getLoc());
}

static OpBuilder atEnd(Block &block) {
  bool isOpen = block.empty() || !block.back().hasTrait<OpTrait::IsTerminator>();
  return isOpen ? OpBuilder::atBlockEnd(&block) : OpBuilder::atBlockTerminator(&block);
}

GradientBuilder::GradientBuilder(Operation *op, Block &block, ArrayRef<Value> cotangents,
                                 IsWanted isWanted)
    : OpBuilder(atEnd(block)), op(op), cotangents(cotangents), isWanted(std::move(isWanted)) {}

Value GradientBuilder::ofResult(unsigned result) {
  Value &cotangent = cotangents[result];
  if (!cotangent)
    cotangent = zeros(typeOf(op->getResult(result)));
  return cotangent;
}

void GradientBuilder::give(unsigned operand, Value gradient, StringRef name) {
  Value value = op->getOperand(operand);
  Value fitting = fit(gradient, typeOf(value));
  Operation *maker = fitting.getDefiningOp();
  // What comes from elsewhere has a name already.
  StringRef own = givenNameOf(op);
  if (!name.empty() && maker && !own.empty() &&
      maker->getAttr(kNameAttr) == getStringAttr(own + "/grad"))
    setName(maker, "/grad_" + name);
  parts.emplace_back(value, fitting);
}

void GradientBuilder::give(Value value, Value gradient) {
  parts.emplace_back(value, fit(gradient, typeOf(value)));
}

Value GradientBuilder::number(double value, Type like) {
  Type element = getElementTypeOrSelf(like);
  auto type = RankedTensorType::get({}, element);
  auto elements = isa<FloatType>(element)
                      ? DenseElementsAttr::get(type, Attribute(getFloatAttr(element, value)))
                      : DenseElementsAttr::get(
                            type, APInt(element.getIntOrFloatBitWidth(), uint64_t(int64_t(value)),
                                        /*isSigned=*/true, /*implicitTrunc=*/true));
  // A constant is wherever it is used, and asks for nothing.
  return ConstantOp::create(*this, op->getLoc(), elements);
}

Value GradientBuilder::filled(double value, RankedTensorType type) {
  Value scalar = number(value, type);
  return type.getRank() == 0 ? scalar : Value(make<BroadcastOp>(type, scalar));
}

Value GradientBuilder::cast(Value value, Type element) {
  RankedTensorType type = typeOf(value);
  return type.getElementType() == element ? value : Value(make<CastOp>(type.clone(element), value));
}

Value GradientBuilder::wide(Value value) {
  Type element = typeOf(value).getElementType();
  return cast(value, element.isF16() || element.isBF16() ? getF32Type() : element);
}

/// Whether the value is the same along the axes.
static bool isStretched(Value value, ArrayRef<int64_t> axes, int64_t rank) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  ArrayRef<int64_t> shape = typeOf(value).getShape();
  const int64_t missing = rank - int64_t(shape.size());
  return llvm::all_of(axes,
                      [&](int64_t axis) { return axis < missing || shape[axis - missing] == 1; });
}

/// Whether the value adds up to zero along the axes by what it is: the deviation of something from
/// its own mean there, times what is the same along them.
static bool addsUpToZero(Value value, ArrayRef<int64_t> axes) {
  const int64_t rank = typeOf(value).getRank();
  auto has = [&](Value part) { return typeOf(part).getShape() == typeOf(value).getShape(); };
  if (auto neg = value.getDefiningOp<NegOp>())
    return addsUpToZero(neg->getOperand(0), axes);
  if (auto product = value.getDefiningOp<MulOp>()) {
    Value x = product.getLhs(), y = product.getRhs();
    return (has(x) && isStretched(y, axes, rank) && addsUpToZero(x, axes)) ||
           (has(y) && isStretched(x, axes, rank) && addsUpToZero(y, axes));
  }
  auto deviation = value.getDefiningOp<SubOp>();
  auto mean = deviation ? deviation.getRhs().getDefiningOp<ReduceMeanOp>() : ReduceMeanOp();
  return mean && mean.getInput() == deviation.getLhs() && mean.getKeepDims() &&
         isa<FloatType>(typeOf(value).getElementType()) &&
         llvm::all_of(mean.getAxes(), [&](int64_t axis) {
           return llvm::is_contained(axes, axis) || typeOf(value).getDimSize(axis) == 1;
         });
}

Value GradientBuilder::withoutZeroSums(Value value, ArrayRef<int64_t> axes) {
  auto has = [&](Value part) { return typeOf(part).getShape() == typeOf(value).getShape(); };
  if (auto neg = value.getDefiningOp<NegOp>()) {
    Value part = withoutZeroSums(neg->getOperand(0), axes);
    return part == neg->getOperand(0) ? value : Value(make<NegOp>(part));
  }
  if (auto sum = value.getDefiningOp<AddOp>(); sum && has(sum.getLhs()) && has(sum.getRhs())) {
    if (addsUpToZero(sum.getRhs(), axes))
      return withoutZeroSums(sum.getLhs(), axes);
    if (addsUpToZero(sum.getLhs(), axes))
      return withoutZeroSums(sum.getRhs(), axes);
  }
  return value;
}

Value GradientBuilder::fit(Value value, RankedTensorType type) {
  RankedTensorType own = typeOf(value);
  int64_t extra = own.getRank() - type.getRank();
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < own.getRank(); ++axis)
    if (axis < extra || own.getDimSize(axis) != type.getDimSize(axis - extra))
      axes.push_back(axis);
  if (!axes.empty())
    value = make<ReduceSumOp>(withoutZeroSums(value, axes), axes, /*keep_dims=*/false);
  if (typeOf(value).getShape() != type.getShape())
    value = make<ReshapeOp>(type.clone(own.getElementType()), value);
  return cast(value, type.getElementType());
}

void GradientBuilder::belong(Operation *made) {
  inheritRequest(op, made);
  setName(made, "/grad");
}

void GradientBuilder::setName(Operation *made, const Twine &suffix) {
  if (StringRef own = givenNameOf(op); !own.empty() && isa<KernelOpInterface>(made))
    made->setAttr(kNameAttr, getStringAttr(own + suffix));
}
