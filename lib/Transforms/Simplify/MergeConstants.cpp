// Makes one constant of several with the same value and the same request.
//
// The canonicalizer would merge constants by value alone, and with them what was asked for them
// (spec P1); it is told not to, and CSE looks at names, which constants of one value need not
// share.

#include "gantry/Dialect/Gantry/IR/Requests.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_MERGECONSTANTSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct MergeConstants : gantry::impl::MergeConstantsPassBase<MergeConstants> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    // The type is part of the value.
    DenseMap<std::pair<Attribute, Attribute>, ConstantOp> known;
    Block &entry = func.getBody().front();
    Operation *last = nullptr;
    SmallVector<ConstantOp> constants;
    func.walk([&](ConstantOp op) { constants.push_back(op); });
    for (ConstantOp op : constants) {
      auto [it, fresh] = known.try_emplace({op.getValue(), getRequest(op)}, op);
      if (!fresh) {
        op.replaceAllUsesWith(it->second.getResult());
        op.erase();
        continue;
      }
      // Where every use can see it; in the order in which they stood.
      if (last)
        op->moveAfter(last);
      else
        op->moveBefore(&entry, entry.begin());
      last = op;
    }
  }
};
} // namespace
