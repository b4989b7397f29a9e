// Puts signals and waits where queues meet: the adapter between the plan dialect and the queues
// library. Commands between two control-flow ops are one problem, since those join all queues.

#include "gantry/Analysis/Segments.h"
#include "gantry/Analysis/SharedBuffers.h"
#include "gantry/Queues/Order.h"
#include "gantry/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::schedule;

namespace gantry {
#define GEN_PASS_DEF_ORDERQUEUESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
/// One function.
struct Orderer {
  plan::ir::FuncOp func;
  OpBuilder builder;
  DenseMap<QueueName, uint32_t> queues; ///< of the commands at hand
  DenseMap<Attribute, uint32_t> spaces; ///< of arenas, by symbol
  int64_t numSemaphores = 0;

  explicit Orderer(plan::ir::FuncOp func) : func(func), builder(func.getContext()) {}

  void run() {
    forEachSegment(func.getBody().front(),
                   [&](ArrayRef<Operation *> commands) { order(commands); });
  }

  /// The commands run after one join of all queues and before the next.
  void order(ArrayRef<Operation *> commands) {
    queues = numberQueues(commands);
    if (queues.size() <= 1)
      return;
    std::vector<queues::Command> problem;
    problem.reserve(commands.size());
    for (Operation *op : commands)
      problem.push_back(describe(op));
    llvm::MapVector<uint32_t, int64_t> semaphores; // by command that signals
    std::vector<queues::Wait> waits = queues::orderQueues(problem);
    SmallVector<bool> signals(commands.size());
    for (const queues::Wait &wait : waits)
      signals[wait.before] = true;
    for (auto [i, op] : llvm::enumerate(commands))
      if (signals[i])
        semaphores[i] = addSignal(op);
    for (const queues::Wait &wait : waits)
      addWait(commands[wait.after], semaphores[wait.before]);
  }

  int64_t addSignal(Operation *op) {
    auto [device, queue] = queueOf(op);
    builder.setInsertionPointAfter(lastOfExchange(op)); // its parts stay side by side
    plan::ir::SignalOp::create(builder, op->getLoc(), builder.getI64IntegerAttr(numSemaphores),
                               cast<FlatSymbolRefAttr>(device), builder.getI64IntegerAttr(queue));
    return numSemaphores++;
  }

  void addWait(Operation *op, int64_t semaphore) {
    auto [device, queue] = queueOf(op);
    builder.setInsertionPoint(firstOfExchange(op));
    plan::ir::WaitOp::create(builder, op->getLoc(), builder.getI64IntegerAttr(semaphore),
                             cast<FlatSymbolRefAttr>(device), builder.getI64IntegerAttr(queue));
  }

  queues::Command describe(Operation *op) {
    queues::Command command;
    command.queue = queues.lookup(queueOf(op));
    forEachBuffer(op, [&](Value buffer, bool writes) { addAccess(command, buffer, writes); });
    return command;
  }

  /// Nobody writes inputs and constants.
  void addAccess(queues::Command &command, Value buffer, bool writes) {
    Operation *op = buffer.getDefiningOp();
    if (auto output = dyn_cast<plan::ir::OutputOp>(op)) {
      uint32_t space = spaceOf(output.getIndexAttr());
      uint64_t begin = memory::beginOf(output);
      command.accesses.push_back({space, begin, begin + output.getSize(), writes});
    } else if (auto state = dyn_cast<plan::ir::StateOp>(op)) {
      uint32_t space = spaceOf(state.getVariableAttr());
      command.accesses.push_back({space, 0, uint64_t(state.getSize()), writes});
    } else if (auto decl = dyn_cast<plan::ir::BufferDeclOp>(op)) {
      uint64_t begin = decl.getOffset().value_or(0);
      command.accesses.push_back(
          {spaceOf(decl.getArenaAttr()), begin, begin + decl.getSize(), writes});
    }
  }

  uint32_t spaceOf(Attribute owner) {
    return spaces.try_emplace(owner, spaces.size()).first->second;
  }
};

struct OrderQueues : gantry::impl::OrderQueuesPassBase<OrderQueues> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<plan::ir::FuncOp>())
      Orderer(func).run();
  }
};
} // namespace
