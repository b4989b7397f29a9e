// The shape rules of products, convolutions, windows and attention; see InferTypes.h.

#include "InferTypes.h"

#include "gantry/Dialect/Gantry/IR/Accumulators.h"
#include "gantry/Dialect/Gantry/IR/BlockQuantized.h"
#include "gantry/Dialect/Gantry/IR/Layout.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::infer;

/// What a contraction gives: 8-bit integers, of either sign each, are summed in i32.
static Type sumElement(Type a) { return a.isInteger(8) ? IntegerType::get(a.getContext(), 32) : a; }

static LogicalResult checkFactors(Type a, Type b, StringRef name, Loc loc) {
  if (a.isInteger(8) && b.isInteger(8))
    return success();
  return checkSameElement(a, b, name, loc);
}

/// The result of an op that multiplies such elements.
template <typename Adaptor>
static LogicalResult pushSums(Adaptor op, Type element, ArrayRef<int64_t> shape, StringRef name,
                              Loc loc, Types &types) {
  if (!op.getAccumulateType())
    return push(types, shape, sumElement(element));
  if (!element.isF16() && !element.isBF16())
    return fail(loc, name, "with 'accumulate_type' multiplies f16 or bf16, got ", element);
  return push(types, shape, Float32Type::get(element.getContext()));
}

/// A product with weights of few bits: what they are is in the attribute.
static LogicalResult inferBlockQuantized(MatmulOp::Adaptor op, const BlockQuantized &form,
                                         StringRef name, Loc loc, Types &types) {
  auto a = typeOf(op.getLhs()), b = typeOf(op.getRhs());
  if (!a.getElementType().isF32() || !b.getElementType().isUnsignedInteger(8) ||
      op.getTransposeA() || !op.getTransposeB())
    return fail(loc, name, "with 'block_quantized' multiplies f32 by rows of ui8, got ",
                a.getElementType(), " and ", b.getElementType());
  if (a.getRank() < 2 || b.getRank() != 2 || differ(a.getShape().back(), form.k) ||
      differ(b.getShape().back(), form.columnBytes()))
    return fail(loc, name, "operands ", text(a.getShape()), " and ", text(b.getShape()),
                " do not have ", form.k, " numbers in rows of ", form.columnBytes(), " bytes");
  Shape shape(a.getShape());
  shape.back() = b.getDimSize(0);
  return push(types, shape, a.getElementType());
}

static LogicalResult inferMatmul(MatmulOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  if (auto quantized = op.getBlockQuantized())
    return inferBlockQuantized(op, quantized->getForm(), name, loc, types);
  auto a = typeOf(op.getLhs()), b = typeOf(op.getRhs());
  if (a.getRank() < 2 || b.getRank() < 2)
    return fail(loc, name, "operands need at least 2 dimensions, got ", text(a.getShape()), " and ",
                text(b.getShape()));
  if (failed(checkFactors(a.getElementType(), b.getElementType(), name, loc)))
    return failure();
  auto last = [](RankedTensorType t, bool transposed) {
    int64_t m = t.getDimSize(t.getRank() - 2), n = t.getDimSize(t.getRank() - 1);
    return transposed ? std::pair(n, m) : std::pair(m, n);
  };
  auto [m, k] = last(a, op.getTransposeA());
  auto [k2, n] = last(b, op.getTransposeB());
  if (differ(k, k2))
    return fail(loc, name, "inner dimensions differ: ", text(a.getShape()), " and ",
                text(b.getShape()), " give ", k, " against ", k2);
  auto batch = broadcastShapes(a.getShape().drop_back(2), b.getShape().drop_back(2));
  if (!batch)
    return fail(loc, name,
                "batch dimensions cannot be broadcast to each other: ", text(a.getShape()), " and ",
                text(b.getShape()));
  batch->append({m, n});
  return pushSums(op, a.getElementType(), *batch, name, loc, types);
}
GANTRY_INFER(MatmulOp, inferMatmul)

