// Which products a library is asked for: all that it has, or those that it is estimated to compute
// so much faster that what would share their kernel may be one of its own
// (docs/designs/libraries.md).
//
// The answer is a mark on the op that everybody reads: fusion, which leaves such an op alone,
// whoever predicts fusion, and the kernel, which becomes a variant. It is a function of the op and
// of what its operands are, so that the same product of another replica, or without fusion, has the
// same bits (docs/decisions/0016).

#include "ChooseLibrary.h"
#include "LibraryProduct.h"

#include "gantry/Analysis/AttentionProducts.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Target/CUDA/CUDATarget.h"
#include "gantry/Target/CUDA/Libraries.h"
#include "gantry/Target/CUDA/Passes.h"
#include "gantry/Target/TargetMap.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;
using gantry::plan::MatrixProduct;

namespace gantry {
#define GEN_PASS_DEF_ASSIGNLIBRARIESPASS
#include "gantry/Target/CUDA/Passes.h.inc"
} // namespace gantry

/// Bytes of operands that are turned in each run for this product or others, where kernels of ours
/// may read them as they were.
static uint64_t bytesTurnedFor(MatmulOp op) {
  uint64_t bytes = 0;
  for (Value operand : op->getOperands()) {
    while (auto copy = operand.getDefiningOp<CopyOp>())
      operand = copy.getInput();
    if (auto transpose = operand.getDefiningOp<TransposeOp>())
      if (!skipViews(transpose.getInput()).getDefiningOp<ConstantOp>())
        bytes += getByteSize(transpose.getType());
  }
  return bytes;
}

namespace {
struct AssignLibraries : gantry::impl::AssignLibrariesPassBase<AssignLibraries> {
  using AssignLibrariesPassBase::AssignLibrariesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const TargetMap targets(module);
    for (auto func : module.getOps<func::FuncOp>()) {
      func.walk([](MatmulOp op) { op.removeByLibraryAttr(); });
      if (targets.asked.asksForLibrary(StringRef(plan::matmulLibrary)))
        assignAll(func, targets);
      else if (!own && targets.asked.asksForLibrary(kAutomaticLibraries))
        assignFaster(func, targets);
    }
  }

  static void assignAll(func::FuncOp func, const TargetMap &targets) {
    func.walk([&](MatmulOp op) {
      if (mayBeOnGPU(op, targets) && describe(op, targets))
        op.setByLibrary(true);
    });
  }

  static void assignFaster(func::FuncOp func, const TargetMap &targets) {
    const llvm::SetVector<MatmulOp> attention = productsOfAttention(func);
    const int64_t arch = oldestGPUArch(targets.configOf(kCUDATarget));
    func.walk([&](MatmulOp op) {
      if (!mayBeOnGPU(op, targets) || attention.contains(op))
        return;
      if (std::optional<MatrixProduct> product = describe(op, targets);
          product && isWorthLibrary(*product, arch, bytesTurnedFor(op)))
        op.setByLibrary(true);
    });
  }

  /// As it is once its operands are rounded, which is behind Place.
  static std::optional<MatrixProduct> describe(MatmulOp op, const TargetMap &targets) {
    std::optional<MatrixProduct> product =
        describeProduct(op, mayRoundToTF32(targets.configOf(kCUDATarget)));
    FloatType rounded = targets.asked.getFactorType();
    if (product && rounded && product->type == ElementType::f32) {
      product->type = rounded.isBF16() ? ElementType::bf16 : ElementType::f16;
      product->isWide = true;
    }
    return product;
  }

  /// Nobody knows before Place.
  static bool mayBeOnGPU(MatmulOp op, const TargetMap &targets) {
    return !op->hasAttr(kDeviceAttr) || !op->hasAttr(kPlacementAttr) ||
           targets.mayBeOf(op, kCUDATarget);
  }
};
} // namespace
