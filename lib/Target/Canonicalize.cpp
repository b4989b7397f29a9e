// Canonical forms with the patterns of what is there. A kernel has some ten kinds of ops, the
// loaded dialects have a thousand patterns, and sorting these is most of what upstream's pass does
// on it. Patterns match ops by name, so those of ops that do not occur have nothing to do; ops that
// appear on the way bring theirs in another round.

#include "gantry/Target/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace gantry {
#define GEN_PASS_DEF_CANONICALIZEPASS
#include "gantry/Target/Passes.h.inc"
} // namespace gantry

using OpNames = llvm::SetVector<OperationName>;

/// Adds the kinds of ops below `root`; whether there was one more.
static bool addNames(Operation *root, OpNames &names) {
  const size_t before = names.size();
  root->walk([&](Operation *op) { names.insert(op->getName()); });
  return names.size() > before;
}

/// The patterns that these ops and their dialects have, dialects first, as upstream has them.
static FrozenRewritePatternSet patternsOf(const OpNames &names, MLIRContext *context) {
  RewritePatternSet patterns(context);
  llvm::SetVector<Dialect *> dialects;
  for (OperationName name : names)
    if (Dialect *dialect = name.getDialect())
      dialects.insert(dialect);
  for (Dialect *dialect : dialects)
    dialect->getCanonicalizationPatterns(patterns);
  for (OperationName name : names)
    if (std::optional<RegisteredOperationName> registered = name.getRegisteredInfo())
      registered->getCanonicalizationPatterns(patterns, context);
  return std::move(patterns);
}

namespace {
struct Canonicalize : gantry::impl::CanonicalizePassBase<Canonicalize> {
  using Base::Base;

  void runOnOperation() override {
    GreedyRewriteConfig config;
    config.enableConstantCSE(mergeConstants);
    config.setUseTopDownTraversal(!mergeBlocks);
    config.setRegionSimplificationLevel(mergeBlocks ? GreedySimplifyRegionLevel::Aggressive
                                                    : GreedySimplifyRegionLevel::Normal);
    // Functions one by one: the driver looks at all that it is given again until nothing changes,
    // and most functions are done long before the last one is.
    auto module = dyn_cast<ModuleOp>(getOperation());
    if (!module)
      return simplify(getOperation(), config);
    for (Operation &op : *module.getBody())
      if (op.hasTrait<OpTrait::IsIsolatedFromAbove>())
        simplify(&op, config);
  }

private:
  /// What is left after the greedy driver's own limit is valid, if not as simple as can be.
  void simplify(Operation *root, const GreedyRewriteConfig &config) {
    OpNames names;
    while (addNames(root, names))
      (void)applyPatternsGreedily(root, patternsOf(names, &getContext()), config);
  }
};
} // namespace
