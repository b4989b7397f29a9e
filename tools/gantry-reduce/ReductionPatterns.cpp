// How ops of the gantry dialect may be made simpler while a failing module is being reduced.
//
// The reducer tries patterns on ranges of ops and keeps what still fails. Removing an op is its own
// job; what it cannot do is to remove one whose value is used. So an op may give way to an operand
// of its result's type, or to a constant; scopes give way to their bodies.

#include "ReductionPatterns.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Reducer/ReductionPatternInterface.h"

using namespace mlir;
using namespace gantry;

namespace {
/// An op whose result has the type of an operand becomes that operand.
struct UseOperand : RewritePattern {
  explicit UseOperand(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/2, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa<KernelOpInterface>(op) || op->getNumResults() != 1)
      return failure();
    for (Value operand : op->getOperands())
      if (operand.getType() == op->getResult(0).getType()) {
        rewriter.replaceOp(op, operand);
        return success();
      }
    return failure();
  }
};

/// An op of static shapes becomes constants of zeros.
struct UseZeros : RewritePattern {
  explicit UseZeros(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa<KernelOpInterface>(op))
      return failure();
    SmallVector<Value> zeros;
    for (Type type : op->getResultTypes()) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !tensor.hasStaticShape())
        return failure();
      zeros.push_back(ConstantOp::create(rewriter, op->getLoc(), zerosOf(tensor)));
    }
    rewriter.replaceOp(op, zeros);
    return success();
  }

  static ElementsAttr zerosOf(RankedTensorType type) {
    if (auto element = dyn_cast<FloatType>(type.getElementType()))
      return DenseElementsAttr::get(type, APFloat::getZero(element.getFloatSemantics()));
    return DenseElementsAttr::get(type, APInt(type.getElementTypeBitWidth(), 0));
  }
};

/// A device scope becomes its body.
struct DissolveScope : OpRewritePattern<OnOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(OnOp scope, PatternRewriter &rewriter) const override {
    Operation *yield = scope.getBody().front().getTerminator();
    SmallVector<Value> values(yield->getOperands());
    rewriter.eraseOp(yield);
    rewriter.inlineBlockBefore(&scope.getBody().front(), scope);
    rewriter.replaceOp(scope, values);
    return success();
  }
};

struct GantryReductionPatterns : DialectReductionPatternInterface {
  explicit GantryReductionPatterns(Dialect *dialect) : DialectReductionPatternInterface(dialect) {}

  void populateReductionPatterns(RewritePatternSet &patterns) const final {
    patterns.add<UseOperand, UseZeros, DissolveScope>(patterns.getContext());
  }
};
} // namespace

void gantry::registerReductionPatterns(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, GantryDialect *dialect) {
    dialect->addInterfaces<GantryReductionPatterns>();
  });
}
