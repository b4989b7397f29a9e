// Chains of ops on elements, with the product or the reduction in front of them; chains along rows;
// sums over the same elements; attention; and convolutions that are computed row by row.

#include "Fusion.h"

#include "Products/TiledAttention.h"
#include "RowChains.h"
#include "Sums.h"
#include "gantry/Dialect/Gantry/IR/Layout.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Target/AttentionPolicy.h"
#include "gantry/Target/FusionPolicy.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gantry;

/// Of several groups in one kernel: their values are to fit into registers, and memory is good at
/// so many rows at a time.
static constexpr size_t kMostOps = 32, kMostRows = 16;

/// From here on a reduction of all elements is worth a second kernel, if rows are worth a loop.
static constexpr int64_t kManyElements = 32768, kLongRow = 256;

static bool suits(MatmulOp second, const AttentionSizes &sizes) {
  return cast<RankedTensorType>(second.getResult().getType()).getElementType().isF32() &&
         cpu::suitsAttention(sizes.queries, sizes.keys, sizes.depth, sizes.width);
}

/// Whether a reduction in the group reads what the op gives, as it is or as others make it.
static bool isInFrontOfReduction(Operation *op, ArrayRef<Operation *> group) {
  llvm::SmallSetVector<Operation *, 32> behind;
  behind.insert(op);
  for (size_t i = 0; i < behind.size(); ++i)
    for (Operation *user : behind[i]->getUsers())
      if (llvm::is_contained(group, user)) {
        if (cast<KernelOpInterface>(user).getFusionKind() == FusionKind::Reduction)
          return true;
        behind.insert(user);
      }
  return false;
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
  if (!isInFrontOfReduction(op, group))
    return fitsElementwiseGroup(op, group);
  SmallVector<Operation *> all(group);
  all.push_back(op);
  return fitsSizeOfGroup(op, group) && areSums(all);
}

/// Whether the op becomes one loop over the elements of its result; a normalisation by known
/// statistics makes numbers of channels first.
static bool isOneLoop(Operation *op) {
  return op->getNumResults() == 1 && !isa<BatchNormOp>(op) &&
         cast<KernelOpInterface>(op).getFusionKind() == FusionKind::Elementwise;
}

/// The tensors of that shape that are read from outside or written.
static size_t countRows(ArrayRef<Operation *> ops, ArrayRef<int64_t> shape) {
  llvm::SmallDenseSet<Value> rows;
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      if (!llvm::is_contained(ops, operand.getDefiningOp()) && shapeOf(operand) == shape)
        rows.insert(operand);
    if (llvm::any_of(op->getUsers(),
                     [&](Operation *user) { return !llvm::is_contained(ops, user); }))
      rows.insert(op->getResult(0));
  }
  return rows.size();
}

bool gantry::cpu::mayMerge(ArrayRef<Operation *> first, ArrayRef<Operation *> second) {
  SmallVector<Operation *> all(first);
  llvm::append_range(all, second);
  if (!llvm::all_of(all, isOneLoop))
    return areSums(all);
  ArrayRef<int64_t> shape = shapeOf(first.front()->getResult(0));
  return all.size() <= kMostOps && countRows(all, shape) <= kMostRows &&
         llvm::all_of(all, [&](Operation *op) {
           return shapeOf(op->getResult(0)) == shape &&
                  llvm::all_of(op->getUses(), [&](OpOperand &use) {
                    return !llvm::is_contained(all, use.getOwner()) || isElementwiseUse(use);
                  });
         });
}

/// Parts of so many rows at most, and at least, of what is too much to be there at once.
static int64_t partsOfManyRows(ArrayRef<int64_t> shape) {
  constexpr int64_t kManyElements = 1 << 26, kMostRows = 256, kFewestRows = 64;
  if (ShapedType::getNumElements(shape) < kManyElements)
    return 1;
  for (int64_t rows = kMostRows; rows >= kFewestRows; --rows)
    if (shape.front() % rows == 0)
      return shape.front() / rows;
  return 1;
}

// Rows are the work of many threads, and those of a part of the batch are reduced as with all
// others (gantry-split-batch).
int64_t gantry::cpu::partsOfReduction(Operation *op) {
  ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
  ArrayRef<int64_t> axes = op->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef();
  const int64_t elements = ShapedType::getNumElements(shape);
  if (axes == ArrayRef<int64_t>{0} && shape.size() > 1)
    return partsOfManyRows(shape);
  if (axes.size() != shape.size() || elements < kManyElements)
    return 1;
  const int64_t rows = *llvm::find_if(shape, [](int64_t size) { return size != 1; });
  return elements / rows >= kLongRow ? rows : 1;
}
