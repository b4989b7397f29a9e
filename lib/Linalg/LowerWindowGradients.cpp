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

/// One sum for each element of the filter, over the images and then the places of each; in f32 the
/// other way round, as the convolution has it that CPUs make of it.
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
  const bool placesFirst = elementOf(in.getInput()).isF32();
  SmallVector<AffineExpr> place = placesFirst ? loops.reductions(out) : SmallVector<AffineExpr>();
  AffineExpr n = loops.reduction(shapeOf(image)[0]);
  if (!placesFirst)
    place = loops.reductions(out);
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
  /// Whether a place lies in the image for all windows.
  bool isAlwaysIn(unsigned i, int64_t tap) const {
    const int64_t start = tap * dilations[i] - low[i];
    return start >= 0 && start + (out[i] - 1) * strides[i] < in[i];
  }
  /// The loop indices of all dimensions, with `spatial` for those of the image.
  SmallVector<Value> at(Emitter &b, ArrayRef<Value> spatial) const {
    SmallVector<Value> index{b.loopIndex(0), b.loopIndex(1)};
    llvm::append_range(index, spatial);
    return index;
  }
};

/// Loops over all of `shape` and, as sums, over `window`.
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
  /// In a body: the window's place along each dimension.
  SmallVector<Value> tap(Emitter &e) const {
    return llvm::map_to_vector(taps, [&](AffineExpr tap) {
      auto loop = dyn_cast<AffineDimExpr>(tap);
      return loop ? e.loopIndex(loop.getPosition()) : e.index(0);
    });
  }
};
} // namespace

/// Most places of a window for which ops are written one by one, in a body without loops: that has
/// vectors.
static constexpr int64_t kMostWritten = 16;

/// Calls `body` with each place of a window, in order.
static void forEachPlace(ArrayRef<int64_t> window, function_ref<void(ArrayRef<int64_t>)> body) {
  for (int64_t i = 0, count = ShapedType::getNumElements(window); i < count; ++i) {
    Shape tap(window.size());
    int64_t rest = i;
    for (unsigned d = window.size(); d-- > 0; rest /= window[d])
      tap[d] = rest % window[d];
    body(tap);
  }
}

/// The number of the place in the window, row by row.
static Value numberOfPlace(Emitter &e, ArrayRef<Value> tap, ArrayRef<int64_t> window) {
  Value number = e.index(0);
  for (unsigned i = 0; i < window.size(); ++i)
    number = e.add(e.mul(number, e.index(window[i])), tap[i]);
  return number;
}

/// Places as they are stored, as an index and back.
static Value readPlace(Emitter &b, Value place) {
  if (!place.getType().isInteger(32))
    place = arith::ExtUIOp::create(b, b.getI32Type(), place);
  return arith::IndexCastOp::create(b, b.getIndexType(), place);
}

static Value storePlace(Emitter &b, Value place, Type element) {
  return place.getType() == element ? place : arith::TruncIOp::create(b, element, place);
}

namespace {
/// The largest element so far and its place; the first one in the image counts whatever it is, and
/// then those that are larger, or NaN.
struct Largest {
  Value value, place;

  /// With one more element; `inside` is null where it always is.
  Largest with(Emitter &e, Value next, Value here, Value inside, Value none) const {
    // Unordered predicates are also true for a NaN on either side.
    Value better = e.both(e.compare(arith::CmpFPredicate::UGT, next, value),
                          e.compare(arith::CmpFPredicate::ORD, value, value));
    better = e.either(e.compare(arith::CmpIPredicate::eq, place, none), better);
    if (inside)
      better = e.both(inside, better);
    return {e.select(better, next, value), e.select(better, here, place)};
  }
};

struct MaxPoolIndexLowering {
  Places places;
  Value image;
  Shape out;
  Type stored; ///< of a place
  Type wide = computeType(elementOf(image));

