// Kernels: who makes code of them and what for, and what is known of their work.

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

//===----------------------------------------------------------------------===//
// #gantry.targets<machines = {cuda = ["sm_90"]}, math = tf32>
//===----------------------------------------------------------------------===//

static bool isListOfText(Attribute attr) {
  auto list = dyn_cast<ArrayAttr>(attr);
  return list && llvm::all_of(list, llvm::IsaPred<StringAttr>);
}

LogicalResult TargetsAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayAttr drivers,
                                  DictionaryAttr machines, Math, ArrayAttr libraries,
                                  std::optional<int64_t> stages) {
  if (drivers && !isListOfText(drivers))
    return emitError() << "targets: drivers are strings, got " << drivers;
  if (libraries && !isListOfText(libraries))
    return emitError() << "targets: libraries are strings, got " << libraries;
  if (stages && *stages < 0)
    return emitError() << "targets: stages are 0 or more, got " << *stages;
  if (machines)
    for (NamedAttribute target : machines)
      if (!isListOfText(target.getValue()))
        return emitError() << "targets: machines of a target are a list of strings, got "
                           << target.getValue() << " for " << target.getName();
  return success();
}

TargetsAttr TargetsAttr::of(Operation *op) {
  for (Operation *module = op; module; module = module->getParentOp())
    if (auto targets = module->getAttrOfType<TargetsAttr>(kTargetsAttr))
      return targets;
  return get(op->getContext(), {}, {}, Math::f32, {}, std::nullopt);
}

bool TargetsAttr::saysNothing() const {
  return *this == get(getContext(), {}, {}, Math::f32, {}, std::nullopt);
}

bool TargetsAttr::asksForLibrary(StringRef library) const {
  return getLibraries() &&
         llvm::is_contained(getLibraries(), StringAttr::get(getContext(), library));
}

FloatType TargetsAttr::getFactorType() const {
  switch (getMath()) {
  case Math::f32:
  case Math::tf32:
    return {};
  case Math::bf16:
    return BFloat16Type::get(getContext());
  case Math::f16:
    return Float16Type::get(getContext());
  }
  llvm_unreachable("no other math");
}

TargetAttr TargetsAttr::configOf(StringRef target) const {
  DictionaryAttr machines = getMachines();
  return TargetAttr::get(getContext(), target,
                         machines ? machines.getAs<ArrayAttr>(target) : ArrayAttr(), getMath());
}

//===----------------------------------------------------------------------===//
// #gantry.work<items = 16, in_place = [0]>
//===----------------------------------------------------------------------===//

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
