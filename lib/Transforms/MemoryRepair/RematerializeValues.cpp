// To rematerialise: cheap values are computed again where they are read late, instead of holding
// them until then.
//
// Around the place where most is held: what is read before and after it but not in between, and can
// be made again, in front of its next reader, from what is there anyway. Elementwise ops and those
// that go row by row cost little more than a pass over memory, and give the same bits each time.

#include "LivenessProfile.h"
#include "gantry/Analysis/Rows.h"
#include "gantry/Transforms/MemoryRepair/Passes.h"
#include "gantry/Transforms/MemoryRepair/Words.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_REMATERIALIZEVALUESPASS
#include "gantry/Transforms/MemoryRepair/Passes.h.inc"
} // namespace gantry

/// Less is not worth a launch.
static constexpr uint64_t kLeast = 16 << 10;
/// Ops that one value may take.
static constexpr size_t kMostSteps = 6;

/// What computes little for what it writes, alike each time.
static bool isCheap(Operation *op) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  if (!kernel || op->getNumRegions() != 0 || op->getNumResults() != 1)
    return false;
  switch (kernel.getFusionKind()) {
  case FusionKind::Elementwise:
  case FusionKind::Movement:
    return true;
  case FusionKind::Contraction:
  case FusionKind::Generator:
    return false;
  default:
    return !rowOperandsOf(op).empty();
  }
}

namespace {
/// A value that need not be held.
struct Rematerializable {
  const LiveValue *held = nullptr;
  uint32_t next = 0;                  ///< number of the op that reads it then
  llvm::SetVector<Operation *> steps; ///< that make it again, views among them, in order
};

/// Looks for the value in a block.
struct Finder {
  const LivenessProfile &liveness;
  uint32_t peak;
  DenseMap<Value, const LiveValue *> held;

  Finder(const LivenessProfile &liveness, uint32_t peak) : liveness(liveness), peak(peak) {
    for (const LiveValue &value : liveness.values)
      held[value.value] = &value;
  }

  std::optional<Rematerializable> find() {
    std::optional<Rematerializable> best;
    for (const LiveValue &value : liveness.values) {
      if (value.bytes < kLeast || value.first >= peak || value.last <= peak)
        continue;
      Rematerializable candidate{&value, nextUse(value), {}};
      if (candidate.next > peak && collect(value.value, candidate) && !fillsUp(candidate) &&
          (!best || isBetter(candidate, *best)))
        best = std::move(candidate);
    }
    return best;
  }

private:
  /// More bytes, then fewer steps.
  static bool isBetter(const Rematerializable &a, const Rematerializable &b) {
    return a.held->bytes != b.held->bytes ? a.held->bytes > b.held->bytes
                                          : a.steps.size() < b.steps.size();
  }

  /// The first use from the op at the peak on.
  uint32_t nextUse(const LiveValue &value) const {
    uint32_t next = value.last;
    liveness.forEachUse(value.value, [&](OpOperand &use) {
      if (uint32_t at = liveness.numberOf(use.getOwner()); at >= peak)
        next = std::min(next, at);
    });
    return next;
  }

  /// Whether the value can be had when the next reader comes without making it again.
  bool isThere(Value value, uint32_t when) const {
    if (value.getDefiningOp<ConstantOp>())
      return true;
    if (auto known = held.find(value); known != held.end())
      return known->second->last >= when;
    // Bound by the caller: there for the whole run.
    return isa<BlockArgument>(value) && liveness.homes.homeOf(value) == liveness.device;
  }

  bool collect(Value value, Rematerializable &candidate) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != &liveness.block || candidate.steps.size() >= kMostSteps)
      return false;
    if (!isView(op) && (!isCheap(op) || op->getAttr(kDeviceAttr) != liveness.device))
      return false;
    for (Value operand : op->getOperands())
      if (!isThere(operand, candidate.next) && !candidate.steps.contains(operand.getDefiningOp()) &&
          !collect(operand, candidate))
        return false;
    candidate.steps.insert(op);
    return true;
  }

  /// Whether as much would be held where it is made again.
  bool fillsUp(const Rematerializable &candidate) const {
    uint64_t more = 0;
    for (Operation *op : candidate.steps)
      if (!isView(op) && op->getResult(0) != candidate.held->value)
        more += bytesLiveFor(op->getResult(0));
    return liveness.bytes[candidate.next] + more >= liveness.bytes[peak];
  }
};

struct RematerializeValues : gantry::impl::RematerializeValuesPassBase<RematerializeValues> {
  using RematerializeValuesPassBase::RematerializeValuesPassBase;

  void runOnOperation() override {
    forEachWanted(getOperation(), bytes,
                  [&](func::FuncOp func, DeviceAttr device, uint64_t wanted, const Homes &homes) {
                    int number = 0;
                    freeAtPeak(func.getBody().front(), device, wanted, homes,
                               [&](const LivenessProfile &liveness, uint32_t peak) {
                                 std::optional<Rematerializable> candidate =
                                     Finder(liveness, peak).find();
                                 if (candidate)
                                   makeAgain(liveness, *candidate, number++);
                                 return candidate.has_value();
                               });
                  });
  }

  /// In front of the next reader, for all from there on.
  static void makeAgain(const LivenessProfile &liveness, const Rematerializable &candidate,
                        int number) {
    SmallVector<OpOperand *> late = liveness.usesFrom(candidate.held->value, candidate.next);
    OpBuilder b(liveness.ops[candidate.next]);
    IRMapping mapping;
    for (Operation *op : candidate.steps) {
      Operation *again = b.clone(*op, mapping);
      if (isView(op))
        continue;
      // Ops of one name would be merged into one.
      auto name = op->getAttrOfType<StringAttr>(kNameAttr);
      again->setAttr(kNameAttr, b.getStringAttr((name ? name.getValue() : "value") + kAgainSuffix +
                                                Twine(number)));
    }
    readInstead(late, b, mapping);
  }
};
} // namespace