/// What conv, conv_transpose and the pools have in common: one entry per spatial dimension.
template <typename Adaptor>
static LogicalResult checkWindow(Adaptor op, RankedTensorType input, StringRef name, Loc loc) {
  int64_t spatial = input.getRank() - 2;
  if (spatial < 1 || spatial > 3)
    return fail(loc, name, "input needs 1 to 3 spatial dimensions after batch and channels, got ",
                text(input.getShape()));
  auto check = [&](StringRef what, ArrayRef<int64_t> values, int64_t least) -> LogicalResult {
    if (int64_t(values.size()) != spatial)
      return fail(loc, name, what, " has ", values.size(), " entries, expected ", spatial);
    for (int64_t v : values)
      if (v < least || v > (int64_t(1) << 31))
        return fail(loc, name, what, " has the entry ", v, ", expected at least ", least);
    return success();
  };
  return success(succeeded(check("strides", op.getStrides(), 1)) &&
                 succeeded(check("dilations", op.getDilations(), 1)) &&
                 succeeded(check("pads_low", op.getPadsLow(), 0)) &&
                 succeeded(check("pads_high", op.getPadsHigh(), 0)));
}

static int64_t windowed(int64_t in, int64_t low, int64_t high, int64_t window, int64_t dilation,
                        int64_t stride, bool ceil) {
  if (in == kOpen)
    return kOpen;
  int64_t span = in + low + high - dilation * (window - 1) - 1;
  if (span < 0)
    return -1;
  int64_t out = (ceil ? (span + stride - 1) / stride : span / stride) + 1;
  // A window must start inside the input or its low border.
  if (ceil && (out - 1) * stride >= in + low)
    --out;
  return out;
}

/// Channels of input and filter and the number of groups must agree. `inner` is the filter's
/// dimension that counts input channels of one group, `outer` the other one.
static LogicalResult checkGroups(int64_t channels, int64_t inner, int64_t outer, int64_t groups,
                                 StringRef name, Loc loc) {
  if (groups < 1)
    return fail(loc, name, "groups is ", groups, ", expected at least 1");
  if (differ(channels, inner == kOpen ? kOpen : inner * groups))
    return fail(loc, name, "input has ", channels, " channels, filter and groups expect ", inner,
                " x ", groups);
  if (outer != kOpen && outer % groups)
    return fail(loc, name, outer, " output channels cannot be divided into ", groups, " groups");
  return success();
}

static LogicalResult checkFilter(RankedTensorType input, RankedTensorType filter, StringRef name,
                                 Loc loc, bool packed = false) {
  const int64_t packingFactor = packingFactorOfChannels(filter.getElementType());
  const bool isNarrow = packingFactor > 1;
  if (packed && filter.getRank() != input.getRank() + (isNarrow ? 2 : 1))
    return fail(loc, name, "packed filter ", text(filter.getShape()), " needs ",
                isNarrow ? "two dimensions" : "one dimension", " more than the input ",
                text(input.getShape()));
  if (packed && isNarrow && filter.getShape().back() != packingFactor)
    return fail(loc, name, "packed filter ", text(filter.getShape()), " of ",
                filter.getElementType().isBF16() ? "bf16" : "bytes", " needs ", packingFactor,
                " channels side by side");
  if (!packed && filter.getRank() != input.getRank())
    return fail(loc, name, "filter ", text(filter.getShape()),
                " needs as many dimensions as the input ", text(input.getShape()));
  return checkFactors(input.getElementType(), filter.getElementType(), name, loc);
}

static LogicalResult inferConv(ConvOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = typeOf(op.getInput()), w = typeOf(op.getFilter());
  bool last = op.getLayout() == ImageLayout::NHWC;
  if (failed(checkWindow(op, x, name, loc)) || failed(checkFilter(x, w, name, loc, last)))
    return failure();
  // Of the packed form the first and the last dimension are the output channels.
  const int64_t packingFactor = last ? packingFactorOfChannels(w.getElementType()) : 1;
  int64_t rank = w.getRank() - (packingFactor > 1 ? 1 : 0);
  int64_t blocks = w.getDimSize(0), columns = w.getDimSize(rank - 1);
  int64_t outer = !last ? blocks : blocks == kOpen || columns == kOpen ? kOpen : blocks * columns;
  auto innerOf = [&](int64_t size) { return size == kOpen ? kOpen : size * packingFactor; };
  if (failed(checkGroups(x.getDimSize(last ? x.getRank() - 1 : 1),
                         innerOf(w.getDimSize(last ? rank - 2 : 1)), outer, op.getGroups(), name,
                         loc)))
    return failure();
  ArrayRef<int64_t> window = last ? w.getShape().slice(1, rank - 3) : w.getShape().drop_front(2);
  ArrayRef<int64_t> in = x.getShape().slice(last ? 1 : 2, window.size());
  Shape shape{x.getDimSize(0)};
  if (!last)
    shape.push_back(outer);
  for (size_t i = 0; i < window.size(); ++i) {
    if (window[i] < 1)
      return fail(loc, name, "filter ", text(w.getShape()), " has an empty or open window");
    int64_t size = windowed(in[i], op.getPadsLow()[i], op.getPadsHigh()[i], window[i],
                            op.getDilations()[i], op.getStrides()[i], false);
    if (size != kOpen && size < 0)
      return fail(loc, name, "window ", text(window), " is larger than the padded input ",
                  text(x.getShape()));
    shape.push_back(size);
  }
  if (last)
    shape.push_back(outer);
  return pushSums(op, x.getElementType(), shape, name, loc, types);
}
GANTRY_INFER(ConvOp, inferConv)

