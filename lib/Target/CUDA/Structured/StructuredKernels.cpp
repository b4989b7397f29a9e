#include "StructuredKernels.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

static std::string freeName(ModuleOp module, StringRef stem) {
  std::string name;
  for (unsigned number = 0; name.empty() || module.lookupSymbol(name); ++number)
    name = (stem + "_constant" + Twine(number)).str();
  return name;
}

Value gantry::gpu::bufferOf(Launch &launch, Value operand) {
  if (auto argument = dyn_cast<BlockArgument>(operand))
    return launch.argument(argument.getArgNumber());
  ImplicitLocOpBuilder &b = launch.builder();
  auto func = cast<func::FuncOp>(b.getInsertionBlock()->getParentOp());
  auto module = func->getParentOfType<ModuleOp>();
  ElementsAttr elements = signlessElements(operand.getDefiningOp<ConstantOp>().getValue());
  auto type = MemRefType::get(elements.getShapedType().getShape(), elements.getElementType());
  std::string name = freeName(module, func.getSymName());
  OpBuilder atEnd = OpBuilder::atBlockEnd(module.getBody());
  memref::GlobalOp::create(atEnd, func.getLoc(), name, atEnd.getStringAttr("private"), type,
                           elements, /*constant=*/true, IntegerAttr());
  return memref::GetGlobalOp::create(b, type, name);
}

Lines::Lines(ArrayRef<int64_t> shape, unsigned axis)
    : others(shape), axis(axis), length(shape[axis]) {
  others.erase(others.begin() + axis);
}

int64_t Lines::count() const { return ShapedType::getNumElements(others); }

Indices Lines::take(Emitter &e, Value number) const {
  Indices at = delinearize(e, number, others);
  at.insert(at.begin() + axis, Value());
  return at;
}

void gantry::gpu::barrier(Emitter &e) { ::mlir::gpu::BarrierOp::create(e); }
