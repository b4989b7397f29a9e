// Brings in, during the run, the weights that automatic placement leaves on the host.
//
// It has marked them (`gantry.search`). Each device that reads one copies it into transient memory
// in front of the first op that needs it, so that copies stand in the order of their use.

#include "gantry/Analysis/Homes.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Transforms/MemoryRepair/Words.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_STREAMPLACEDCONSTANTSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct StreamPlacedConstants : gantry::impl::StreamPlacedConstantsPassBase<StreamPlacedConstants> {
  using StreamPlacedConstantsPassBase::StreamPlacedConstantsPassBase;

  void runOnOperation() override {
    Homes homes(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        for (auto constant : llvm::make_early_inc_range(func.getOps<ConstantOp>()))
          if (auto host = dyn_cast_if_present<DeviceAttr>(constant->removeAttr(kSearchAttr)))
            bringInWhereRead(constant, host, homes);
  }

  static void bringInWhereRead(ConstantOp constant, DeviceAttr host, const Homes &homes) {
    llvm::MapVector<DeviceAttr, SmallVector<OpOperand *>> uses;
    for (OpOperand &use : constant->getUses())
      uses[readerOf(use, homes)].push_back(&use);
    if (uses.contains(DeviceAttr()))
      return; // views of it are read on several devices
    constant->setAttr(kDeviceAttr, host);
    for (auto &[device, operands] : uses) {
      if (device == host)
        continue;
      Operation *first = operands.front()->getOwner();
      for (OpOperand *use : operands)
        if (use->getOwner()->isBeforeInBlock(first))
          first = use->getOwner();
      OpBuilder b(first);
      auto copy = CopyOp::create(b, constant.getLoc(), constant, device, /*force=*/true,
                                 b.getStringAttr(kMemoryLimitCause));
      for (OpOperand *use : operands)
        use->set(copy);
    }
  }

  /// The device that needs the use, of a view the one that needs all of its uses; null where those
  /// are several.
  static DeviceAttr readerOf(OpOperand &use, const Homes &homes) {
    if (!isView(use.getOwner()))
      return homes.neededBy(use);
    DeviceAttr reader;
    for (OpOperand &next : use.getOwner()->getResult(0).getUses()) {
      DeviceAttr own = readerOf(next, homes);
      if (!own || (reader && own != reader))
        return {};
      reader = own;
    }
    return reader;
  }
};
} // namespace
