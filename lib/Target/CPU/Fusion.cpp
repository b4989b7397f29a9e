// Chains of ops on elements, with the product or the reduction in front of them; chains along rows;
// and attention.

#include "Fusion.h"

#include "Products/Attention.h"
#include "RowChains.h"
#include "gantry/Target/AttentionPolicy.h"
#include "gantry/Target/FusionPolicy.h"

using namespace mlir;
using namespace gantry;

static bool suits(MatmulOp second, const AttentionSizes &sizes) {
  return cast<RankedTensorType>(second.getResult().getType()).getElementType().isF32() &&
         cpu::suitsAttention(sizes.queries, sizes.keys, sizes.depth, sizes.width);
}

bool gantry::cpu::mayJoin(Operation *op, ArrayRef<Operation *> group) {
  if (fitsAttention(op, group, suits, AttentionOperands::parts))
    return true;
  if (RowChain chain = findRowChain(group.front()); !chain.empty())
    return llvm::is_contained(chain, op);
  return fitsElementwiseGroup(op, group);
}
