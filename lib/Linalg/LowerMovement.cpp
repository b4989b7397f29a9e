// Ops that move elements without computing: constants, reshape, transpose, broadcast, concat,
// slice, split, pad, iota.

#include "ElementwiseScalars.h"
#include "Patterns.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

static Value lowerConstant(ConstantOp op, ConstantOp::Adaptor, Emitter &b) {
  if (ElementsAttr value = signlessElements(op.getValue()))
    return arith::ConstantOp::create(b, cast<TypedAttr>(value));
  op.emitOpError()
      << "has elements in a form that kernels cannot hold; use dense or dense_resource";
  return {};
}

static Value lowerReshape(ReshapeOp op, ReshapeOp::Adaptor in, Emitter &b) {
  return b.reshape(in.getInput(), op.getType().getShape());
}

/// A copy that reads through `input`'s map.
static Value copy(Emitter &b, ArrayRef<int64_t> shape, Operand input) {
  return b.elementwise(shape, elementOf(input.value), input,
                       [](Emitter &, ValueRange x) { return x[0]; });
}

static Value lowerTranspose(TransposeOp op, TransposeOp::Adaptor in, Emitter &b) {
  ArrayRef<int64_t> permutation = op.getPermutation();
  SmallVector<AffineExpr> exprs(permutation.size());
  for (auto [i, source] : llvm::enumerate(permutation))
    exprs[source] = b.dim(i);
  return copy(b, op.getType().getShape(), {in.getInput(), b.mapOf(permutation.size(), exprs)});
}

static Value lowerBroadcast(BroadcastOp op, BroadcastOp::Adaptor in, Emitter &b) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  return copy(b, shape, b.broadcast(in.getInput(), shape));
}

/// One op for any number of inputs: as a kernel's result each input is copied to its place in the
/// buffer (AddDestinations). A chain of insertions would be analysed pair by pair.
static Value lowerConcat(ConcatOp op, ConcatOp::Adaptor in, Emitter &b) {
  SmallVector<Value> pieces;
  for (Value input : in.getInputs())
    if (shapeOf(input)[op.getAxis()] != 0)
      pieces.push_back(input);
  Type type = b.tensorType(op.getType().getShape(), elementOf(in.getInputs()[0]));
  if (pieces.empty())
    return b.empty(op.getType().getShape(), elementOf(in.getInputs()[0]));
  return tensor::ConcatOp::create(b, type, op.getAxis(), pieces);
}

/// Boxes with forward steps are views that other ops read through; a copy reads backward ones.
static Value lowerSlice(SliceOp op, SliceOp::Adaptor in, Emitter &b) {
  ArrayRef<int64_t> starts = op.getStarts(), steps = op.getSteps(), sizes = op.getSizes();
  bool isEmpty = llvm::is_contained(sizes, 0);
  if (isEmpty)
    return b.empty(sizes, elementOf(in.getInput()));
  if (llvm::all_of(steps, [](int64_t step) { return step > 0; })) {
    Value box = b.extractSlice(in.getInput(), starts, sizes, steps);
    return copy(b, sizes, b.identity(box));
  }
  return b.pick(sizes, in.getInput(), {}, [&](Emitter &e, unsigned i, ValueRange) {
    return e.add(e.mul(e.loopIndex(i), e.index(steps[i])), e.index(starts[i]));
  });
}

static SmallVector<Value> lowerSplit(SplitOp op, SplitOp::Adaptor in, Emitter &b) {
  Shape start(shapeOf(in.getInput()).size(), 0), sizes(shapeOf(in.getInput()));
  SmallVector<Value> pieces;
  for (int64_t size : op.getSizes()) {
    sizes[op.getAxis()] = size;
    pieces.push_back(copy(b, sizes, b.identity(b.extractSlice(in.getInput(), start, sizes))));
    start[op.getAxis()] += size;
  }
  return pieces;
}

/// The input index that border and inside read, for a position counted from the input's start.
static Value sourceIndex(Emitter &b, Value position, int64_t size, PadMode mode) {
  Value last = b.index(size - 1);
  if (mode == PadMode::Edge)
    return b.clampIndex(position, size);
  Value below = b.compare(arith::CmpIPredicate::slt, position, b.index(0));
  Value above = b.compare(arith::CmpIPredicate::sgt, position, last);
  Value low, high;
  if (mode == PadMode::Reflect) {
    low = b.sub(b.index(0), position);
    high = b.sub(b.index(2 * (size - 1)), position);
  } else {
    low = b.add(position, b.index(size));
    high = b.sub(position, b.index(size));
  }
  return b.select(below, low, b.select(above, high, position));
}

static Value lowerPad(PadOp op, PadOp::Adaptor in, Emitter &b) {
  ArrayRef<int64_t> low = op.getLow(), high = op.getHigh();
  ArrayRef<int64_t> shape = op.getType().getShape(), input = shapeOf(in.getInput());
  if (op.getMode() == PadMode::Constant) {
    Value border = b.scalarOf(in.getValue());
    // As a kernel's result it is written in place: the border everywhere, then the input. Before
    // other ops it is a tensor.pad, which tiling computes piece by piece.
    if (llvm::all_of(op->getUsers(), llvm::IsaPred<YieldOp>))
      return b.insertSlice(in.getInput(), b.filled(shape, border), low);
    return b.pad(in.getInput(), low, high, border);
  }
  return b.pick(shape, in.getInput(), {}, [&](Emitter &e, unsigned i, ValueRange) {
    Value position = e.loopIndex(i);
    return low[i] || high[i]
               ? sourceIndex(e, e.sub(position, e.index(low[i])), input[i], op.getMode())
               : position;
  });
}

static Value lowerIota(IotaOp op, IotaOp::Adaptor, Emitter &b) {
  Type element = op.getType().getElementType();
  return b.elementwise(op.getType().getShape(), signless(element), {}, [&](Emitter &e, ValueRange) {
    Value i = arith::IndexCastOp::create(e, e.getI64Type(), e.loopIndex(op.getAxis()));
    return emitCast(e, i, e.getI64Type(), element);
  });
}

void gantry::populateMovementPatterns(SignlessTypeConverter &converter,
                                      RewritePatternSet &patterns) {
  addLowering<ConstantOp, lowerConstant>(converter, patterns);
  addLowering<ReshapeOp, lowerReshape>(converter, patterns);
  addLowering<TransposeOp, lowerTranspose>(converter, patterns);
  addLowering<BroadcastOp, lowerBroadcast>(converter, patterns);
  addLowering<ConcatOp, lowerConcat>(converter, patterns);
  addLowering<SliceOp, lowerSlice>(converter, patterns);
  addLowering<SplitOp, lowerSplit>(converter, patterns);
  addLowering<PadOp, lowerPad>(converter, patterns);
  addLowering<IotaOp, lowerIota>(converter, patterns);
}
