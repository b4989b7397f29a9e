// What ways back of windows are made of: the filter's gradient, a contraction over images and
// places, and the places of maxima.
//
// Each element that a window gives to asks the windows that it may be in, so that nothing is
// scattered and the order of a sum is that of the places in the window.

#include "Patterns.h"
#include "Windows.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;
using utils::IteratorType;

//===----------------------------------------------------------------------===//
// Filters
//===----------------------------------------------------------------------===//

/// One sum for each element of the filter, over the images and then the places of each.
static Value lowerConvFilterGrad(ConvFilterGradOp op, ConvFilterGradOp::Adaptor in, Emitter &b) {
  const int64_t groups = op.getGroups();
  Value image = splitGroups(b, in.getInput(), 1, groups);
  Value cotangent = splitGroups(b, in.getCotangent(), 1, groups);
  image = b.pad(image, op.getPadsLow(), op.getPadsHigh(), b.number(0, elementOf(image)), 3);
  ArrayRef<int64_t> out = shapeOf(cotangent).drop_front(3);

  Loops loops{b, {}};
  Shape shape{groups, shapeOf(cotangent)[2], shapeOf(image)[2]};
  llvm::append_range(shape, op.getWindow());
  SmallVector<AffineExpr> filterAt =
      llvm::map_to_vector(shape, [&](int64_t size) { return loops.parallel(size); });
  AffineExpr n = loops.reduction(shapeOf(image)[0]);
  SmallVector<AffineExpr> place = loops.reductions(out);
  SmallVector<AffineExpr> imageAt{n, filterAt[0], filterAt[2]},
      cotangentAt{n, filterAt[0], filterAt[1]};
  for (size_t i = 0; i < out.size(); ++i) {
    imageAt.push_back(place[i] * op.getStrides()[i] + filterAt[i + 3] * op.getDilations()[i]);
    cotangentAt.push_back(place[i]);
  }
  Value sums = sumOfWindows(b, shape, loops.map(filterAt),
                            {{cotangent, loops.map(cotangentAt)}, {image, loops.map(imageAt)}},
                            loops.iterators, Signs());
  return b.reshape(b.convertTo(sums, elementOf(in.getInput())), op.getType().getShape());
}

//===----------------------------------------------------------------------===//
// Places of maxima
//===----------------------------------------------------------------------===//

namespace {
/// Windows over a dimension each of images of the shape `in`; `out` is how many there are.
struct Places {
  ArrayRef<int64_t> window, strides, dilations, low;
  Shape in, out;

  template <typename Op>
  static Places of(Op op, ArrayRef<int64_t> in, ArrayRef<int64_t> out) {
    return {op.getWindow(),  op.getStrides(),         op.getDilations(),
            op.getPadsLow(), Shape(in.drop_front(2)), Shape(out.drop_front(2))};
  }
  int64_t count() const { return ShapedType::getNumElements(window); }

  /// Where a window's place lies in the image, which may be outside.
  Value position(Emitter &b, unsigned i, Value window, Value tap) const {
    Value start = b.sub(b.mul(window, b.index(strides[i])), b.index(low[i]));
    return b.add(start, b.mul(tap, b.index(dilations[i])));
  }
  /// As unsigned numbers, those below zero are large.
  static Value isIn(Emitter &b, Value at, int64_t size) {
    return b.compare(arith::CmpIPredicate::ult, at, b.index(size));
  }
};

/// Loops over all of `shape` and, as sums, over a window's places.
struct WindowLoops {
  Loops loops;
  SmallVector<AffineExpr> taps;
  Shape sizes; ///< of the loops over the window: those of one place have none
  SmallVector<AffineExpr> tapLoops;

