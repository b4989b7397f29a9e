// Builds scalar and tensor ops for the lowerings.
//
// An Emitter is a builder with a location. Its scalar members choose the float or the integer op by
// the operands' type; its tensor members wrap linalg.generic so that a lowering reads as maps and a
// body.
//
// No bit of a result depends on which ops share a kernel (docs/decisions/0016): what an op does to
// one element is exact IEEE arithmetic, rounded to the op's type. Only the body of a reduction,
// which is one op's own in every kernel, has fast-math flags.
//
// f16 and bf16 are storage types only: bodies widen them to f32, compute, and narrow the result,
// which is both more exact and what vector units do well.
#pragma once

#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

namespace gantry {

/// In reductions sums may be reordered and contracted and the sign of zero may be lost; NaN and
/// infinity must not be assumed away, because models produce and test for both.
inline constexpr mlir::arith::FastMathFlags kReductionMath = mlir::arith::FastMathFlags::reassoc |
                                                             mlir::arith::FastMathFlags::contract |
                                                             mlir::arith::FastMathFlags::nsz;

/// The type that bodies compute in: f32 for f16 and bf16, else the type itself.
mlir::Type computeType(mlir::Type element);

/// `element` without its sign: ui8 gives i8. Not for tensors.
mlir::Type signless(mlir::Type element);
/// The same bytes with a signless element type; null for elements in other forms than dense.
mlir::ElementsAttr signlessElements(mlir::ElementsAttr elements);

/// A tensor as a body reads it: the value, and the element that each iteration sees.
struct Operand {
  mlir::Value value;
  mlir::AffineMap map;
};

class Emitter : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  using Value = mlir::Value;
  using Type = mlir::Type;
  using Body = llvm::function_ref<Value(Emitter &, mlir::ValueRange)>;
  using Iterators = llvm::ArrayRef<mlir::utils::IteratorType>;

  /// For the float ops that the scalar members make.
  mlir::arith::FastMathFlags mathFlags = mlir::arith::FastMathFlags::none;

  //===--- Scalars ---------------------------------------------------------------------------===//

  /// `value` as a constant of a float, integer or index type.
  Value number(double value, Type type);
  Value integer(int64_t value, Type type);
  Value index(int64_t value) { return integer(value, getIndexType()); }
  /// The identity of maximum (or of minimum): -inf, or the least value of an integer type.
  Value lowest(Type type, bool isUnsigned);
  Value highest(Type type, bool isUnsigned);

  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  /// Float division; integers are divided by the lowering of gantry.div alone, which guards them.
  Value div(Value a, Value b);
  /// NaN from either side comes through, as in NumPy.
  Value maximum(Value a, Value b, bool isUnsigned = false);
  Value minimum(Value a, Value b, bool isUnsigned = false);
  Value select(Value condition, Value a, Value b);
  Value compare(mlir::arith::CmpFPredicate predicate, Value a, Value b);
  Value compare(mlir::arith::CmpIPredicate predicate, Value a, Value b);
  /// a < b, ordered, with the signedness given for integers.
  Value less(Value a, Value b, bool isUnsigned = false);
  Value both(Value a, Value b);
  Value either(Value a, Value b);
  Value negate(Value bit);
  template <typename MathOp>
  Value math(Value x) {
    return MathOp::create(*this, x, mathFlags);
  }
  /// e^x of an x that is at most 0, or NaN: the same bits, sooner.
  Value expAtMostZero(Value x);

  /// f16 and bf16 to f32; other types stay.
  Value widen(Value x);
  /// f32 to f16 or bf16 where `type` asks for it.
  Value narrow(Value x, Type type);

  /// An integer of any width as an index, sign-extended.
  Value toIndex(Value x);
  /// Inside a body: the index of loop `dim`.
  Value loopIndex(unsigned dim);
  /// Negative counts from the end. Stays an i64 where it was one: an index may have fewer bits.
  Value countFromEnd(Value x, int64_t size);
  /// Into [0, size).
  Value clampIndex(Value x, int64_t size);
  /// Negative counts from the end, then clamps into [0, size).
  Value wrapIndex(Value x, int64_t size);

  //===--- Tensors ---------------------------------------------------------------------------===//

  mlir::RankedTensorType tensorType(llvm::ArrayRef<int64_t> shape, Type element);
  Value empty(llvm::ArrayRef<int64_t> shape, Type element);
  /// A tensor filled with a scalar.
  Value filled(llvm::ArrayRef<int64_t> shape, Value scalar);

  mlir::AffineExpr dim(unsigned position) { return getAffineDimExpr(position); }
  llvm::SmallVector<mlir::AffineExpr> dims(unsigned begin, unsigned end);
  mlir::AffineMap mapOf(unsigned loops, llvm::ArrayRef<mlir::AffineExpr> results);

  /// All loops parallel, one for each dimension of `shape`; result[i...] = body(inputs at i...).
  Value elementwise(llvm::ArrayRef<int64_t> shape, Type element, llvm::ArrayRef<Operand> inputs,
                    Body body);
  /// A tensor of `shape` that reads `input` elsewhere: `indexOf` gives, for each of its dimensions,
  /// the index to read at, from the loops' indices and what `inputs` have there.
  Value pick(llvm::ArrayRef<int64_t> shape, Value input, llvm::ArrayRef<Operand> inputs,
             llvm::function_ref<Value(Emitter &, unsigned, mlir::ValueRange)> indexOf);
  /// Any loops; the body's last argument is the accumulator, which starts as `init`.
  Value accumulate(Value init, mlir::AffineMap resultMap, llvm::ArrayRef<Operand> inputs,
                   Iterators iterators, Body body);

  /// Reads `value` from loops over `shape`, broadcast from the right as in NumPy. Reads through a
  /// reshape that only adds dimensions of size 1, so that the producer stays fusable.
  Operand broadcast(Value value, llvm::ArrayRef<int64_t> shape);
  /// Reads a tensor of one element for each index of loop `position`, e.g. one per channel.
  Operand perDim(Value value, unsigned loops, unsigned position);
  Operand identity(Value value);
  /// The element of a tensor of rank 0.
  Value scalarOf(Value tensor);

  /// The same elements in row-major order under another shape.
  Value reshape(Value value, llvm::ArrayRef<int64_t> shape);
  /// Borders of a scalar, for dimensions from `first` on; nothing when all are zero.
  Value pad(Value value, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high, Value scalar,
            unsigned first = 0);
  Value extractSlice(Value value, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> sizes,
                     llvm::ArrayRef<int64_t> steps = {});
  Value insertSlice(Value value, Value into, llvm::ArrayRef<int64_t> starts,
                    llvm::ArrayRef<int64_t> steps = {});
  /// Elementwise conversion between a storage type and its compute type; itself when equal.
  Value convertTo(Value tensor, Type element);
};

/// Whether the elements of a tensor of the gantry dialect compare as unsigned; i1 does.
inline bool isUnsigned(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  return element.isUnsignedInteger() || element.isInteger(1);
}

} // namespace gantry
