// Makes one op of several that compute the same and ask for the same.
//
// That is CSE, which compares all attributes; but two scopes that ask for one device are one
// request from two places (spec P1). So the places are taken off before and put back behind it.
//
// CSE finds ops by operands and attributes and then compares their regions, and all branches on one
// condition look alike to it: it would compare each with each. So ops with regions get a number
// made of what they contain and read, the same one for equal ops.

#include "gantry/Transforms/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_MERGEOPSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
/// Numbers values by what computes them, whatever ops those are: equal for what CSE may merge.
class ValueNumbers {
public:
  /// Marks ops with regions in `op` by their numbers.
  llvm::hash_code mark(Operation *op) {
    llvm::hash_code number = llvm::hash_combine(op->getName().getAsOpaquePointer(),
                                                op->getRawDictionaryAttrs(), op->hashProperties());
    for (Type type : op->getResultTypes())
      number = llvm::hash_combine(number, type);
    for (Value operand : op->getOperands())
      number = llvm::hash_combine(number, numbers.lookup(operand));
    for (Region &region : op->getRegions())
      number = llvm::hash_combine(number, markInside(region));
    for (OpResult result : op->getResults())
      numbers[result] = llvm::hash_combine(number, result.getResultNumber());
    if (op->getNumRegions() != 0 && !op->hasTrait<OpTrait::IsIsolatedFromAbove>())
      op->setAttr(kContentAttr, IntegerAttr::get(IntegerType::get(op->getContext(), 64),
                                                 static_cast<int64_t>(size_t(number))));
    return number;
  }

private:
  llvm::hash_code markInside(Region &region) {
    llvm::hash_code number = llvm::hash_value(region.getNumArguments());
    for (Block &block : region) {
      for (BlockArgument argument : block.getArguments())
        numbers[argument] = llvm::hash_combine(argument.getArgNumber(), argument.getType());
      for (Operation &op : block)
        number = llvm::hash_combine(number, mark(&op));
    }
    return number;
  }

  DenseMap<Value, size_t> numbers;
};

struct MergeOps : gantry::impl::MergeOpsPassBase<MergeOps> {
  void runOnOperation() override {
    // CSE makes no ops, so none can get the address of one that it erased.
    DenseMap<Operation *, Attribute> origins;
    getOperation()->walk([&](Operation *op) {
      if (Attribute origin = op->removeAttr(kOriginAttr))
        origins[op] = origin;
    });
    ValueNumbers().mark(getOperation());
    IRRewriter rewriter(&getContext());
    eliminateCommonSubExpressions(rewriter, getAnalysis<DominanceInfo>(), getOperation());
    getOperation()->walk([&](Operation *op) {
      op->removeAttr(kContentAttr);
      if (Attribute origin = origins.lookup(op))
        op->setAttr(kOriginAttr, origin);
    });
  }
};
} // namespace
