#include "HoistUpdates.h"

#include "gantry/Analysis/VariableUpdates.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Gantry/IR/Views.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace gantry;

/// Next values that what serves updates alone is for, at most: a weight's, its moments', and those
/// of the bias beside it. What is for more is a part of the way back.
static constexpr size_t kMostNextValues = 8;

namespace {
/// The ops of a function's block in a new order.
class Hoister {
public:
  explicit Hoister(func::FuncOp func) : block(func.getBody().front()) {
    for (auto [old, next] : variableUpdatesOf(func))
      oldOf[next] = old;
  }

  void run() {
    if (oldOf.empty())
      return;
    findWhatServesUpdates();
    keepOldValues();
    SmallVector<Operation *> serving, others, order;
    for (Operation &op : block.without_terminator())
      if (isCount(&op) && isReady(&op))
        place(&op, order);
      else if (!serves.contains(&op))
        others.push_back(&op);
      else if (isFromOutside(&op))
        late.insert(&op);
      else
        serving.push_back(&op);
    for (Operation *op : others) {
      place(op, order);
      // In their order, so one pass places what waits for another one of them.
      llvm::erase_if(serving,
                     [&](Operation *next) { return isReady(next) && (place(next, order), true); });
    }
    for (Operation *op : serving)
      place(op, order);
    for (Operation &op : block.without_terminator())
      if (!placed.contains(&op))
        place(&op, order);
    for (Operation *op : order)
      op->moveBefore(block.getTerminator());
  }

private:
  /// Numbers of steps, rates and the like, which updates of all variables wait for.
  static bool isCount(Operation *op) {
    return isPure(op) && op->getNumRegions() == 0 &&
           llvm::all_of(op->getResults(), [](Value value) {
             auto type = dyn_cast<RankedTensorType>(value.getType());
             return type && type.hasStaticShape() && type.getNumElements() == 1;
           });
  }

  /// Ops whose results nothing but a few updates needs.
  void findWhatServesUpdates() {
    for (Operation &op : llvm::reverse(block.without_terminator())) {
      llvm::SmallDenseSet<unsigned> nextValues; // results of the function
      const bool isForUpdates = llvm::all_of(op.getUses(), [&](OpOperand &use) {
        if (use.getOwner() == block.getTerminator()) {
          nextValues.insert(use.getOperandNumber());
          return oldOf.contains(&use);
        }
        auto user = serves.find(block.findAncestorOpInBlock(*use.getOwner()));
        if (user == serves.end())
          return false;
        nextValues.insert(user->second.begin(), user->second.end());
        return nextValues.size() <= kMostNextValues;
      });
      if (!nextValues.empty() && isForUpdates)
        serves.try_emplace(&op, std::move(nextValues));
    }
  }

  /// An update waits for the readers of the old value that stand in front of it.
  void keepOldValues() {
    for (auto [next, old] : oldOf)
      if (Operation *maker = skipViews(next->get()).getDefiningOp(); maker && old)
        addReaders(old, maker);
  }

  void addReaders(Value value, Operation *maker) {
    for (Operation *user : value.getUsers()) {
      Operation *own = block.findAncestorOpInBlock(*user);
      if (own && own != maker && own->isBeforeInBlock(maker))
        waitsFor[maker].push_back(own);
      if (isView(user))
        addReaders(user->getResult(0), maker);
    }
  }

  /// Whether all that it reads is there from the start: the decay of a moment, say. It comes when
  /// its first reader does.
  bool isFromOutside(Operation *op) const {
    return op->getNumRegions() == 0 && !waitsFor.contains(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             Operation *maker = operand.getDefiningOp();
             return isPlaced(maker) || late.contains(maker);
           });
  }

  bool isPlaced(Operation *op) const {
    return !op || op->getBlock() != &block || placed.contains(op);
  }

  bool isReady(Operation *op) const {
    bool isReady = llvm::all_of(waitsFor.lookup(op), [&](Operation *o) { return isPlaced(o); });
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        isReady &= isPlaced(operand.getDefiningOp()) || late.contains(operand.getDefiningOp());
    });
    return isReady;
  }

  void place(Operation *op, SmallVectorImpl<Operation *> &order) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *maker = operand.getDefiningOp(); late.contains(maker) && !isPlaced(maker))
          place(maker, order);
    });
    order.push_back(op);
    placed.insert(op);
  }

  Block &block;
  DenseMap<OpOperand *, Value> oldOf; ///< by operand of the terminator that is a next value
  DenseMap<Operation *, llvm::SmallDenseSet<unsigned>> serves; ///< by op: next values
  DenseSet<Operation *> late, placed;
  DenseMap<Operation *, SmallVector<Operation *>> waitsFor;
};
} // namespace

void gantry::hoistUpdates(func::FuncOp func) { Hoister(func).run(); }
