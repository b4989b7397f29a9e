// Cuts the rows of reductions into parts where the target asks for it: the parts are reduced by one
// kernel and what comes of them by another. How many there are depends on shapes alone, so the
// order in which terms are added does, too.

#include "gantry/Target/TargetMap.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

static constexpr llvm::StringLiteral kAxes = "axes", kKeepDims = "keep_dims";

/// Whether it makes no difference to the type's precision that parts are rounded to it.
static bool mayRoundParts(Operation *op) {
  Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  if (isa<ReduceMaxOp, ReduceMinOp>(op))
    return true;
  if (isa<ReduceMeanOp>(op))
    return element.isF32() || element.isF64();
  return isa<ReduceSumOp, ReduceProdOp>(op) && !element.isF16() && !element.isBF16();
}

/// The elements under another shape, where the op is.
static Value reshape(OpBuilder &builder, Operation *like, Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType()).clone(shape);
  if (type == value.getType())
    return value;
  auto view = ReshapeOp::create(builder, like->getLoc(), type, value);
  view->setDiscardableAttrs(like->getDiscardableAttrDictionary());
  view->removeDiscardableAttr(kNameAttr);
  return view;
}

/// The same reduction, along a dimension of `input`, which disappears.
static Operation *reduceAlong(OpBuilder &builder, Operation *op, Value input, int64_t axis) {
  Operation *copy = builder.clone(*op);
  SmallVector<int64_t> shape(cast<RankedTensorType>(input.getType()).getShape());
  shape.erase(shape.begin() + axis);
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  copy->setOperand(0, input);
  copy->setAttr(kAxes, builder.getDenseI64ArrayAttr({axis}));
  copy->removeAttr(kKeepDims);
  copy->getResult(0).setType(result.clone(shape));
  return copy;
}

static void split(Operation *op, int64_t parts) {
  OpBuilder builder(op);
  ArrayRef<int64_t> all = cast<RankedTensorType>(op->getOperand(0).getType()).getShape();
  auto axes = op->getAttrOfType<DenseI64ArrayAttr>(kAxes).asArrayRef();
  // Of the last dimensions, or of all; else of the first ones.
  const bool isLast = axes.back() == int64_t(all.size()) - 1;
  const size_t kept = all.size() - axes.size();
  ArrayRef<int64_t> along = isLast ? all.take_back(axes.size()) : all.take_front(axes.size());
  SmallVector<int64_t> shape(isLast ? all.take_front(kept) : ArrayRef<int64_t>());
  const int64_t axis = shape.size();
  shape.append({parts, ShapedType::getNumElements(along) / parts});
  if (!isLast)
    llvm::append_range(shape, all.take_back(kept));

  Operation *first =
      reduceAlong(builder, op, reshape(builder, op, op->getOperand(0), shape), axis + 1);
  if (auto name = op->getAttrOfType<StringAttr>(kNameAttr))
    first->setAttr(kNameAttr, builder.getStringAttr(name.getValue() + "/parts"));
  Operation *second = reduceAlong(builder, op, first->getResult(0), axis);
  ArrayRef<int64_t> result = cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  op->replaceAllUsesWith(ValueRange(reshape(builder, op, second->getResult(0), result)));
  op->erase();
}

namespace {
struct SplitReductions : gantry::impl::SplitReductionsPassBase<SplitReductions> {
  void runOnOperation() override {
    const TargetMap targets(getOperation());
    auto parts = [&](Operation *op) {
      const Target *target = targets.targetsOf(op).front();
      return target ? target->getPartsOfReduction(op) : 1;
    };
    SmallVector<std::pair<Operation *, int64_t>> wanted;
    getOperation().walk([&](Operation *op) {
      auto kernel = dyn_cast<KernelOpInterface>(op);
      if (!kernel || kernel.getFusionKind() != FusionKind::Reduction || !op->hasAttr(kAxes) ||
          !mayRoundParts(op))
        return;
      if (int64_t count = parts(op); count > 1)
        wanted.emplace_back(op, count);
    });
    for (auto [op, count] : wanted)
      split(op, count);
  }
};
} // namespace
