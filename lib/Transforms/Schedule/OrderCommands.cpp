// Puts commands in the order in which they are predicted to start.
//
// The order of the commands is what conflicts keep when memory is used again. In the order of the
// graph, all of one device might come before all of another that runs at the same time, and sharing
// memory with what "came before" would make queues wait for each other. Queues keep their own
// order.

#include "gantry/Transforms/OrderByStart.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::schedule;

namespace gantry {
#define GEN_PASS_DEF_ORDERCOMMANDSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

std::vector<bool> gantry::schedule::reorderedQueues(ArrayRef<Operation *> commands) {
  const DenseMap<QueueName, uint32_t> queues = numberQueues(commands);
  std::vector<bool> reordered(queues.size());
  for (auto [name, number] : queues)
    reordered[number] = name.second != 0;
  return reordered;
}

static void orderAlone(ArrayRef<Operation *> commands, const CommandCosts &costs) {
  const std::vector<bool> reordered = reorderedQueues(commands);
  if (reordered.size() <= 1)
    return;
  std::vector<uint32_t> byStart = queues::orderByStart(describeTasks(commands, costs), reordered);
  // Behind the declarations among them.
  Operation *last = commands.back();
  for (uint32_t i : byStart) {
    if (commands[i] != last)
      commands[i]->moveAfter(last);
    last = commands[i];
  }
}

void gantry::schedule::orderByStart(ArrayRef<Operation *> commands, const CommandCosts &costs) {
  for (ArrayRef<Operation *> some : betweenExchanges(commands))
    orderAlone(some, costs);
}

namespace {
struct OrderCommands : gantry::impl::OrderCommandsPassBase<OrderCommands> {
  void runOnOperation() override {
    CommandCosts costs(getOperation());
    for (auto func : getOperation().getOps<plan::ir::FuncOp>())
      forEachSegment(func.getBody().front(),
                     [&](ArrayRef<Operation *> commands) { orderByStart(commands, costs); });
  }
};
} // namespace
