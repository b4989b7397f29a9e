// Tells kernels which of their arguments are one buffer.
//
// A kernel is made before it is known where it runs, so its arguments claim to be different memory.
// LowerToPlan lets a kernel write the new value of a variable over the old one; then the claim is
// wrong, and what it would allow the vectoriser is luck. One argument for both keeps the claim of
// the others true and the loop as fast: a load and a store through one pointer need no check. A
// kernel that has other uses, too, looks which one it is: left to the vectoriser's own check, an
// update in place would run one element at a time.

#include "gantry/Target/CPU/Passes.h"

#include "gantry/Target/CPU/CPUTarget.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_SHAREARGUMENTSPASS
#include "gantry/Target/CPU/Passes.h.inc"
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
  auto first = a.getDefiningOp<plan::ir::StateOp>(), second = b.getDefiningOp<plan::ir::StateOp>();
  return a == b || (first && second && first.getVariable() == second.getVariable());
}

static void count(plan::ir::LaunchOp launch, Calls &calls) {
  ++calls.all;
  for (auto [i, input] : llvm::enumerate(launch.getInputs()))
    for (auto [j, output] : llvm::enumerate(launch.getOutputs()))
      if (areOneBuffer(input, output))
        ++calls.shared[{unsigned(i), unsigned(launch.getInputs().size() + j)}];
}

using Pair = std::pair<BlockArgument, BlockArgument>; ///< read, written

/// if (all pairs are one buffer) { the body, with one argument for both } else { the body }
static void distinguish(func::FuncOp kernel, ArrayRef<Pair> pairs) {
  Block &body = kernel.getBody().front();
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  OpBuilder b(&body, body.begin());
  Location loc = kernel.getLoc();
  Value shared;
  IRMapping one;
  for (auto [read, written] : pairs) {
    auto addressOf = [&](Value buffer) -> Value {
      return memref::ExtractAlignedPointerAsIndexOp::create(b, loc, buffer);
    };
    Value same = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, addressOf(read),
                                       addressOf(written));
    shared = shared ? arith::AndIOp::create(b, loc, shared, same).getResult() : same;
    one.map(read, written);
  }
  auto branch = scf::IfOp::create(b, loc, shared, /*withElseRegion=*/true);
  OpBuilder inPlace = branch.getThenBodyBuilder();
  for (Operation *op : ops)
    inPlace.clone(*op, one);
  for (Operation *op : ops)
    op->moveBefore(branch.elseBlock()->getTerminator());
}

static void share(func::FuncOp kernel, const Calls &calls) {
  SmallVector<Pair> sometimes;
  for (auto &[pair, number] : calls.shared) {
    BlockArgument read = kernel.getArgument(pair.first), written = kernel.getArgument(pair.second);
    bool isOneType = read.getType() == written.getType();
    if (number == calls.all && isOneType) {
      read.replaceAllUsesWith(written);
      continue;
    }
    kernel.removeArgAttr(pair.first, kNoAlias);
    kernel.removeArgAttr(pair.second, kNoAlias);
    if (isOneType)
      sometimes.push_back({read, written});
  }
  if (!sometimes.empty())
    distinguish(kernel, sometimes);
}

namespace {
struct ShareArguments : gantry::impl::ShareArgumentsPassBase<ShareArguments> {
  void runOnOperation() override {
    llvm::MapVector<StringAttr, Calls> callsOf; // by kernel
    getOperation().walk([&](plan::ir::LaunchOp launch) {
      count(launch, callsOf[launch.getKernelAttr().getAttr()]);
    });
    for (auto [kernels, target] : kernelModules(getOperation()))
      for (auto kernel : kernels.getOps<func::FuncOp>())
        if (auto calls = callsOf.find(kernel.getSymNameAttr());
            target.getName() == kCPUTarget && calls != callsOf.end())
          share(kernel, calls->second);
  }
};
} // namespace
