#include "gantry/Analysis/Copies.h"

using namespace mlir;
using namespace gantry;

static std::optional<CopyDirection> directionOf(DeviceAttr from, DeviceAttr to) {
  if (!from || from == to)
    return std::nullopt;
  return copyDirection(from.getName(), to.getName());
}

SmallVector<CountedCopy> gantry::countCopies(func::FuncOp func, const Homes &homes) {
  SmallVector<CountedCopy> copies;
  func.walk([&](CopyOp op) {
    copies.push_back({op, directionOf(homes.homeOf(op.getInput()), op.getDevice()),
                      getByteSize(cast<RankedTensorType>(op.getType())),
                      getEnclosingRepetitiveRegion(op.getOperation()) != nullptr});
  });
  return copies;
}

Expected<CopyBudget> gantry::copyBudgetOf(func::FuncOp func, const CopyBudget &others) {
  auto own = func->getAttrOfType<StringAttr>(kMaxCopyAttr);
  return own ? parseCopyBudget(own.str()) : others;
}
