// Micro-batching: computes a part of the batch after the other where a function holds too much.
//
// Around the place where most is held, ops whose results are made row by row run once for each
// piece of the rows: the inputs are sliced, the results joined, and what is between is there for
// one piece at a time. Each row is computed as before. Weights of such a region are read once a
// piece.

#include "RowRegions.h"
#include "gantry/Analysis/Rows.h"
#include "gantry/Analysis/Shards.h"
#include "gantry/Transforms/MemoryRepair/Words.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_SPLITBATCHPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// Regions of a function and device.
static constexpr int kMostRegions = 32;

static int64_t rowsOf(Value value) { return cast<RankedTensorType>(value.getType()).getDimSize(0); }

static std::string nameOf(Value value) {
  Operation *op = skipViews(value).getDefiningOp();
  auto name = op ? op->getAttrOfType<StringAttr>(kNameAttr) : StringAttr();
  return name ? name.str() : "input";
}

namespace {
/// A region on its way into pieces.
struct Splitting {
  const RowRegion &region;
  DeviceAttr device;
  const Homes &homes;
  DenseSet<Operation *> &made;
  OpBuilder b{region.next};
  llvm::MapVector<Value, SmallVector<Value>> parts = {}; ///< of each output

  void mark(Operation *op, const std::string &name, DeviceAttr where) {
    made.insert(op);
    op->setAttr(kDeviceAttr, where);
    op->setAttr(kNameAttr, b.getStringAttr(name));
    op->setAttr(kPlacementAttr,
                DecisionAttr::get(b.getContext(), "inferred", kBatchSplitReason, {}, false));
  }

  Value slice(Value value, Shard shard, const std::string &suffix) {
    auto type = cast<RankedTensorType>(value.getType());
    const int64_t each = rowsOf(value) / region.batch;
    SmallVector<int64_t> starts(type.getRank(), 0), sizes(type.getShape()),
        steps(type.getRank(), 1);
    starts[0] = shard.begin * each;
    sizes[0] = shard.size * each;
    auto slice = SliceOp::create(b, value.getLoc(), type.clone(sizes), value, starts, sizes, steps);
    mark(slice, nameOf(value) + suffix, device);
    return slice;
  }

  void makePiece(unsigned number, Shard shard) {
    const std::string suffix = "/rows_" + std::to_string(number);
    IRMapping mapping;
    for (Value input : region.inputs)
      mapping.map(input, slice(input, shard, suffix));
    for (Operation *op : region.ops) {
      IRMapping own = mapping;
      // What an op reads as a whole it does even if others go through its rows.
      SmallVector<unsigned> byRow = rowOperandsOf(op);
      for (OpOperand &operand : op->getOpOperands())
        if (region.inputs.contains(operand.get()) &&
            !llvm::is_contained(byRow, operand.getOperandNumber()))
          own.erase(operand.get());
      Operation *copy = b.clone(*op, own);
      setRows(copy, rowsOf(op->getResult(0)) / region.batch * shard.size);
      if (auto name = op->getAttrOfType<StringAttr>(kNameAttr))
        copy->setAttr(kNameAttr, b.getStringAttr(name.getValue() + suffix));
      made.insert(copy);
      mapping.map(op->getResult(0), copy->getResult(0));
    }
    for (Value output : region.outputs)
      parts[output].push_back(mapping.lookup(output));
  }

  /// Where all who read it need it, or else where it was.
  DeviceAttr homeOf(Value output) {
    DeviceAttr home;
    for (OpOperand &use : output.getUses()) {
      DeviceAttr needed = homes.neededBy(use);
      if (region.ops.contains(use.getOwner()))
        continue;
      if (!needed || (home && home != needed))
        return device;
      home = needed;
    }
    return home ? home : device;
  }

  void run(int64_t pieces) {
    const size_t count = std::min(pieces, region.batch);
    for (auto [number, shard] : llvm::enumerate(cutIntoShards(region.batch, count, std::nullopt)))
      if (shard.size > 0)
        makePiece(number, shard);
    for (Value output : region.outputs) {
      auto type = cast<RankedTensorType>(output.getType());
      auto joined = ConcatOp::create(b, output.getLoc(), type, parts[output], /*axis=*/0);
      mark(joined, nameOf(output) + "/rows", homeOf(output));
      output.replaceUsesWithIf(
          joined, [&](OpOperand &use) { return !region.ops.contains(use.getOwner()); });
    }
    for (Operation *op : llvm::reverse(region.ops))
      op->erase();
  }
};

struct SplitBatch : gantry::impl::SplitBatchPassBase<SplitBatch> {
  using SplitBatchPassBase::SplitBatchPassBase;

  void runOnOperation() override {
    if (llvm::all_of(pieces, [](int64_t count) { return count <= 1; }))
      return;
    Homes homes(getOperation());
    Topology topology = getTopology(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (auto [logical, count] : llvm::zip(topology.logical, pieces))
        if (count > 1 && !func.isExternal())
          split(func, DeviceAttr::get(&getContext(), logical.name), count, homes);
  }

  static void tell(const RowRegion &region, int64_t count, const std::string &device) {
    Operation *first = region.ops.front(), *last = region.ops.back();
    auto remark = emitRemark(first->getLoc()) << "over the limit: " << device << ": ";
    if (region.ops.size() == 1)
      remark << "'" << nameOf(first->getResult(0)) << "' runs";
    else
      remark << region.ops.size() << " ops from '" << nameOf(first->getResult(0)) << "' to '"
             << nameOf(last->getResult(0)) << "' run";
    remark << " once for each of " << count << " pieces of the batch";
  }

  void split(func::FuncOp func, DeviceAttr device, int64_t count, const Homes &homes) {
    DenseSet<Operation *> made;
    for (int i = 0; i < kMostRegions; ++i) {
      std::optional<RowRegion> region =
          findRowRegion(func.getBody().front(), device, homes, count, made);
      if (!region)
        return;
      tell(*region, std::min(count, region->batch), homes.nameOf(device));
      Splitting{*region, device, homes, made}.run(count);
    }
  }
};
} // namespace