  WindowLoops(Emitter &b, ArrayRef<int64_t> shape, ArrayRef<int64_t> window) : loops{b, {}} {
    for (int64_t size : shape)
      loops.parallel(size);
    taps = loops.reductions(window);
    for (auto [tap, size] : llvm::zip(taps, window))
      if (size != 1) {
        tapLoops.push_back(tap);
        sizes.push_back(size);
      }
  }
  /// Nothing else tells the sizes of the window's loops; its elements are never read.
  Operand sizesOperand(Emitter &b, Type element) {
    return {b.empty(sizes, element), loops.map(tapLoops)};
  }
  /// In a body: the window's place along dimension `i`.
  Value tap(Emitter &e, unsigned i) const {
    auto loop = dyn_cast<AffineDimExpr>(taps[i]);
    return loop ? e.loopIndex(loop.getPosition()) : e.index(0);
  }
  /// The number of the place in the window, row by row.
  Value place(Emitter &e, ArrayRef<int64_t> window) const {
    Value number = e.index(0);
    for (unsigned i = 0; i < window.size(); ++i)
      number = e.add(e.mul(number, e.index(window[i])), tap(e, i));
    return number;
  }
};
} // namespace

/// Places as they are stored, as an index and back.
static Value readPlace(Emitter &b, Value place) {
  if (!place.getType().isInteger(32))
    place = arith::ExtUIOp::create(b, b.getI32Type(), place);
  return arith::IndexCastOp::create(b, b.getIndexType(), place);
}

static Value storePlaces(Emitter &b, Value places, Type element) {
  if (elementOf(places) == element)
    return places;
  return b.elementwise(
      shapeOf(places), element, b.identity(places),
      [&](Emitter &e, ValueRange x) -> Value { return arith::TruncIOp::create(e, element, x[0]); });
}

/// The largest element so far and its place, side by side; the first one in the image counts
/// whatever it is, and then those that are larger, or NaN.
static Value lowerMaxPoolIndex(MaxPoolIndexOp op, MaxPoolIndexOp::Adaptor in, Emitter &b) {
  ArrayRef<int64_t> image = shapeOf(in.getInput()), out = op.getType().getShape();
  Places places = Places::of(op, image, out);
  Type element = elementOf(in.getInput()), wide = computeType(element);
  Value none = b.integer(places.count(), b.getI32Type());
  Value first = b.filled(out, none);
  Type stored = signless(op.getType().getElementType());
  if (ShapedType::getNumElements(out) == 0 || ShapedType::getNumElements(image) == 0)
    return storePlaces(b, first, stored);
  WindowLoops window(b, out, op.getWindow());
  Shape high;
  SmallVector<AffineExpr> at = b.dims(0, out.size());
  for (unsigned i = 0; i < places.in.size(); ++i) {
    int64_t reach =
        (places.out[i] - 1) * places.strides[i] + places.dilations[i] * (places.window[i] - 1) + 1;
    high.push_back(std::max<int64_t>(reach - places.in[i] - places.low[i], 0));
    at[i + 2] = at[i + 2] * places.strides[i] + window.taps[i] * places.dilations[i];
  }
  Value padded = b.pad(in.getInput(), places.low, high, b.lowest(element, false), 2);
  Value best = b.filled(out, b.lowest(wide, false));
  Operand sizes = window.sizesOperand(b, element);
  AffineMap result = window.loops.map(b.dims(0, out.size()));
  SmallVector<AffineMap> maps{window.loops.map(at), sizes.map, result, result};
  auto generic = linalg::GenericOp::create(
      b, TypeRange{best.getType(), first.getType()}, ValueRange{padded, sizes.value},
      ValueRange{best, first}, maps, window.loops.iterators,
      [&](OpBuilder &builder, Location loc, ValueRange x) {
        Emitter e(loc, builder);
        Value value = e.widen(x[0]), largest = x[2], place = x[3];
        Value inside = e.integer(1, e.getI1Type());
        for (unsigned i = 0; i < places.in.size(); ++i)
          inside = e.both(
              inside, Places::isIn(e, places.position(e, i, e.loopIndex(i + 2), window.tap(e, i)),
                                   places.in[i]));
        Value isFirst = e.compare(arith::CmpIPredicate::eq, place, none);
        // Unordered predicates are also true for a NaN on either side.
        Value isLarger = e.both(e.compare(arith::CmpFPredicate::UGT, value, largest),
                                e.compare(arith::CmpFPredicate::ORD, largest, largest));
        Value better = e.both(inside, e.either(isFirst, isLarger));
        Value here = arith::IndexCastOp::create(e, e.getI32Type(), window.place(e, places.window));
        linalg::YieldOp::create(e,
                                {e.select(better, value, largest), e.select(better, here, place)});
      });
  return storePlaces(b, generic.getResult(1), stored);
}

