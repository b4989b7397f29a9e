// Turns gantry.on scopes into gantry.device attributes on the ops inside.

#include "gantry/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_RESOLVESCOPESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
/// What the scopes around an op ask for, merged from the outermost inwards.
struct Scope {
  DeviceName request;
  SoftModeAttr soft;     ///< of the innermost scope that says one
  LocationAttr location; ///< of the innermost scope; null outside of scopes
};
} // namespace

static void resolveInside(Region &region, const Scope &scope);

static Scope enter(OnOp op, const Scope &outer) {
  // An empty name clears what is outside (device(None) in Python).
  if (op.getDevice().getName() == DeviceName())
    return {};
  return {mergeScopes(outer.request, op.getDevice().getName()),
          op.getSoftAttr() ? op.getSoftAttr() : outer.soft, op.getLoc()};
}

/// An op's own request counts as the innermost scope; its own softness is kept.
static Scope resolveRequest(Operation &op, const Scope &scope) {
  auto own = op.getAttrOfType<DeviceAttr>(kDeviceAttr);
  if (!scope.location && !(own && op.getNumRegions()))
    return scope;
  Scope inner = scope;
  // A request on control flow is a scope for what is inside.
  if (own && op.getNumRegions())
    inner.location = op.getLoc();
  if (own)
    inner.request = mergeScopes(scope.request, own.getName());
  if (auto soft = op.getAttrOfType<SoftModeAttr>(kSoftAttr))
    inner.soft = soft;
  // Constants, too: what they ask for is their home, and uses elsewhere are copies.
  if (!isa<KernelOpInterface, func::CallOp>(op) && !op.hasTrait<OpTrait::ConstantLike>() && !own)
    return inner;
  op.setAttr(kDeviceAttr, DeviceAttr::get(op.getContext(), inner.request));
  if (inner.soft)
    op.setAttr(kSoftAttr, inner.soft);
  if (!own)
    op.setAttr(kOriginAttr, scope.location);
  return inner;
}

static void resolveOp(Operation &op, const Scope &scope) {
  if (auto on = dyn_cast<OnOp>(op))
    return resolveInside(on.getBody(), enter(on, scope));
  Scope inner = resolveRequest(op, scope);
  for (Region &region : op.getRegions())
    resolveInside(region, inner);
}

static void resolveInside(Region &region, const Scope &scope) {
  for (Block &block : region)
    for (Operation &op : llvm::make_early_inc_range(block))
      resolveOp(op, scope);
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
    resolveInside(getOperation().getBodyRegion(), Scope());
    SmallVector<OnOp> scopes;
    getOperation().walk([&](OnOp scope) { scopes.push_back(scope); });
    llvm::for_each(scopes, dissolve);
  }
};
} // namespace