  /// Every element of a window is an operand, or read where it is clamped into the image.
  Value write(Emitter &b) {
    SmallVector<Operand> operands;
    bool isInside = true;
    forEachPlace(places.window, [&](ArrayRef<int64_t> tap) {
      SmallVector<AffineExpr> at = b.dims(0, out.size());
      for (unsigned i = 0; i < tap.size(); ++i) {
        isInside &= places.isAlwaysIn(i, tap[i]);
        AffineExpr &along = at[i + 2];
        along = along * places.strides[i] + tap[i] * places.dilations[i];
      }
      operands.push_back({image, b.mapOf(out.size(), at)});
    });
    if (!isInside)
      operands.clear();
    return b.elementwise(out, stored, operands, [&](Emitter &e, ValueRange x) {
      Value none = e.integer(places.count(), e.getI32Type());
      Largest largest{e.lowest(wide, false), none};
      int64_t number = 0;
      forEachPlace(places.window, [&](ArrayRef<int64_t> tap) {
        Value here = e.integer(number, e.getI32Type());
        if (isInside) {
          Value next = e.widen(x[number]);
          largest = number ? largest.with(e, next, here, {}, none) : Largest{next, here};
        } else {
          auto [next, inside] =
              read(e, llvm::map_to_vector(tap, [&](int64_t t) -> Value { return e.index(t); }));
          largest = largest.with(e, next, here, inside, none);
        }
        ++number;
      });
      return storePlace(e, largest.place, stored);
    });
  }

  /// The element at a place of the window, and whether there is one.
  std::pair<Value, Value> read(Emitter &e, ArrayRef<Value> tap) const {
    SmallVector<Value> spatial;
    Value inside = e.integer(1, e.getI1Type());
    for (unsigned i = 0; i < places.in.size(); ++i) {
      Value position = places.position(e, i, e.loopIndex(i + 2), tap[i]);
      inside = e.both(inside, Places::isIn(e, position, places.in[i]));
      spatial.push_back(e.clampIndex(position, places.in[i]));
    }
    return {e.widen(tensor::ExtractOp::create(e, image, places.at(e, spatial))), inside};
  }

  /// A loop over the window.
  Value loop(Emitter &b) {
    Value none = b.integer(places.count(), b.getI32Type());
    Value best = b.filled(out, b.lowest(wide, false)), first = b.filled(out, none);
    WindowLoops window(b, out, places.window);
    Operand sizes = window.sizesOperand(b, elementOf(image));
    AffineMap result = window.loops.map(b.dims(0, out.size()));
    auto generic = linalg::GenericOp::create(
        b, TypeRange{best.getType(), first.getType()}, ValueRange{sizes.value},
        ValueRange{best, first}, SmallVector<AffineMap>{sizes.map, result, result},
        window.loops.iterators, [&](OpBuilder &builder, Location loc, ValueRange x) {
          Emitter e(loc, builder);
          SmallVector<Value> tap = window.tap(e);
          auto [next, inside] = read(e, tap);
          Value here =
              arith::IndexCastOp::create(e, e.getI32Type(), numberOfPlace(e, tap, places.window));
          Largest largest = Largest{x[1], x[2]}.with(e, next, here, inside, none);
          linalg::YieldOp::create(e, {largest.value, largest.place});
        });
    return b.elementwise(out, stored, b.identity(generic.getResult(1)),
                         [&](Emitter &e, ValueRange x) { return storePlace(e, x[0], stored); });
  }
};
} // namespace

static Value lowerMaxPoolIndex(MaxPoolIndexOp op, MaxPoolIndexOp::Adaptor in, Emitter &b) {
  ArrayRef<int64_t> image = shapeOf(in.getInput()), out = op.getType().getShape();
  Places places = Places::of(op, image, out);
  Type stored = signless(op.getType().getElementType());
  if (ShapedType::getNumElements(out) == 0 || ShapedType::getNumElements(image) == 0)
    return b.filled(out, b.integer(places.count(), stored));
  MaxPoolIndexLowering lowering{places, in.getInput(), Shape(out), stored};
  return places.count() <= kMostWritten ? lowering.write(b) : lowering.loop(b);
}

