// What kernels are to a library, as text for their variant in the plan. Fusion left the ops alone
// that are marked; should anything disagree about that, it is an error and not a slower plan.

#include "LibraryProduct.h"

#include "gantry/Target/CUDA/CUDATarget.h"
#include "gantry/Target/CUDA/Libraries.h"
#include "gantry/Target/CUDA/Passes.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;
using gantry::plan::MatrixProduct;

namespace gantry {
#define GEN_PASS_DEF_NAMELIBRARYPRODUCTSPASS
#include "gantry/Target/CUDA/Passes.h.inc"
} // namespace gantry

/// Operands are arguments of the kernel, behind which its result comes.
static std::optional<MatrixProduct> productOf(KernelOp kernel, MatmulOp op, bool tf32) {
  auto left = dyn_cast<BlockArgument>(op.getLhs()), right = dyn_cast<BlockArgument>(op.getRhs());
  Block &body = kernel.getBody().front();
  // The op and the yield.
  if (!left || !right || !llvm::hasNItems(body, 2))
    return std::nullopt;
  return describeProduct(op, tf32,
                         {left.getArgNumber(), right.getArgNumber(), body.getNumArguments()});
}

namespace {
struct NameLibraryProducts : gantry::impl::NameLibraryProductsPassBase<NameLibraryProducts> {
  void runOnOperation() override {
    const bool tf32 = mayRoundToTF32(getOperation()->getAttrOfType<TargetAttr>(kTargetAttr));
    for (auto kernel : getOperation().getOps<KernelOp>())
      for (auto op : kernel.getBody().getOps<MatmulOp>())
        if (op.removeByLibraryAttr())
          if (failed(name(kernel, op, tf32)))
            return signalPassFailure();
  }

  static LogicalResult name(KernelOp kernel, MatmulOp op, bool tf32) {
    std::optional<MatrixProduct> product = productOf(kernel, op, tf32);
    if (!product)
      return op.emitError("internal error: it is for a library, which has no such kernel");
    kernel->setAttr(kLibraryProductAttr, StringAttr::get(op.getContext(), product->text()));
    return success();
  }
};
} // namespace
