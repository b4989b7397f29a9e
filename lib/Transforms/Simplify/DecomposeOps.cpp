// Expresses rare ops and padding by common ones, and takes away what works on nothing.

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
  for (StringRef name : kPlacementAttrs)
    if (Attribute value = from->getAttr(name))
      to->setAttr(name, value);
}

/// The code of a kernel grows with its operands, and the time to make it faster than that.
constexpr size_t kMostOperands = 64;

static LogicalResult splitInGroups(SplitOp op, PatternRewriter &rewriter) {
  SmallVector<int64_t> sums;
  for (ArrayRef<int64_t> rest = op.getSizes(); !rest.empty();) {
    ArrayRef<int64_t> group = rest.take_front(kMostOperands);
    rest = rest.drop_front(group.size());
    sums.push_back(llvm::sum_of(group));
  }
  auto makeSplit = [&](Value input, ArrayRef<int64_t> sizes) {
    auto split = SplitOp::create(rewriter, op.getLoc(), input, op.getAxis(), sizes);
    inherit(op, split);
    return split;
  };
  SmallVector<Value> pieces;
  ArrayRef<int64_t> rest = op.getSizes();
  for (Value whole : makeSplit(op.getInput(), sums).getResults()) {
    ArrayRef<int64_t> group = rest.take_front(kMostOperands);
    rest = rest.drop_front(group.size());
    llvm::append_range(pieces, makeSplit(whole, group).getResults());
  }
  rewriter.replaceOp(op, pieces);
  return success();
}

/// gantry.split: one slice for each piece, which is a kernel of its own. Many are first split in
/// groups, so that equal pieces at equal places of groups share a kernel.
static LogicalResult splitIntoSlices(SplitOp op, PatternRewriter &rewriter) {
  if (op.getSizes().size() > kMostOperands)
    return splitInGroups(op, rewriter);
  auto type = op.getInput().getType();
  SmallVector<int64_t> starts(type.getRank(), 0), steps(type.getRank(), 1), sizes(type.getShape());
  SmallVector<Value> pieces;
  for (int64_t size : op.getSizes()) {
    sizes[op.getAxis()] = size;
    auto slice =
        SliceOp::create(rewriter, op.getLoc(), op.getInput(), rewriter.getDenseI64ArrayAttr(starts),
                        rewriter.getDenseI64ArrayAttr(sizes), rewriter.getDenseI64ArrayAttr(steps));
    inherit(op, slice);
    pieces.push_back(slice);
    starts[op.getAxis()] += size;
  }
  rewriter.replaceOp(op, pieces);
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

/// gantry.add_n of many values: each group is added to the sum of those before, so that the order
/// stays the same, and with it every bit. Sums of f16 and bf16 are rounded once, at the end, and
/// stay whole.
static LogicalResult addInGroups(AddNOp op, PatternRewriter &rewriter) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Type element = type.getElementType();
  if (op.getInputs().size() <= kMostOperands ||
      (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32))
    return failure();
  Value sum = op.getInputs().front();
  ValueRange rest = op.getInputs().drop_front();
  auto withNext = [&](size_t count) {
    SmallVector<Value> group{sum};
    llvm::append_range(group, rest.take_front(count));
    rest = rest.drop_front(count);
    return group;
  };
  while (rest.size() >= kMostOperands) {
    auto added = AddNOp::create(rewriter, op.getLoc(), type, withNext(kMostOperands - 1));
    inherit(op, added);
    sum = added;
  }
  SmallVector<Value> last = withNext(rest.size());
  rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(last); });
  return success();
}

/// Zero borders of a convolution become a value of their own.
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
  });
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
    patterns.add<DropEmptyOps, DropEmptyAllReduce, ReadNoEmpties>(&getContext());
    // Constants that ask for different devices stay apart (P1).
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns),
                                     GreedyRewriteConfig().enableConstantCSE(false))))
      signalPassFailure();
  }
};
} // namespace
