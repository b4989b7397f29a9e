// Elementwise ops: one linalg.generic each, with broadcasting in the indexing maps, which is the
// form that linalg's elementwise fusion takes up.

#include "ElementwiseScalars.h"
#include "Patterns.h"

using namespace mlir;
using namespace gantry;

namespace {
struct LowerElementwise : OpInterfaceConversionPattern<KernelOpInterface> {
  using OpInterfaceConversionPattern::OpInterfaceConversionPattern;

  LogicalResult matchAndRewrite(KernelOpInterface op, ArrayRef<Value> operands,
                                ConversionPatternRewriter &rewriter) const override {
    // Elementwise to those who fuse it, and lowered by a pattern of its own.
    if (op.getFusionKind() != FusionKind::Elementwise || isa<BatchNormOp>(op))
      return failure();
    Emitter b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    auto inputs = llvm::map_to_vector(
        operands, [&](Value operand) { return b.broadcast(operand, type.getShape()); });
    bool known = true;
    Value result = b.elementwise(type.getShape(), signless(type.getElementType()), inputs,
                                 [&](Emitter &e, ValueRange x) {
                                   auto scalars = x.drop_back();
                                   Value scalar = emitScalar(op, e, e.getLoc(), scalars);
                                   known = bool(scalar);
                                   return known ? scalar : x.back();
                                 });
    if (!known)
      return op->emitOpError() << "has no elementwise lowering for operands of type "
                               << op->getOperand(0).getType();
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void gantry::populateElementwisePatterns(SignlessTypeConverter &converter,
                                         RewritePatternSet &patterns) {
  patterns.add<LowerElementwise>(converter, patterns.getContext());
}
