// Patterns that lower gantry ops on tensors to linalg; one file per family of ops.
//
// A lowering is a function from op, converted operands and a builder to the converted results:
//   static Value lowerRelu(ReluOp op, ReluOp::Adaptor in, Emitter &b);
// A null value (or an empty list, for ops of several results) says that it reported an error on the
// op. `op` still has the types of the gantry dialect, with signs; `in` has signless types.
#pragma once

#include "gantry/Linalg/Emitter.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Transforms/DialectConversion.h"

namespace gantry {

/// Unsigned element types become signless ones, everything else stays.
class SignlessTypeConverter : public mlir::TypeConverter {
public:
  SignlessTypeConverter();
};

/// Adapts a lowering function to a conversion pattern.
template <typename Op, auto lower>
struct LowerOp : mlir::OpConversionPattern<Op> {
  using mlir::OpConversionPattern<Op>::OpConversionPattern;

  mlir::LogicalResult matchAndRewrite(Op op, typename Op::Adaptor operands,
                                      mlir::ConversionPatternRewriter &rewriter) const override {
    Emitter builder(op.getLoc(), rewriter);
    llvm::SmallVector<mlir::Value> results{lower(op, operands, builder)};
    if (results.size() != op->getNumResults() || llvm::is_contained(results, mlir::Value()))
      return mlir::failure();
    rewriter.replaceOp(op, results);
    return mlir::success();
  }
};

template <typename Op, auto lower>
void addLowering(SignlessTypeConverter &converter, mlir::RewritePatternSet &patterns) {
  // What an op has of its own comes before what it shares with all elementwise ops.
  patterns.add<LowerOp<Op, lower>>(converter, patterns.getContext(), /*benefit=*/2);
}

void populateElementwisePatterns(SignlessTypeConverter &, mlir::RewritePatternSet &);
void populateContractionPatterns(SignlessTypeConverter &, mlir::RewritePatternSet &);
void populateWindowPatterns(SignlessTypeConverter &, mlir::RewritePatternSet &);
void populateWindowGradientPatterns(SignlessTypeConverter &, mlir::RewritePatternSet &);
void populateReductionPatterns(SignlessTypeConverter &, mlir::RewritePatternSet &);
void populateNormalisationPatterns(SignlessTypeConverter &, mlir::RewritePatternSet &);
void populateMovementPatterns(SignlessTypeConverter &, mlir::RewritePatternSet &);
void populateIndexingPatterns(SignlessTypeConverter &, mlir::RewritePatternSet &);
void populateScanPatterns(SignlessTypeConverter &, mlir::RewritePatternSet &);
void populateResizePatterns(SignlessTypeConverter &, mlir::RewritePatternSet &);
void populateRandomPatterns(SignlessTypeConverter &, mlir::RewritePatternSet &);

} // namespace gantry
