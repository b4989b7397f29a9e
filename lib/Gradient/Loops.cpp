// Loops: the way back goes from the last round to the first. What it reads of a round lies in
// stacks of rows, which the way there wrote; a loop has so many rows as it may have rounds. What
// comes from outside has sums, which the rounds back carry and add to in place.

#include "Rules.h"
#include "WayBack.h"
#include "gantry/Analysis/Trips.h"
#include "gantry/Analysis/Zeros.h"
#include "gantry/Gradient/Gradient.h"

using namespace mlir;
using namespace gantry;

//===----------------------------------------------------------------------===//
// What a loop carries
//===----------------------------------------------------------------------===//

/// Numbers of what it carries that depends on `wanted` or on an init that is wanted: what one round
/// makes dependent the next one starts with.
static SmallVector<unsigned> dependentlyCarried(WhileOp loop, ArrayRef<Value> wanted,
                                                GradientBuilder &b) {
  Block &body = loop.getBody().front();
  llvm::SmallSetVector<unsigned, 8> found;
  for (auto [i, init] : llvm::enumerate(loop.getInits()))
    if (b.wants(init))
      found.insert(i);
  for (size_t before = ~size_t(0); before != found.size();) {
    before = found.size();
    SmallVector<Value> from(wanted);
    for (unsigned i : found)
      from.push_back(body.getArgument(i));
    llvm::DenseSet<Value> dependent = dependentOn(body, from);
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      if (dependent.contains(value) && carriesGradients(value.getType()))
        found.insert(i);
  }
  SmallVector<unsigned> carried = found.takeVector();
  llvm::sort(carried);
  return carried;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Zeros but for a slice, as a value has its gradient that is read at one index.
static SetSliceOp asSlice(Value value) {
  auto slice = value.getDefiningOp<SetSliceOp>();
  return slice && isZeros(slice.getInput()) ? slice : SetSliceOp();
}

/// Whether a slice is among what is added up to the value.
static bool addsSlice(Value value) {
  if (asSlice(value))
    return true;
  auto both = value.getDefiningOp<AddOp>();
  return both && (addsSlice(both.getLhs()) || addsSlice(both.getRhs()));
}

/// `sum` and `value`; a slice is added to that of the sum alone, which is in place.
static Value added(Value sum, Value value, GradientBuilder &b) {
  if (SetSliceOp slice = asSlice(value)) {
    Value row = b.make<GatherOp>(sum, slice.getIndex(), slice.getAxis());
    Value update = b.make<AddOp>(row, b.cast(slice.getUpdate(), elementOf(sum)));
    return b.make<SetSliceOp>(sum, update, slice.getIndex(), slice.getAxis());
  }
  if (addsSlice(value)) {
    auto both = value.getDefiningOp<AddOp>();
    return added(added(sum, both.getLhs(), b), both.getRhs(), b);
  }
  return b.make<AddOp>(sum, b.cast(value, elementOf(sum)));
}

//===----------------------------------------------------------------------===//
// The way back
//===----------------------------------------------------------------------===//

namespace {
/// A value of a round that its way back reads.
struct Kept {
  enum Kind {
    stacked,  ///< a row of a stack
    counting, ///< a counter, which counts back
    fixed     ///< carried, and the same in every round
  } kind = stacked;
  unsigned argument = 0; ///< that it is; unless it is stacked
  Counter counter{};
};

/// A loop of at most a known number of rounds, on its way back.
class LoopBack {
public:
  LoopBack(WhileOp loop, int64_t most, GradientBuilder &b)
      : loop(loop), most(most), isExact(tripsOf(loop).has_value()), b(b),
        body(loop.getBody().front()), way(body), wanted(wantedFromOutside(loop, b)),
        carried(dependentlyCarried(loop, wanted, b)), to(backBody.emplaceBlock()) {}

  LogicalResult build();

private:
  LogicalResult goBack();
  Kept keptAs(Value value) const;
  WhileOp stack();
  SmallVector<Value> readKept(WhileOp there);
  Value readCounter(const Kept &kept, Type type, WhileOp there);
  void turnOnce();
  void sumUp();
  WhileOp makeBack();

  /// Something that the loop back begins with, and carries from there on.
  BlockArgument carry(Value init) {
    inits.push_back(init);
    next.emplace_back();
    return to.addArgument(init.getType(), loop.getLoc());
  }
  Value &nextOf(BlockArgument argument) { return next[argument.getArgNumber()]; }
  /// The same, which each round takes `step` from.
  BlockArgument countBack(Value init, int64_t step) {
    BlockArgument argument = carry(init);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&to);
    nextOf(argument) = b.make<SubOp>(argument, integer(init.getType(), step));
    return argument;
  }

  Value integer(Type type, int64_t value) {
    auto number = IntegerAttr::get(getElementTypeOrSelf(type), value);
    return ConstantOp::create(b, loop.getLoc(),
                              DenseElementsAttr::get(cast<RankedTensorType>(type), number));
  }
  Value round(int64_t number) { return integer(RankedTensorType::get({}, b.getI64Type()), number); }

  WhileOp loop;
  int64_t most;
  bool isExact; ///< it has `most` rounds, and not fewer
  GradientBuilder &b;
  Block &body;
  WayBack way;
  SmallVector<Value> wanted; ///< from outside
  SmallVector<unsigned> carried;
  Region backBody;
  Block &to;                      ///< of it
  SmallVector<Value> inits, next; ///< of the loop back
  SmallVector<Value> gradients;   ///< of the carried arguments, then of `wanted`
  SmallVector<Kept> kept;         ///< as the values of the way
  unsigned firstSum = 0;          ///< among what the loop back carries
};
} // namespace

