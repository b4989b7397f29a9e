// Gives a kernel its final form: memrefs in, memrefs out, nothing returned.
//
// The bodies keep working on tensors; to_tensor and materialize_in_destination tie them to the
// buffers, and One-Shot Bufferize then writes results in place.

#include "gantry/Target/CPU/Passes.h"

#include "Reshapes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_ADDDESTINATIONSPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

static MemRefType bufferOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

namespace {
struct AddDestinations : gantry::impl::AddDestinationsPassBase<AddDestinations> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    Block &body = func.getBody().front();
    OpBuilder builder(&body, body.begin());
    Location loc = func.getLoc();

    for (BlockArgument arg : body.getArguments()) {
      Type tensor = arg.getType();
      arg.setType(bufferOf(tensor));
      auto value = bufferization::ToTensorOp::create(builder, loc, tensor, arg, /*restrict=*/true);
      arg.replaceAllUsesExcept(value, value);
    }
    Operation *terminator = body.getTerminator();
    OpBuilder end(terminator);
    for (Value result : terminator->getOperands()) {
      Value root = skipReshapes(result);
      BlockArgument out = body.addArgument(bufferOf(root.getType()), loc);
      bufferization::MaterializeInDestinationOp::create(end, loc, Type(), root, out,
                                                        /*restrict=*/true, /*writable=*/true);
    }
    func::ReturnOp::create(end, loc);
    terminator->erase();
    func.setType(FunctionType::get(func.getContext(), body.getArgumentTypes(), {}));
    for (unsigned i = 0; i < body.getNumArguments(); ++i) {
      func.setArgAttr(i, "llvm.noalias", builder.getUnitAttr());
      func.setArgAttr(i, "llvm.align", builder.getI64IntegerAttr(64));
    }
  }
};
} // namespace
