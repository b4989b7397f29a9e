// Expresses rare ops and padding by common ones, and takes away what works on nothing.

#include "gantry/Dialect/Gantry/IR/Borders.h"
#include "gantry/Dialect/Gantry/IR/Requests.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_DECOMPOSEOPSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// Request, name and the like go from an op to what takes its place.
static void inherit(Operation *from, Operation *to) {
  to->setDiscardableAttrs(from->getDiscardableAttrDictionary());
}

/// The code of a kernel grows with its operands, and the time to make it faster than that.
constexpr size_t kMostOperands = 64;

/// Slices of `input` in a row along the axis of `op`, one of each size. Each is a kernel of its
/// own; many are cut from groups, so that equal pieces at the same place of a group share one.
static SmallVector<Value> cut(SplitOp op, Value input, ArrayRef<int64_t> sizes,
                              PatternRewriter &rewriter) {
  SmallVector<Value> pieces;
  if (sizes.size() > kMostOperands) {
    SmallVector<int64_t> sums;
    for (size_t first = 0; first < sizes.size(); first += kMostOperands)
      sums.push_back(llvm::sum_of(sizes.drop_front(first).take_front(kMostOperands)));
    for (Value group : cut(op, input, sums, rewriter)) {
      llvm::append_range(pieces, cut(op, group, sizes.take_front(kMostOperands), rewriter));
      sizes = sizes.drop_front(std::min(kMostOperands, sizes.size()));
    }
    return pieces;
  }
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<int64_t> starts(type.getRank(), 0), steps(type.getRank(), 1), shape(type.getShape());
  for (int64_t size : sizes) {
    shape[op.getAxis()] = size;
    auto slice =
        SliceOp::create(rewriter, op.getLoc(), input, rewriter.getDenseI64ArrayAttr(starts),
                        rewriter.getDenseI64ArrayAttr(shape), rewriter.getDenseI64ArrayAttr(steps));
    inherit(op, slice);
    pieces.push_back(slice);
    starts[op.getAxis()] += size;
  }
  return pieces;
}

/// gantry.split: a slice for each piece. All at once: each change of a reader of all of them makes
/// the driver look at all of its operands again.
static LogicalResult splitIntoSlices(SplitOp op, PatternRewriter &rewriter) {
  rewriter.replaceOp(op, cut(op, op.getInput(), op.getSizes(), rewriter));
  return success();
}

/// gantry.concat of many values: of groups of them, and then of the groups. A kernel's code has a
/// loop for each operand, and groups of the same shapes share one.
static LogicalResult concatInGroups(ConcatOp op, PatternRewriter &rewriter) {
  if (op.getInputs().size() <= kMostOperands)
    return failure();
  SmallVector<Value> groups;
  for (ValueRange rest = op.getInputs(); !rest.empty();) {
    ValueRange group = rest.take_front(kMostOperands);
    rest = rest.drop_front(group.size());
    if (group.size() == 1) {
      groups.push_back(group.front());
      continue;
    }
    auto joined = ConcatOp::create(rewriter, op.getLoc(), group, op.getAxis());
    inherit(op, joined);
    groups.push_back(joined);
  }
  rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(groups); });
  return success();
}

/// As many narrow values as share a kernel with a cast for each, and with one of the sum.
constexpr size_t kMostNarrowOperands = 30;

/// gantry.add_n of many values: each group is added to the sum of those before, so that the order
/// stays the same, and with it every bit. Sums of f16 and bf16 are rounded once, at the end: their
/// groups are added as f32.
static LogicalResult addInGroups(AddNOp op, PatternRewriter &rewriter) {
  if (op.getInputs().size() <= kMostOperands)
    return failure();
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Type element = type.getElementType();
  bool isNarrow = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  size_t most = isNarrow ? kMostNarrowOperands : kMostOperands;
  Type sumType = isNarrow ? type.clone(rewriter.getF32Type()) : type;
  auto widen = [&](Value value) -> Value {
    if (!isNarrow)
      return value;
    auto wide = CastOp::create(rewriter, op.getLoc(), sumType, value);
    inherit(op, wide);
    return wide;
  };
  Value sum = widen(op.getInputs().front());
  ValueRange rest = op.getInputs().drop_front();
  auto addNext = [&](size_t count) {
    SmallVector<Value> group{sum};
    for (Value value : rest.take_front(count))
      group.push_back(widen(value));
    rest = rest.drop_front(count);
    auto added = AddNOp::create(rewriter, op.getLoc(), sumType, group);
    inherit(op, added);
    return added;
  };
  for (int64_t part = 0; rest.size() >= most; ++part) {
    auto added = addNext(most - 1);
    added->setAttr(kPartAttr, rewriter.getI64IntegerAttr(part));
    sum = added;
  }
  sum = addNext(rest.size());
  if (isNarrow) {
    auto narrow = CastOp::create(rewriter, op.getLoc(), type, sum);
    inherit(op, narrow);
    sum = narrow;
  }
  rewriter.replaceOp(op, sum);
  return success();
}