Kept LoopBack::keptAs(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &body)
    return {};
  const unsigned number = argument.getArgNumber();
  if (body.getTerminator()->getOperand(number) == value)
    return {Kept::fixed, number};
  auto counter = counterOf(loop, number);
  return counter ? Kept{Kept::counting, number, *counter} : Kept();
}

/// One round, at the end of the loop's own body. The loop back carries the number of the round,
/// which is set when the way there is made, and cotangents of what is carried.
LogicalResult LoopBack::goBack() {
  countBack(round(most - 1), 1);
  SmallVector<Value> of, seeds, wrt;
  for (unsigned i : carried) {
    of.push_back(body.getTerminator()->getOperand(i));
    seeds.push_back(carry(b.ofResult(i)));
    wrt.push_back(body.getArgument(i));
  }
  llvm::append_range(wrt, wanted);
  if (failed(differentiate(body, of, seeds, wrt, gradients)))
    return failure();
  way.finish(gradients);
  kept = llvm::map_to_vector(way.getKept(), [&](Value value) { return keptAs(value); });
  return success();
}

/// The loop again, with its rounds counted, and a stack for each value that the way back reads.
WhileOp LoopBack::stack() {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop);
  SmallVector<Value> first(loop.getInits()), stacked;
  first.push_back(round(0));
  for (auto [value, how] : llvm::zip_equal(way.getKept(), kept))
    if (how.kind == Kept::stacked) {
      SmallVector<int64_t> shape{most};
      llvm::append_range(shape, shapeOf(value));
      first.push_back(b.zeros(typeOf(value).clone(shape)));
      stacked.push_back(value);
    }
  OpBuilder before(loop);
  auto there = WhileOp::create(before, loop.getLoc(), TypeRange(ValueRange(first)), first,
                               loop.getAtMostAttr());
  ArrayRef<Value> more = ArrayRef(first).drop_front(loop.getInits().size());
  for (Region &region : loop->getRegions())
    for (Value init : more)
      region.addArgument(init.getType(), loop.getLoc());
  auto own = body.getArguments().take_back(more.size());
  Operation *end = body.getTerminator();
  b.setInsertionPoint(end);
  SmallVector<Value> yielded{b.make<AddOp>(own[0], round(1))};
  for (auto [rows, value] : llvm::zip_equal(own.drop_front(), stacked))
    yielded.push_back(b.make<SetSliceOp>(rows, value, own[0], uint64_t(0)));
  end->insertOperands(end->getNumOperands(), yielded);
  return there;
}

/// A counter as it was in the last round.
Value LoopBack::readCounter(const Kept &how, Type type, WhileOp there) {
  const Counter &counter = how.counter;
  Value last =
      isExact && counter.first
          ? integer(type, *counter.first + counter.step * (most - 1))
          : Value(b.make<SubOp>(there.getResult(how.argument), integer(type, counter.step)));
  return countBack(last, counter.step);
}

/// What stands in a round back for the values of the way there.
SmallVector<Value> LoopBack::readKept(WhileOp there) {
  unsigned result = loop.getInits().size(); // the number of its rounds, then the stacks
  if (!isExact)
    inits[0] = b.make<SubOp>(there.getResult(result), round(1));
  // Where the rows are is apart from the number that steers: that one is the host's.
  Value position;
  if (llvm::any_of(kept, [](const Kept &how) { return how.kind == Kept::stacked; }))
    position = countBack(inits[0], 1);
  SmallVector<Value> values;
  for (auto [value, how] : llvm::zip_equal(way.getKept(), kept)) {
    if (how.kind == Kept::fixed) {
      values.push_back(loop.getInits()[how.argument]);
    } else if (how.kind == Kept::counting) {
      values.push_back(readCounter(how, value.getType(), there));
    } else {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(&to);
      values.push_back(b.make<GatherOp>(there.getResult(++result), position, uint64_t(0)));
    }
  }
  return values;
}

