// Convolutions and pools: windows that slide over the spatial dimensions of [n, c, spatial...], or
// of [n, spatial..., c].
//
// A loop per output position and one per window position; the input is read at
// position * stride + window * dilation. Borders are materialised by tensor.pad. Loops over
// dimensions of size 1 (a 1x1 window, one channel of a depthwise group) are left out, so that a 1x1
// convolution is a matrix product to whoever looks at it.
//
// A convolution adds its products up in the order of the window and then the channels, whatever
// form it has (docs/designs/cpu-contractions.md).

#include "Patterns.h"
#include "Windows.h"
#include "gantry/Dialect/Gantry/IR/Accumulators.h"
#include "gantry/Dialect/Gantry/IR/Borders.h"
#include "gantry/Dialect/Gantry/IR/Layout.h"
#include "gantry/Linalg/PackedConvolution.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;
using utils::IteratorType;

namespace {
/// A convolution; the result has the type of its sums.
struct Convolution {
  Value input, filter;
  ArrayRef<int64_t> strides, dilations, low, high;
  int64_t groups;
  Shape resultSpatial;
  Signs signs;
  bool addsPlusZero = false;
  bool isWide = false; ///< the result is the sums

  Value emit(Emitter &b);
};
} // namespace

Value gantry::sumOfWindows(Emitter &b, ArrayRef<int64_t> shape, AffineMap resultMap,
                           ArrayRef<Operand> inputs, Emitter::Iterators iterators, Signs signs) {
  Value init = b.filled(shape, b.number(0, Signs::sumType(elementOf(inputs[0].value))));
  return b.accumulate(init, resultMap, inputs, iterators, [&](Emitter &e, ValueRange x) {
    e.mathFlags = arith::FastMathFlags::contract;
    return e.add(x[2], signs.product(e, x[0], x[1]));
  });
}

/// The sums of a convolution that had a border (Borders.h).
static Value plusZero(Emitter &b, Value sums) {
  return b.elementwise(
      shapeOf(sums), elementOf(sums), {b.identity(sums)},
      [](Emitter &e, ValueRange x) { return e.add(x[0], e.number(0, x[0].getType())); });
}

Value gantry::splitGroups(Emitter &b, Value value, unsigned position, int64_t groups) {
  Shape shape(shapeOf(value));
  shape[position] /= groups;
  shape.insert(shape.begin() + position, groups);
  return b.reshape(value, shape);
}

