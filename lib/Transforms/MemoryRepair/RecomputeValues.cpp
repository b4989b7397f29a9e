// Computes cheap values again where they are read late, instead of holding them until then.
//
// Around the place where most is held: what is read before and after it but not in between, and can
// be made again, in front of its next reader, from what is there anyway. Elementwise ops and those
// that go row by row cost little more than a pass over memory, and give the same bits each time.

#include "Holding.h"
#include "gantry/Analysis/Rows.h"
#include "gantry/Transforms/MemoryRepair/Passes.h"
#include "gantry/Transforms/MemoryRepair/Words.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_RECOMPUTEVALUESPASS
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
  const HeldValue *held = nullptr;
  uint32_t next = 0;                  ///< number of the op that reads it then
  llvm::SetVector<Operation *> steps; ///< that make it again, views among them, in order
};

/// Looks for the value in a block.
struct Finder {
  const Holding &holding;
  uint32_t fullest;
  DenseMap<Value, const HeldValue *> held;

  Finder(const Holding &holding, uint32_t fullest) : holding(holding), fullest(fullest) {
    for (const HeldValue &value : holding.values)
      held[value.value] = &value;
  }

  std::optional<Rematerializable> find() {
    std::optional<Rematerializable> best;
    for (const HeldValue &value : holding.values) {
      if (value.bytes < kLeast || value.first >= fullest || value.last <= fullest)
        continue;
      Rematerializable candidate{&value, nextUse(value), {}};
      if (candidate.next > fullest && collect(value.value, candidate) && !fillsUp(candidate) &&
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

  /// The first use from the fullest op on.
  uint32_t nextUse(const HeldValue &value) const {
    uint32_t next = value.last;
    holding.forEachUse(value.value, [&](OpOperand &use) {
      if (uint32_t at = holding.numberOf(use.getOwner()); at >= fullest)
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
    return isa<BlockArgument>(value) && holding.homes.homeOf(value) == holding.device;
  }

  bool collect(Value value, Rematerializable &candidate) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != &holding.block || candidate.steps.size() >= kMostSteps)
      return false;
    if (!isView(op) && (!isCheap(op) || op->getAttr(kDeviceAttr) != holding.device))
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
        more += bytesHeldFor(op->getResult(0));
    return holding.bytes[candidate.next] + more >= holding.bytes[fullest];
  }
};

struct RecomputeValues : gantry::impl::RecomputeValuesPassBase<RecomputeValues> {
  using RecomputeValuesPassBase::RecomputeValuesPassBase;

  void runOnOperation() override {
    forEachWanted(getOperation(), bytes,
                  [&](func::FuncOp func, DeviceAttr device, uint64_t wanted, const Homes &homes) {
                    int number = 0;
                    freeAtFullest(func.getBody().front(), device, wanted, homes,
                                  [&](const Holding &holding, uint32_t fullest) {
                                    std::optional<Rematerializable> candidate =
                                        Finder(holding, fullest).find();
                                    if (candidate)
                                      makeAgain(holding, *candidate, number++);
                                    return candidate.has_value();
                                  });
                  });
  }

  /// In front of the next reader, for all from there on.
  static void makeAgain(const Holding &holding, const Rematerializable &candidate, int number) {
    SmallVector<OpOperand *> late = holding.usesFrom(candidate.held->value, candidate.next);
    OpBuilder b(holding.ops[candidate.next]);
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
