// What follows from reductions along rows joins them when all of it is for the root: a kernel goes
// through a row while that is in the cache, instead of through the whole tensor once for each op.
//
// What stands in front of the first reduction stays outside where it may be the epilogue of what it
// alone reads, as of a product.
//
// A reduction has to keep the order of its terms, a function of the row's length. It does where
// rows are whole steps of its vectors: a rest is a loop that LLVM vectorises as it likes, with
// squares in it in another way than without. With vectors that rows share, the largest elements of
// rows would be found in blocks, and of two zeros the other one might come out.

#include "RowChains.h"

#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::cpu;

/// A step of a row that is added up: four vectors (gantry-emit-register-tiles).
static constexpr int64_t kRowStep = 64;
/// Longer ones leave the nearest caches.
static constexpr int64_t kLongestRow = 32768;
static constexpr size_t kMostOps = 24;
/// How far from the root the first value of a row must turn up.
static constexpr int kNear = 4;

static bool isElementwise(Operation *op) {
  auto kernel = dyn_cast_or_null<KernelOpInterface>(op);
  return kernel && op->getNumResults() == 1 && kernel.getFusionKind() == FusionKind::Elementwise;
}

namespace {
struct Finder {
  Operation *root;
  ArrayRef<int64_t> shape = typeOf(root->getResult(0)).getShape();
  llvm::SetVector<Operation *> chain = {};

  bool isWhole(Value value) const { return typeOf(value).getShape() == shape; }
  /// One element for each row.
  bool isOfRows(Value value) const {
    ArrayRef<int64_t> other = typeOf(value).getShape();
    return other.size() == shape.size() && other.drop_back() == shape.drop_back() &&
           other.back() == 1;
  }
  bool isSingle(Value value) const { return typeOf(value).getNumElements() == 1; }

  bool suits() const {
    return isElementwise(root) && !shape.empty() && typeOf(root->getResult(0)).hasStaticShape() &&
           typeOf(root->getResult(0)).getElementType().isF32() && shape.back() > 0 &&
           shape.back() % kRowStep == 0 && shape.back() <= kLongestRow;
  }

  /// Whether a value of rows is read near `op`: most chains of elements are known to be none here.
  bool readsRows(Operation *op, int steps) const {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      Operation *maker = operand.getDefiningOp();
      return isOfRows(operand) ||
             (steps > 0 && isWhole(operand) && isElementwise(maker) && readsRows(maker, steps - 1));
    });
  }

  bool isReduction(Operation *op) const {
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case<ReduceSumOp, ReduceMeanOp, ReduceMaxOp>([&](auto reduce) {
          return isWhole(reduce.getInput()) && isOfRows(reduce.getResult()) &&
                 reduce.getAxes() == ArrayRef<int64_t>{int64_t(shape.size()) - 1};
        })
        .Default(false);
  }

  bool mayJoin(Operation *op) const {
    return op && op->getBlock() == root->getBlock() && op->getNumResults() == 1 &&
           op->getAttr(kDeviceAttr) == root->getAttr(kDeviceAttr) &&
           typeOf(op->getResult(0)).getElementType().isF32() &&
           (isReduction(op) ||
            (isElementwise(op) && (isWhole(op->getResult(0)) || isOfRows(op->getResult(0))))) &&
           llvm::all_of(op->getUsers(),
                        [&](Operation *user) { return user == root || chain.contains(user); });
  }

  /// From the root backwards, until nothing else is for the chain alone.
  void gather() {
    auto gatherFrom = [&](Operation *op) {
      for (Value operand : op->getOperands())
        if (Operation *maker = operand.getDefiningOp(); maker && !chain.contains(maker))
          if (mayJoin(maker))
            chain.insert(maker);
    };
    for (size_t known = ~size_t(0); known != chain.size() && chain.size() <= kMostOps;) {
      known = chain.size();
      gatherFrom(root);
      for (size_t i = 0; i < chain.size() && chain.size() <= kMostOps; ++i)
        gatherFrom(chain[i]);
    }
  }

  bool followsReduction(Operation *op, llvm::SmallPtrSetImpl<Operation *> &seen) const {
    if (!op || !chain.contains(op) || !seen.insert(op).second)
      return false;
    return isReduction(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
             return followsReduction(operand.getDefiningOp(), seen);
           });
  }

  /// Whether an op in front of the first reductions follows nothing that it alone reads.
  bool isFreeStanding(Operation *op) const {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *maker = operand.getDefiningOp();
      if (!maker || !isWhole(operand) || !operand.hasOneUse())
        return true;
      return chain.contains(maker) && isFreeStanding(maker);
    });
  }

  /// What stands in front of the first reductions stays outside unless it is free to join.
  void dropFront() {
    llvm::SetVector<Operation *> kept;
    for (Operation *op : chain) {
      llvm::SmallPtrSet<Operation *, 16> seen;
      if (followsReduction(op, seen) || isFreeStanding(op))
        kept.insert(op);
    }
    chain = std::move(kept);
  }

  /// Whether all that a reduction is computed from inside of the chain has rows of its own.
  bool readsOwnRows(Operation *op) const {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *maker = operand.getDefiningOp();
      return chain.contains(maker) ? readsOwnRows(maker)
                                   : isWhole(operand) || isOfRows(operand) || isSingle(operand);
    });
  }
};
} // namespace

RowChain gantry::cpu::findRowChain(Operation *root) {
  if (root->getNumResults() != 1 || !isa<RankedTensorType>(root->getResult(0).getType()))
    return {};
  Finder finder{root};
  if (!finder.suits() || !finder.readsRows(root, kNear))
    return {};
  finder.gather();
  finder.dropFront();
  if (llvm::none_of(finder.chain, [&](Operation *op) { return finder.isReduction(op); }))
    return {};
  for (Operation *op : finder.chain)
    if (isa<ReduceMaxOp>(op) && !finder.readsOwnRows(op))
      return {};
  return finder.chain.size() <= kMostOps ? RowChain(finder.chain.getArrayRef()) : RowChain();
}
