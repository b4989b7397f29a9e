// Pools, lrn and resize. What is linear in its windows goes back by a convolution that is
// transposed, of images of one channel with a filter of ones, which no `--math` rounds.

#include "Rules.h"
#include "gantry/Dialect/Gantry/IR/ResizeCoordinates.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

//===----------------------------------------------------------------------===//
// Maximum
//===----------------------------------------------------------------------===//

/// Each cotangent to the place that its window takes.
template <typename Op>
static void giveSpread(Op op, Value places, GradientBuilder &b) {
  ArrayRef<int64_t> sizes = shapeOf(op.getInput()).drop_front(2);
  b.give(0, b.make<PoolSpreadOp>(b.ofResult(), places, op.getWindow(), op.getStrides(),
                                 op.getPadsLow(), op.getPadsHigh(), op.getDilations(), sizes));
}

static void buildMaxPool(MaxPoolOp op, GradientBuilder &b) {
  giveSpread(op,
             b.make<MaxPoolIndexOp>(op.getInput(), op.getWindow(), op.getStrides(), op.getPadsLow(),
                                    op.getPadsHigh(), op.getDilations(), op.getCeilMode()),
             b);
}

static void buildPoolSpread(PoolSpreadOp op, GradientBuilder &b) {
  b.give(0, b.make<PoolPickOp>(b.ofResult(), op.getPlaces(), op.getWindow(), op.getStrides(),
                               op.getPadsLow(), op.getPadsHigh(), op.getDilations()));
}

static void buildPoolPick(PoolPickOp op, GradientBuilder &b) { giveSpread(op, op.getPlaces(), b); }

//===----------------------------------------------------------------------===//
// Sums over windows
//===----------------------------------------------------------------------===//

/// Gives each element of the input of a pool the sum of `x` over the windows that it is in.
template <typename Op>
static Term spreadOverWindows(Op op, Term x) {
  GradientBuilder &b = *x.b;
  ArrayRef<int64_t> in = shapeOf(op.getInput()), out = shapeOf(x), image = in.drop_front(2);
  Shape low(op.getPadsLow()), high(op.getPadsHigh()), outputPads;
  for (size_t i = 0; i < image.size(); ++i) {
    // The last window may reach beyond the border (ceil_mode), or not to its end.
    int64_t reach = op.getStrides()[i] * (out[i + 2] - 1) +
                    op.getDilations()[i] * (op.getWindow()[i] - 1) + 1 - low[i];
    high[i] = std::max<int64_t>(reach - image[i], 0);
    outputPads.push_back(std::max<int64_t>(image[i] - reach, 0));
  }
  Shape channels{in[0] * in[1], 1}, filter{1, 1}, result(in);
  llvm::append_range(channels, out.drop_front(2));
  llvm::append_range(filter, op.getWindow());
  Term ones(b, b.filled(1, RankedTensorType::get(filter, elementOf(x))));
  Term spread(b, b.make<ConvTransposeOp>(reshaped(x, channels), ones, op.getStrides(), low, high,
                                         op.getDilations(), outputPads, uint64_t(1)));
  return reshaped(spread, result);
}

/// How many elements each window holds, as the pool counts them: [1, 1, out...].
static Term countOfWindows(AvgPoolOp op, Term like) {
  ArrayRef<int64_t> in = shapeOf(op.getInput()).drop_front(2), out = shapeOf(like).drop_front(2);
  Shape shape{1, 1};
  llvm::append_range(shape, out);
  SmallVector<double> counts(ShapedType::getNumElements(shape), 1);
  for (size_t linear = 0; linear < counts.size(); ++linear)
    for (int64_t i = int64_t(out.size()) - 1, rest = linear; i >= 0; rest /= out[i], --i) {
      int64_t start = rest % out[i] * op.getStrides()[i] - op.getPadsLow()[i], count = 0;
      bool withBorder = op.getCountIncludePad();
      for (int64_t w = 0; w < op.getWindow()[i]; ++w) {
        int64_t at = start + w * op.getDilations()[i];
        count += at >= (withBorder ? -op.getPadsLow()[i] : 0) &&
                 at < in[i] + (withBorder ? op.getPadsHigh()[i] : 0);
      }
      counts[linear] *= double(count);
    }
  for (double &count : counts)
    count = std::max(count, 1.0);
  if (llvm::all_equal(counts))
    return like.number(counts.empty() ? 1 : counts.front());
  auto type = RankedTensorType::get(shape, elementOf(like));
  auto numbers = llvm::map_to_vector(counts, [&](double count) -> Attribute {
    return like.b->getFloatAttr(type.getElementType(), count);
  });
  return {*like.b, ConstantOp::create(*like.b, op.getLoc(), DenseElementsAttr::get(type, numbers))};
}

static void buildAvgPool(AvgPoolOp op, GradientBuilder &b) {
  Term d = wideCotangent(b);
  b.give(0, spreadOverWindows(op, d / countOfWindows(op, d)));
}

/// y = (sum |x|^p)^(1/p): d |x|^(p-1) sign(x) y^(1-p), and 0 where y is 0.
static void buildLpPool(LpPoolOp op, GradientBuilder &b) {
  const double p = op.getP().convertToDouble();
  Term d = wideCotangent(b), x = wide(b, op.getInput()), y = wide(b, op.getResult());
  if (p == 1)
    return b.give(0, spreadOverWindows(op, d) * sign(x));
  Term part = select(y == 0, 0, d * power(y, 1 - p));
  Term slope = p == 2 ? x : power(absolute(x), p - 1) * sign(x);
  // 0^(p-1) is infinite for p below 1, where the sum of nothing but zeros has no slope either.
  b.give(0, select(x == 0, 0, spreadOverWindows(op, part) * slope));
}

