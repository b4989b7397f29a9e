// The kernel table (KernelTable.def) as a look-up.

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "gantry/Device/DeviceName.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace gantry;

namespace {
/// The sets of element types that the table speaks of.
enum class Elements { none, all, numbers, floats, ints, indices, bools };

struct Row {
  Elements types[2]; ///< by DeviceType
  const char *why;
};
} // namespace

static const llvm::StringMap<Row> &getTable() {
  static const llvm::StringMap<Row> table = {
#define GANTRY_KERNEL(op, cpu, gpu, why) {"gantry." #op, Row{{Elements::cpu, Elements::gpu}, why}},
#include "gantry/Dialect/Gantry/IR/KernelTable.def"
  };
  return table;
}

static bool isIn(Elements set, Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  bool isBool = integer && integer.getWidth() == 1;
  switch (set) {
  case Elements::none:
    return false;
  case Elements::all:
    return true;
  case Elements::numbers:
    return !isBool;
  case Elements::floats:
    return isa<FloatType>(type);
  case Elements::ints:
    return integer && !isBool;
  case Elements::indices:
    return integer && (integer.getWidth() == 32 || integer.getWidth() == 64);
  case Elements::bools:
    return isBool;
  }
  llvm_unreachable("a set without a meaning");
}

bool gantry::detail::hasKernel(Operation *op, DeviceType deviceType, Type elementType) {
  auto row = getTable().find(op->getName().getStringRef());
  if (row != getTable().end())
    return isIn(row->second.types[size_t(deviceType)], elementType);
  // Ops of this dialect that no table needs to name run anywhere; those of others say so
  // themselves.
  return deviceType == DeviceType::CPU || isa_and_nonnull<GantryDialect>(op->getDialect());
}

llvm::StringRef gantry::whyNoKernel(Operation *op) {
  auto row = getTable().find(op->getName().getStringRef());
  return row == getTable().end() ? "" : row->second.why;
}

static bool isGenerator(Operation *op) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  return kernel && kernel.getFusionKind() == FusionKind::Generator;
}

bool gantry::isMadeOfNothing(Operation *op) {
  return isGenerator(op) && op->getNumOperands() == 0 && op->getNumResults() == 1;
}

Type gantry::kernelElementType(Operation *op) {
  if (op->getNumOperands() && !isGenerator(op))
    return getElementTypeOrSelf(op->getOperand(0).getType());
  return op->getNumResults() ? getElementTypeOrSelf(op->getResult(0).getType()) : Type();
}

StringRef gantry::fusionKindName(FusionKind kind) {
  switch (kind) {
  case FusionKind::Elementwise:
    return "elementwise";
  case FusionKind::Reduction:
    return "reduction";
  case FusionKind::Contraction:
    return "contraction";
  case FusionKind::Movement:
    return "movement";
  case FusionKind::View:
    return "view";
  case FusionKind::Indexing:
    return "indexing";
  case FusionKind::Generator:
    return "generator";
  case FusionKind::Opaque:
    return "opaque";
  }
  llvm_unreachable("a fusion kind without a name");
}
