// Makes one copy of small ones that go the same way at the same time (spec X5): the adapter between
// the plan dialect and the queues library, which says what goes together and why.

#include "gantry/Transforms/CoalesceCopies.h"
#include "gantry/Analysis/Segments.h"
#include "gantry/Queues/Coalesce.h"
#include "gantry/Transforms/OrderByStart.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::schedule;

namespace gantry {
#define GEN_PASS_DEF_COALESCECOPIESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

static std::vector<queues::Message> describeMessages(ArrayRef<Operation *> commands,
                                                     const CommandCosts &costs) {
  std::vector<queues::Message> messages(commands.size());
  for (auto [message, op] : llvm::zip(messages, commands))
    if (auto copy = dyn_cast<plan::ir::CopyOp>(op)) {
      // The queue says of one end where it is.
      auto [from, to] = costs.endsOf(copy);
      message = {costs.device(copy.getDeviceAttr()) == from ? to : from, costs.latency(copy)};
    }
  return messages;
}

/// The first copy, with what the others copy as well.
static Operation *merge(ArrayRef<Operation *> copies) {
  auto first = cast<plan::ir::CopyOp>(copies.front());
  SmallVector<Value> sources, targets;
  SmallVector<Attribute> also;
  int64_t gate = 0; // all wait for the last
  for (Operation *op : copies) {
    auto copy = cast<plan::ir::CopyOp>(op);
    if (auto own = copy->getAttrOfType<IntegerAttr>(kGatedAttr))
      gate = std::max(gate, own.getInt());
    for (unsigned i = 0; i < copy.getSources().size(); ++i) {
      plan::ir::CopyOp::Copied value = copy.getCopied(i);
      if (!sources.empty())
        also.push_back(
            plan::ir::CopiedAttr::get(copy.getContext(), value.name, value.location, value.cause));
      sources.push_back(value.source);
      targets.push_back(value.target);
    }
  }
  OpBuilder builder(first);
  auto merged =
      plan::ir::CopyOp::create(builder, first.getLoc(), sources, targets, first.getDeviceAttr(),
                               first.getNameAttr(), first.getLocationAttr(), first.getQueueAttr(),
                               first.getCauseAttr(), builder.getArrayAttr(also));
  if (gate)
    merged->setAttr(kGatedAttr, builder.getI64IntegerAttr(gate));
  for (Operation *op : copies)
    op->erase();
  return merged;
}

static void coalesce(ArrayRef<Operation *> commands, const CommandCosts &costs) {
  if (numberQueues(commands).size() <= 1)
    return;
  const auto [order, firsts] = queues::coalesce(
      describeTasks(commands, costs), reorderedQueues(commands), describeMessages(commands, costs));
  // Behind the segment, whose declarations then all stand before its commands.
  Block *block = commands.front()->getBlock();
  const Block::iterator end = std::next(commands.back()->getIterator());
  for (uint32_t i : order)
    commands[i]->moveBefore(block, end);
  for (size_t i = 0, next = 0; i < order.size(); i = next) {
    SmallVector<Operation *> transfer;
    for (; next < order.size() && firsts[order[next]] == order[i]; ++next)
      transfer.push_back(commands[order[next]]);
    if (transfer.size() > 1)
      merge(transfer);
  }
}

void gantry::schedule::coalesceCopies(ArrayRef<Operation *> commands, const CommandCosts &costs) {
  for (ArrayRef<Operation *> some : betweenExchanges(commands))
    coalesce(some, costs);
}

namespace {
struct CoalesceCopies : gantry::impl::CoalesceCopiesPassBase<CoalesceCopies> {
  void runOnOperation() override {
    CommandCosts costs(getOperation());
    for (auto func : getOperation().getOps<plan::ir::FuncOp>())
      forEachSegment(func.getBody().front(),
                     [&](ArrayRef<Operation *> commands) { coalesceCopies(commands, costs); });
  }
};
} // namespace
