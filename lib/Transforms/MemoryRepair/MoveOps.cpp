// Runs a part of a function on another device, which has room for what the part takes.
//
// A part is ops in a row: then there is little to copy but at its two ends. Of the rows whose
// weights and values take as many bytes as are asked for, the one with least to copy moves.

#include "LivenessProfile.h"
#include "gantry/Transforms/MemoryRepair/Passes.h"
#include "gantry/Transforms/MemoryRepair/Words.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_MOVEOPSPASS
#include "gantry/Transforms/MemoryRepair/Passes.h.inc"
} // namespace gantry

/// Ops of larger functions stay where they are: each place is tried as a beginning.
static constexpr size_t kMostOps = 20000;

/// Whether nobody has said where the op is to run.
static bool isFree(Operation *op) {
  auto decision = op->getAttrOfType<DecisionAttr>(kPlacementAttr);
  return decision &&
         llvm::is_contained({"default", "follow", "auto", "inferred"}, decision.getRule());
}

namespace {
/// Ops by number, the end not included.
struct Row {
  uint32_t begin, end;
  uint64_t copied; ///< bytes at its ends
};

/// Looks for the row in a block.
struct Finder {
  const LivenessProfile &liveness;
  DeviceAttr target;
  uint64_t wanted;
  SmallVector<uint64_t> weights = {}; ///< by op, of its first reader
  SmallVector<uint64_t> across = {};  ///< bytes held from before an op to it or behind

  std::optional<Row> find() {
    weigh();
    std::optional<Row> best;
    for (uint32_t begin = 0; begin < liveness.ops.size(); ++begin)
      if (std::optional<Row> row = rowFrom(begin); row && (!best || row->copied < best->copied))
        best = row;
    return best;
  }

  bool isHere(Operation *op) const {
    return op->getAttr(kDeviceAttr) == liveness.device && !isa<ConstantOp, CopyOp>(op);
  }

private:
  /// Ops that run elsewhere, and views and constants, are no hindrance.
  bool mayMove(Operation *op) const {
    if (op->getNumRegions() != 0)
      return false;
    if (!isHere(op))
      return true;
    auto kernel = dyn_cast<KernelOpInterface>(op);
    return kernel && isFree(op) && kernel.hasKernel(*target.getName().type, kernelElementType(op));
  }

  void weigh() {
    llvm::SmallDenseSet<Value> seen;
    for (Operation *op : liveness.ops) {
      uint64_t bytes = 0;
      for (Value operand : op->getOperands())
        if (Value root = skipViews(operand);
            isHere(op) && root.getDefiningOp<ConstantOp>() && seen.insert(root).second)
          bytes += bytesLiveFor(root);
      weights.push_back(bytes);
    }
    SmallVector<int64_t> change(liveness.ops.size() + 2);
    for (const LiveValue &held : liveness.values) {
      change[held.first + 1] += held.bytes;
      change[held.last + 1] -= held.bytes;
    }
    int64_t now = 0;
    for (uint32_t i = 0; i <= liveness.ops.size(); ++i)
      across.push_back(now += change[i]);
  }

  /// The shortest row from there that takes enough.
  std::optional<Row> rowFrom(uint32_t begin) const {
    uint64_t constants = 0;
    for (uint32_t i = begin; i + 1 < liveness.ops.size() && mayMove(liveness.ops[i]); ++i) {
      constants += weights[i];
      if (constants >= wanted)
        return Row{begin, i + 1, across[begin] + across[i + 1]};
    }
    return std::nullopt;
  }
};

struct MoveOps : gantry::impl::MoveOpsPassBase<MoveOps> {
  using MoveOpsPassBase::MoveOpsPassBase;

  void runOnOperation() override {
    if (llvm::all_of(bytes, [](int64_t wanted) { return wanted <= 0; }))
      return;
    Homes homes(getOperation());
    Topology topology = getTopology(getOperation());
    auto deviceOf = [&](size_t number) {
      return DeviceAttr::get(&getContext(), topology.logical[number].name);
    };
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (size_t i = 0; i < bytes.size() && i < to.size() && i < topology.logical.size(); ++i)
        if (bytes[i] > 0 && to[i] >= 0 && size_t(to[i]) < topology.logical.size() &&
            !func.isExternal())
          move(func.getBody().front(), deviceOf(i), deviceOf(to[i]), bytes[i], homes);
  }

  void move(Block &block, DeviceAttr from, DeviceAttr target, uint64_t wanted, const Homes &homes) {
    LivenessProfile liveness(block, from, homes);
    Finder finder{liveness, target, wanted};
    std::optional<Row> row = liveness.ops.size() <= kMostOps ? finder.find() : std::nullopt;
    if (!row)
      return;
    auto reason = DecisionAttr::get(&getContext(), "inferred", kMovedReason, {}, false);
    for (Operation *op : ArrayRef(liveness.ops).slice(row->begin, row->end - row->begin))
      if (finder.isHere(op)) {
        op->setAttr(kDeviceAttr, target);
        op->setAttr(kPlacementAttr, reason);
      }
  }
};
} // namespace
