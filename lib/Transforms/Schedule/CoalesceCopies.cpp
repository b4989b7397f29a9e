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

void gantry::schedule::coalesceCopies(ArrayRef<Operation *> commands, const CommandCosts &costs) {
  if (numberQueues(commands).size() <= 1)
    return;
  std::vector<uint32_t> firsts =
      queues::coalesce(describeTasks(commands, costs), describeMessages(commands, costs));
  std::vector<SmallVector<Operation *, 1>> transfers(commands.size());
  for (auto [i, first] : llvm::enumerate(firsts))
    transfers[first].push_back(commands[i]);
  if (llvm::all_of(transfers, [](auto &transfer) { return transfer.size() == 1; }))
    return;
  // Behind the segment, whose declarations then all stand before its commands.
  Block *block = commands.front()->getBlock();
  Block::iterator end = std::next(commands.back()->getIterator());
  SmallVector<Operation *> merged;
  for (auto &transfer : transfers) {
    for (Operation *op : transfer)
      op->moveBefore(block, end);
    if (!transfer.empty())
      merged.push_back(transfer.size() > 1 ? merge(transfer) : transfer.front());
  }
  // Copies behind a transfer start earlier now, and what lives when is read off the order.
  orderByStart(merged, costs);
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
