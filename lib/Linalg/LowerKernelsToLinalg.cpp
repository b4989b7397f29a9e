// Turns each gantry.kernel into a function of linalg ops.
//
// A dialect conversion with one pattern per op (or family); the type converter makes unsigned
// element types signless, so patterns look at the original types to choose signed or unsigned ops.
// Kernels are independent of each other, so they are converted in parallel.

#include "gantry/Linalg/Passes.h"

#include "Patterns.h"

#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/IR/Threading.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_LOWERKERNELSTOLINALGPASS
#include "gantry/Linalg/Passes.h.inc"
} // namespace gantry

SignlessTypeConverter::SignlessTypeConverter() {
  addConversion([](Type type) { return type; });
  addConversion([](RankedTensorType type) { return type.clone(signless(type.getElementType())); });
}

static bool isOpen(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && !shaped.hasStaticShape();
}

/// Every tensor in the kernel must have a static shape, since Simplify specialises open dimensions,
/// and every op must compute: scopes, control flow and copies are not kernels.
static LogicalResult checkKernel(KernelOp kernel) {
  for (BlockArgument argument : kernel.getBody().getArguments())
    if (isOpen(argument.getType()))
      return kernel.emitOpError() << "argument " << argument.getArgNumber()
                                  << " has open dimensions: " << argument.getType();
  for (Operation &op : kernel.getBody().front()) {
    if (isa<GantryDialect>(op.getDialect()) && !isa<KernelOpInterface, ConstantOp, YieldOp>(op))
      return op.emitOpError() << "cannot stand in a kernel";
    for (Type type : op.getResultTypes())
      if (isOpen(type))
        return op.emitOpError() << "has a result with open dimensions: " << type;
  }
  return success();
}

/// Moves the body of `kernel` into a private function of the same name in its place.
static func::FuncOp makeFunction(KernelOp kernel) {
  OpBuilder builder(kernel);
  auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
  auto type = builder.getFunctionType(kernel.getBody().getArgumentTypes(), yield.getOperandTypes());
  auto function = func::FuncOp::create(builder, kernel.getLoc(), kernel.getSymName(), type);
  function.setPrivate();
  for (NamedAttribute attribute : kernel->getDiscardableAttrs())
    function->setDiscardableAttr(attribute.getName(), attribute.getValue());
  function.getBody().takeBody(kernel.getBody());
  kernel.erase();
  return function;
}

namespace {
struct YieldToReturn : OpConversionPattern<YieldOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(YieldOp op, OpAdaptor operands,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<func::ReturnOp>(op, operands.getOperands());
    return success();
  }
};

struct LowerKernelsToLinalg : gantry::impl::LowerKernelsToLinalgPassBase<LowerKernelsToLinalg> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    converterOwner = std::make_shared<SignlessTypeConverter>();
    SignlessTypeConverter &converter = *converterOwner;
    populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(set, converter);
    set.add<YieldToReturn>(converter, context);
    populateElementwisePatterns(converter, set);
    populateContractionPatterns(converter, set);
    populateWindowPatterns(converter, set);
    populateReductionPatterns(converter, set);
    populateNormalisationPatterns(converter, set);
    populateMovementPatterns(converter, set);
    populateIndexingPatterns(converter, set);
    populateScanPatterns(converter, set);
    populateResizePatterns(converter, set);
    populateRandomPatterns(converter, set);
    patterns = std::move(set);
    return success();
  }

  LogicalResult lower(func::FuncOp function) {
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalDialect<GantryDialect>();
    target.addDynamicallyLegalOp<func::FuncOp>(
        [&](func::FuncOp op) { return converterOwner->isSignatureLegal(op.getFunctionType()); });
    return applyPartialConversion(function, target, patterns);
  }

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (KernelOp kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      if (failed(checkKernel(kernel)))
        return signalPassFailure();
      functions.push_back(makeFunction(kernel));
    }
    if (failed(failableParallelForEach(&getContext(), functions,
                                       [&](func::FuncOp function) { return lower(function); })))
      signalPassFailure();
  }

  /// Shared, because patterns refer to it and clones of the pass share the patterns.
  std::shared_ptr<SignlessTypeConverter> converterOwner;
  FrozenRewritePatternSet patterns;
};
} // namespace
