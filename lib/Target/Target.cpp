#include "gantry/Target/Target.h"

#include "gantry/Analysis/InPlace.h"
#include "gantry/Device/Topology.h"
#include "gantry/Dialect/Gantry/IR/FreshSymbols.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <mutex>

using namespace mlir;
using namespace gantry;

bool Target::hasKernel(Operation *op, DeviceType type) const {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  Type element = kernelElementType(op);
  return kernel && element && kernel.hasKernel(type, element);
}

SmallVector<InPlace> Target::getArgumentsToOverwrite(KernelOp kernel) const {
  return argumentsToOverwrite(kernel);
}

//===----------------------------------------------------------------------===//
// The targets of this process
//===----------------------------------------------------------------------===//

namespace {
struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<const Target>> targets;
};
} // namespace

static Registry &registry() {
  static Registry known;
  return known;
}

void gantry::registerTarget(std::unique_ptr<const Target> target) {
  Registry &known = registry();
  std::lock_guard<std::mutex> lock(known.mutex);
  for (const auto &other : known.targets)
    if (other->getName() == target->getName())
      return;
  known.targets.push_back(std::move(target));
}

std::vector<const Target *> gantry::allTargets() {
  Registry &known = registry();
  std::lock_guard<std::mutex> lock(known.mutex);
  std::vector<const Target *> targets;
  for (const auto &target : known.targets)
    targets.push_back(target.get());
  return targets;
}

const Target *gantry::findTarget(StringRef driver) {
  // The last one: a target for tests takes a driver over.
  const std::vector<const Target *> all = allTargets();
  for (const Target *target : llvm::reverse(all))
    if (llvm::is_contained(target->getDrivers(), driver))
      return target;
  return nullptr;
}

const Target *gantry::findTarget(TargetAttr name) {
  for (const Target *target : allTargets())
    if (target->getName() == name.getName())
      return target;
  return nullptr;
}

std::string gantry::driversWithTargets() {
  std::vector<StringRef> drivers;
  for (const Target *target : allTargets())
    llvm::append_range(drivers, target->getDrivers());
  return llvm::join(drivers, ", ");
}

bool gantry::mayStandIn(StringRef driver, Driver other) {
  bool isOfCPUs = driver == StringRef(driverName(Driver::host));
  return driver != StringRef(driverName(other)) && isOfCPUs == (other == Driver::host);
}

//===----------------------------------------------------------------------===//
// Code in plans
//===----------------------------------------------------------------------===//

PlanCode::PlanCode(ModuleOp plan, Assembler assembler) : plan(plan), toolkit(std::move(assembler)) {
  for (auto kernel : plan.getOps<plan::ir::KernelOp>()) {
    names.push_back(kernel.getSymName().str());
    ops[names.back()] = kernel;
  }
  auto add = [&](StringRef driver) {
    if (!llvm::is_contained(allDrivers, driver))
      allDrivers.push_back(driver);
  };
  for (auto device : plan.getOps<plan::ir::DeviceOp>()) {
    add(device.getDriver());
    for (auto driver : device.getAlso().getAsRange<StringAttr>())
      add(driver.getValue());
  }
}

FlatSymbolRefAttr PlanCode::addObject(plan::ir::CodeKind kind, StringRef machine,
                                      ArrayRef<std::string> needs, ArrayRef<char> bytes) {
  auto first = *plan.getOps<plan::ir::KernelOp>().begin();
  OpBuilder b(first);
  SmallVector<StringRef> features(needs.begin(), needs.end());
  StringAttr symbol = FreshSymbols(plan).take("code" + Twine(numObjects++));
  auto type = RankedTensorType::get({int64_t(bytes.size())}, b.getI8Type());
  Attribute value = DenseI8ResourceElementsAttr::get(
      type, symbol,
      bytes.empty() ? AsmResourceBlob() : HeapAsmResourceBlob::allocateAndCopyInferAlign(bytes));
  plan::ir::CodeOp::create(b, first.getLoc(), symbol,
                           plan::ir::CodeKindAttr::get(b.getContext(), kind),
                           b.getStringAttr(machine), b.getStrArrayAttr(features),
                           b.getI64IntegerAttr(bytes.size()), cast<ElementsAttr>(value));
  return FlatSymbolRefAttr::get(symbol);
}

void PlanCode::addVariant(StringRef kernel, plan::ir::VariantAttr variant) {
  plan::ir::KernelOp op = ops.lookup(kernel);
  SmallVector<Attribute> variants(op.getVariants().begin(), op.getVariants().end());
  variants.push_back(variant);
  op.setVariantsAttr(ArrayAttr::get(op.getContext(), variants));
}
