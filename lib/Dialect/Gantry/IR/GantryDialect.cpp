// The dialect itself: attributes, registration, constants.

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "gantry/Device/DeviceName.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;

#include "gantry/Dialect/Gantry/IR/GantryInterfaces.cpp.inc"

#include "gantry/Dialect/Gantry/IR/GantryDialect.cpp.inc"
#include "gantry/Dialect/Gantry/IR/GantryEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "gantry/Dialect/Gantry/IR/GantryAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "gantry/Dialect/Gantry/IR/GantryOps.cpp.inc"

namespace {
/// Every op of the dialect may be inlined; calls disappear before placement.
struct InlineEverywhere : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Operation *, bool) const final { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final { return true; }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
};
} // namespace

void GantryDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "gantry/Dialect/Gantry/IR/GantryOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "gantry/Dialect/Gantry/IR/GantryAttrs.cpp.inc"
      >();
  addInterfaces<InlineEverywhere>();
}

Operation *GantryDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                              Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}

LogicalResult GantryDialect::verifyOperationAttribute(Operation *op, NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == kDeviceAttr && !isa<DeviceAttr>(attr.getValue()))
    return op->emitOpError() << "attribute '" << kDeviceAttr
                             << "' must be a #gantry.device<\"...\">, got " << attr.getValue();
  if (name == kNameAttr && !isa<StringAttr>(attr.getValue()))
    return op->emitOpError() << "attribute '" << kNameAttr << "' must be a string, got "
                             << attr.getValue();
  if (name == kTopologyAttr && !isa<TopologyAttr>(attr.getValue()))
    return op->emitOpError() << "attribute '" << kTopologyAttr
                             << "' must be a #gantry.topology<[...]>, got " << attr.getValue();
  return success();
}

LogicalResult DeviceAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef spelling) {
  Expected<DeviceName> name = DeviceName::parse(spelling.str());
  if (!name)
    return emitError() << name.status().message();
  return success();
}

LogicalResult TopologyAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<DeviceAttr> devices) {
  for (auto [i, device] : llvm::enumerate(devices)) {
    if (!DeviceName::parse(device.getSpelling().str())->withDefaultTask().isFull())
      return emitError() << "device '" << device.getSpelling()
                         << "' of the topology needs a type and an id, as in /device:GPU:0";
    if (llvm::is_contained(devices.take_front(i), device))
      return emitError() << "device '" << device.getSpelling() << "' stands twice in the topology";
  }
  return success();
}
