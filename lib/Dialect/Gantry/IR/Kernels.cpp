// Kernels: who makes code of them, and what is known of their work.

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace gantry;

SmallVector<std::pair<ModuleOp, TargetAttr>> gantry::kernelModules(ModuleOp module) {
  SmallVector<std::pair<ModuleOp, TargetAttr>> modules;
  for (auto nested : module.getOps<ModuleOp>())
    if (auto target = nested->getAttrOfType<TargetAttr>(kTargetAttr); target && nested.getSymName())
      modules.emplace_back(nested, target);
  return modules;
}

WorkAttr WorkAttr::of(Operation *op) {
  auto work = op->getAttrOfType<WorkAttr>(kWorkAttr);
  return work ? work : get(op->getContext(), -1, 1, 0, {}, false);
}

WorkAttr WorkAttr::withItems(int64_t items) const {
  return get(getContext(), items, getGrain(), getScratch(), getInPlace(), getSerial());
}

WorkAttr WorkAttr::withGrain(int64_t grain) const {
  return get(getContext(), getItems(), grain, getScratch(), getInPlace(), getSerial());
}

WorkAttr WorkAttr::withScratch(int64_t bytes) const {
  return get(getContext(), getItems(), getGrain(), bytes, getInPlace(), getSerial());
}

WorkAttr WorkAttr::withInPlace(ArrayRef<int64_t> arguments) const {
  auto list =
      arguments.empty() ? DenseI64ArrayAttr() : DenseI64ArrayAttr::get(getContext(), arguments);
  return get(getContext(), getItems(), getGrain(), getScratch(), list, getSerial());
}

WorkAttr WorkAttr::withSerial(bool serial) const {
  return get(getContext(), getItems(), getGrain(), getScratch(), getInPlace(), serial);
}

bool WorkAttr::mayTakePlaceOf(int64_t argument) const {
  return getInPlace() && llvm::is_contained(getInPlace().asArrayRef(), argument);
}
