// Removes the copies of a graph that move nothing.
//
// A copy to where the value is already, or back to where a copied value came from, is the value
// itself. A copy of a copy that nothing else uses goes the direct way. One with `force` makes a new
// buffer and stays.

#include "gantry/Analysis/Homes.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/Iterators.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_ELIDECOPIESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// What `copy` gives when it moves nothing, else null: the value before it, or before the copies
/// before it, that is on its device.
static Value findOnDevice(CopyOp copy, const Homes &homes) {
  DeviceAttr device = copy.getDevice();
  Value value = copy.getInput();
  while (true) {
    if (homes.homeOf(value) == device)
      return value;
    auto before = value.getDefiningOp<CopyOp>();
    if (!before || before.getForce())
      return {};
    value = before.getInput();
  }
}

/// Skips the stops on the way that only this copy makes.
static void goDirectly(CopyOp copy) {
  while (auto before = copy.getInput().getDefiningOp<CopyOp>()) {
    if (before.getForce() || !before->hasOneUse())
      return;
    copy.getInputMutable().assign(before.getInput());
  }
}

namespace {
struct ElideCopies : gantry::impl::ElideCopiesPassBase<ElideCopies> {
  void runOnOperation() override {
    Homes homes(getOperation());
    SmallVector<CopyOp> copies;
    getOperation().walk([&](CopyOp copy) { copies.push_back(copy); });
    for (CopyOp copy : copies)
      if (Value same = copy.getForce() ? Value() : findOnDevice(copy, homes)) {
        copy.replaceAllUsesWith(same);
        copy.erase();
      } else {
        goDirectly(copy);
      }
    // What was copied there and back has no use for the way there any more.
    getOperation().walk<WalkOrder::PostOrder, ReverseIterator>([](CopyOp copy) {
      if (!copy.getForce() && copy->use_empty())
        copy.erase();
    });
  }
};
} // namespace
