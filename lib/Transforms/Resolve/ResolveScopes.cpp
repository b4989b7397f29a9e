// Turns gantry.on scopes into gantry.device attributes on the ops inside.

#include "gantry/Device/DeviceName.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_RESOLVESCOPESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// The request that `op` has inside a scope asking for `outer`; its own counts as innermost.
static DeviceName requestOf(Operation *op, const DeviceName &outer) {
  auto own = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
  // Verified when the attribute was made, so this parse cannot fail.
  return own ? mergeScopes(outer, *DeviceName::parse(own.getSpelling().str())) : outer;
}

static void resolveInside(Region &region, const DeviceName &outer, bool scoped);

static void resolveOp(Operation &op, const DeviceName &outer, bool scoped) {
  if (auto scope = dyn_cast<OnOp>(op)) {
    // An empty name clears what is outside (device(None) in Python).
    bool clears = scope.getDevice() == "/device:*";
    DeviceName inner =
        clears ? DeviceName() : mergeScopes(outer, *DeviceName::parse(scope.getDevice().str()));
    return resolveInside(scope.getBody(), inner, !clears);
  }
  DeviceName request = requestOf(&op, outer);
  if (scoped && (isa<KernelOpInterface>(op) || op.hasAttr(kDeviceAttr) || isa<func::CallOp>(op)))
    op.setAttr(kDeviceAttr, DeviceAttr::get(op.getContext(), request.str()));
  for (Region &region : op.getRegions())
    resolveInside(region, scoped ? request : outer, scoped);
}

static void resolveInside(Region &region, const DeviceName &outer, bool scoped) {
  for (Block &block : region)
    for (Operation &op : llvm::make_early_inc_range(block))
      resolveOp(op, outer, scoped);
}

/// Puts the body in the scope's place.
static void dissolve(OnOp scope) {
  IRRewriter rewriter(scope);
  Operation *yield = scope.getBody().front().getTerminator();
  SmallVector<Value> values(yield->getOperands());
  rewriter.eraseOp(yield);
  rewriter.inlineBlockBefore(&scope.getBody().front(), scope);
  rewriter.replaceOp(scope, values);
}

namespace {
struct ResolveScopes : gantry::impl::ResolveScopesPassBase<ResolveScopes> {
  void runOnOperation() override {
    resolveInside(getOperation().getBodyRegion(), DeviceName(), /*scoped=*/false);
    SmallVector<OnOp> scopes;
    getOperation().walk([&](OnOp scope) { scopes.push_back(scope); });
    llvm::for_each(scopes, dissolve);
  }
};
} // namespace
