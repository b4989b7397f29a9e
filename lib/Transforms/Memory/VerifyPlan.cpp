// After Memory: every buffer has its place. (That no two live ones overlap is for VerifyCommands to
// find; that the file holds together, for the file's own validator.)

#include "gantry/Analysis/SharedBuffers.h"
#include "gantry/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_VERIFYPLANPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct VerifyPlan : gantry::impl::VerifyPlanPassBase<VerifyPlan> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    llvm::StringMap<int64_t> arenas, atLoad;
    for (auto arena : getOperation().getOps<plan::ir::ArenaOp>()) {
      arenas[arena.getSymName()] = arena.getSize();
      atLoad[arena.getSymName()] = arena.getLoadSize();
    }
    if (failed(checkResidents<plan::ir::ConstantOp>(arenas)) ||
        failed(checkResidents<plan::ir::VariableOp>(arenas)))
      return signalPassFailure();
    auto result = getOperation().walk([&](plan::ir::BufferDeclOp buffer) {
      const auto &sizes = buffer->getParentOfType<plan::ir::FuncOp>().getAtLoad() ? atLoad : arenas;
      auto arena = buffer.getArena() ? sizes.find(*buffer.getArena()) : sizes.end();
      if (arena == sizes.end() || !buffer.getOffset()) {
        buffer.emitOpError("has no place in an arena after Memory");
        return WalkResult::interrupt();
      }
      int64_t offset = *buffer.getOffset();
      // A part that is only copied may begin anywhere.
      bool isCopied = memory::shareOf(buffer) && llvm::all_of(buffer->getUsers(), [](Operation *u) {
                        return isa<plan::ir::CopyOp>(u);
                      });
      if (offset % 64 && !isCopied) {
        buffer.emitOpError() << "lies at " << offset << ", which is no multiple of 64 bytes";
        return WalkResult::interrupt();
      }
      if (offset < 0 || offset + int64_t(buffer.getSize()) > arena->getValue()) {
        buffer.emitOpError() << "lies at " << offset << " outside its arena of "
                             << arena->getValue() << " bytes";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  template <typename Op>
  LogicalResult checkResidents(const llvm::StringMap<int64_t> &arenas) {
    for (auto op : getOperation().getOps<Op>())
      if (!op.getArena() || !arenas.contains(*op.getArena()))
        return op.emitOpError("has no place in an arena after Memory");
    return success();
  }
};
} // namespace
