// After Simplify: every shape is known and of a sane size.

#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_VERIFYSIMPLIFIEDPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// No machine has more; sums of a few of them cannot overflow.
static constexpr int64_t kMaxBytes = int64_t(1) << 46;

static LogicalResult checkType(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return success();
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

namespace {
struct VerifySimplified : gantry::impl::VerifySimplifiedPassBase<VerifySimplified> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto result = getOperation().walk([](Operation *op) {
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
