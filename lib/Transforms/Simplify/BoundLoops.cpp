// Ends loops after the rounds that `at_most` gives them.
//
// The condition of such a loop holds only while a counter is below that number, so that the loop
// ends whatever it computes. Behind it its own condition is asked once more, of what came out:
// where it still holds, there would have been a round beyond, which is an error of the run as an
// index out of range is one.

#include "gantry/Analysis/Trips.h"
#include "gantry/Dialect/Gantry/IR/GradientBuilder.h"
#include "gantry/Dialect/Gantry/IR/Requests.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_BOUNDLOOPSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
/// A loop that is to have no more rounds than `most`.
struct BoundedLoop {
  WhileOp loop;
  int64_t most;

  RankedTensorType type() {
    return RankedTensorType::get({}, IntegerType::get(loop.getContext(), 64));
  }
  Value number(OpBuilder &b, int64_t value) {
    return ConstantOp::create(b, loop.getLoc(), DenseElementsAttr::get(type(), value));
  }
  std::string name() {
    StringRef own = givenNameOf(loop);
    return own.empty() ? "loop" : own.str();
  }

  /// Number of a carried value that counts the rounds from 0.
  std::optional<unsigned> findCounter();
  unsigned addCounter();
  void check();
  void limit(unsigned counter);
};
} // namespace

std::optional<unsigned> BoundedLoop::findCounter() {
  for (auto [i, init] : llvm::enumerate(loop.getInits()))
    if (init.getType() == type())
      if (auto counter = counterOf(loop, i); counter && counter->first == 0 && counter->step == 1)
        return i;
  return std::nullopt;
}

unsigned BoundedLoop::addCounter() {
  OpBuilder b(loop);
  SmallVector<Value> inits(loop.getInits());
  inits.push_back(number(b, 0));
  auto made =
      WhileOp::create(b, loop.getLoc(), TypeRange(ValueRange(inits)), inits, loop.getAtMostAttr());
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  for (auto [from, to] : llvm::zip(loop->getRegions(), made->getRegions())) {
    to.takeBody(from);
    to.addArgument(type(), loop.getLoc());
  }
  Operation *end = made.getBody().front().getTerminator();
  b.setInsertionPoint(end);
  Value before = made.getBody().getArguments().back();
  auto next = AddOp::create(b, loop.getLoc(), before, number(b, 1));
  inheritRequest(made, next);
  end->insertOperands(end->getNumOperands(), next.getResult());
  loop.replaceAllUsesWith(made.getResults().drop_back());
  loop.erase();
  loop = made;
  return inits.size() - 1;
}

/// Asks the condition of the results, and ends the run where it holds.
void BoundedLoop::check() {
  OpBuilder b(loop.getContext());
  b.setInsertionPointAfter(loop);
  IRMapping results;
  Block &condition = loop.getConditionBody().front();
  results.map(condition.getArguments(), loop.getResults());
  for (Operation &op : condition.without_terminator())
    b.clone(op, results);
  Value goesOn = results.lookupOrDefault(condition.getTerminator()->getOperand(0));
  // A round that there must not be is an index out of range.
  const int64_t size = std::max<int64_t>(most, 1);
  auto beyond = SelectOp::create(b, loop.getLoc(), goesOn, number(b, size), number(b, 0));
  auto first = FirstBadIndexOp::create(b, loop.getLoc(), beyond, size);
  for (Operation *op : {beyond.getOperation(), first.getOperation()}) {
    inheritRequest(loop, op);
    op->setAttr(kNameAttr, b.getStringAttr(name() + "/at_most"));
  }
  std::string says = "goes on after the " + std::to_string(most) +
                     (most == 1 ? " round" : " rounds") +
                     " that it has at most; a larger at_most "
                     "gives it more";
  auto end = AssertIndicesOp::create(b, loop.getLoc(), first, "rounds", ArrayRef<int64_t>{}, size,
                                     name(), "While", b.getStringAttr(says));
  end->setAttr(kNameAttr, b.getStringAttr(name()));
}

void BoundedLoop::limit(unsigned counter) {
  Block &condition = loop.getConditionBody().front();
  Operation *end = condition.getTerminator();
  OpBuilder b(end);
  auto below = CompareOp::create(b, loop.getLoc(), CompareDirection::LT,
                                 condition.getArgument(counter), number(b, most));
  auto both = LogicalAndOp::create(b, loop.getLoc(), end->getOperand(0), below);
  for (Operation *op : {below.getOperation(), both.getOperation()})
    inheritRequest(loop, op);
  end->setOperand(0, both);
}

static LogicalResult bound(WhileOp loop) {
  const int64_t most = *loop.getAtMost();
  std::optional<int64_t> trips = tripsOf(loop);
  if (trips && *trips > most)
    return loop.emitOpError() << "goes round " << *trips << " times and has at_most = " << most;
  loop.removeAtMostAttr();
  const bool boundsItself = bool(loop->removeAttr(kBoundedAttr));
  if (trips || boundsItself)
    return success();
  BoundedLoop bounded{loop, most};
  auto counter = bounded.findCounter();
  const unsigned number = counter ? *counter : bounded.addCounter();
  bounded.check();
  bounded.limit(number);
  return success();
}

namespace {
struct BoundLoops : gantry::impl::BoundLoopsPassBase<BoundLoops> {
  void runOnOperation() override {
    SmallVector<WhileOp>
        loops; // inner ones first, whose conditions are asked again as they are then
    getOperation().walk([&](WhileOp loop) {
      if (loop.getAtMost())
        loops.push_back(loop);
    });
    for (WhileOp loop : loops)
      if (failed(bound(loop)))
        return signalPassFailure();
  }
};
} // namespace
