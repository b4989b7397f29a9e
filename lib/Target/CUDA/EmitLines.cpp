// Kernels that go along a dimension in order: a thread takes a line.
//
// What comes before decides what comes after, along the line; lines are independent. Neighbouring
// threads have neighbouring lines, so that they read and write neighbours together unless the line
// itself runs along the last dimension.

#include "gantry/Target/CUDA/Passes.h"

#include "Launch.h"
#include "gantry/Linalg/Emitter.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

namespace gantry {
#define GEN_PASS_DEF_EMITLINESPASS
#include "gantry/Target/CUDA/Passes.h.inc"
} // namespace gantry

static MemRefType bufferOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), signless(tensor.getElementType()));
}

namespace {
/// A line of a tensor along an axis; all dimensions but that number the lines.
struct Line {
  SmallVector<int64_t> shape, others;
  unsigned axis;
  Indices at; ///< of the line's elements, the axis left open

  Line(ArrayRef<int64_t> shape, unsigned axis) : shape(shape), others(shape), axis(axis) {
    others.erase(others.begin() + axis);
  }
  int64_t count() const {
    int64_t lines = 1;
    for (int64_t size : others)
      lines *= size;
    return lines;
  }
  int64_t length() const { return shape[axis]; }
  void take(ImplicitLocOpBuilder &b, Value number) {
    at = delinearize(b, number, others);
    at.insert(at.begin() + axis, Value());
  }
  Indices element(Value i) const {
    Indices indices = at;
    indices[axis] = i;
    return indices;
  }
};
} // namespace

/// A kernel of one op as an empty function over buffers.
static func::FuncOp makeFunction(KernelOp kernel) {
  OpBuilder builder(kernel);
  SmallVector<Type> types;
  for (BlockArgument argument : kernel.getBody().getArguments())
    types.push_back(bufferOf(argument.getType()));
  auto func = func::FuncOp::create(builder, kernel.getLoc(), kernel.getSymName(),
                                   builder.getFunctionType(types, {}));
  func.setPrivate();
  Block *body = func.addEntryBlock();
  OpBuilder inside = OpBuilder::atBlockEnd(body);
  func::ReturnOp::create(inside, kernel.getLoc());
  return func;
}

/// The buffer of an operand, which is an argument of the kernel.
static Value bufferOf(Launch &launch, Value operand) {
  return launch.argument(cast<BlockArgument>(operand).getArgNumber());
}

static void emitCumsum(CumsumOp op, Launch &launch) {
  Emitter b(op.getLoc(), launch.builder());
  Line line(op.getType().getShape(), op.getAxis());
  if (line.count() == 0 || line.length() == 0)
    return;
  launch.needThreads(line.count());
  Value input = bufferOf(launch, op.getInput()), output = launch.result(0);
  Type element = signless(op.getType().getElementType());
  auto isMine = b.compare(arith::CmpIPredicate::ult, launch.global(), b.index(line.count()));
  auto emit = [&](OpBuilder &builder, Location loc) {
    ImplicitLocOpBuilder inner(loc, builder);
    line.take(inner, launch.global());
    auto step = [&](OpBuilder &nested, Location where, Value i, ValueRange soFar) {
      Emitter e(where, nested);
      Value place = op.getReverse() ? e.sub(e.index(line.length() - 1), i) : i;
      Indices at = line.element(place);
      Value next = e.add(soFar[0], e.widen(memref::LoadOp::create(e, input, at)));
      memref::StoreOp::create(e, e.narrow(op.getExclusive() ? soFar[0] : next, element), output,
                              at);
      scf::YieldOp::create(e, next);
    };
    Emitter e(loc, builder);
    scf::ForOp::create(e, e.index(0), e.index(line.length()), e.index(1),
                       e.number(0, computeType(element)), step);
    scf::YieldOp::create(e);
  };
  scf::IfOp::create(b, isMine, emit);
}

namespace {
struct EmitLines : gantry::impl::EmitLinesPassBase<EmitLines> {
  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      Block &body = kernel.getBody().front();
      auto op = llvm::hasNItems(body, 2) ? dyn_cast<CumsumOp>(body.front()) : CumsumOp();
      if (op)
        emit(kernel, op);
    }
  }

  void emit(KernelOp kernel, CumsumOp op) {
    func::FuncOp func = makeFunction(kernel);
    SmallVector<Type> results;
    for (Type type : op->getResultTypes())
      results.push_back(cast<RankedTensorType>(type).clone(signless(getElementTypeOrSelf(type))));
    Launch launch(func, results, kMostThreads);
    emitCumsum(op, launch);
    launch.finish();
    kernel.erase();
  }
};
} // namespace
