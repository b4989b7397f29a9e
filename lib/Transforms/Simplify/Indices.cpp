#include "Indices.h"

#include "gantry/Analysis/Flow.h"
#include "gantry/Dialect/Gantry/IR/Elements.h"
#include "gantry/Dialect/Gantry/IR/Ports.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Support/BadIndex.h"

using namespace mlir;
using namespace gantry;

/// Tables of indices have no more; larger ones are looked at when they run.
static constexpr int64_t kMostIndices = int64_t(1) << 24;

Value gantry::indicesOf(IndexingOpInterface op) { return op->getOperand(op.getIndexOperand()); }

StringRef gantry::sourceOpOf(Operation *op) {
  if (auto source = op->getAttrOfType<StringAttr>(kSourceOpAttr))
    return source;
  return cast<KernelOpInterface>(op).getLogName();
}

/// The op's own name, or that of its node.
static StringRef nameOfOp(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(kNameAttr);
  return name ? name.getValue() : nodeNameOf(op->getLoc());
}

std::string gantry::nameOfValue(Value value) {
  value = skipViews(value);
  if (Operation *op = value.getDefiningOp()) {
    StringRef name = nameOfOp(op);
    return name.empty() ? op->getName().stripDialect().str() : name.str();
  }
  auto argument = cast<BlockArgument>(value);
  auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return func ? inputName(func, argument.getArgNumber())
              : "argument " + std::to_string(argument.getArgNumber());
}

static std::optional<KnownElements> knownElements(Value value) {
  if (ElementsAttr constant = getConstantElements(skipViews(value)))
    return readElements(constant, kMostIndices);
  return evaluateValue(value);
}

//===----------------------------------------------------------------------===//
// Counters of loops
//===----------------------------------------------------------------------===//

/// The only integer of a value, when constants decide it.
static std::optional<int64_t> knownInteger(Value value) {
  std::optional<KnownElements> known = evaluateValue(value);
  return known && !known->isFloat && known->size() == 1 ? std::optional(known->ints.front())
                                                        : std::nullopt;
}

namespace {
/// What a loop carries that starts at a number and changes by the same one each time.
struct Counter {
  int64_t start, step;
};
} // namespace

/// Of an argument of a region, which the body adds a number to.
static std::optional<Counter> counterOf(RegionBranchOpInterface loop, BlockArgument argument) {
  OpOperand *first = initialSource(loop, argument);
  SmallVector<OpOperand *> yielded = yieldedSources(loop, argument);
  auto next = yielded.size() == 1 ? yielded.front()->get().getDefiningOp<AddOp>() : AddOp();
  auto before = next ? dyn_cast<BlockArgument>(next.getLhs()) : BlockArgument();
  if (!first || !before || before.getOwner()->getParentOp() != loop ||
      resultOf(before) != resultOf(argument))
    return std::nullopt;
  std::optional<int64_t> start = knownInteger(first->get()), step = knownInteger(next.getRhs());
  return start && step ? std::optional(Counter{*start, *step}) : std::nullopt;
}

/// More steps than any counter of a sane size, so that nothing overflows.
static constexpr int64_t kMostSteps = int64_t(1) << 31;

/// How often the body runs, of a loop that goes on while a counter is below a number.
static std::optional<int64_t> countSteps(RegionBranchOpInterface loop, Value condition) {
  auto test = condition.getDefiningOp<CompareOp>();
  auto tested = test ? dyn_cast<BlockArgument>(test.getLhs()) : BlockArgument();
  if (!tested || tested.getOwner() != test->getBlock() ||
      tested.getOwner()->getParentOp() != loop || test.getDirection() != CompareDirection::LT)
    return std::nullopt;
  std::optional<Counter> counter = counterOf(loop, tested);
  std::optional<int64_t> end = knownInteger(test.getRhs());
  if (!counter || !end || counter->step != 1 || counter->start < 0 || *end > kMostSteps)
    return std::nullopt;
  return std::max<int64_t>(*end - counter->start, 0);
}