//===----------------------------------------------------------------------===//
// Neighbouring channels
//===----------------------------------------------------------------------===//

/// Sum over the channels from `before` before to `behind` behind each, divided by their number.
static Term meanOfNeighbours(Term x, int64_t before, int64_t behind) {
  ArrayRef<int64_t> shape = shapeOf(x);
  Shape own(shape), plane{shape[0], 1, shape[1], ShapedType::getNumElements(shape.drop_front(2))};
  SmallVector<int64_t> window{before + 1 + behind, 1}, ones{1, 1}, low{before, 0}, high{behind, 0};
  Term mean(*x.b, x.b->make<AvgPoolOp>(reshaped(x, plane), window, ones, low, high, ones,
                                       /*ceil_mode=*/false, /*count_include_pad=*/true,
                                       ImageLayoutAttr()));
  return reshaped(mean, own);
}

/// y = x B^-beta with B = bias + alpha times the mean of the squares around. A channel is in the
/// windows of the channels around it: the window turned round, which for even sizes is another one.
static void buildLrn(LrnOp op, GradientBuilder &b) {
  // A window does not fit into no channels.
  if (op.getType().getNumElements() == 0)
    return b.give(0, b.ofResult());
  const double alpha = op.getAlpha().convertToDouble(), beta = op.getBeta().convertToDouble();
  int64_t before = (op.getSize() - 1) / 2, behind = op.getSize() - 1 - before;
  Term d = wideCotangent(b), x = wide(b, op.getInput());
  Term base = meanOfNeighbours(x * x, before, behind) * alpha + op.getBias().convertToDouble();
  Term own = d * power(base, -beta);
  Term around = meanOfNeighbours(d * x * power(base, -beta - 1), behind, before);
  b.give(0, own - (2 * alpha * beta) * x * around);
}

//===----------------------------------------------------------------------===//
// Resize
//===----------------------------------------------------------------------===//

namespace {
/// For each element of a dimension of the input: which elements of the result it is read for, and
/// what it weighs there. As many for each, the least that there is room for all; those that are too
/// many weigh nothing.
struct Readers {
  int64_t most = 0;
  SmallVector<int64_t> elements;
  SmallVector<double> weights;
};
} // namespace

static Readers readersOf(ResizeOp op, unsigned dim) {
  int64_t in = op.getInput().getType().getDimSize(dim), out = op.getType().getDimSize(dim);
  std::vector<SmallVector<std::pair<int64_t, double>>> readers(in);
  for (int64_t o = 0; o < out; ++o)
    for (auto [i, weight] : resizeWeights(op, dim, o)) {
      auto &own = readers[i];
      if (!own.empty() && own.back().first == o)
        own.back().second += weight;
      else
        own.push_back({o, weight});
    }
  Readers all;
  all.most = 1;
  for (auto &own : readers)
    all.most = std::max<int64_t>(all.most, own.size());
  for (auto &own : readers) {
    own.resize(all.most, {0, 0.0});
    for (auto [element, weight] : own) {
      all.elements.push_back(element);
      all.weights.push_back(weight);
    }
  }
  return all;
}

/// One dimension back: a gather of the elements that read each one, times their weights, added up.
static Term unsampled(Term d, ResizeOp op, unsigned dim) {
  GradientBuilder &b = *d.b;
  int64_t in = op.getInput().getType().getDimSize(dim);
  Readers readers = readersOf(op, dim);
  auto indexType = RankedTensorType::get({in, readers.most}, b.getI64Type());
  Value indices = ConstantOp::create(b, op.getLoc(),
                                     DenseElementsAttr::get(indexType, ArrayRef(readers.elements)));
  Term read(b, b.make<GatherOp>(d, indices, uint64_t(dim)));
  if (!llvm::all_of(readers.weights, [](double weight) { return weight == 1; })) {
    Shape shape{in, readers.most};
    shape.append(rankOf(d) - dim - 1, 1);
    auto type = RankedTensorType::get(shape, elementOf(d));
    auto numbers = llvm::map_to_vector(readers.weights, [&](double weight) -> Attribute {
      return b.getFloatAttr(type.getElementType(), weight);
    });
    read =
        read * Term(b, ConstantOp::create(b, op.getLoc(), DenseElementsAttr::get(type, numbers)));
  }
  return {b, b.make<ReduceSumOp>(read, ArrayRef<int64_t>{int64_t(dim) + 1}, /*keep_dims=*/false)};
}

static void buildResize(ResizeOp op, GradientBuilder &b) {
  Term d = wideCotangent(b);
  for (unsigned dim = 0; dim < op.getScales().size(); ++dim)
    if (resizeChanges(op, dim))
      d = unsampled(d, op, dim);
  b.give(0, d);
}

void gantry::addWindowRules(MLIRContext &context) {
  addRule<MaxPoolOp, buildMaxPool>(context);
  addRule<PoolSpreadOp, buildPoolSpread>(context);
  addRule<PoolPickOp, buildPoolPick>(context);
  addRule<AvgPoolOp, buildAvgPool>(context);
  addRule<LpPoolOp, buildLpPool>(context);
  addRule<LrnOp, buildLrn>(context);
  addRule<ResizeOp, buildResize>(context);
}
