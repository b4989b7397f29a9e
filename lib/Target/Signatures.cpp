#include "gantry/Target/Signatures.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace gantry;

/// As kernels address it: row by row, a byte for what is smaller.
static int64_t bytesOf(MemRefType type) {
  const int64_t bits = type.getElementTypeBitWidth();
  return type.getNumElements() * std::max<int64_t>(1, bits / 8);
}

static DenseI64ArrayAttr takenBy(func::FuncOp func) {
  const WorkAttr work = WorkAttr::of(func);
  SmallVector<int64_t> taken{work.getItems(), work.getGrain()};
  for (Type type : func.getArgumentTypes())
    if (auto buffer = dyn_cast<MemRefType>(type))
      taken.push_back(bytesOf(buffer));
  return DenseI64ArrayAttr::get(func.getContext(), taken);
}

void gantry::noteTakenBuffers(ModuleOp kernels, ModuleOp plan, ArrayRef<StringRef> drivers) {
  SymbolTable here(kernels);
  for (auto kernel : plan.getOps<plan::ir::KernelOp>()) {
    auto func = here.lookup<func::FuncOp>(kernel.getSymName());
    if (!func)
      continue;
    NamedAttrList noted(kernel->getAttrOfType<DictionaryAttr>(kTakesAttr));
    for (StringRef driver : drivers)
      noted.set(driver, takenBy(func));
    kernel->setAttr(kTakesAttr, noted.getDictionary(kernel.getContext()));
  }
}

std::optional<TakenBuffers> gantry::takenBuffers(plan::ir::KernelOp kernel, StringRef driver) {
  auto noted = kernel->getAttrOfType<DictionaryAttr>(kTakesAttr);
  auto taken = noted ? noted.getAs<DenseI64ArrayAttr>(driver) : DenseI64ArrayAttr();
  if (!taken)
    return std::nullopt;
  return TakenBuffers{taken.asArrayRef().drop_front(2), taken[0], taken[1]};
}
