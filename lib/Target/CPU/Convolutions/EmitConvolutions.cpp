// The pass; the kinds of kernels are in Blocks.cpp and Depthwise.cpp.

#include "Convolution.h"
#include "Rows.h"
#include "gantry/Target/CPU/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_EMITCONVOLUTIONSPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

namespace {
struct EmitConvolutions : gantry::impl::EmitConvolutionsPassBase<EmitConvolutions> {
  void runOnOperation() override {
    // What stands around one of them goes with it.
    SmallVector<linalg::GenericOp> packed;
    getOperation().walk([&](linalg::GenericOp op) {
      if (PackedConvolution::match(op))
        packed.push_back(op);
    });
    if (packed.empty())
      return;
    auto target = getOperation()->getAttrOfType<TargetAttr>(kTargetAttr);
    FailureOr<Registers> registers = registersFor(getOperation().getLoc(), target);
    if (failed(registers))
      return signalPassFailure();
    for (linalg::GenericOp op : packed)
      if (auto convolution = Convolution::match(op))
        emit(*convolution, *registers);
  }

  static void emit(const Convolution &convolution, const Registers &registers) {
    Operation *last = convolution.replaced.front();
    ImplicitLocOpBuilder b(last->getLoc(), last);
    const bool isDepthwise = convolution.form.isDepthwise() && convolution.form.groups > 1;
    if (isDepthwise)
      emitDepthwise(b, convolution, registers);
    else if (auto rows = cutRows(convolution); rows && !multipliesMatrices(convolution, registers))
      emitRows(b, convolution, *rows, registers);
    else
      emitBlocks(b, convolution, registers);
    for (Operation *op : convolution.replaced)
      op->erase();
  }
};
} // namespace
