// Attention of rounded factors (--math=bf16): queries, keys, values and the weights of softmax are
// bf16, the sums of both products and softmax itself f32.
//
// What counts as attention is a matter of the graph, as in Simplify's gantry-narrow-factors, which
// leaves it to who computes it: a product whose left operand is a softmax, and the products that
// this is computed from, element by element.

#include "gantry/Analysis/AttentionProducts.h"
#include "gantry/Target/CPU/CPUTarget.h"
#include "gantry/Target/CPU/Passes.h"
#include "gantry/Target/Rounder.h"
#include "gantry/Target/TargetMap.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_NARROWATTENTIONPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

static bool isF32(MatmulOp op) {
  return llvm::all_of(op->getOperands(),
                      [](Value value) { return getElementTypeOrSelf(value.getType()).isF32(); });
}

namespace {
struct NarrowAttention : gantry::impl::NarrowAttentionPassBase<NarrowAttention> {
  using NarrowAttentionPassBase::NarrowAttentionPassBase;

  void runOnOperation() override {
    const TargetMap targets(getOperation());
    if (targets.asked.getMath() != Math::bf16)
      return;
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      Rounder rounder(BFloat16Type::get(&getContext()));
      for (MatmulOp op : productsOfAttention(func))
        if (isF32(op) && targets.isOnlyOf(op, kCPUTarget, DeviceType::CPU))
          rounder.narrow(op);
      Rounder::eraseUnused(func);
    }
  }
};
} // namespace
