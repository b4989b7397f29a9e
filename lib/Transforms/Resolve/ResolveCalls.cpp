// Replaces calls by the bodies of their functions, so that later passes see straight lists of ops.

#include "gantry/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_RESOLVECALLSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// Nobody waits for what is larger; deeper regions would take MLIR to the end of its stack.
static constexpr size_t kMaxOps = 500'000;
static constexpr unsigned kMaxDepth = 200;

namespace {
/// What callers take on with a body.
struct Extent {
  size_t ops = 0;
  unsigned depth = 0; ///< of its regions
};

/// A function whose calls are replaced one after the other.
struct Caller {
  func::FuncOp func;
  SmallVector<func::CallOp> calls;
  size_t next = 0;
  Extent extent;

  explicit Caller(func::FuncOp func) : func(func) {
    func.getBody().walk([&](Operation *op) {
      extent = {extent.ops + 1, std::max(extent.depth, depthOf(op))};
      if (auto call = dyn_cast<func::CallOp>(op))
        calls.push_back(call);
    });
  }

  /// How many regions inside the function `op` is in.
  unsigned depthOf(Operation *op) const {
    unsigned depth = 0;
    while ((op = op->getParentOp()) != func)
      ++depth;
    return depth;
  }
};

struct ResolveCalls : gantry::impl::ResolveCallsPassBase<ResolveCalls> {
  enum State { unseen, active, done };
  DenseMap<func::FuncOp, State> states;
  DenseMap<func::FuncOp, Extent> extents; ///< of those that are done

  void runOnOperation() override {
    states.clear();
    extents.clear();
    const SymbolTable symbols(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(resolve(func, symbols)))
        return signalPassFailure();
    SymbolTableCollection tables;
    const SymbolUserMap users(tables, getOperation());
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (func.isPrivate() && users.useEmpty(func))
        func.erase();
  }

  /// Inlines the calls in `root`, in callees first. Who waits for a callee is on a stack of our
  /// own: chains of calls are as long as files make them.
  LogicalResult resolve(func::FuncOp root, const SymbolTable &symbols) {
    SmallVector<Caller> callers;
    auto enter = [&](func::FuncOp func) {
      states[func] = active;
      callers.emplace_back(func);
    };
    if (states[root] == unseen)
      enter(root);
    while (!callers.empty()) {
      Caller &caller = callers.back();
      if (caller.next == caller.calls.size()) {
        states[caller.func] = done;
        extents[caller.func] = caller.extent;
        callers.pop_back();
        continue;
      }
      func::CallOp call = caller.calls[caller.next];
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      if (!callee || callee.isExternal())
        return call.emitOpError() << "calls '@" << call.getCallee()
                                  << "', which has no body in this file";
      if (states[callee] == active)
        return call.emitOpError()
               << "calls '@" << call.getCallee()
               << "' recursively; shapes and memory are planned before the run, so "
                  "recursion is not supported: use gantry.while";
      if (states[callee] == unseen) {
        enter(callee);
        continue;
      }
      if (failed(takeOn(caller, call, extents[callee])))
        return failure();
      inlineBody(call, callee);
      ++caller.next;
    }
    return success();
  }

  /// A few lines of calls can double a body with each function, or put a region around it.
  static LogicalResult takeOn(Caller &caller, func::CallOp call, Extent callee) {
    const unsigned depth = caller.depthOf(call) + call->hasAttr(kDeviceAttr) + callee.depth;
    caller.extent = {caller.extent.ops + callee.ops, std::max(caller.extent.depth, depth)};
    if (caller.extent.ops > kMaxOps)
      return call.emitOpError() << "brings '@" << caller.func.getSymName() << "' over " << kMaxOps
                                << " ops; calls are replaced by what they call";
    if (caller.extent.depth > kMaxDepth)
      return call.emitOpError() << "brings the regions in '@" << caller.func.getSymName()
                                << "' over " << kMaxDepth
                                << " deep; calls are replaced by what they call";
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