/// Of `in` pixels along a dimension that are spread over windows.
static int64_t spreadSize(ConvTransposeOp::Adaptor op, int64_t dim, int64_t in, int64_t window) {
  if (in == kOpen || window == kOpen)
    return kOpen;
  return op.getStrides()[dim] * (in - 1) + op.getDilations()[dim] * (window - 1) + 1 -
         op.getPadsLow()[dim] - op.getPadsHigh()[dim] + op.getOutputPads()[dim];
}

/// With the channels last (Layout.h), as passes make it: shapes are known, and there are no groups.
static LogicalResult inferPackedConvTranspose(ConvTransposeOp::Adaptor op, StringRef name, Loc loc,
                                              Types &types) {
  auto x = typeOf(op.getInput()), w = typeOf(op.getFilter());
  if (failed(checkWindow(op, x, name, loc)) || failed(checkFilter(x, w, name, loc, true)))
    return failure();
  if (!x.hasStaticShape() || !w.hasStaticShape() || op.getGroups() != 1 ||
      x.getShape().back() != w.getDimSize(w.getRank() - 2) ||
      op.getOutputPads().size() != op.getStrides().size())
    return fail(loc, name, "packed filter ", text(w.getShape()), " does not go with the input ",
                text(x.getShape()));
  Shape shape{x.getDimSize(0)};
  for (int64_t i = 0; i < x.getRank() - 2; ++i)
    shape.push_back(spreadSize(op, i, x.getDimSize(i + 1), w.getDimSize(i + 1)));
  if (llvm::any_of(shape, [](int64_t size) { return size < 0; }))
    return fail(loc, name, "pads leave nothing of the output");
  shape.push_back(w.getDimSize(0) * w.getShape().back());
  return push(types, shape, x.getElementType());
}

static LogicalResult inferConvTranspose(ConvTransposeOp::Adaptor op, StringRef name, Loc loc,
                                        Types &types) {
  auto x = typeOf(op.getInput()), w = typeOf(op.getFilter());
  if (w.getRank() == x.getRank() + 1)
    return inferPackedConvTranspose(op, name, loc, types);
  if (failed(checkWindow(op, x, name, loc)) || failed(checkFilter(x, w, name, loc)))
    return failure();
  int64_t groups = op.getGroups();
  if (groups < 1 || differ(x.getDimSize(1), w.getDimSize(0)) ||
      (x.getDimSize(1) != kOpen && x.getDimSize(1) % groups))
    return fail(loc, name, "input ", text(x.getShape()), ", filter ", text(w.getShape()), " and ",
                groups, " groups do not agree on the channels");
  if (op.getOutputPads().size() != op.getStrides().size())
    return fail(loc, name, "output_pads has ", op.getOutputPads().size(), " entries, expected ",
                op.getStrides().size());
  Shape shape{x.getDimSize(0), w.getDimSize(1) == kOpen ? kOpen : w.getDimSize(1) * groups};
  for (int64_t i = 0; i < x.getRank() - 2; ++i) {
    int64_t size = spreadSize(op, i, x.getDimSize(i + 2), w.getDimSize(i + 2));
    if (size != kOpen && size < 0)
      return fail(loc, name, "pads leave nothing of the output");
    shape.push_back(size);
  }
  return push(types, shape, x.getElementType());
}
GANTRY_INFER(ConvTransposeOp, inferConvTranspose)

