// Products: each is made of the others. Matrix products give matrix products, whose transposes are
// flags; of conv, conv_transpose and conv_filter_grad any two are the rule of the third.

#include "Rules.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

static Term product(Term x, Term y, bool transposeX, bool transposeY) {
  return {*x.b, x.b->make<MatmulOp>(x, y, transposeX, transposeY, TypeAttr(), BlockQuantizedAttr(),
                                    UnitAttr())};
}

/// The batch as rows: [..., m, k] as [... m, k].
static Term asRows(Term x) {
  ArrayRef<int64_t> shape = shapeOf(x);
  return reshaped(x, {ShapedType::getNumElements(shape.drop_back()), shape.back()});
}

/// Weights that a batch shares: one product over all of its rows, in the place of one for each
/// index of the batch and a sum of them.
static void giveShared(MatmulOp op, GradientBuilder &b) {
  Term d = asRows({b, b.ofResult()}), x = asRows({b, op.getLhs()});
  b.give(1, op.getTransposeB() ? product(d, x, true, false) : product(x, d, true, false), "rhs");
}

template <typename Op>
static std::string refuseOtherSums(Op op, unsigned) {
  bool isPlain = elementOf(op.getResult()) == elementOf(op->getOperand(0));
  return isPlain ? "" : "with sums of another type than its factors has no gradient";
}

