// Replaces what is still allocated or copied by calls in a kernel, after bufferization.
//
// A kernel calls nothing and allocates nothing: small buffers go to the stack, large ones become a
// scratch argument that Memory plans like any other buffer.

#include "gantry/Target/CPU/Passes.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_FINISHKERNELBUFFERSPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

static constexpr int64_t kAlignment = 64;

static int64_t byteSize(MemRefType type) {
  int64_t bits = type.getElementType().isIndex() ? 64 : type.getElementTypeBitWidth();
  int64_t bytes = type.getNumElements() * std::max<int64_t>(1, bits / 8);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

namespace {
struct FinishKernelBuffers : gantry::impl::FinishKernelBuffersPassBase<FinishKernelBuffers> {
  using FinishKernelBuffersPassBase::FinishKernelBuffersPassBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    func.walk([](memref::DeallocOp op) { op.erase(); });
    lowerCopies(func);
    if (failed(placeAllocations(func)))
      return signalPassFailure();
    if (worksOutsideItems(func))
      func->setAttr(kWorkAttr, WorkAttr::of(func).withSerial(true));
  }

  /// memref.copy would call the C library; as a linalg.generic it becomes vectorised loops.
  void lowerCopies(func::FuncOp func) {
    func.walk([](memref::CopyOp copy) {
      OpBuilder b(copy);
      if (copy.getSource() != copy.getTarget())
        linalg::makeMemRefCopyOp(b, copy.getLoc(), copy.getSource(), copy.getTarget());
      copy.erase();
    });
  }

  LogicalResult placeAllocations(func::FuncOp func) {
    SmallVector<memref::AllocOp> allocations;
    int64_t stack = 0, scratch = 0;
    WalkResult walk = func.walk([&](memref::AllocOp op) {
      if (!op.getType().hasStaticShape()) {
        op.emitError("internal error: a kernel allocates a buffer of unknown size");
        return WalkResult::interrupt();
      }
      allocations.push_back(op);
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
    // Small ones first: they are the tiles that should stay in the cache.
    llvm::stable_sort(allocations, [](memref::AllocOp a, memref::AllocOp b) {
      return byteSize(a.getType()) < byteSize(b.getType());
    });
    Value arena;
    for (memref::AllocOp op : allocations) {
      OpBuilder b(op);
      int64_t bytes = byteSize(op.getType());
      Value buffer;
      if (stack + bytes <= maxStack) {
        stack += bytes;
        // In the entry block, or a loop would grow the stack at each step.
        b.setInsertionPointToStart(&func.getBody().front());
        buffer =
            memref::AllocaOp::create(b, op.getLoc(), op.getType(), b.getI64IntegerAttr(kAlignment));
      } else {
        if (!arena)
          arena = addScratch(func);
        Value offset = arith::ConstantIndexOp::create(b, op.getLoc(), scratch);
        buffer = memref::ViewOp::create(b, op.getLoc(), op.getType(), arena, offset, ValueRange());
        scratch += bytes;
        // Two ranges of items running at once would share the scratch buffer.
        if (op->getParentOfType<scf::ForallOp>())
          func->setAttr(kWorkAttr, WorkAttr::of(func).withSerial(true));
      }
      op.replaceAllUsesWith(buffer);
      op.erase();
    }
    if (arena) {
      arena.setType(MemRefType::get({scratch}, OpBuilder(func).getI8Type()));
      func.setType(FunctionType::get(func.getContext(), func.getBody().getArgumentTypes(), {}));
      func->setAttr(kWorkAttr, WorkAttr::of(func).withScratch(scratch));
    }
    return success();
  }

  Value addScratch(func::FuncOp func) {
    auto type = MemRefType::get({0}, IntegerType::get(func.getContext(), 8));
    func.getBody().addArgument(type, func.getLoc());
    func.setType(FunctionType::get(func.getContext(), func.getBody().getArgumentTypes(), {}));
    OpBuilder b(func);
    unsigned last = func.getNumArguments() - 1;
    func.setArgAttr(last, "llvm.noalias", b.getUnitAttr());
    func.setArgAttr(last, "llvm.align", b.getI64IntegerAttr(kAlignment));
    return func.getArgument(last);
  }

  /// Whether anything but the loop over work items writes memory: then every range of items would
  /// do it again, so the kernel has to run as one.
  bool worksOutsideItems(func::FuncOp func) {
    for (Operation &op : func.getBody().front())
      if (!isa<scf::ForallOp, memref::AllocaOp>(op) && !isMemoryEffectFree(&op) &&
          !isa<func::ReturnOp>(op))
        return true;
    return false;
  }
};
} // namespace