static LogicalResult checkWindowSizes(ArrayRef<int64_t> window, int64_t spatial, StringRef name,
                                      Loc loc) {
  if (int64_t(window.size()) != spatial)
    return fail(loc, name, "window has ", window.size(), " entries, expected ", spatial);
  for (int64_t size : window)
    if (size < 1)
      return fail(loc, name, "window has the entry ", size, ", expected at least 1");
  return success();
}

static LogicalResult inferConvFilterGrad(ConvFilterGradOp::Adaptor op, StringRef name, Loc loc,
                                         Types &types) {
  auto x = typeOf(op.getInput()), d = typeOf(op.getCotangent());
  if (failed(checkWindow(op, x, name, loc)) ||
      failed(checkWindowSizes(op.getWindow(), x.getRank() - 2, name, loc)) ||
      failed(checkSameElement(x.getElementType(), d.getElementType(), name, loc)))
    return failure();
  int64_t groups = op.getGroups(), inner = x.getDimSize(1), outer = d.getDimSize(1);
  if (d.getRank() != x.getRank() || differ(x.getDimSize(0), d.getDimSize(0)) || groups < 1 ||
      (inner != kOpen && inner % groups) || (outer != kOpen && outer % groups))
    return fail(loc, name, "input ", text(x.getShape()), ", cotangent ", text(d.getShape()),
                " and ", groups, " groups do not agree on images or channels");
  Shape shape{outer, inner == kOpen ? kOpen : inner / groups};
  for (auto [i, window] : llvm::enumerate(op.getWindow())) {
    int64_t size = windowed(x.getDimSize(i + 2), op.getPadsLow()[i], op.getPadsHigh()[i], window,
                            op.getDilations()[i], op.getStrides()[i], false);
    if (differ(size, d.getDimSize(i + 2)))
      return fail(loc, name, "cotangent ", text(d.getShape()), " has ", d.getDimSize(i + 2),
                  " places along spatial dimension ", i, ", where the convolution has ", size);
    shape.push_back(window);
  }
  return push(types, shape, x.getElementType());
}
GANTRY_INFER(ConvFilterGradOp, inferConvFilterGrad)

/// Behind the images, and the channels where these are not last.
template <typename Adaptor>
static int64_t firstSpatial(Adaptor op) {
  if constexpr (requires { op.getLayout(); })
    return op.getLayout() == ImageLayout::NHWC ? 1 : 2;
  return 2;
}

template <typename Adaptor>
static LogicalResult inferPool(Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = typeOf(op.getInput());
  if (failed(checkWindow(op, x, name, loc)))
    return failure();
  if (failed(checkWindowSizes(op.getWindow(), x.getRank() - 2, name, loc)))
    return failure();
  Shape shape(x.getShape());
  for (auto [i, window] : llvm::enumerate(op.getWindow())) {
    int64_t &size = shape[i + firstSpatial(op)];
    size = windowed(size, op.getPadsLow()[i], op.getPadsHigh()[i], window, op.getDilations()[i],
                    op.getStrides()[i], op.getCeilMode());
    if (size != kOpen && size < 0)
      return fail(loc, name, "window ", text(op.getWindow()), " is larger than the padded input ",
                  text(x.getShape()));
  }
  return push(types, shape, x.getElementType());
}
GANTRY_INFER(MaxPoolOp, inferPool)
GANTRY_INFER(AvgPoolOp, inferPool)
GANTRY_INFER(LpPoolOp, inferPool)

/// A place of a window, and the number behind the last one.
static Type placeType(MLIRContext *context, ArrayRef<int64_t> window) {
  int64_t places = 1;
  for (int64_t size : window)
    places = size > 255 ? 256 : std::min<int64_t>(places * size, 256);
  return places <= 255 ? IntegerType::get(context, 8, IntegerType::Unsigned)
                       : IntegerType::get(context, 32);
}

static LogicalResult inferMaxPoolIndex(MaxPoolIndexOp::Adaptor op, StringRef name, Loc loc,
                                       Types &types) {
  if (failed(inferPool(op, name, loc, types)))
    return failure();
  auto type = cast<RankedTensorType>(types.back());
  types.back() = type.clone(placeType(type.getContext(), op.getWindow()));
  return success();
}
GANTRY_INFER(MaxPoolIndexOp, inferMaxPoolIndex)