namespace {
/// What an element gets: along each dimension it may be in the window that begins last before it,
/// and in so many in front of that.
struct PoolSpreadLowering {
  Places places;
  Value values, windows; ///< windows: the places that they say
  Shape image;
  Type element = elementOf(values), wide = computeType(element);

  /// How many windows an element may be in, along a dimension.
  Shape reach() const {
    Shape sizes;
    for (unsigned i = 0; i < places.in.size(); ++i)
      sizes.push_back(places.dilations[i] * (places.window[i] - 1) / places.strides[i] + 1);
    return sizes;
  }

  /// The value of the window `back` windows in front of the last one, if it belongs here, or 0.
  Value read(Emitter &e, ArrayRef<Value> back) const {
    SmallVector<Value> spatial, taps;
    Value isHere = e.integer(1, e.getI1Type());
    for (unsigned i = 0; i < places.in.size(); ++i) {
      Value position = e.add(e.loopIndex(i + 2), e.index(places.low[i]));
      Value number = e.sub(quotient(e, position, places.strides[i]), back[i]);
      isHere = e.both(isHere, Places::isIn(e, number, places.out[i]));
      Value offset = e.sub(position, e.mul(number, e.index(places.strides[i])));
      Value tap = quotient(e, offset, places.dilations[i]);
      isHere = e.both(isHere, Places::isIn(e, tap, places.window[i]));
      if (places.dilations[i] > 1)
        isHere = e.both(isHere, e.compare(arith::CmpIPredicate::eq,
                                          e.mul(tap, e.index(places.dilations[i])), offset));
      spatial.push_back(e.clampIndex(number, places.out[i]));
      taps.push_back(tap);
    }
    SmallVector<Value> at = places.at(e, spatial);
    Value place = readPlace(e, tensor::ExtractOp::create(e, windows, at));
    isHere = e.both(
        isHere, e.compare(arith::CmpIPredicate::eq, place, numberOfPlace(e, taps, places.window)));
    return e.select(isHere, e.widen(tensor::ExtractOp::create(e, values, at)), e.number(0, wide));
  }

  static Value quotient(Emitter &e, Value x, int64_t by) {
    return by == 1 ? x : arith::DivUIOp::create(e, x, e.index(by));
  }

  Value write(Emitter &b) {
    return b.elementwise(image, element, {}, [&](Emitter &e, ValueRange) {
      Value sum = e.number(0, wide);
      forEachPlace(reach(), [&](ArrayRef<int64_t> back) {
        sum = e.add(sum, read(e, llvm::map_to_vector(
                                     back, [&](int64_t k) -> Value { return e.index(k); })));
      });
      return e.narrow(sum, element);
    });
  }

  Value loop(Emitter &b) {
    WindowLoops window(b, image, reach());
    Value sums = b.accumulate(
        b.filled(image, b.number(0, wide)), window.loops.map(b.dims(0, image.size())),
        window.sizesOperand(b, element), window.loops.iterators,
        [&](Emitter &e, ValueRange x) -> Value { return e.add(x[1], read(e, window.tap(e))); });
    return b.convertTo(sums, element);
  }
};
} // namespace

static Value lowerPoolSpread(PoolSpreadOp op, PoolSpreadOp::Adaptor in, Emitter &b) {
  ArrayRef<int64_t> image = op.getType().getShape(), out = shapeOf(in.getValues());
  if (ShapedType::getNumElements(out) == 0 || ShapedType::getNumElements(image) == 0)
    return b.filled(image, b.number(0, elementOf(in.getValues())));
  PoolSpreadLowering lowering{Places::of(op, image, out), in.getValues(), in.getPlaces(),
                              Shape(image)};
  return ShapedType::getNumElements(lowering.reach()) <= kMostWritten ? lowering.write(b)
                                                                      : lowering.loop(b);
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