/// C = A B: A gets dC B^T, B gets A^T dC. Where an operand was broadcast, its batches are added up
/// in f32, and so are computed in f32.
static void buildMatmul(MatmulOp op, GradientBuilder &b) {
  const bool ta = op.getTransposeA(), tb = op.getTransposeB();
  ArrayRef<int64_t> batch = op.getType().getShape().drop_back(2);
  auto factors = [&](unsigned operand, Value other) {
    bool isBroadcast = shapeOf(op->getOperand(operand)).drop_back(2) != batch;
    auto term = [&](Value value) { return isBroadcast ? wide(b, value) : Term(b, value); };
    return std::pair(term(b.ofResult()), term(other));
  };
  if (b.wants(0u)) {
    auto [d, y] = factors(0, op.getRhs());
    b.give(0, ta ? product(y, d, tb, true) : product(d, y, false, !tb), "lhs");
  }
  if (!b.wants(1u))
    return;
  if (rankOf(op.getRhs()) == 2 && rankOf(op.getLhs()) > 2 && !ta)
    return giveShared(op, b);
  auto [d, x] = factors(1, op.getLhs());
  b.give(1, tb ? product(d, x, true, ta) : product(x, d, !ta, false), "rhs");
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

namespace {
/// What a convolution and the ops of its ways back have in common.
struct Windows {
  Shape window, strides, low, high, dilations;
  int64_t groups;

  template <typename Op>
  Windows(Op op, ArrayRef<int64_t> window)
      : window(window), strides(op.getStrides()), low(op.getPadsLow()), high(op.getPadsHigh()),
        dilations(op.getDilations()), groups(op.getGroups()) {}

  /// How many places of the image `out` windows reach, borders left out.
  int64_t reach(unsigned i, int64_t out) const {
    return strides[i] * (out - 1) + dilations[i] * (window[i] - 1) + 1 - low[i] - high[i];
  }

  Term conv(Term x, Term filter) const {
    return {*x.b, x.b->make<ConvOp>(x, filter, strides, low, high, dilations, groups, TypeAttr(),
                                    ImageLayoutAttr(), BorderAttr())};
  }
  Term filterGrad(Term x, Term d) const {
    return {*x.b, x.b->make<ConvFilterGradOp>(x, d, window, strides, low, high, dilations, groups)};
  }
  /// To an image of the spatial shape `image`: what the last windows do not reach gets zeros.
  Term spread(Term d, Term filter, ArrayRef<int64_t> image) const;
};
} // namespace

Term Windows::spread(Term d, Term filter, ArrayRef<int64_t> image) const {
  Shape outputPads;
  for (auto [i, size] : llvm::enumerate(image))
    outputPads.push_back(size - reach(i, shapeOf(d)[i + 2]));
  return {*d.b,
          d.b->make<ConvTransposeOp>(d, filter, strides, low, high, dilations, outputPads, groups)};
}

static void buildConv(ConvOp op, GradientBuilder &b) {
  Windows windows(op, shapeOf(op.getFilter()).drop_front(2));
  Term d(b, b.ofResult()), x(b, op.getInput()), filter(b, op.getFilter());
  if (b.wants(0u))
    b.give(0, windows.spread(d, filter, shapeOf(x).drop_front(2)));
  if (b.wants(1u))
    b.give(1, windows.filterGrad(x, d), "filter");
}

static void buildConvFilterGrad(ConvFilterGradOp op, GradientBuilder &b) {
  Windows windows(op, op.getWindow());
  Term d(b, b.ofResult()), x(b, op.getInput()), cotangent(b, op.getCotangent());
  if (b.wants(0u))
    b.give(0, windows.spread(cotangent, d, shapeOf(x).drop_front(2)), "input");
  if (b.wants(1u))
    b.give(1, windows.conv(x, d), "cotangent");
}

/// A convolution of the cotangent has one place for each element of the input when `output_pads`,
/// which no window reaches, takes away from the border behind; what is left of it is cut off.
static void buildConvTranspose(ConvTransposeOp op, GradientBuilder &b) {
  Windows windows(op, shapeOf(op.getFilter()).drop_front(2));
  Term d(b, b.ofResult());
  for (auto [i, pad] : llvm::enumerate(op.getOutputPads())) {
    int64_t cut = std::max<int64_t>(pad - windows.high[i], 0);
    windows.high[i] = std::max<int64_t>(windows.high[i] - pad, 0);
    d = sliced(d, i + 2, 0, shapeOf(d)[i + 2] - cut);
  }
  if (b.wants(0u))
    b.give(0, windows.conv(d, {b, op.getFilter()}));
  if (b.wants(1u))
    b.give(1, windows.filterGrad(d, {b, op.getInput()}), "filter");
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Which keys a causal query does not see: those behind it.
static Term behind(GradientBuilder &b, ArrayRef<int64_t> scores) {
  auto type = RankedTensorType::get(scores.take_back(2), b.getI64Type());
  Term row(b, b.make<IotaOp>(type, uint64_t(0))), column(b, b.make<IotaOp>(type, uint64_t(1)));
  return column > row;
}

/// Scores and weights are made again, so that nothing as large is kept. In f32 where operands are
/// narrower. A row of scores that are all -inf is NaN on the way there, and here.
static void buildAttention(AttentionOp op, GradientBuilder &b) {
  const double scale = op.getScale().convertToDouble();
  Term d = wideCotangent(b), q = wide(b, op.getQuery()), k = wide(b, op.getKey()),
       v = wide(b, op.getValue());
  Term scores = product(q, k, false, true) * scale;
  if (op.getMask())
    scores = scores + wide(b, op.getMask());
  if (op.getCausal())
    scores = scores.number(-std::numeric_limits<double>::infinity())
                 .where(behind(b, shapeOf(scores)), scores);
  uint64_t last = rankOf(scores) - 1;
  Term weights(b, b.make<SoftmaxOp>(scores, last));
  if (b.wants(2u))
    b.give(2, product(weights, d, true, false), "value");
  bool wantsMask = op.getMask() && b.wants(3u);
  if (!b.wants(0u) && !b.wants(1u) && !wantsMask)
    return;
  Term inner = product(d, v, false, true);
  Term scoresD = weights * (inner - sumOver(inner * weights, {int64_t(last)}));
  if (b.wants(0u))
    b.give(0, product(scoresD, k, false, false) * scale, "query");
  if (b.wants(1u))
    b.give(1, product(scoresD, q, true, false) * scale, "key");
  if (wantsMask)
    b.give(3, scoresD, "mask");
}

void gantry::addContractionRules(MLIRContext &context) {
  addRule<MatmulOp, buildMatmul, refuseOtherSums<MatmulOp>>(context);
  addRule<ConvOp, buildConv, refuseOtherSums<ConvOp>>(context);
  addRule<ConvFilterGradOp, buildConvFilterGrad>(context);
  addRule<ConvTransposeOp, buildConvTranspose>(context);
  addRule<AttentionOp, buildAttention>(context);
}
