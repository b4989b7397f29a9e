// What the patterns around products of int8 share, and those that deal with scales.
#pragma once

#include "Dequantized.h"

#include "gantry/Dialect/Gantry/IR/Requests.h"

#include "mlir/IR/PatternMatch.h"

namespace gantry {

/// Makes ops that run where `like` was asked to.
struct Maker {
  mlir::PatternRewriter &rewriter;
  mlir::Operation *like;

  template <typename Op, typename... Args>
  Op make(Args &&...args) {
    auto op = Op::create(rewriter, like->getLoc(), std::forward<Args>(args)...);
    inheritRequest(like, op);
    return op;
  }

  mlir::Value cast(mlir::Value value, mlir::Type element) {
    auto type = llvm::cast<mlir::RankedTensorType>(value.getType()).clone(element);
    return value.getType() == type ? value : make<CastOp>(type, value).getResult();
  }
  mlir::Value constant(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                       const KnownElements &elements) {
    auto type = mlir::RankedTensorType::get(shape, element);
    return ConstantOp::create(rewriter, like->getLoc(), makeElements(type, elements));
  }
  mlir::Value number(int64_t value, mlir::Type element) {
    return constant({}, element, {false, {value}, {}});
  }
};

/// Whether ops may be computed in another way at the place of `product`: nobody asked for them
/// elsewhere.
inline bool mayMove(llvm::ArrayRef<mlir::Operation *> ops, mlir::Operation *product) {
  return llvm::all_of(ops, [&](mlir::Operation *op) {
    return !hasRequest(op) || getRequest(op) == getRequest(product);
  });
}

/// Scales and constants behind products: decided when compiling, and divided by those of results.
void populateRequantizationPatterns(mlir::RewritePatternSet &patterns);

} // namespace gantry
