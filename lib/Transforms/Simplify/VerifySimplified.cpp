// After Simplify: every value is a tensor of a type that memory can be planned for: known elements,
// a known shape of a sane size. What is to be differentiated is; branches and loops nest no deeper
// than in plans.

#include "gantry/Dialect/Gantry/IR/Layout.h"
#include "gantry/Plan/Validate.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_VERIFYSIMPLIFIEDPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// No machine has more; sums of a few of them cannot overflow.
static constexpr int64_t kMaxBytes = int64_t(1) << 46;

/// Whether kernels and plans know the type of an element.
static bool isKnownElement(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.getWidth() == 1
               ? integer.isSignless()
               : !integer.isSigned() && llvm::is_contained({8u, 16u, 32u, 64u}, integer.getWidth());
  return type.isF32() || type.isF64() || type.isF16() || type.isBF16();
}

static LogicalResult checkType(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return op->emitOpError() << "has a value of type " << type
                             << "; values are tensors of known rank";
  if (!isKnownElement(tensor.getElementType()))
    return op->emitOpError() << "has elements of type " << tensor.getElementType()
                             << "; known are f32, f64, f16, bf16, i1 and i8, i16, i32, i64 with or "
                                "without sign (ui8, ...)";
  if (!tensor.hasStaticShape())
    return op->emitOpError() << "has the open shape " << tensor
                             << "; shapes must be known when compiling, give sizes with --dim";
  __int128 bytes = std::max<unsigned>(8, tensor.getElementTypeBitWidth()) / 8;
  for (int64_t d : tensor.getShape()) {
    bytes *= d;
    if (bytes > kMaxBytes)
      return op->emitOpError() << "makes " << tensor << ", which no machine can hold";
  }
  return success();
}

static LogicalResult checkNesting(Operation *op) {
  if (!isa<RegionBranchOpInterface>(op))
    return success();
  unsigned depth = 0;
  for (Operation *at = op->getParentOp(); at; at = at->getParentOp())
    depth += isa<RegionBranchOpInterface>(at);
  if (depth >= plan::maxBlockDepth)
    return op->emitOpError() << "is a branch or loop in " << plan::maxBlockDepth
                             << " others; plans hold no more";
  return success();
}

namespace {
struct VerifySimplified : gantry::impl::VerifySimplifiedPassBase<VerifySimplified> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto result = getOperation().walk([](Operation *op) {
      if (isa<GradientOp, CheckpointOp, CustomGradientOp, StopGradientOp>(op)) {
        op->emitOpError("is left after Simplify");
        return WalkResult::interrupt();
      }
      if (isNHWC(op)) {
        op->emitOpError()
            << "has the layout NHWC, which the compiler sets after placement; transpose "
               "the images and leave it out";
        return WalkResult::interrupt();
      }
      if (failed(checkNesting(op)))
        return WalkResult::interrupt();
      for (Type type : op->getResultTypes())
        if (failed(checkType(op, type)))
          return WalkResult::interrupt();
      for (Region &region : op->getRegions())
        for (Type type : region.empty() ? TypeRange() : TypeRange(region.getArgumentTypes()))
          if (failed(checkType(op, type)))
            return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