/// Elements of a value in the condition of a loop when it is asked for the first time.
static std::optional<KnownElements> evaluateAtFirst(RegionBranchOpInterface loop, Value value,
                                                    int &budget) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    OpOperand *first =
        argument.getOwner()->getParentOp() == loop ? initialSource(loop, argument) : nullptr;
    return first ? evaluateValue(first->get()) : std::nullopt;
  }
  Operation *op = value.getDefiningOp();
  if (op->getParentOp() != loop)
    return evaluateValue(value);
  if (ElementsAttr constant = getConstantElements(value))
    return readElements(constant);
  return --budget < 0
             ? std::nullopt
             : evaluateOp(
                   op,
                   [&](unsigned i) { return evaluateAtFirst(loop, op->getOperand(i), budget); });
}

/// More ops than any condition has that ends a loop before it begins.
static constexpr int kMostConditionOps = 100;

bool gantry::neverRuns(Block *block) {
  auto op = dyn_cast_if_present<RegionBranchOpInterface>(block->getParentOp());
  Value condition = op ? conditionOf(op) : Value();
  const unsigned region = block->getParent()->getRegionNumber();
  if (!condition)
    return false;
  if (runsOneRegion(op)) {
    std::optional<int64_t> taken = knownInteger(condition);
    return taken && region == (*taken ? 1u : 0u);
  }
  // The condition of a loop, its first region, is computed once, whatever comes of it.
  int budget = kMostConditionOps;
  auto first = region == 0 ? std::nullopt : evaluateAtFirst(op, condition, budget);
  return first && !first->isFloat && first->size() == 1 && first->ints.front() == 0;
}

/// Whether the index is a counter of a loop that stays in range: those of recurrent ops, which a
/// check in each step would cost more than it could find.
static bool countsInRange(Value index, ArrayRef<int64_t> sizes) {
  auto argument = dyn_cast<BlockArgument>(skipViews(index));
  auto loop = argument ? dyn_cast<RegionBranchOpInterface>(argument.getOwner()->getParentOp())
                       : RegionBranchOpInterface();
  Value condition = loop ? conditionOf(loop) : Value();
  // Where the condition is computed, the counter has gone on once more.
  if (!condition || argument.getOwner() == condition.getParentBlock() || sizes.size() != 1)
    return false;
  std::optional<Counter> counter = counterOf(loop, argument);
  std::optional<int64_t> steps = countSteps(loop, condition);
  if (!counter || !steps || std::abs(counter->start) > kMostSteps ||
      std::abs(counter->step) > kMostSteps)
    return false;
  int64_t last = counter->start + std::max<int64_t>(*steps - 1, 0) * counter->step;
  const int64_t ends[] = {counter->start, last};
  return !findBadIndex(ends, sizes);
}

//===----------------------------------------------------------------------===//
// The judgement
//===----------------------------------------------------------------------===//

bool gantry::marksNothingOutside(IndexingOpInterface op) { return isa<OneHotOp>(op); }

IndexState gantry::judgeIndices(IndexingOpInterface op) {
  Value indices = indicesOf(op);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(indices.getType()).getShape();
  SmallVector<int64_t> sizes = op.getIndexedSizes();
  if (llvm::is_contained(shape, 0) || sizes.empty())
    return IndexState::inRange;
  if (countsInRange(indices, sizes))
    return IndexState::inRange;
  std::optional<KnownElements> known = knownElements(indices);
  if (!known)
    return IndexState::unknown;
  std::optional<BadIndex> bad = findBadIndex(known->ints, sizes);
  if (!bad)
    return IndexState::inRange;
  InFlightDiagnostic error = op->emitError();
  if (StringRef name = nameOfOp(op); name.empty())
    error << "'" << op->getName() << "' op ";
  else
    error << "'" << name << "' (" << sourceOpOf(op) << ") ";
  error << describeBadIndex(*bad, nameOfValue(indices), shape, sizes);
  return IndexState::refused;
}
