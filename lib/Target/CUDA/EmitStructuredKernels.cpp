// Structured kernels (scan, sort, scatter, attention): one op that takes elements in an order of
// its own, as the code of threads. What they do is written in Structured/, a file for each kind.

#include "gantry/Target/CUDA/Passes.h"

#include "Structured/StructuredKernels.h"
#include "gantry/Target/CUDA/CUDATarget.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

namespace gantry {
#define GEN_PASS_DEF_EMITSTRUCTUREDKERNELSPASS
#include "gantry/Target/CUDA/Passes.h.inc"
} // namespace gantry

static RankedTensorType signlessTensor(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.clone(signless(tensor.getElementType()));
}

/// A kernel of one op as an empty function over buffers, one for each argument.
static func::FuncOp makeFunction(KernelOp kernel) {
  OpBuilder builder(kernel);
  SmallVector<Type> types;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    auto tensor = signlessTensor(argument.getType());
    types.push_back(MemRefType::get(tensor.getShape(), tensor.getElementType()));
  }
  auto func = func::FuncOp::create(builder, kernel.getLoc(), kernel.getSymName(),
                                   builder.getFunctionType(types, {}));
  func.setPrivate();
  Block *body = func.addEntryBlock();
  OpBuilder inside = OpBuilder::atBlockEnd(body);
  func::ReturnOp::create(inside, kernel.getLoc());
  return func;
}

static void emitKernel(KernelOp kernel, Operation *op, int64_t threads,
                       function_ref<void(Launch &)> emit) {
  func::FuncOp func = makeFunction(kernel);
  // Each element of a scattered result is read, if at all, by the thread that writes it.
  if (isa<ScatterElementsOp, ScatterNdOp>(op))
    func->setAttr(kWorkAttr, WorkAttr::of(kernel));
  auto results = llvm::map_to_vector(op->getResultTypes(),
                                     [](Type type) -> Type { return signlessTensor(type); });
  Launch launch(func, results, threads);
  if (cast<ShapedType>(results.front()).getNumElements() > 0)
    emit(launch);
  launch.finish();
  kernel.erase();
}

static void emitAttention(KernelOp kernel, AttentionOp op, int64_t arch) {
  if (std::optional<CoreAttentionTiles> tiles = coreTilesOf(op, arch))
    emitKernel(kernel, op, tiles->threads(),
               [&](Launch &launch) { gantry::gpu::emit(op, *tiles, launch); });
  else if (isByTiles(op))
    emitKernel(kernel, op, threadsOf(op), [&](Launch &launch) { gantry::gpu::emit(op, launch); });
}

/// The one op of a kernel, but for constants; null when it has more.
static Operation *onlyOpOf(KernelOp kernel) {
  Operation *only = nullptr;
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (!isa<ConstantOp>(op)) {
      if (only)
        return nullptr;
      only = &op;
    }
  return only;
}

namespace {
struct EmitStructuredKernels : gantry::impl::EmitStructuredKernelsPassBase<EmitStructuredKernels> {
  void runOnOperation() override {
    const int64_t arch = oldestGPUArch(getOperation());
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      if (Operation *op = onlyOpOf(kernel))
        TypeSwitch<Operation *>(op)
            .Case<CumsumOp, TopKOp, ScatterElementsOp, ScatterNdOp>([&](auto line) {
              emitKernel(kernel, line, threadsOf(line),
                         [&](Launch &launch) { gantry::gpu::emit(line, launch); });
            })
            .Case([&](AttentionOp op) { emitAttention(kernel, op, arch); });
  }
};
} // namespace
