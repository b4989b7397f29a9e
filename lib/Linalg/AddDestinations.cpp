// Gives a kernel its final form: memrefs in, memrefs out, nothing returned.
//
// The bodies keep working on tensors; to_tensor and materialize_in_destination tie them to the
// buffers, and One-Shot Bufferize then writes results in place. What is joined of many pieces is
// written piece by piece, so that bufferization has as many small questions as there are pieces and
// not one about all of them.

#include "gantry/Linalg/Passes.h"
#include "gantry/Linalg/Product.h"
#include "gantry/Linalg/Reshapes.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_ADDDESTINATIONSPASS
#include "gantry/Linalg/Passes.h.inc"
} // namespace gantry

static MemRefType bufferOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

/// What is written starts from a value of its own: of two sums that share their zeros bufferization
/// would compute the second in the buffer of the first, and copy it from there too late.
static void startApart(Value written) {
  auto maker = written.getDefiningOp<linalg::LinalgOp>();
  if (!maker)
    return;
  OpBuilder b(maker);
  for (OpOperand &init : maker.getDpsInitsMutable()) {
    auto start = init.get().getDefiningOp<linalg::LinalgOp>();
    if (!start || start->getNumResults() != 1 || start->hasOneUse() || !filledWith(init.get()))
      continue;
    Operation *own = b.clone(*start);
    if (Operation *empty = start.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>()) {
      b.setInsertionPoint(own);
      own->replaceUsesOfWith(empty->getResult(0), b.clone(*empty)->getResult(0));
      b.setInsertionPoint(maker);
    }
    init.set(own->getResult(0));
  }
}

static void writeTo(OpBuilder &b, Location loc, Value value, Value buffer) {
  startApart(value);
  bufferization::MaterializeInDestinationOp::create(b, loc, Type(), value, buffer,
                                                    /*restrict=*/true, /*writable=*/true);
}

/// Each piece at its place in the buffer. The pieces are values of their own, so the order is free.
static void writePieces(OpBuilder &b, Location loc, tensor::ConcatOp joined, Value buffer) {
  int64_t rank = joined.getRank(), axis = joined.getDim();
  SmallVector<OpFoldResult> starts(rank, b.getIndexAttr(0)), steps(rank, b.getIndexAttr(1));
  int64_t start = 0;
  for (Value piece : joined.getInputs()) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(piece.getType()).getShape();
    starts[axis] = b.getIndexAttr(start);
    writeTo(b, loc, piece,
            memref::SubViewOp::create(b, loc, buffer, starts,
                                      getAsIndexOpFoldResult(b.getContext(), shape), steps));
    start += shape[axis];
  }
}

/// Where other ops read it, a joined tensor is one that pieces are inserted into.
static void decompose(func::FuncOp func) {
  IRRewriter rewriter(func.getContext());
  func.walk([&](tensor::ConcatOp joined) {
    rewriter.setInsertionPoint(joined);
    if (FailureOr<SmallVector<Value>> whole = joined.decomposeOperation(rewriter); succeeded(whole))
      rewriter.replaceOp(joined, *whole);
  });
}

namespace {
struct AddDestinations : gantry::impl::AddDestinationsPassBase<AddDestinations> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    // One that works on buffers already returns nothing.
    if (func.isExternal() || func.getNumResults() == 0)
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
      if (auto joined = root.getDefiningOp<tensor::ConcatOp>())
        writePieces(end, loc, joined, out);
      else
        writeTo(end, loc, root, out);
    }
    func::ReturnOp::create(end, loc);
    terminator->erase();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op))
        op.erase();
    decompose(func);
    func.setType(FunctionType::get(func.getContext(), body.getArgumentTypes(), {}));
    // All at once: setting one argument's attributes builds the array of all of them.
    SmallVector<DictionaryAttr> attributes;
    for (unsigned i = 0; i < body.getNumArguments(); ++i) {
      NamedAttrList own(function_interface_impl::getArgAttrs(func, i));
      own.set("llvm.noalias", builder.getUnitAttr());
      own.set("llvm.align", builder.getI64IntegerAttr(64));
      attributes.push_back(own.getDictionary(func.getContext()));
    }
    func.setAllArgAttrs(attributes);
  }
};
} // namespace
