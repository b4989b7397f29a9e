// Weight streaming: brings weights in during the run where they do not fit beside each other.
//
// The host keeps them, and each run copies them into transient memory, which others use before and
// after. Which ones: as many bytes as are asked for, spread evenly over the program, so that each
// has the computing in front of it to hide behind. Those that an op reads little of, as a gather
// does, come last: they would be copied whole for a few rows.

#include "LivenessProfile.h"
#include "gantry/Device/StreamRoom.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Transforms/MemoryRepair/Words.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_STREAMCONSTANTSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct StreamableConstant {
  ConstantOp constant;
  uint64_t bytes, place; ///< of its first user in the block
};

struct StreamConstants : gantry::impl::StreamConstantsPassBase<StreamConstants> {
  using StreamConstantsPassBase::StreamConstantsPassBase;

  void runOnOperation() override { forEachWanted(getOperation(), bytes, stream); }

  static void stream(func::FuncOp func, DeviceAttr device, uint64_t wanted, const Homes &homes) {
    SmallVector<StreamableConstant> whole, parts;
    DenseMap<Operation *, uint64_t> places;
    for (Operation &op : func.getBody().front())
      places[&op] = places.size();
    for (auto constant : func.getBody().front().getOps<ConstantOp>()) {
      StreamableConstant candidate{constant, uint64_t(getByteSize(constant.getType())), UINT64_MAX};
      bool isIndexed = false;
      if (candidate.bytes >= kLeastStreamed && !constant->hasAttr(kDeviceAttr) &&
          isReadOn(constant, device, homes, places, candidate.place, isIndexed))
        (isIndexed ? parts : whole).push_back(candidate);
    }
    wanted -= std::min(wanted, take(whole, wanted, device, homes));
    take(parts, wanted, device, homes);
  }

  /// Whether all its users are ops of the block on the device, views apart.
  static bool isReadOn(Value value, DeviceAttr device, const Homes &homes,
                       const DenseMap<Operation *, uint64_t> &places, uint64_t &first,
                       bool &isIndexed) {
    return !value.use_empty() && llvm::all_of(value.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      auto place = places.find(user);
      if (place == places.end())
        return false;
      if (isView(user))
        return isReadOn(user->getResult(0), device, homes, places, first, isIndexed);
      first = std::min(first, place->second);
      isIndexed |= isa<IndexingOpInterface>(user);
      return homes.neededBy(use) == device;
    });
  }

  /// Streams about `wanted` bytes of the candidates; gives how many it was.
  static uint64_t take(SmallVectorImpl<StreamableConstant> &candidates, uint64_t wanted,
                       DeviceAttr device, const Homes &homes) {
    llvm::stable_sort(candidates, [](const StreamableConstant &a, const StreamableConstant &b) {
      return a.place < b.place;
    });
    double all = 0, passed = 0;
    for (const StreamableConstant &candidate : candidates)
      all += candidate.bytes;
    uint64_t taken = 0;
    for (const StreamableConstant &candidate : candidates) {
      // As far along in what is taken as in what there is.
      passed += candidate.bytes;
      if (double(wanted) * passed / all - double(taken) < candidate.bytes / 2.)
        continue;
      taken += candidate.bytes;
      bringIn(candidate.constant, device, homes);
    }
    // What rounding has left out.
    for (auto it = candidates.rbegin(); it != candidates.rend() && taken < wanted; ++it)
      if (!it->constant->hasAttr(kDeviceAttr)) {
        taken += it->bytes;
        bringIn(it->constant, device, homes);
      }
    return taken;
  }

  static void bringIn(ConstantOp constant, DeviceAttr device, const Homes &homes) {
    OpBuilder b(constant->getContext());
    b.setInsertionPointAfter(constant);
    auto copy = CopyOp::create(b, constant.getLoc(), constant, device, /*force=*/true,
                               b.getStringAttr(kMemoryLimitCause));
    constant.getResult().replaceAllUsesExcept(copy, copy);
    constant->setAttr(kDeviceAttr, homes.hostOf(device));
  }
};
} // namespace
