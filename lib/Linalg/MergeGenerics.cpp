// Makes one generic op of all that go through the elements of a kernel with several results.
//
// Chains of elementwise ops are one op for each result by then (gantry-fuse-generics), or one for a
// result and one for what reads it. As ops apart they would be loops apart: what they share would
// be read by each.

#include "gantry/Linalg/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_MERGEGENERICSPASS
#include "gantry/Linalg/Passes.h.inc"
} // namespace gantry

/// Writes each element once, in a loop for each dimension.
static bool isElementwise(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0 && op.hasPureTensorSemantics() &&
         llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
           return op.getMatchingIndexingMap(&init).isIdentity() &&
                  !op.payloadUsesValueFromOperand(&init);
         });
}

namespace {
/// The generic ops of a function, in its order, as one.
class Merger {
public:
  explicit Merger(ArrayRef<linalg::GenericOp> ops) : ops(ops) {
    for (linalg::GenericOp op : ops)
      members.insert(op);
  }

  /// What others make is there before the first op, or no op's doing.
  bool mayMerge() const {
    SmallVector<int64_t> loops = linalg::GenericOp(ops.front()).getStaticLoopRanges();
    return llvm::all_of(ops, [&](linalg::GenericOp op) {
      return isElementwise(op) && op.getStaticLoopRanges() == loops && !isReadInBodies(op) &&
             llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *input) {
               Operation *maker = input->get().getDefiningOp();
               return members.contains(maker) ? op.getMatchingIndexingMap(input).isIdentity()
                                              : !followsMember(maker);
             });
    });
  }

  void merge() {
    linalg::GenericOp last = ops.back();
    OpBuilder builder(last);
    gather();
    SmallVector<AffineMap> maps;
    SmallVector<Value> inputs, inits;
    for (auto [value, map] : read) {
      inputs.push_back(value);
      maps.push_back(map);
    }
    for (OpResult result : made) {
      auto maker = cast<linalg::GenericOp>(result.getOwner());
      inits.push_back(maker.getDpsInitOperand(result.getResultNumber())->get());
      maps.push_back(maker.getIndexingMapMatchingResult(result));
    }
    auto merged = linalg::GenericOp::create(
        builder, last.getLoc(), TypeRange(ValueRange(inits)), inputs, inits, maps,
        last.getIteratorTypesArray(),
        [&](OpBuilder &b, Location loc, ValueRange arguments) { makeBody(b, loc, arguments); });
    for (auto [from, to] : llvm::zip(made, merged.getResults()))
      from.replaceAllUsesWith(to);
    for (linalg::GenericOp op : llvm::reverse(ops))
      op.erase();
  }

private:
  /// At other places than its own, as by an index that is computed.
  bool isReadInBodies(linalg::GenericOp op) const {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      return user->getBlock() != op->getBlock() && !members.contains(user);
    });
  }

  bool followsMember(Operation *op) const {
    return op && (members.contains(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
                    return followsMember(operand.getDefiningOp());
                  }));
  }

  /// What the ops read from outside, each once, and what others read of them.
  void gather() {
    for (linalg::GenericOp op : ops) {
      for (OpOperand *input : op.getDpsInputOperands())
        if (!members.contains(input->get().getDefiningOp()))
          read.insert({input->get(), op.getMatchingIndexingMap(input)});
      for (OpResult result : op->getResults())
        if (llvm::any_of(result.getUsers(),
                         [&](Operation *user) { return !members.contains(user); }))
          made.push_back(result);
    }
  }

  void makeBody(OpBuilder &b, Location loc, ValueRange arguments) {
    IRMapping scalars; // of what the ops make and of arguments of their bodies
    for (linalg::GenericOp op : ops) {
      for (OpOperand *input : op.getDpsInputOperands()) {
        Value scalar = scalars.lookupOrNull(input->get());
        if (!members.contains(input->get().getDefiningOp()))
          scalar = arguments[llvm::find(read,
                                        std::pair(input->get(), op.getMatchingIndexingMap(input))) -
                             read.begin()];
        scalars.map(op.getMatchingBlockArgument(input), scalar);
      }
      for (Operation &inner : op.getBody()->without_terminator())
        b.clone(inner, scalars);
      for (auto [result, yielded] :
           llvm::zip(op->getResults(), op.getBody()->getTerminator()->getOperands()))
        scalars.map(result, scalars.lookupOrDefault(yielded));
    }
    SmallVector<Value> results;
    for (OpResult result : made)
      results.push_back(scalars.lookup(result));
    linalg::YieldOp::create(b, loc, results);
  }

  ArrayRef<linalg::GenericOp> ops;
  llvm::SmallPtrSet<Operation *, 8> members;
  llvm::SmallSetVector<std::pair<Value, AffineMap>, 8> read;
  SmallVector<OpResult> made;
};

struct MergeGenerics : gantry::impl::MergeGenericsPassBase<MergeGenerics> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func.getNumResults() < 2)
      return;
    SmallVector<linalg::GenericOp> ops;
    bool hasOthers = false;
    func.walk([&](linalg::LinalgOp op) {
      if (auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
          generic && generic->getParentOp() == func)
        ops.push_back(generic);
      else
        hasOthers = true;
    });
    if (hasOthers || ops.size() < 2)
      return;
    Merger merger(ops);
    if (merger.mayMerge())
      merger.merge();
  }
};
} // namespace
