// See Trips.h.

#include "gantry/Analysis/Trips.h"

#include "gantry/Dialect/Gantry/IR/Views.h"

using namespace mlir;
using namespace gantry;

/// Numbers beyond it are not counted with, so that nothing here overflows.
static constexpr int64_t kLargest = int64_t(1) << 60;

/// The one number that a value always is.
static std::optional<int64_t> knownNumber(Value value) {
  auto constant = skipViews(value).getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!dense || dense.getNumElements() != 1 || !dense.getElementType().isInteger())
    return std::nullopt;
  APInt number = *dense.value_begin<APInt>();
  bool isUnsigned =
      dense.getElementType().isUnsignedInteger() || dense.getElementType().isInteger(1);
  if (number.getActiveBits() > 63 && isUnsigned)
    return std::nullopt;
  int64_t known = isUnsigned ? int64_t(number.getZExtValue()) : number.getSExtValue();
  return -kLargest <= known && known <= kLargest ? std::optional(known) : std::nullopt;
}

namespace {
/// One loop.
struct Loop {
  WhileOp op;

  /// Number of the carried value that an argument of a region stands for.
  static std::optional<unsigned> carriedBy(Value value, Region &region) {
    auto argument = dyn_cast<BlockArgument>(skipViews(value));
    if (!argument || argument.getOwner() != &region.front())
      return std::nullopt;
    return argument.getArgNumber();
  }

  Value next(unsigned carried) {
    return skipViews(op.getBody().front().getTerminator()->getOperand(carried));
  }

  std::optional<int64_t> trips() {
    return tripsWhile(op.getConditionBody().front().getTerminator()->getOperand(0));
  }

  /// The same, but no more than it is: every part of the condition has to hold.
  std::optional<int64_t> mostTrips() {
    return mostTripsWhile(op.getConditionBody().front().getTerminator()->getOperand(0));
  }

  std::optional<int64_t> mostTripsWhile(Value flag) {
    flag = skipViews(flag);
    auto both = flag.getDefiningOp<LogicalAndOp>();
    if (!both)
      return tripsWhile(flag);
    auto left = mostTripsWhile(both->getOperand(0)), right = mostTripsWhile(both->getOperand(1));
    return left && right ? std::min(left, right) : left ? left : right;
  }

  /// How often `flag` is true before it is false.
  std::optional<int64_t> tripsWhile(Value flag) {
    flag = skipViews(flag);
    if (auto both = flag.getDefiningOp<LogicalAndOp>()) {
      if (isAlwaysTrue(both->getOperand(0)))
        return tripsWhile(both->getOperand(1));
      return isAlwaysTrue(both->getOperand(1)) ? tripsWhile(both->getOperand(0)) : std::nullopt;
    }
    auto compare = flag.getDefiningOp<CompareOp>();
    return compare ? tripsWhile(compare) : std::nullopt;
  }

  bool isAlwaysTrue(Value flag) {
    auto carried = carriedBy(flag, op.getConditionBody());
    if (!carried)
      return knownNumber(flag).value_or(0) != 0;
    return knownNumber(op.getInits()[*carried]).value_or(0) != 0 &&
           (carriedBy(next(*carried), op.getBody()) == carried ||
            knownNumber(next(*carried)).value_or(0) != 0);
  }

  std::optional<int64_t> tripsWhile(CompareOp compare) {
    Value counter = compare->getOperand(0), limit = compare->getOperand(1);
    CompareDirection direction = compare.getDirection();
    if (knownNumber(counter)) {
      std::swap(counter, limit);
      direction = mirrored(direction);
    }
    auto carried = carriedBy(counter, op.getConditionBody());
    auto last = knownNumber(limit);
    auto first = carried ? knownNumber(op.getInits()[*carried]) : std::nullopt;
    auto step = carried ? stepOf(*carried) : std::nullopt;
    if (!last || !first || !step)
      return std::nullopt;
    switch (direction) {
    case CompareDirection::LT:
      return count(*last - *first, *step);
    case CompareDirection::LE:
      return count(*last - *first + 1, *step);
    case CompareDirection::GT:
      return count(*first - *last, -*step);
    case CompareDirection::GE:
      return count(*first - *last + 1, -*step);
    default:
      return std::nullopt;
    }
  }

  static CompareDirection mirrored(CompareDirection direction) {
    switch (direction) {
    case CompareDirection::LT:
      return CompareDirection::GT;
    case CompareDirection::LE:
      return CompareDirection::GE;
    case CompareDirection::GT:
      return CompareDirection::LT;
    case CompareDirection::GE:
      return CompareDirection::LE;
    default:
      return direction;
    }
  }

  /// What the counter gets more each time.
  std::optional<int64_t> stepOf(unsigned carried) {
    Operation *maker = next(carried).getDefiningOp();
    auto isCounter = [&](unsigned operand) {
      return carriedBy(maker->getOperand(operand), op.getBody()) == carried;
    };
    if (isa_and_present<AddOp>(maker))
      for (unsigned counter : {0, 1})
        if (isCounter(counter))
          return knownNumber(maker->getOperand(1 - counter));
    if (isa_and_present<SubOp>(maker) && isCounter(0))
      if (auto less = knownNumber(maker->getOperand(1)))
        return -*less;
    return std::nullopt;
  }

  /// Steps that lead over a distance; none when they lead away.
  static std::optional<int64_t> count(int64_t distance, int64_t step) {
    if (distance <= 0)
      return 0;
    return step > 0 ? std::optional((distance - 1) / step + 1) : std::nullopt;
  }
};
} // namespace

std::optional<int64_t> gantry::tripsOf(WhileOp loop) { return Loop{loop}.trips(); }

std::optional<int64_t> gantry::mostTripsOf(WhileOp loop) {
  if (auto trips = tripsOf(loop))
    return trips;
  std::optional<int64_t> given = loop.getAtMost(), most = Loop{loop}.mostTrips();
  return given && most ? std::min(given, most) : given ? given : most;
}

double gantry::roundsIn(Block *block, Operation *op, double unknown) {
  double rounds = 1;
  for (; op->getBlock() != block; op = op->getParentOp()) {
    Operation *parent = op->getParentOp();
    if (auto trips = parent->getAttrOfType<IntegerAttr>(kTripsAttr))
      rounds *= double(trips.getInt() + (op->getParentRegion()->getRegionNumber() == 0));
    else if (auto loop = dyn_cast<RegionBranchOpInterface>(parent); loop && loop.hasLoop())
      rounds *= unknown;
  }
  return rounds;
}

std::optional<Counter> gantry::counterOf(WhileOp loop, unsigned carried) {
  auto type = cast<RankedTensorType>(loop.getInits()[carried].getType());
  auto step = type.getElementType().isInteger() && type.getRank() == 0 ? Loop{loop}.stepOf(carried)
                                                                       : std::nullopt;
  if (!step)
    return std::nullopt;
  return Counter{knownNumber(loop.getInits()[carried]), *step};
}
