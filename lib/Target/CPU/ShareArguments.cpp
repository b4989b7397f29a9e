// Tells kernels which of their arguments are one buffer.
//
// A kernel is made before it is known where it runs, so its arguments claim to be different memory.
// LowerToPlan lets a kernel write the new value of a variable over the old one; then the claim is
// wrong, and what it would allow the vectoriser is luck. One argument for both keeps the claim of
// the others true and the loop as fast: a load and a store through one pointer need no check.

#include "gantry/Target/Passes.h"

#include "gantry/Dialect/Plan/IR/Plan.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_SHAREARGUMENTSPASS
#include "gantry/Target/Passes.h.inc"
} // namespace gantry

static constexpr llvm::StringLiteral kNoAlias = "llvm.noalias";

namespace {
/// How a plan calls a kernel.
struct Calls {
  unsigned all = 0;
  /// Launches by pair of (argument read, argument written) that are one buffer there.
  llvm::MapVector<std::pair<unsigned, unsigned>, unsigned> shared;
};
} // namespace

/// A variable may be several values of a function: what it is asks for by name.
static bool areOneBuffer(Value a, Value b) {
  auto first = a.getDefiningOp<planir::StateOp>(), second = b.getDefiningOp<planir::StateOp>();
  return a == b || (first && second && first.getVariable() == second.getVariable());
}

static void count(planir::LaunchOp launch, Calls &calls) {
  ++calls.all;
  for (auto [i, input] : llvm::enumerate(launch.getInputs()))
    for (auto [j, output] : llvm::enumerate(launch.getOutputs()))
      if (areOneBuffer(input, output))
        ++calls.shared[{unsigned(i), unsigned(launch.getInputs().size() + j)}];
}

static void share(func::FuncOp kernel, const Calls &calls) {
  for (auto &[pair, number] : calls.shared) {
    BlockArgument read = kernel.getArgument(pair.first), written = kernel.getArgument(pair.second);
    if (number == calls.all && read.getType() == written.getType()) {
      read.replaceAllUsesWith(written);
    } else {
      kernel.removeArgAttr(pair.first, kNoAlias);
      kernel.removeArgAttr(pair.second, kNoAlias);
    }
  }
}

namespace {
struct ShareArguments : gantry::impl::ShareArgumentsPassBase<ShareArguments> {
  void runOnOperation() override {
    llvm::MapVector<StringAttr, Calls> callsOf; // by kernel
    getOperation().walk(
        [&](planir::LaunchOp launch) { count(launch, callsOf[launch.getKernelAttr().getAttr()]); });
    for (auto kernels : getOperation().getOps<ModuleOp>())
      for (auto kernel : kernels.getOps<func::FuncOp>())
        if (auto calls = callsOf.find(kernel.getSymNameAttr()); calls != callsOf.end())
          share(kernel, calls->second);
  }
};
} // namespace