/// Zero borders of a convolution become a value of their own; of floating point the convolution
/// keeps a mark of them, since +0 is added behind its sums.
static LogicalResult padBeforeConv(ConvOp op, PatternRewriter &rewriter) {
  auto isZero = [](int64_t p) { return p == 0; };
  if (llvm::all_of(op.getPadsLow(), isZero) && llvm::all_of(op.getPadsHigh(), isZero))
    return failure();
  auto type = op.getInput().getType();
  SmallVector<int64_t> low{0, 0}, high{0, 0};
  llvm::append_range(low, op.getPadsLow());
  llvm::append_range(high, op.getPadsHigh());
  auto scalar = RankedTensorType::get({}, type.getElementType());
  // Unsigned zeros need their own attribute type; any integer type takes the same bits.
  auto zero = ConstantOp::create(
      rewriter, op.getLoc(),
      isa<FloatType>(type.getElementType())
          ? DenseElementsAttr::get(
                scalar,
                APFloat::getZero(cast<FloatType>(type.getElementType()).getFloatSemantics()))
          : DenseElementsAttr::get(scalar, APInt(type.getElementTypeBitWidth(), 0)));
  auto pad = PadOp::create(rewriter, op.getLoc(), op.getInput(), zero,
                           rewriter.getDenseI64ArrayAttr(low), rewriter.getDenseI64ArrayAttr(high),
                           PadModeAttr::get(op.getContext(), PadMode::Constant));
  inherit(op, pad);
  if (auto name = op->getAttrOfType<StringAttr>(kNameAttr))
    pad->setAttr(kNameAttr, rewriter.getStringAttr(name.getValue() + "/pad"));
  SmallVector<int64_t> none(op.getPadsLow().size(), 0);
  rewriter.modifyOpInPlace(op, [&] {
    op.getInputMutable().assign(pad);
    op.setPadsLow(none);
    op.setPadsHigh(none);
    if (isa<FloatType>(type.getElementType()))
      setBorder(op, Border::PlusZero);
  });
  return success();
}

/// Sides of one element can go anywhere without a byte being moved.
static LogicalResult reshapeForTranspose(TransposeOp op, PatternRewriter &rewriter) {
  auto type = cast<RankedTensorType>(op.getInput().getType());
  SmallVector<int64_t> longs = llvm::filter_to_vector(
      op.getPermutation(), [&](int64_t d) { return type.getDimSize(d) != 1; });
  if (!type.hasStaticShape() || !llvm::is_sorted(longs) || hasRequest(op))
    return failure();
  auto reshape = ReshapeOp::create(rewriter, op.getLoc(), op.getType(), op.getInput());
  inherit(op, reshape);
  rewriter.replaceOp(op, reshape);
  return success();
}

/// The dimension of `shape` in front of which there are `before` elements, if it has more than one;
/// else -1.
static int64_t sideBehind(ArrayRef<int64_t> shape, int64_t before) {
  int64_t product = 1;
  for (auto [d, size] : llvm::enumerate(shape)) {
    if (product == before && size != 1)
      return d;
    product *= size;
  }
  return -1;
}

