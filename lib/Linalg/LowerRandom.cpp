// Random numbers from a counter: element i, of a part counted in the whole, is a function of key,
// stream and i alone, by Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011). The counter is (low i, high i, 0, stream) and the key the two halves
// of 64 bits, a number or an operand.

#include "ElementwiseScalars.h"
#include "Patterns.h"

using namespace mlir;
using namespace gantry;

namespace {
struct Philox {
  Emitter &b;
  SmallVector<Value> counter;

  Value word(uint32_t value) { return b.integer(int32_t(value), b.getI32Type()); }
  Value mix(Value a, Value c) { return arith::XOrIOp::create(b, a, c); }

  void round(Value key0, Value key1) {
    auto first = arith::MulUIExtendedOp::create(b, counter[0], word(0xD2511F53));
    auto second = arith::MulUIExtendedOp::create(b, counter[2], word(0xCD9E8D57));
    counter = {mix(mix(second.getHigh(), counter[1]), key0), second.getLow(),
               mix(mix(first.getHigh(), counter[3]), key1), first.getLow()};
  }

  /// The low and the high half of an i64.
  std::pair<Value, Value> halves(Value x) {
    Value high = arith::ShRUIOp::create(b, x, b.integer(32, x.getType()));
    return {arith::TruncIOp::create(b, b.getI32Type(), x),
            arith::TruncIOp::create(b, b.getI32Type(), high)};
  }

  /// Four random words for element `i`; both are i64.
  ArrayRef<Value> draw(Value i, Value key, uint32_t stream) {
    auto [low, high] = halves(i);
    auto [key0, key1] = halves(key);
    counter = {low, high, word(0), word(stream)};
    for (uint32_t n = 0; n < 10; ++n)
      round(b.add(key0, word(n * 0x9E3779B9)), b.add(key1, word(n * 0xBB67AE85)));
    return counter;
  }
};
} // namespace

/// Row-major position in the whole of the current element, whose part of it is at `begin`.
static Value linearIndex(Emitter &b, ArrayRef<int64_t> whole, ArrayRef<int64_t> begin) {
  Value index = b.index(0);
  for (auto [i, size] : llvm::enumerate(whole)) {
    Value own = b.loopIndex(i);
    if (!begin.empty() && begin[i])
      own = b.add(own, b.index(begin[i]));
    index = b.add(b.mul(index, b.index(size)), own);
  }
  return arith::IndexCastOp::create(b, b.getI64Type(), index);
}

/// A number in [0, 1) with as many random bits as the precision of `type` holds, so that no
/// rounding can reach 1: 24 for f32, 53 (of two words) for f64, 11 for f16, 8 for bf16.
static Value unitInterval(Emitter &b, Value low, Value high, Type type) {
  unsigned bits = cast<FloatType>(type).getFPMantissaWidth();
  Type wide = computeType(type), word = b.getI32Type();
  if (bits > 32) {
    word = b.getI64Type();
    Value top =
        arith::ShLIOp::create(b, arith::ExtUIOp::create(b, word, high), b.integer(32, word));
    low = b.either(top, arith::ExtUIOp::create(b, word, low));
  }
  unsigned spare = word.getIntOrFloatBitWidth() - bits;
  Value shifted = arith::ShRUIOp::create(b, low, b.integer(spare, word));
  // Signed conversion is the faster one, and the top bit is clear.
  Value number = arith::SIToFPOp::create(b, wide, shifted);
  return b.mul(number, b.number(std::ldexp(1.0, -int(bits)), wide));
}

template <typename Op>
static Value generate(Op op, Value key, Emitter &b,
                      function_ref<Value(Emitter &, ArrayRef<Value>, Type)> number) {
  Type element = op.getType().getElementType();
  ArrayRef<int64_t> shape = op.getType().getShape();
  SmallVector<Operand> keys;
  if (key)
    keys.push_back(b.broadcast(key, shape));
  return b.elementwise(shape, element, keys, [&](Emitter &e, ValueRange given) {
    Value bits = key ? given[0] : e.integer(*op.getSeed(), e.getI64Type());
    Philox philox{e, {}};
    Value position =
        linearIndex(e, op.getWhole().value_or(shape), op.getBegin().value_or(ArrayRef<int64_t>()));
    return number(e, philox.draw(position, bits, op.getStream().value_or(0)), element);
  });
}

static Value lowerRandomUniform(RandomUniformOp op, RandomUniformOp::Adaptor in, Emitter &b) {
  double low = op.getLow().convertToDouble(), high = op.getHigh().convertToDouble();
  return generate(op, in.getKey(), b, [&](Emitter &e, ArrayRef<Value> words, Type type) {
    Type wide = computeType(type);
    Value unit = unitInterval(e, words[0], words[1], type);
    Value scaled = e.add(e.mul(unit, e.number(high - low, wide)), e.number(low, wide));
    Value rounded = emitCast(e, emitCast(e, scaled, wide, type), type, wide);
    // Rounding may reach the excluded end.
    Value inside = e.compare(arith::CmpFPredicate::OLT, rounded, e.number(high, wide));
    return e.narrow(e.select(inside, scaled, e.number(low, wide)), type);
  });
}

/// Box-Muller: sqrt(-2 ln u) cos(2 pi v), with u in (0, 1].
static Value lowerRandomNormal(RandomNormalOp op, RandomNormalOp::Adaptor in, Emitter &b) {
  return generate(op, in.getKey(), b, [&](Emitter &e, ArrayRef<Value> words, Type type) {
    Type wide = computeType(type);
    // f16 and bf16 draw as f32 does: their few bits would cut the tails off.
    Value u = unitInterval(e, words[0], words[1], wide);
    Value v = unitInterval(e, words[2], words[3], wide);
    Value inverted = e.sub(e.number(1, wide), u);
    Value radius = e.math<math::SqrtOp>(e.mul(e.number(-2, wide), e.math<math::LogOp>(inverted)));
    Value angle = e.mul(v, e.number(6.283185307179586, wide));
    Value normal = e.mul(radius, e.math<math::CosOp>(angle));
    Value scaled = e.mul(normal, e.number(op.getDeviation().convertToDouble(), wide));
    return e.narrow(e.add(scaled, e.number(op.getMean().convertToDouble(), wide)), type);
  });
}

void gantry::populateRandomPatterns(SignlessTypeConverter &converter, RewritePatternSet &patterns) {
  addLowering<RandomUniformOp, lowerRandomUniform>(converter, patterns);
  addLowering<RandomNormalOp, lowerRandomNormal>(converter, patterns);
}
