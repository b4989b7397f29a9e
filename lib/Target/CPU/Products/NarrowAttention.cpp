// Attention of rounded factors (--math=bf16): queries, keys, values and the weights of softmax are
// bf16, the sums of both products and softmax itself f32.
//
// What counts as attention is a matter of the graph, as in Simplify's gantry-narrow-factors, which
// leaves it to who computes it: a product whose left operand is a softmax, and the products that
// this is computed from, element by element.

#include "Placed.h"
#include "Rounder.h"
#include "gantry/Analysis/AttentionProducts.h"
#include "gantry/Dialect/Gantry/IR/Wide.h"
#include "gantry/Target/CPU/Passes.h"

#include "llvm/ADT/SetVector.h"

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

/// Moves that nobody reads any more.
static void eraseMoves(func::FuncOp func) {
  SmallVector<Operation *> moves;
  func.walk([&](Operation *op) {
    if (isa<TransposeOp, SliceOp, ReshapeOp>(op))
      moves.push_back(op);
  });
  for (Operation *op : llvm::reverse(moves))
    if (op->use_empty())
      op->erase();
}

namespace {
struct NarrowAttention : gantry::impl::NarrowAttentionPassBase<NarrowAttention> {
  using NarrowAttentionPassBase::NarrowAttentionPassBase;

  void runOnOperation() override {
    cpu::Placed placed(getOperation(), std::vector<std::string>(also.begin(), also.end()));
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      cpu::Rounder rounder(&getContext());
      for (MatmulOp op : productsOfAttention(func))
        if (isF32(op) && placed.targetOf(op))
          narrow(op, rounder);
      eraseMoves(func);
    }
  }

  static void narrow(MatmulOp op, cpu::Rounder &rounder) {
    constexpr StringLiteral suffixes[] = {"/left", "/right"};
    for (OpOperand &operand : op->getOpOperands())
      operand.set(
          rounder.roundBeforeMoves(operand.get(), op, suffixes[operand.getOperandNumber()]));
    setWide(op);
  }
};
} // namespace