/// `outside` is what windows lie over, `places` has an entry for each of them.
template <typename Adaptor>
static LogicalResult checkPlaces(Adaptor op, ArrayRef<int64_t> outside, RankedTensorType places,
                                 StringRef name, Loc loc) {
  if (failed(checkWindow(op, places, name, loc)) ||
      failed(checkWindowSizes(op.getWindow(), places.getRank() - 2, name, loc)))
    return failure();
  if (Type known = placeType(places.getContext(), op.getWindow()); places.getElementType() != known)
    return fail(loc, name, "places of the window ", text(op.getWindow()), " are ", known, ", got ",
                places.getElementType());
  for (int64_t i = 0; i < places.getRank(); ++i) {
    int64_t in = outside[i], out = places.getDimSize(i);
    // The last window begins inside, or in front of it.
    auto begins = [&](uint64_t low, uint64_t stride) {
      return out == 0 || (in + low > 0 && uint64_t(out - 1) <= (in + low - 1) / stride);
    };
    bool fits = in == kOpen || out == kOpen ||
                (i < 2 ? in == out : begins(op.getPadsLow()[i - 2], op.getStrides()[i - 2]));
    if (!fits)
      return fail(loc, name, "places ", text(places.getShape()), " are not of windows over ",
                  text(outside));
  }
  return success();
}

static LogicalResult inferPoolSpread(PoolSpreadOp::Adaptor op, StringRef name, Loc loc,
                                     Types &types) {
  auto v = typeOf(op.getValues()), places = typeOf(op.getPlaces());
  if (failed(verifyCompatibleShape(v, places)) || int64_t(op.getSizes().size()) != v.getRank() - 2)
    return fail(loc, name, "values ", text(v.getShape()), ", places ", text(places.getShape()),
                " and sizes ", text(op.getSizes()), " do not agree");
  Shape shape(v.getShape().take_front(2));
  llvm::append_range(shape, op.getSizes());
  if (llvm::any_of(op.getSizes(), [](int64_t size) { return size < 0; }))
    return fail(loc, name, "sizes ", text(op.getSizes()), " are below 0");
  if (failed(checkPlaces(op, shape, places, name, loc)))
    return failure();
  return push(types, shape, v.getElementType());
}
GANTRY_INFER(PoolSpreadOp, inferPoolSpread)

static LogicalResult inferPoolPick(PoolPickOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = typeOf(op.getInput()), places = typeOf(op.getPlaces());
  if (x.getRank() != places.getRank())
    return fail(loc, name, "input ", text(x.getShape()), " and places ", text(places.getShape()),
                " need the same number of dimensions");
  if (failed(checkPlaces(op, x.getShape(), places, name, loc)))
    return failure();
  return push(types, places.getShape(), x.getElementType());
}
GANTRY_INFER(PoolPickOp, inferPoolPick)

static LogicalResult inferAttention(AttentionOp::Adaptor op, StringRef name, Loc loc,
                                    Types &types) {
  auto q = typeOf(op.getQuery()), k = typeOf(op.getKey()), v = typeOf(op.getValue());
  int64_t rank = q.getRank();
  if (rank < 2 || k.getRank() != rank || v.getRank() != rank)
    return fail(loc, name, "query, key and value need the same number of dimensions, at least 2");
  for (int64_t i = 0; i < rank - 2; ++i)
    if (differ(q.getDimSize(i), k.getDimSize(i)) || differ(q.getDimSize(i), v.getDimSize(i)))
      return fail(loc, name, "batch dimensions differ: query ", text(q.getShape()), ", key ",
                  text(k.getShape()), ", value ", text(v.getShape()));
  if (differ(q.getDimSize(rank - 1), k.getDimSize(rank - 1)))
    return fail(loc, name, "query ", text(q.getShape()), " and key ", text(k.getShape()),
                " differ in the last dimension");
  if (differ(k.getDimSize(rank - 2), v.getDimSize(rank - 2)))
    return fail(loc, name, "key ", text(k.getShape()), " and value ", text(v.getShape()),
                " differ in length");
  Shape shape(q.getShape());
  if (op.getMask()) {
    Shape scores(q.getShape());
    scores.back() = k.getDimSize(rank - 2);
    auto both = broadcastShapes(scores, shapeOf(op.getMask()));
    if (!both || *both != scores)
      return fail(loc, name, "mask ", text(shapeOf(op.getMask())),
                  " cannot be broadcast to the scores ", text(scores));
  }
  shape.back() = v.getDimSize(rank - 1);
  return push(types, shape, q.getElementType());
}
GANTRY_INFER(AttentionOp, inferAttention)