/// A part of the rows' elements in another shape, as the heads of queries that were computed with
/// keys and values: first the shape, which is a view, so that the part is next to what reads it.
static LogicalResult reshapeBeforeSlice(ReshapeOp op, PatternRewriter &rewriter) {
  auto slice = op.getInput().getDefiningOp<SliceOp>();
  if (!slice || !slice->hasOneUse() || hasRequest(op) || hasRequest(slice) ||
      op.getType().getNumElements() == 0)
    return failure();
  ArrayRef<int64_t> whole = cast<RankedTensorType>(slice.getInput().getType()).getShape();
  ArrayRef<int64_t> shape = op.getType().getShape();
  int64_t axis = -1, before = 1, behind = 1;
  for (auto [d, size] : llvm::enumerate(whole)) {
    if (slice.getSteps()[d] != 1 || (size != slice.getSizes()[d] && axis >= 0))
      return failure();
    if (size != slice.getSizes()[d])
      axis = d;
    else
      (axis < 0 ? before : behind) *= size;
  }
  const int64_t side = axis < 0 ? -1 : sideBehind(shape, before);
  if (side < 0)
    return failure();
  const int64_t unit = ShapedType::getNumElements(shape.drop_front(side + 1));
  if (whole[axis] * behind % unit != 0 || slice.getStarts()[axis] * behind % unit != 0)
    return failure();
  SmallVector<int64_t> view(shape), starts(shape.size(), 0), steps(shape.size(), 1);
  view[side] = whole[axis] * behind / unit;
  starts[side] = slice.getStarts()[axis] * behind / unit;
  auto reshape =
      ReshapeOp::create(rewriter, op.getLoc(), op.getType().clone(view), slice.getInput());
  auto part = SliceOp::create(
      rewriter, slice.getLoc(), op.getType(), reshape, rewriter.getDenseI64ArrayAttr(starts),
      rewriter.getDenseI64ArrayAttr(shape), rewriter.getDenseI64ArrayAttr(steps));
  inherit(op, reshape);
  inherit(slice, part);
  rewriter.replaceOp(op, part);
  return success();
}

static bool isEmpty(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 0;
}

static Value makeEmpty(Location loc, Type type, PatternRewriter &rewriter) {
  return ConstantOp::create(
      rewriter, loc, DenseElementsAttr::get(cast<RankedTensorType>(type), ArrayRef<Attribute>()));
}

namespace {
/// An op whose results have no elements: there is nothing to compute. They are where they were
/// asked to be made; a device that there is not is refused there.
struct DropEmptyOps : OpInterfaceRewritePattern<KernelOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(KernelOpInterface op, PatternRewriter &rewriter) const override {
    if (!llvm::all_of(op->getResultTypes(), isEmpty))
      return failure();
    SmallVector<Value> empties;
    for (Type type : op->getResultTypes()) {
      empties.push_back(makeEmpty(op->getLoc(), type, rewriter));
      inheritRequest(op, empties.back().getDefiningOp());
    }
    rewriter.replaceOp(op, empties);
    return success();
  }
};

/// Replicas exchange nothing of a value without elements.
struct DropEmptyAllReduce : OpRewritePattern<AllReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AllReduceOp op, PatternRewriter &rewriter) const override {
    if (!llvm::all_of(op->getResultTypes(), isEmpty))
      return failure();
    rewriter.replaceOp(op, op.getValues());
    return success();
  }
};

/// An operand without elements tells an op nothing but its type. A constant in its place goes into
/// the kernel, so that nothing is copied and no kernel takes a buffer of no bytes.
struct ReadNoEmpties : OpInterfaceRewritePattern<KernelOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(KernelOpInterface op, PatternRewriter &rewriter) const override {
    bool changed = false;
    for (OpOperand &operand : op->getOpOperands())
      if (isEmpty(operand.get().getType()) && !operand.get().getDefiningOp<ConstantOp>()) {
        Value empty = makeEmpty(op->getLoc(), operand.get().getType(), rewriter);
        rewriter.modifyOpInPlace(op, [&] { operand.set(empty); });
        changed = true;
      }
    return success(changed);
  }
};

struct DecomposeOps : gantry::impl::DecomposeOpsPassBase<DecomposeOps> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(splitIntoSlices);
    patterns.add(concatInGroups);
    patterns.add(addInGroups);
    patterns.add(padBeforeConv);
    patterns.add(reshapeForTranspose);
    patterns.add(reshapeBeforeSlice);
    patterns.add<DropEmptyOps, DropEmptyAllReduce, ReadNoEmpties>(&getContext());
    // Constants that ask for different devices stay apart (P1).
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns),
                                     GreedyRewriteConfig().enableConstantCSE(false))))
      signalPassFailure();
  }
};
} // namespace
