// Replaces calls by the bodies of their functions, so that later passes see straight lists of ops.

#include "gantry/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_RESOLVECALLSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct ResolveCalls : gantry::impl::ResolveCallsPassBase<ResolveCalls> {
  enum State { unseen, active, done };
  DenseMap<func::FuncOp, State> states;

  void runOnOperation() override {
    states.clear();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(resolve(func)))
        return signalPassFailure();
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (func.isPrivate() && SymbolTable::symbolKnownUseEmpty(func, getOperation()))
        func.erase();
  }

  /// Inlines the calls in `func`, in callees first.
  LogicalResult resolve(func::FuncOp func) {
    if (states[func] == done)
      return success();
    states[func] = active;
    SmallVector<func::CallOp> calls;
    func.walk([&](func::CallOp call) { calls.push_back(call); });
    for (func::CallOp call : calls) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
      if (!callee || callee.isExternal())
        return call.emitOpError() << "calls '@" << call.getCallee()
                                  << "', which has no body in this file";
      if (states[callee] == active)
        return call.emitOpError()
               << "calls '@" << call.getCallee()
               << "' recursively; shapes and memory are planned before the run, so "
                  "recursion is not supported: use gantry.while";
      if (failed(resolve(callee)))
        return failure();
      inlineBody(call, callee);
    }
    states[func] = done;
    return success();
  }

  /// Puts a clone of the body in the call's place. A call that requests a device becomes a scope:
  /// so its request meets those inside by the one rule for scopes (D3), in nested regions, too.
  static void inlineBody(func::CallOp call, func::FuncOp callee) {
    IRMapping mapping;
    Block &body = callee.getBody().front();
    mapping.map(body.getArguments(), call.getOperands());
    OpBuilder builder(call);
    OnOp scope;
    if (auto request = call->getAttrOfType<DeviceAttr>(kDeviceAttr)) {
      scope = OnOp::create(builder, call.getLoc(), call.getResultTypes(), request,
                           call->getAttrOfType<SoftModeAttr>(kSoftAttr));
      builder.createBlock(&scope.getBody());
    }
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping);
    SmallVector<Value> values;
    for (Value value : body.getTerminator()->getOperands())
      values.push_back(mapping.lookupOrDefault(value));
    if (scope) {
      YieldOp::create(builder, call.getLoc(), values);
      values.assign(scope->result_begin(), scope->result_end());
    }
    call.replaceAllUsesWith(values);
    call.erase();
  }
};
} // namespace