/// Products go through their weights the other way on the way back. What every round reads turned
/// is turned once, in front of the loop: reading a matrix by columns takes twice as long as by
/// rows.
void LoopBack::turnOnce() {
  llvm::SmallDenseMap<Value, Value> turned;
  to.walk([&](MatmulOp product) {
    Value rhs = product.getRhs();
    if (!product.getTransposeB() || rankOf(rhs) != 2 || rhs.getDefiningOp<ConstantOp>() ||
        backBody.isAncestor(rhs.getParentRegion()))
      return;
    Value &once = turned[rhs];
    if (!once)
      once = b.make<TransposeOp>(rhs, ArrayRef<int64_t>{1, 0});
    product.getRhsMutable().assign(once);
    product.setTransposeB(false);
  });
}

/// What the next round back gets: cotangents, and sums for what comes from outside, of f16 and bf16
/// in f32.
void LoopBack::sumUp() {
  firstSum = next.size();
  for (size_t i = 0; i < wanted.size(); ++i)
    if (Value gradient = gradients[carried.size() + i]) {
      Type element = elementOf(wanted[i]);
      bool isNarrow = element.isF16() || element.isBF16();
      BlockArgument sum =
          carry(b.zeros(typeOf(wanted[i]).clone(isNarrow ? b.getF32Type() : element)));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(&to);
      nextOf(sum) = added(sum, gradient, b);
    }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&to);
  for (size_t i = 0; i < carried.size(); ++i)
    next[1 + i] = gradients[i] ? gradients[i] : b.zeros(typeOf(to.getArgument(1 + i)));
  YieldOp::create(b, loop.getLoc(), next);
}

WhileOp LoopBack::makeBack() {
  auto back = b.make<WhileOp>(TypeRange(ValueRange(inits)), inits, IntegerAttr());
  back.setAtMost(most);
  back->setAttr(kBoundedAttr, b.getUnitAttr());
  Block &condition = back.getConditionBody().emplaceBlock();
  condition.addArguments(ValueRange(inits).getTypes(),
                         SmallVector<Location>(inits.size(), loop.getLoc()));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&condition);
  Value goesOn =
      CompareOp::create(b, loop.getLoc(), CompareDirection::GE, condition.getArgument(0), round(0));
  YieldOp::create(b, loop.getLoc(), goesOn);
  back.getBody().takeBody(backBody);
  return back;
}

LogicalResult LoopBack::build() {
  if (failed(goBack())) { // what was built reads what goes away now
    for (auto [argument, init] : llvm::zip_equal(to.getArguments(), inits))
      argument.replaceAllUsesWith(init);
    return failure();
  }
  WhileOp there = stack();
  SmallVector<Value> values = readKept(there);
  way.moveTo(to, values, gradients);
  turnOnce();
  sumUp();
  WhileOp back = makeBack();
  SmallVector<Value> given(loop.getInits());
  there.getConditionBody().takeBody(loop.getConditionBody());
  there.getBody().takeBody(loop.getBody());
  takePlace(loop, there, b);
  for (auto [n, i] : llvm::enumerate(carried))
    if (b.wants(given[i]))
      b.give(given[i], back.getResult(1 + n));
  unsigned sum = firstSum;
  for (size_t i = 0; i < wanted.size(); ++i)
    if (gradients[carried.size() + i])
      b.give(wanted[i], back.getResult(sum++));
  return success();
}

static std::string refuseWhile(WhileOp loop) {
  std::optional<int64_t> trips = tripsOf(loop), given = loop.getAtMost();
  if (trips && given && *trips > *given)
    return "goes round " + std::to_string(*trips) +
           " times and has at_most = " + std::to_string(*given);
  if (mostTripsOf(loop))
    return "";
  return "has no gradient: nothing bounds how often it goes round; count its rounds from one "
         "constant to another, or give it at_most";
}

static LogicalResult buildWhile(WhileOp loop, GradientBuilder &b) {
  int64_t most = *mostTripsOf(loop);
  if (most > 0)
    return LoopBack(loop, most, b).build();
  for (auto [i, init] : llvm::enumerate(loop.getInits()))
    if (b.wants(init))
      b.give(init, b.ofResult(i));
  return success();
}

namespace {
struct WhileRule : GradientOpInterface::ExternalModel<WhileRule, WhileOp> {
  std::string refuseGradient(Operation *op, unsigned) const {
    return refuseWhile(cast<WhileOp>(op));
  }
  LogicalResult buildGradient(Operation *op, GradientBuilder &b) const {
    return buildWhile(cast<WhileOp>(op), b);
  }
};
} // namespace

void gantry::addLoopRules(MLIRContext &context) { WhileOp::attachInterface<WhileRule>(context); }
