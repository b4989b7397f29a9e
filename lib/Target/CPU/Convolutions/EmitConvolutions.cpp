// The pass; the kinds of kernels are in Blocks.cpp, Depthwise.cpp and EmitChain.cpp.

#include "Chain.h"
#include "Rows.h"
#include "gantry/Target/CPU/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_EMITCONVOLUTIONSPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

namespace {
struct EmitConvolutions : gantry::impl::EmitConvolutionsPassBase<EmitConvolutions> {
  void runOnOperation() override {
    getOperation().walk([](memref::CopyOp copy) { repeatZeros(copy); });
    // What stands around one of them goes with it.
    SmallVector<linalg::GenericOp> packed;
    getOperation().walk([&](linalg::GenericOp op) {
      if (PackedConvolution::match(op))
        packed.push_back(op);
    });
    if (packed.empty())
      return;
    auto target = getOperation()->getAttrOfType<TargetAttr>(kTargetAttr);
    FailureOr<Registers> registers = registersFor(getOperation().getLoc(), target);
    if (failed(registers))
      return signalPassFailure();
    llvm::MapVector<Operation *, SmallVector<Convolution, 3>> ofKernels;
    for (linalg::GenericOp op : packed)
      if (auto convolution = Convolution::match(op))
        ofKernels[op->getParentOp()].push_back(*convolution);
    for (auto &[kernel, convolutions] : ofKernels) {
      if (auto chain = ConvolutionChain::match(convolutions))
        emit(*chain, convolutions, *registers);
      else
        for (const Convolution &before : convolutions) // what one writes may be another's image
          if (auto convolution = Convolution::match(before.op))
            emit(*convolution, *registers);
    }
  }

  /// Zeros that several sums of one shape begin with are one value, and a copy of it for each sum
  /// but one: zeros for each again.
  static void repeatZeros(memref::CopyOp copy) {
    if (copy.getSource().getType() != copy.getTarget().getType())
      return;
    Operation *zeros = nullptr;
    for (Operation *user : copy.getSource().getUsers()) {
      if (user == copy || (user->getBlock() == copy->getBlock() && copy->isBeforeInBlock(user)))
        continue;
      if (zeros || !writesZeros(user, copy.getSource()) || user->getBlock() != copy->getBlock())
        return;
      zeros = user;
    }
    if (!zeros)
      return;
    IRMapping mapping;
    mapping.map(copy.getSource(), copy.getTarget());
    OpBuilder(copy).clone(*zeros, mapping);
    copy.erase();
  }

  static void emit(const ConvolutionChain &chain, ArrayRef<Convolution> convolutions,
                   const Registers &registers) {
    Operation *last = chain.last().replaced.front();
    ImplicitLocOpBuilder b(last->getLoc(), last);
    emitChain(b, chain, registers);
    llvm::SmallSetVector<Operation *, 2> between; // which nobody makes as a whole
    for (const Convolution &each : convolutions.drop_back())
      between.insert(each.result.getDefiningOp());
    for (const Convolution &each : llvm::reverse(convolutions))
      for (Operation *op : each.replaced)
        if (!between.contains(op))
          op->erase();
    for (Operation *buffer : between)
      buffer->erase();
  }

  static void emit(const Convolution &convolution, const Registers &registers) {
    Operation *last = convolution.replaced.front();
    ImplicitLocOpBuilder b(last->getLoc(), last);
    const bool isDepthwise = convolution.form.isDepthwise() && convolution.form.groups > 1;
    if (isDepthwise)
      emitDepthwise(b, convolution, registers);
    else if (convolution.form.isTransposed)
      emitPhases(b, convolution, registers);
    else if (auto rows = partitionRows(convolution); rows && !usesAMX(convolution, registers))
      emitRows(b, convolution, *rows, registers);
    else
      emitBlocks(b, convolution, registers);
    for (Operation *op : convolution.replaced)
      op->erase();
  }
};
} // namespace
