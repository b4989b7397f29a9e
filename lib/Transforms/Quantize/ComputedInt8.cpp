// Products of int8 whose factors are both computed, as attention has them.
//
//   (a - za) x (b - zb) = a x b - za * (sums of b's columns) - zb * (sums of a's rows) + k za zb
//
// The left bytes become unsigned and the right ones signed by turning their first bit, which moves
// them and their zero point by 128. A zero point of 0 has no sums; those that are left are products
// with ones, much smaller than the product itself.

#include "ComputedInt8.h"

#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

namespace {
/// Bytes of the sign that a side of the product has.
struct Factor {
  Value bytes;
  Value zero;                   ///< i32, a single number; null where it is known
  std::optional<int64_t> known; ///< zero, when it is constant

  bool isCentred() const { return known == 0; }
};

struct BothComputed {
  MatmulOp op;
  Maker &b;
  Type i32 = b.rewriter.getI32Type();

  Factor make(const Centred &side, bool isUnsigned) {
    Factor factor{side.bytes, {}, 0};
    if (side.zero) {
      factor.known.reset();
      if (auto constant = evaluateValue(side.zero))
        factor.known = constant->ints[0];
      else
        factor.zero = b.make<ReshapeOp>(RankedTensorType::get({}, i32), side.zero);
    }
    if (typeOf(side.bytes).getElementType().isUnsignedInteger() != isUnsigned)
      turn(factor, isUnsigned);
    return factor;
  }

  Value sums(const Factor &left, const Factor &right) {
    auto type = typeOf(op.getResult());
    Value sums = b.make<MatmulOp>(type.clone(i32), left.bytes, right.bytes, op.getTransposeA(),
                                  op.getTransposeB());
    for (StringRef name : {kNameAttr, kSourceOpAttr})
      if (Attribute kept = op->getAttr(name))
        sums.getDefiningOp()->setAttr(name, kept);
    if (!left.isCentred())
      sums = b.make<SubOp>(sums.getType(), sums, scaled(sumsOfColumns(right.bytes), left));
    if (!right.isCentred())
      sums = b.make<SubOp>(sums.getType(), sums, scaled(sumsOfRows(left.bytes), right));
    if (!left.isCentred() && !right.isCentred())
      sums = b.make<AddOp>(sums.getType(), sums, scaled(scaled(number(terms()), left), right));
    return sums;
  }

private:
  /// Turning the first bit moves numbers of either sign by 128 into the other's range.
  void turn(Factor &factor, bool isUnsigned) {
    Type i8 = b.rewriter.getI8Type();
    Value turned = b.make<BitwiseXorOp>(b.cast(factor.bytes, i8), b.number(-128, i8));
    factor.bytes =
        isUnsigned ? b.cast(turned, b.rewriter.getIntegerType(8, /*isSigned=*/false)) : turned;
    const int64_t moved = isUnsigned ? 128 : -128;
    if (factor.known)
      *factor.known += moved;
    else
      factor.zero = b.make<AddOp>(factor.zero, number(moved));
  }

  Value number(int64_t value) { return b.number(value, i32); }
  Value zeroOf(const Factor &factor) { return factor.known ? number(*factor.known) : factor.zero; }
  Value scaled(Value sums, const Factor &by) {
    return b.make<MulOp>(sums.getType(), sums, zeroOf(by));
  }

  int64_t terms() {
    ArrayRef<int64_t> shape = typeOf(op.getLhs()).getShape();
    return op.getTransposeA() ? shape[shape.size() - 2] : shape.back();
  }
  Value ones(ArrayRef<int64_t> shape, Type element) {
    return b.constant(shape, element, {false, {1}, {}});
  }

  /// [..., m, 1]
  Value sumsOfRows(Value left) {
    Shape shape(typeOf(left).getShape());
    if (op.getTransposeA())
      std::swap(shape.back(), shape[shape.size() - 2]);
    shape.back() = 1;
    return b.make<MatmulOp>(RankedTensorType::get(shape, i32), left,
                            ones({terms(), 1}, b.rewriter.getI8Type()), op.getTransposeA(), false);
  }

  /// [..., 1, n]
  Value sumsOfColumns(Value right) {
    Shape shape(typeOf(right).getShape());
    if (op.getTransposeB())
      std::swap(shape.back(), shape[shape.size() - 2]);
    shape[shape.size() - 2] = 1;
    return b.make<MatmulOp>(RankedTensorType::get(shape, i32),
                            ones({1, terms()}, b.rewriter.getIntegerType(8, /*isSigned=*/false)),
                            right, false, op.getTransposeB());
  }
};
} // namespace

Value gantry::sumComputedInt8(MatmulOp op, const Centred &left, const Centred &right, Maker &b) {
  auto suits = [&](const Centred &side, Value operand) {
    auto type = typeOf(operand);
    return typeOf(side.bytes).getElementType().isInteger(8) && type.hasStaticShape() &&
           type.getRank() >= 2 && typeOf(side.bytes).getShape() == type.getShape() &&
           (!side.zero || typeOf(side.zero).getNumElements() == 1) && mayMove(side.ops, op);
  };
  if (!suits(left, op.getLhs()) || !suits(right, op.getRhs()))
    return {};
  BothComputed both{op, b};
  Factor first = both.make(left, /*isUnsigned=*/true);
  return both.sums(first, both.make(right, /*isUnsigned=*/false));
}
