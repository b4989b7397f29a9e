#include "RowRegions.h"

#include "LivenessProfile.h"
#include "gantry/Analysis/Rows.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include <numeric>

using namespace mlir;
using namespace gantry;

/// Weights smaller than this are nothing beside the rest.
static constexpr uint64_t kLeastWeight = 16 << 10;
/// What a region has to leave of the most that is held around it.
static constexpr double kMostLeft = 0.9;
/// Places to begin a region, and to end it, that are looked at.
static constexpr size_t kMostCuts = 24;

static int64_t rowsOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() ? type.getDimSize(0) : 0;
}

namespace {
/// A region and what would be held with it.
struct RegionCandidate {
  RowRegion region;
  uint64_t inside = 0, outside = 0; ///< most bytes
  uint64_t moved = 0;               ///< bytes that are read or written once more
  uint64_t peak() const { return std::max(inside, outside); }
};

/// Looks for regions in a block.
struct Finder {
  const LivenessProfile &liveness;
  int64_t pieces;
  const DenseSet<Operation *> &done;

  std::optional<RowRegion> find() const;

private:
  std::vector<RegionCandidate> around(uint32_t op) const;
  SmallVector<uint32_t> narrowCuts(uint32_t op, bool isBefore) const;
  std::optional<RegionCandidate> between(uint32_t begin, uint32_t end) const;
  bool collect(uint32_t begin, uint32_t end, RowRegion &region) const;
  bool addView(Operation *op, RowRegion &region) const;
  bool addRows(Operation *op, RowRegion &region) const;
  void findOutputs(RowRegion &region) const;
  void weigh(uint32_t begin, uint32_t end, RegionCandidate &candidate) const;
  bool isElsewhere(const RowRegion &region, Value output) const;
};
} // namespace

static bool isMadeIn(const RowRegion &region, Value value) {
  return value.getDefiningOp() && region.ops.contains(value.getDefiningOp());
}

/// Whether the rows of `value` are whole numbers of what the batch has. They may make it smaller.
static bool hasRows(RowRegion &region, Value value) {
  region.batch = std::gcd(region.batch, rowsOf(value));
  return region.batch > 1;
}

bool Finder::addView(Operation *op, RowRegion &region) const {
  region.ops.insert(op);
  return hasRows(region, op->getResult(0));
}

/// False where an op has to see all rows of what the region makes.
bool Finder::addRows(Operation *op, RowRegion &region) const {
  bool dependsOnRows = false;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      dependsOnRows |= isMadeIn(region, operand);
  });
  bool mayJoin = !done.contains(op) && op->getAttr(kDeviceAttr) == liveness.device;
  SmallVector<unsigned> byRow = mayJoin ? rowOperandsOf(op) : SmallVector<unsigned>();
  auto isOfRun = [&](unsigned i) {
    return !skipViews(op->getOperand(i)).getDefiningOp<ConstantOp>();
  };
  if (llvm::none_of(byRow, isOfRun))
    return !dependsOnRows;
  for (OpOperand &operand : op->getOpOperands())
    if (isMadeIn(region, operand.get()) && !llvm::is_contained(byRow, operand.getOperandNumber()))
      return false;
  region.ops.insert(op);
  for (unsigned i : byRow)
    if (!isMadeIn(region, op->getOperand(i)))
      region.inputs.insert(op->getOperand(i));
  return hasRows(region, op->getResult(0));
}

/// Ops between that read nothing of the region stay where they are, in front of it.
bool Finder::collect(uint32_t begin, uint32_t end, RowRegion &region) const {
  for (Operation *op : ArrayRef(liveness.ops).slice(begin, end - begin)) {
    if (isa<ConstantOp>(op))
      continue;
    if (isView(op) ? isMadeIn(region, op->getOperand(0)) && !addView(op, region)
                   : !addRows(op, region))
      return false;
  }
  region.next = liveness.ops[end];
  return !region.ops.empty();
}

void Finder::findOutputs(RowRegion &region) const {
  for (Operation *op : region.ops)
    if (llvm::any_of(op->getUsers(), [&](Operation *user) {
          return !region.ops.contains(liveness.block.findAncestorOpInBlock(*user));
        }))
      region.outputs.insert(op->getResult(0));
}

/// Whether an output is read on other devices alone.
bool Finder::isElsewhere(const RowRegion &region, Value output) const {
  bool isElsewhere = true;
  liveness.forEachUse(output, [&](OpOperand &use) {
    if (!region.ops.contains(use.getOwner()))
      isElsewhere &= liveness.homes.neededBy(use) != liveness.device;
  });
  return isElsewhere;
}

