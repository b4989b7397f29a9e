// Formulas of rules as they are written on paper: values with operators, numbers in between.
#pragma once

#include "gantry/Dialect/Gantry/IR/GradientBuilder.h"

namespace gantry {

/// A value in a formula.
struct Term {
  GradientBuilder *b = nullptr;
  mlir::Value value;

  Term(GradientBuilder &b, mlir::Value value) : b(&b), value(value) {}
  operator mlir::Value() const { return value; }

  Term number(double x) const { return {*b, b->number(x, value.getType())}; }
  template <typename Op>
  Term unary() const {
    return {*b, b->make<Op>(value.getType(), value)};
  }
  template <typename Op>
  Term with(mlir::Value other) const {
    return {*b, b->make<Op>(value, other)};
  }
  Term compare(CompareDirection direction, mlir::Value other) const {
    return {*b, b->make<CompareOp>(direction, value, other)};
  }
  /// This, where `condition` holds, else `other`.
  Term where(mlir::Value condition, mlir::Value other) const {
    return {*b, b->make<SelectOp>(condition, value, other)};
  }
};

#define GANTRY_TERM_OPERATOR(sign, Op)                                                             \
  inline Term operator sign(Term x, Term y) { return x.with<Op>(y); }                              \
  inline Term operator sign(Term x, double y) { return x.with<Op>(x.number(y)); }                  \
  inline Term operator sign(double x, Term y) { return y.number(x).with<Op>(y); }
GANTRY_TERM_OPERATOR(+, AddOp)
GANTRY_TERM_OPERATOR(-, SubOp)
GANTRY_TERM_OPERATOR(*, MulOp)
GANTRY_TERM_OPERATOR(/, DivOp)
#undef GANTRY_TERM_OPERATOR

#define GANTRY_TERM_COMPARISON(sign, direction)                                                    \
  inline Term operator sign(Term x, Term y) { return x.compare(CompareDirection::direction, y); }  \
  inline Term operator sign(Term x, double y) {                                                    \
    return x.compare(CompareDirection::direction, x.number(y));                                    \
  }
GANTRY_TERM_COMPARISON(<, LT)
GANTRY_TERM_COMPARISON(<=, LE)
GANTRY_TERM_COMPARISON(>, GT)
GANTRY_TERM_COMPARISON(>=, GE)
GANTRY_TERM_COMPARISON(==, EQ)
#undef GANTRY_TERM_COMPARISON

inline Term operator-(Term x) { return x.unary<NegOp>(); }
/// Of truth values.
inline Term operator&&(Term x, Term y) { return x.with<LogicalAndOp>(y); }
inline Term operator||(Term x, Term y) { return x.with<LogicalOrOp>(y); }

inline Term select(Term condition, Term x, Term y) { return x.where(condition, y); }
inline Term select(Term condition, Term x, double y) { return x.where(condition, x.number(y)); }
inline Term select(Term condition, double x, Term y) { return y.number(x).where(condition, y); }

#define GANTRY_TERM_FUNCTION(name, Op)                                                             \
  inline Term name(Term x) { return x.unary<Op>(); }
GANTRY_TERM_FUNCTION(absolute, AbsOp)
GANTRY_TERM_FUNCTION(sign, SignOp)
GANTRY_TERM_FUNCTION(exponential, ExpOp)
GANTRY_TERM_FUNCTION(expm1, Expm1Op)
GANTRY_TERM_FUNCTION(logarithm, LogOp)
GANTRY_TERM_FUNCTION(sine, SinOp)
GANTRY_TERM_FUNCTION(cosine, CosOp)
GANTRY_TERM_FUNCTION(sineh, SinhOp)
GANTRY_TERM_FUNCTION(cosineh, CoshOp)
GANTRY_TERM_FUNCTION(tanhyp, TanhOp)
GANTRY_TERM_FUNCTION(errorFunction, ErfOp)
GANTRY_TERM_FUNCTION(rsqrt, RsqrtOp)
GANTRY_TERM_FUNCTION(reciprocal, ReciprocalOp)
GANTRY_TERM_FUNCTION(sigmoid, SigmoidOp)
GANTRY_TERM_FUNCTION(softplus, SoftplusOp)
GANTRY_TERM_FUNCTION(nearest, RoundOp)
#undef GANTRY_TERM_FUNCTION

inline Term power(Term x, Term y) { return x.with<PowOp>(y); }
inline Term power(Term x, double y) { return x.with<PowOp>(x.number(y)); }

// Shapes. All of them are static.

/// Dimensions of `shape` with size 1 at `axes`.
llvm::SmallVector<int64_t> keptShape(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> axes);
/// The same elements under another shape; itself where it has that one.
Term reshaped(Term x, llvm::ArrayRef<int64_t> shape);
Term transposed(Term x, llvm::ArrayRef<int64_t> permutation);
/// With `axis` in front of dimension `to`.
llvm::SmallVector<int64_t> inversePermutation(llvm::ArrayRef<int64_t> permutation);
/// Sum or mean over axes, which stay with size 1.
Term sumOver(Term x, llvm::ArrayRef<int64_t> axes);
Term meanOver(Term x, llvm::ArrayRef<int64_t> axes);
/// A value to a larger shape, aligned at the last dimension.
Term stretched(Term x, llvm::ArrayRef<int64_t> shape);
/// `size` elements of one dimension, from `start` on, with a step.
Term sliced(Term x, int64_t axis, int64_t start, int64_t size, int64_t step = 1);
/// Zeros in front of one dimension and behind it.
Term padded(Term x, int64_t axis, int64_t low, int64_t high);
Term joined(GradientBuilder &b, mlir::ValueRange parts, int64_t axis);

} // namespace gantry
