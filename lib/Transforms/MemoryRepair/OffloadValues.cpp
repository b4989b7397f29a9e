// Offload: keeps values on the host while nobody needs them on the device, where most is held.
//
// A value that is there before and after the peak, and that nothing uses in between, goes
// to the host behind its last use before, and comes back in front of the next one. Both are copies
// like others, on queues of their own; how far ahead of its use a value comes back is Memory's to
// choose. The one with the longest way in between goes first: it has most to hide behind.

#include "LivenessProfile.h"
#include "gantry/Transforms/MemoryRepair/Passes.h"
#include "gantry/Transforms/MemoryRepair/Words.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_OFFLOADVALUESPASS
#include "gantry/Transforms/MemoryRepair/Passes.h.inc"
} // namespace gantry

/// Less is not worth two copies.
static constexpr uint64_t kLeast = 16 << 10;

namespace {
/// A value and the uses between which it can go.
struct Gap {
  const LiveValue *held = nullptr;
  uint32_t before = 0, next = 0; ///< numbers of ops

  bool isBetter(const Gap &other) const {
    if (!other.held)
      return true;
    const uint32_t own = next - before, its = other.next - other.before;
    return own != its ? own > its : held->bytes > other.held->bytes;
  }
};

struct OffloadValues : gantry::impl::OffloadValuesPassBase<OffloadValues> {
  using OffloadValuesPassBase::OffloadValuesPassBase;

  void runOnOperation() override {
    forEachWanted(getOperation(), bytes,
                  [&](func::FuncOp func, DeviceAttr device, uint64_t wanted, const Homes &homes) {
                    if (device != homes.hostOf(device))
                      freeAtPeak(func.getBody().front(), device, wanted, homes, sendLongestAway);
                  });
  }

  static bool sendLongestAway(const LivenessProfile &liveness, uint32_t peak) {
    Gap best;
    for (const LiveValue &value : liveness.values)
      if (std::optional<Gap> gap = gapAt(liveness, value, peak); gap && gap->isBetter(best))
        best = *gap;
    if (best.held)
      sendAway(liveness, best);
    return best.held;
  }

  /// Between the uses on both sides of op `at`, which is none of them.
  static std::optional<Gap> gapAt(const LivenessProfile &liveness, const LiveValue &value,
                                  uint32_t at) {
    // What comes from elsewhere could come later, which Memory sees to.
    Operation *maker = value.value.getDefiningOp();
    if (value.bytes < kLeast || value.first >= at || value.last <= at || !maker)
      return std::nullopt;
    Gap gap{&value, value.first, value.last};
    bool isUsed = false;
    liveness.forEachUse(value.value, [&](OpOperand &use) {
      const uint32_t user = liveness.numberOf(use.getOwner());
      isUsed |= user == at;
      if (user < at)
        gap.before = std::max(gap.before, user);
      else
        gap.next = std::min(gap.next, user);
    });
    if (isUsed || (isa<CopyOp>(maker) && gap.before == value.first))
      return std::nullopt;
    return gap;
  }

  static Value copyTo(OpBuilder &b, Value value, DeviceAttr device) {
    return CopyOp::create(b, value.getLoc(), value, device, /*force=*/true,
                          b.getStringAttr(kMemoryLimitCause));
  }

  static void sendAway(const LivenessProfile &liveness, const Gap &gap) {
    Value value = gap.held->value;
    SmallVector<OpOperand *> late = liveness.usesFrom(value, gap.next);
    const DeviceAttr host = liveness.homes.hostOf(liveness.device);
    OpBuilder b(value.getContext());
    Value there;
    // What the host has already need not go there.
    if (auto copy = value.getDefiningOp<CopyOp>();
        copy && liveness.homes.homeOf(copy.getInput()) == host) {
      there = copy.getInput();
    } else {
      b.setInsertionPointAfter(liveness.ops[gap.before]);
      there = copyTo(b, value, host);
    }
    b.setInsertionPoint(liveness.ops[gap.next]);
    IRMapping mapping;
    mapping.map(value, copyTo(b, there, liveness.device));
    readInstead(late, b, mapping);
  }
};
} // namespace