/// While a piece runs, all inputs are there, what earlier pieces gave, and a piece of the rest; at
/// the end the outputs twice, one after the other.
void Finder::weigh(uint32_t begin, uint32_t end, RegionCandidate &candidate) const {
  const RowRegion &region = candidate.region;
  const int64_t count = std::min(pieces, region.batch);
  const double part = double(llvm::divideCeil(region.batch, count)) / double(region.batch);
  uint64_t around = 0, behind = 0, given = 0, largest = 0, pieceOfInputs = 0, weights = 0;
  SmallVector<int64_t> change(end - begin + 1);
  for (Value input : region.inputs)
    pieceOfInputs += bytesLiveFor(input);
  for (Value output : region.outputs) {
    uint64_t bytes = bytesLiveFor(output);
    candidate.moved += 2 * bytes;
    given += isElsewhere(region, output) ? 2 * part * bytes : bytes;
    largest = std::max(largest, isElsewhere(region, output) ? 0 : bytes);
  }
  for (const LiveValue &held : liveness.values) {
    if (isMadeIn(region, held.value)) {
      if (region.outputs.contains(held.value))
        continue;
      change[held.first - begin] += held.bytes;
      change[std::min(held.last + 1, end) - begin] -= held.bytes;
      continue;
    }
    bool isRead = false;
    if (held.first < end && held.last >= begin)
      liveness.forEachUse(held.value,
                          [&](OpOperand &use) { isRead |= region.ops.contains(use.getOwner()); });
    if (held.first < end && (held.last >= end || isRead))
      around += held.bytes;
    if (held.first < end && held.last >= end)
      behind += held.bytes;
  }
  llvm::SmallDenseSet<Value> seen;
  uint64_t largestWeights = 0;
  for (Operation *op : region.ops) {
    uint64_t own = 0;
    for (Value operand : op->getOperands())
      if (Value root = skipViews(operand); root.getDefiningOp<ConstantOp>() &&
                                           bytesLiveFor(root) >= kLeastWeight &&
                                           seen.insert(root).second)
        own += bytesLiveFor(root);
    weights += own;
    largestWeights = std::max(largestWeights, own);
  }
  int64_t now = 0, most = 0;
  for (uint32_t i = begin; i < end; ++i) {
    now += change[i - begin];
    most = std::max(most, now - int64_t(liveness.replaced(liveness.ops[i])));
  }
  // What comes from the host stays for all pieces; what one op reads is there without them, too.
  if (liveness.device != liveness.homes.hostOf(liveness.device))
    around += weights - largestWeights;
  candidate.inside = std::max<uint64_t>(around + given + part * double(most + pieceOfInputs),
                                        behind + given + largest);
  candidate.moved += 2 * pieceOfInputs + (count - 1) * weights;
  for (uint32_t i = 0; i < liveness.ops.size(); ++i)
    if (i < begin || i >= end)
      candidate.outside = std::max(candidate.outside, liveness.bytes[i]);
}

std::optional<RegionCandidate> Finder::between(uint32_t begin, uint32_t end) const {
  RegionCandidate candidate;
  if (!collect(begin, end, candidate.region))
    return std::nullopt;
  findOutputs(candidate.region);
  weigh(begin, end, candidate);
  return candidate;
}

/// Places to cut, from near to far, each with less held across than all nearer ones.
SmallVector<uint32_t> Finder::narrowCuts(uint32_t op, bool isBefore) const {
  SmallVector<uint32_t> cuts;
  uint64_t least = UINT64_MAX;
  const uint32_t end = isBefore ? op + 1 : liveness.ops.size() - 1 - op;
  for (uint32_t i = 0; i < end && cuts.size() < kMostCuts; ++i) {
    uint32_t cut = isBefore ? op - i : op + 1 + i;
    if (uint64_t bytes = liveness.across(cut); bytes < least) {
      least = bytes;
      cuts.push_back(cut);
    }
  }
  return cuts;
}

/// All that hold `op`. What cannot be a region is none in a larger one.
std::vector<RegionCandidate> Finder::around(uint32_t op) const {
  std::vector<RegionCandidate> found;
  SmallVector<uint32_t> ends = narrowCuts(op, false);
  for (uint32_t begin : narrowCuts(op, true)) {
    bool any = false;
    for (uint32_t end : ends) {
      std::optional<RegionCandidate> candidate = between(begin, end);
      if (!candidate)
        break;
      any = true;
      if (candidate->region.ops.contains(liveness.ops[op]))
        found.push_back(std::move(*candidate));
    }
    if (!any)
      break;
  }
  return found;
}

/// The one that moves least, of those that take off nearly as much as the best one.
static const RegionCandidate *choose(ArrayRef<RegionCandidate> all, uint64_t before,
                                     function_ref<uint64_t(const RegionCandidate &)> held) {
  uint64_t least = UINT64_MAX;
  for (const RegionCandidate &candidate : all)
    least = std::min(least, held(candidate));
  if (double(least) > kMostLeft * double(before))
    return nullptr;
  const uint64_t most = least + (before - least) / 10;
  const RegionCandidate *best = nullptr;
  for (const RegionCandidate &candidate : all)
    if (held(candidate) <= most && (!best || candidate.moved < best->moved))
      best = &candidate;
  return best;
}

/// Of the whole block first. Where several places hold as much, one after the other.
std::optional<RowRegion> Finder::find() const {
  uint32_t peak = llvm::max_element(liveness.bytes) - liveness.bytes.begin();
  uint64_t before = liveness.bytes[peak];
  std::vector<RegionCandidate> all = around(peak);
  const RegionCandidate *best =
      choose(all, before, [](const RegionCandidate &c) { return c.peak(); });
  if (!best)
    best = choose(all, before, [](const RegionCandidate &c) { return c.inside; });
  return best ? std::optional(best->region) : std::nullopt;
}

std::optional<RowRegion> gantry::findRowRegion(Block &block, DeviceAttr device, const Homes &homes,
                                               int64_t pieces, const DenseSet<Operation *> &done) {
  LivenessProfile liveness(block, device, homes);
  return Finder{liveness, pieces, done}.find();
}