Value Convolution::emit(Emitter &b) {
  Shape window(shapeOf(filter).drop_front(2));
  int64_t n = shapeOf(input)[0], inner = shapeOf(input)[1] / groups;
  int64_t outer = shapeOf(filter)[0] / groups;
  bool grouped = groups > 1, single = grouped && outer == 1;

  Loops loops{b, {}};
  AffineExpr batch = loops.parallel(n), group;
  if (grouped)
    group = loops.parallel(groups);
  AffineExpr out = single ? AffineExpr() : loops.parallel(outer);
  SmallVector<AffineExpr> position =
      llvm::map_to_vector(resultSpatial, [&](int64_t size) { return loops.parallel(size); });
  unsigned parallel = loops.iterators.size();
  SmallVector<AffineExpr> tap = loops.reductions(window);
  AffineExpr channel = loops.reduction(inner);

  // Groups of one channel need no split: the group is the channel. Borders come after the split,
  // next to the convolution, so that tiling it takes them along.
  SmallVector<AffineExpr> inputAt{batch}, filterAt;
  bool splitInput = grouped && inner > 1, splitFilter = grouped && !single;
  Value image = splitInput ? splitGroups(b, input, 1, groups) : input;
  Value weights = splitFilter ? splitGroups(b, filter, 0, groups) : filter;
  image = b.pad(image, low, high, b.number(0, elementOf(input)), splitInput ? 3 : 2);
  if (grouped)
    inputAt.push_back(group);
  if (!grouped || splitInput)
    inputAt.push_back(channel);
  if (grouped)
    filterAt.push_back(group);
  if (!single)
    filterAt.push_back(out);
  filterAt.push_back(channel);
  for (size_t i = 0; i < window.size(); ++i) {
    inputAt.push_back(position[i] * strides[i] + tap[i] * dilations[i]);
    filterAt.push_back(tap[i]);
  }
  Shape shape{n};
  if (grouped)
    shape.push_back(groups);
  if (!single)
    shape.push_back(outer);
  llvm::append_range(shape, resultSpatial);
  Value result = sumOfWindows(b, shape, loops.map(b.dims(0, parallel)),
                              {{image, loops.map(inputAt)}, {weights, loops.map(filterAt)}},
                              loops.iterators, signs);
  if (addsPlusZero)
    result = plusZero(b, result);
  Shape flat{n, groups * outer};
  llvm::append_range(flat, resultSpatial);
  if (!isWide)
    result = b.convertTo(result, Signs::resultType(elementOf(input)));
  return b.reshape(result, flat);
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

static Value lowerPackedConv(ConvOp op, ConvOp::Adaptor in, Emitter &b) {
  const PackedConvolution convolution = PackedConvolution::of(op);
  Value image = b.pad(in.getInput(), op.getPadsLow(), op.getPadsHigh(),
                      b.number(0, elementOf(in.getInput())), 1);
  SmallVector<AffineMap> maps = convolution.maps(b.getContext());
  Value sum = sumOfWindows(b, op.getType().getShape(), maps.back(),
                           {{image, maps[0]}, {in.getFilter(), maps[1]}}, convolution.iterators(),
                           Signs::of(op.getInput(), op.getFilter()));
  if (skipsBorder(op))
    sum.getDefiningOp()->setDiscardableAttr(kUnseenBorderAttr, b.getUnitAttr());
  if (givesAccumulators(op))
    sum.getDefiningOp()->setDiscardableAttr(kAccumulateWideAttr, b.getUnitAttr());
  if (addsPlusZero(op))
    sum = plusZero(b, sum);
  return givesAccumulators(op) ? sum
                               : b.convertTo(sum, Signs::resultType(elementOf(in.getInput())));
}

static Value lowerConv(ConvOp op, ConvOp::Adaptor in, Emitter &b) {
  if (isNHWC(op))
    return lowerPackedConv(op, in, b);
  Convolution convolution{in.getInput(),
                          in.getFilter(),
                          op.getStrides(),
                          op.getDilations(),
                          op.getPadsLow(),
                          op.getPadsHigh(),
                          int64_t(op.getGroups()),
                          Shape(op.getType().getShape().drop_front(2)),
                          Signs::of(op.getInput(), op.getFilter()),
                          addsPlusZero(op),
                          givesAccumulators(op)};
  return convolution.emit(b);
}

/// `stride - 1` zeros between neighbours.
static Value insertZeros(Emitter &b, Value input, ArrayRef<int64_t> strides) {
  if (llvm::all_of(strides, [](int64_t s) { return s == 1; }))
    return input;
  Shape shape(shapeOf(input)), steps{1, 1};
  for (size_t i = 0; i < strides.size(); ++i)
    shape[i + 2] = shape[i + 2] ? (shape[i + 2] - 1) * strides[i] + 1 : 0;
  llvm::append_range(steps, strides);
  Value zeros = b.filled(shape, b.number(0, elementOf(input)));
  return b.insertSlice(input, zeros, Shape(shape.size(), 0), steps);
}

/// With the channels last. Zeros between pixels and borders are one op, so that targets find the
/// image.
static Value lowerPackedConvTranspose(ConvTransposeOp op, ConvTransposeOp::Adaptor in, Emitter &b) {
  const PackedConvolution convolution = PackedConvolution::of(op);
  Value image = in.getInput();
  Shape spread(shapeOf(image)), starts(spread.size(), 0), steps(spread.size(), 1);
  for (unsigned i = 0; i < convolution.spatial(); ++i) {
    spread[i + 1] = convolution.out[i] + convolution.window[i] - 1;
    starts[i + 1] = convolution.window[i] - 1 - op.getPadsLow()[i];
    steps[i + 1] = op.getStrides()[i];
  }
  Value zero = b.number(0, elementOf(image));
  if (ArrayRef<int64_t>(spread) != shapeOf(image))
    image = b.insertSlice(image, b.filled(spread, zero), starts, steps);
  Value sizes = b.empty(convolution.window, elementOf(image));
  SmallVector<AffineMap> maps = convolution.maps(b.getContext());
  return b.accumulate(b.filled(op.getType().getShape(), zero), maps.back(),
                      {{image, maps[0]}, {in.getFilter(), maps[1]}, {sizes, maps[2]}},
                      convolution.iterators(), [](Emitter &e, ValueRange x) {
                        e.mathFlags = arith::FastMathFlags::contract;
                        return e.add(x[3], e.mul(x[0], x[1]));
                      });
}

/// [c, o / groups, window...] as a filter [o, c / groups, window...] that is read backwards.
static Value turnFilter(Emitter &b, Value filter, int64_t groups) {
  ArrayRef<int64_t> own = shapeOf(filter), window = own.drop_front(2);
  int64_t inner = own[0] / groups, outer = own[1];
  Shape turned{groups, outer, inner}, flat{groups * outer, inner};
  llvm::append_range(turned, window);
  llvm::append_range(flat, window);
  Value result = b.elementwise(turned, elementOf(filter), {}, [&](Emitter &e, ValueRange) {
    Value first = e.add(e.mul(e.loopIndex(0), e.index(inner)), e.loopIndex(2));
    SmallVector<Value> at{first, e.loopIndex(1)};
    for (auto [i, size] : llvm::enumerate(window))
      at.push_back(e.sub(e.index(size - 1), e.loopIndex(i + 3)));
    return Value(tensor::ExtractOp::create(e, filter, at));
  });
  return b.reshape(result, flat);
}

/// As a gather: each output sums the inputs whose window reaches it. That is a convolution of the
/// input, spread by the strides, with the filter turned around.
static Value lowerConvTranspose(ConvTransposeOp op, ConvTransposeOp::Adaptor in, Emitter &b) {
  if (isNHWC(op))
    return lowerPackedConvTranspose(op, in, b);
  Type element = elementOf(in.getInput());
  Value image = insertZeros(b, in.getInput(), op.getStrides());
  Shape window(shapeOf(in.getFilter()).drop_front(2));
  Shape low, high, starts(2, 0), sizes(shapeOf(image).take_front(2));
  // A border grows by what the window reaches over the end; pads beyond that cut the image.
  for (size_t i = 0; i < window.size(); ++i) {
    int64_t reach = op.getDilations()[i] * (window[i] - 1);
    int64_t before = reach - op.getPadsLow()[i];
    int64_t after = reach - op.getPadsHigh()[i] + op.getOutputPads()[i];
    int64_t size = shapeOf(image)[i + 2];
    low.push_back(std::max<int64_t>(before, 0));
    high.push_back(std::max<int64_t>(after, 0));
    starts.push_back(std::max<int64_t>(-before, 0));
    sizes.push_back(size + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0));
  }
  if (llvm::any_of(sizes, [](int64_t size) { return size < 0; })) {
    // Everything that the image holds is cut, and some of the border as well.
    Shape shape(op.getType().getShape());
    return b.filled(shape, b.number(0, element));
  }
  if (ArrayRef<int64_t>(sizes) != shapeOf(image))
    image = b.extractSlice(image, starts, sizes);
  Shape ones(window.size(), 1);
  int64_t groups = op.getGroups();
  Convolution convolution{
      image,  turnFilter(b, in.getFilter(), groups),        ones,   op.getDilations(), low, high,
      groups, Shape(op.getType().getShape().drop_front(2)), Signs()};
  return convolution.emit(b);
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

namespace {
/// The windows of one pool.
struct Pool {
  ArrayRef<int64_t> window, strides, dilations, low, high, out;
  ArrayRef<int64_t> in;
  unsigned first; ///< of the spatial dimensions: behind the batch, and the channels if not last

  template <typename Op>
  static Pool of(Op op) {
    unsigned first = isNHWC(op) ? 1 : 2, spatial = op.getWindow().size();
    return {op.getWindow(),
            op.getStrides(),
            op.getDilations(),
            op.getPadsLow(),
            op.getPadsHigh(),
            op.getType().getShape().slice(first, spatial),
            op.getInput().getType().getShape().slice(first, spatial),
            first};
  }
  /// How far the last window reaches, counted from the start of the low border. With ceil_mode
  /// that may be beyond the high border.
  int64_t reach(unsigned i) const {
    return (out[i] - 1) * strides[i] + dilations[i] * (window[i] - 1) + 1;
  }
  Value padded(Emitter &b, Value input, Value border) const {
    Shape after;
    for (unsigned i = 0; i < window.size(); ++i)
      after.push_back(std::max(high[i], reach(i) - in[i] - low[i]));
    return b.pad(input, low, after, border, first);
  }
  /// body(element, accumulator) over each window of a padded input.
  Value slide(Emitter &b, Value input, Value start, Emitter::Body body) const;
  /// Whether some window holds fewer than all its positions in [from, to), per dimension.
  bool isPartial(bool withBorder) const {
    for (unsigned i = 0; i < window.size(); ++i)
      if (withBorder ? reach(i) > in[i] + low[i] + high[i]
                     : low[i] > 0 || reach(i) > in[i] + low[i])
        return true;
    return false;
  }
  Value count(Emitter &b, bool withBorder) const;
};
} // namespace

Value Pool::slide(Emitter &b, Value input, Value start, Emitter::Body body) const {
  Shape shape(shapeOf(input));
  llvm::copy(out, shape.begin() + first);
  Loops loops{b, {}};
  SmallVector<AffineExpr> at;
  for (int64_t size : shape)
    at.push_back(loops.parallel(size));
  unsigned parallel = at.size();
  SmallVector<AffineExpr> tap = loops.reductions(window), tapLoops;
  Shape tapSizes;
  for (unsigned i = 0; i < window.size(); ++i) {
    at[i + first] = at[i + first] * strides[i] + tap[i] * dilations[i];
    if (window[i] != 1) {
      tapLoops.push_back(tap[i]);
      tapSizes.push_back(window[i]);
    }
  }
  // Nothing else tells the sizes of the window's loops; its elements are never read.
  Value sizes = b.empty(tapSizes, elementOf(input));
  SmallVector<Operand> inputs{{input, loops.map(at)}, {sizes, loops.map(tapLoops)}};
  return b.accumulate(b.filled(shape, start), loops.map(b.dims(0, parallel)), inputs,
                      loops.iterators,
                      [&](Emitter &e, ValueRange x) { return body(e, {e.widen(x[0]), x[2]}); });
}

/// How many positions of the window at the current output index count, as an index value: those
/// inside the input, or inside the input and its declared borders.
Value Pool::count(Emitter &b, bool withBorder) const {
  Value product = b.index(1);
  for (unsigned i = 0; i < window.size(); ++i) {
    int64_t from = withBorder ? 0 : low[i], to = low[i] + in[i] + (withBorder ? high[i] : 0);
    Value start = b.mul(b.loopIndex(i + first), b.index(strides[i]));
    // First and end of the window's positions w with from <= start + w * dilation < to.
    auto firstAtOrAfter = [&](int64_t bound) -> Value {
      Value gap = arith::MaxSIOp::create(b, b.sub(b.index(bound), start), b.index(0));
      Value steps = dilations[i] == 1
                        ? gap
                        : Value(arith::CeilDivUIOp::create(b, gap, b.index(dilations[i])));
      return arith::MinSIOp::create(b, steps, b.index(window[i]));
    };
    product = b.mul(product, b.sub(firstAtOrAfter(to), firstAtOrAfter(from)));
  }
  return arith::MaxSIOp::create(b, product, b.index(1));
}

static Value lowerMaxPool(MaxPoolOp op, MaxPoolOp::Adaptor in, Emitter &b) {
  Pool pool = Pool::of(op);
  Type element = elementOf(in.getInput());
  bool sign = isUnsigned(op.getInput().getType());
  Value input = pool.padded(b, in.getInput(), b.lowest(element, sign));
  Value start = b.lowest(computeType(element), sign);
  Value result = pool.slide(b, input, start,
                            [&](Emitter &e, ValueRange x) { return e.maximum(x[1], x[0], sign); });
  return b.convertTo(result, element);
}

static Value lowerAvgPool(AvgPoolOp op, AvgPoolOp::Adaptor in, Emitter &b) {
  Pool pool = Pool::of(op);
  Type element = elementOf(in.getInput()), wide = computeType(element);
  Value input = pool.padded(b, in.getInput(), b.number(0, element));
  Value sum = pool.slide(b, input, b.number(0, wide),
                         [](Emitter &e, ValueRange x) { return e.add(x[1], x[0]); });
  int64_t all = 1;
  for (int64_t size : op.getWindow())
    all *= size;
  bool withBorder = op.getCountIncludePad(), partial = pool.isPartial(withBorder);
  return b.elementwise(shapeOf(sum), element, b.identity(sum), [&](Emitter &e, ValueRange x) {
    Value count = e.number(double(all), wide);
    if (partial) {
      Value n = arith::IndexCastOp::create(e, e.getI64Type(), pool.count(e, withBorder));
      count = arith::SIToFPOp::create(e, wide, n);
    }
    return e.narrow(e.div(x[0], count), element);
  });
}

static Value lowerLpPool(LpPoolOp op, LpPoolOp::Adaptor in, Emitter &b) {
  Pool pool = Pool::of(op);
  double p = op.getP().convertToDouble();
  Type element = elementOf(in.getInput()), wide = computeType(element);
  Value input = pool.padded(b, in.getInput(), b.number(0, element));
  Value sum = pool.slide(b, input, b.number(0, wide), [&](Emitter &e, ValueRange x) {
    Value size = e.math<math::AbsFOp>(x[0]);
    Value power = p == 1   ? size
                  : p == 2 ? e.mul(size, size)
                           : Value(math::PowFOp::create(e, size, e.number(p, wide), e.mathFlags));
    return e.add(x[1], power);
  });
  return b.elementwise(shapeOf(sum), element, b.identity(sum), [&](Emitter &e, ValueRange x) {
    Value root = p == 1 ? x[0]
                 : p == 2
                     ? e.math<math::SqrtOp>(x[0])
                     : Value(math::PowFOp::create(e, x[0], e.number(1 / p, wide), e.mathFlags));
    return e.narrow(root, element);
  });
}

void gantry::populateWindowPatterns(SignlessTypeConverter &converter, RewritePatternSet &patterns) {
  addLowering<ConvOp, lowerConv>(converter, patterns);
  addLowering<ConvTransposeOp, lowerConvTranspose>(converter, patterns);
  addLowering<MaxPoolOp, lowerMaxPool>(converter, patterns);
  addLowering<AvgPoolOp, lowerAvgPool>(converter, patterns);
  addLowering<LpPoolOp, lowerLpPool>(converter, patterns);
  populateWindowGradientPatterns(converter, patterns);
}
