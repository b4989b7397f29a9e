// Kernels of one op that takes elements in an order of its own, as the code of threads. What they
// do is written in Lines/, a file for each kind.

#include "gantry/Target/CUDA/Passes.h"

#include "Lines/Lines.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

namespace gantry {
#define GEN_PASS_DEF_EMITLINESPASS
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

template <typename Op>
static void emitKernel(KernelOp kernel, Op op) {
  func::FuncOp func = makeFunction(kernel);
  // Each element of a scattered result is read, if at all, by the thread that writes it.
  if constexpr (llvm::is_one_of<Op, ScatterElementsOp, ScatterNdOp>::value)
    func->setAttr(kWorkAttr, WorkAttr::of(kernel));
  auto results = llvm::map_to_vector(op->getResultTypes(),
                                     [](Type type) -> Type { return signlessTensor(type); });
  Launch launch(func, results, threadsOf(op));
  if (cast<ShapedType>(results.front()).getNumElements() > 0)
    gantry::gpu::emit(op, launch);
  launch.finish();
  kernel.erase();
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
struct EmitLines : gantry::impl::EmitLinesPassBase<EmitLines> {
  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      if (Operation *op = onlyOpOf(kernel))
        TypeSwitch<Operation *>(op)
            .Case<CumsumOp, TopKOp, ScatterElementsOp, ScatterNdOp>(
                [&](auto line) { emitKernel(kernel, line); })
            .Case([&](AttentionOp attention) {
              if (isByTiles(attention))
                emitKernel(kernel, attention);
            });
  }
};
} // namespace
