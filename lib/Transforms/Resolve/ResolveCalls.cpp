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

  static void inlineBody(func::CallOp call, func::FuncOp callee) {
    IRMapping mapping;
    Block &body = callee.getBody().front();
    mapping.map(body.getArguments(), call.getOperands());
    OpBuilder builder(call);
    Attribute request = call->getAttr(kDeviceAttr);
    for (Operation &op : body.without_terminator()) {
      Operation *copy = builder.clone(op, mapping);
      if (!request)
        continue;
      copy->walk([&](KernelOpInterface inner) {
        if (!inner->hasAttr(kDeviceAttr))
          inner->setAttr(kDeviceAttr, request);
      });
    }
    for (auto [result, value] : llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    call.erase();
  }
};
} // namespace
