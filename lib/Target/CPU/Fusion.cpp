// Chains of ops on elements, with the product or the reduction in front of them; chains along rows;
// attention; and convolutions that are computed row by row.

#include "Fusion.h"

#include "Products/TiledAttention.h"
#include "RowChains.h"
#include "gantry/Dialect/Gantry/IR/Layout.h"
#include "gantry/Target/AttentionPolicy.h"
#include "gantry/Target/FusionPolicy.h"

using namespace mlir;
using namespace gantry;

static bool suits(MatmulOp second, const AttentionSizes &sizes) {
  return cast<RankedTensorType>(second.getResult().getType()).getElementType().isF32() &&
         cpu::suitsAttention(sizes.queries, sizes.keys, sizes.depth, sizes.width);
}

bool gantry::cpu::mayJoin(Operation *op, ArrayRef<Operation *> group) {
  // They were chosen before (gantry-chain-convolutions, gantry-put-channels-last), with the op that
  // reads them.
  if (op->hasAttr(kByRowsAttr))
    return true;
  if (fitsAttention(op, group, suits, AttentionOperands::parts))
    return true;
  if (RowChain chain = findRowChain(group.front()); !chain.empty())
    return llvm::is_contained(chain, op);
  return fitsElementwiseGroup(op, group);
}
