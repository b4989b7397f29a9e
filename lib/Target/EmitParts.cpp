#include "gantry/Target/EmitParts.h"

#include "mlir/IR/Action.h"
#include "mlir/IR/Threading.h"

using namespace mlir;

namespace gantry {
/// Code generation for some kernels.
struct EmitPart : tracing::ActionImpl<EmitPart> {
  using Base = tracing::ActionImpl<EmitPart>;
  using Base::Base;
  static constexpr StringLiteral tag = "gantry-emit-part";
  static constexpr StringLiteral desc = "machine code of some kernels";
};
} // namespace gantry

LogicalResult gantry::emitParts(MLIRContext *context, size_t count,
                                function_ref<LogicalResult(size_t)> emit) {
  return failableParallelForEachN(context, 0, count, [&](size_t i) {
    LogicalResult result = failure();
    context->executeAction<EmitPart>([&] { result = emit(i); }, {});
    return result;
  });
}
