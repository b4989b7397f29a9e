// Convolutions and attention of rounded factors on GPUs (--math=bf16, f16): what they multiply is
// rounded, sums stay f32, so that they are products for tensor cores like those of matrices.
//
// What is rounded depends on shapes, devices and architectures alone, never on what is fused. A
// value is rounded by a cast of its own behind what makes it, once for all that read it, so that it
// goes into the kernel that makes it where it can. Constants are rounded here.

#include "CoreTiles.h"
#include "gantry/Analysis/AttentionProducts.h"
#include "gantry/Dialect/Gantry/IR/Accumulators.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Target/CUDA/CUDATarget.h"
#include "gantry/Target/CUDA/Passes.h"
#include "gantry/Target/Rounder.h"
#include "gantry/Target/TargetMap.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_NARROWGPUFACTORSPASS
#include "gantry/Target/CUDA/Passes.h.inc"
} // namespace gantry

static bool isF32(Value value) { return typeOf(value).getElementType().isF32(); }

/// As large as products for tensor cores have to be; depthwise convolutions are not.
static bool suits(ConvOp conv) {
  constexpr int64_t fewestTerms = 16;
  ArrayRef<int64_t> filter = typeOf(conv.getFilter()).getShape(),
                    result = conv.getType().getShape();
  const int64_t columns = result[0] * ShapedType::getNumElements(result.drop_front(2));
  return isF32(conv.getInput()) && isF32(conv.getFilter()) &&
         filter[0] / int64_t(conv.getGroups()) >= gantry::gpu::kFewestCoreRows &&
         columns >= gantry::gpu::kFewestCoreRows &&
         ShapedType::getNumElements(filter.drop_front()) >= fewestTerms;
}

namespace {
struct Narrower : Rounder {
  using Rounder::narrow;
  using Rounder::Rounder;

  void narrow(ConvOp conv) {
    conv.getInputMutable().assign(imageOf(conv));
    conv.getFilterMutable().assign(round(conv.getFilter(), conv, "/filter"));
    giveAccumulators(conv);
  }

  /// Borders in front of the convolution stay there: they go into its kernel.
  Value imageOf(ConvOp conv) {
    auto pad = conv.getInput().getDefiningOp<PadOp>();
    if (!pad || !pad->hasOneUse() || pad.getMode() != PadMode::Constant)
      return round(conv.getInput(), conv, "/image");
    Value inside = round(pad.getInput(), conv, "/image"), around = round(pad.getValue(), conv, "");
    builder.setInsertionPoint(pad);
    auto again = cast<PadOp>(builder.clone(*pad));
    again->setOperands({inside, around});
    again.getResult().setType(typeOf(pad).clone(element));
    return again;
  }
};

struct NarrowGPUFactors : gantry::impl::NarrowGPUFactorsPassBase<NarrowGPUFactors> {
  using NarrowGPUFactorsPassBase::NarrowGPUFactorsPassBase;

  void runOnOperation() override {
    const TargetMap targets(getOperation());
    FloatType element = targets.asked.getFactorType();
    if (!element || oldestGPUArch(targets.configOf(kCUDATarget)) < kTensorCoreArch)
      return;
    // What stands in for a GPU keeps f32.
    auto isOurs = [&](Operation *op) { return targets.isOnlyOf(op, kCUDATarget, DeviceType::GPU); };
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      Narrower narrower(element);
      SmallVector<ConvOp> convolutions;
      func.walk([&](ConvOp conv) {
        if (isOurs(conv) && suits(conv))
          convolutions.push_back(conv);
      });
      for (ConvOp conv : convolutions)
        narrower.narrow(conv);
      for (MatmulOp product : productsOfAttention(func))
        if (isOurs(product) && llvm::all_of(product->getOperands(), isF32))
          narrower.narrow(product);
      Rounder::eraseUnused(func);
    }
  }
};
} // namespace