/// For each place of a window that an element may be: the window that has it there, if there is
/// one.
static Value lowerPoolSpread(PoolSpreadOp op, PoolSpreadOp::Adaptor in, Emitter &b) {
  ArrayRef<int64_t> image = op.getType().getShape(), out = shapeOf(in.getValues());
  Places places = Places::of(op, image, out);
  Type element = elementOf(in.getValues()), wide = computeType(element);
  Value zero = b.number(0, wide), zeros = b.filled(image, zero);
  if (ShapedType::getNumElements(out) == 0 || ShapedType::getNumElements(image) == 0)
    return b.convertTo(zeros, element);
  WindowLoops window(b, image, op.getWindow());
  Value sums = b.accumulate(
      zeros, window.loops.map(b.dims(0, image.size())), window.sizesOperand(b, element),
      window.loops.iterators, [&](Emitter &e, ValueRange x) -> Value {
        SmallVector<Value> at{e.loopIndex(0), e.loopIndex(1)};
        Value isHere = e.integer(1, e.getI1Type());
        for (unsigned i = 0; i < places.in.size(); ++i) {
          Value start = e.sub(e.add(e.loopIndex(i + 2), e.index(places.low[i])),
                              e.mul(window.tap(e, i), e.index(places.dilations[i])));
          Value stride = e.index(places.strides[i]);
          Value number =
              places.strides[i] == 1 ? start : Value(arith::DivSIOp::create(e, start, stride));
          isHere = e.both(isHere, Places::isIn(e, number, places.out[i]));
          // What is not a multiple, and what is below 0 and was cut off to 0.
          isHere =
              e.both(isHere, e.compare(arith::CmpIPredicate::eq, e.mul(number, stride), start));
          at.push_back(e.clampIndex(number, places.out[i]));
        }
        Value place = readPlace(e, tensor::ExtractOp::create(e, in.getPlaces(), at));
        isHere = e.both(isHere,
                        e.compare(arith::CmpIPredicate::eq, place, window.place(e, places.window)));
        Value value = e.widen(tensor::ExtractOp::create(e, in.getValues(), at));
        return e.add(x[1], e.select(isHere, value, zero));
      });
  return b.convertTo(sums, element);
}

static Value lowerPoolPick(PoolPickOp op, PoolPickOp::Adaptor in, Emitter &b) {
  ArrayRef<int64_t> image = shapeOf(in.getInput()), out = op.getType().getShape();
  Places places = Places::of(op, image, out);
  Type element = elementOf(in.getInput());
  if (ShapedType::getNumElements(image) == 0)
    return b.filled(out, b.number(0, element));
  return b.elementwise(out, element, b.identity(in.getPlaces()), [&](Emitter &e, ValueRange x) {
    Value place = readPlace(e, x[0]), isThere = Places::isIn(e, place, places.count());
    SmallVector<Value> at(out.size());
    for (unsigned i = places.in.size(); i-- > 0;) {
      Value size = e.index(places.window[i]);
      Value tap = arith::RemUIOp::create(e, place, size);
      place = arith::DivUIOp::create(e, place, size);
      Value position = places.position(e, i, e.loopIndex(i + 2), tap);
      isThere = e.both(isThere, Places::isIn(e, position, places.in[i]));
      at[i + 2] = e.clampIndex(position, places.in[i]);
    }
    at[0] = e.loopIndex(0);
    at[1] = e.loopIndex(1);
    Value value = tensor::ExtractOp::create(e, in.getInput(), at);
    return e.select(isThere, value, e.number(0, element));
  });
}

void gantry::populateWindowGradientPatterns(SignlessTypeConverter &converter,
                                            RewritePatternSet &patterns) {
  addLowering<ConvFilterGradOp, lowerConvFilterGrad>(converter, patterns);
  addLowering<MaxPoolIndexOp, lowerMaxPoolIndex>(converter, patterns);
  addLowering<PoolSpreadOp, lowerPoolSpread>(converter, patterns);
  addLowering<PoolPickOp, lowerPoolPick>(converter, patterns);
}
