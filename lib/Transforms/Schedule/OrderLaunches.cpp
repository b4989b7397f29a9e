// Puts launches in an order that holds few bytes at a time: the adapter between functions and the
// orders of the queues library.
//
// The order of the graph is one of several that compute the same. An update of a variable stays
// behind what reads the old value, so that it is made in its place. Each is tried on what it would
// hold and how long it would take; the one that holds least wins, of those that take at most 2 %
// more than the shortest. What several devices compute keeps its order: there, time is overlap.

#include "Declarations.h"
#include "Overwrite.h"
#include "gantry/Analysis/Homes.h"
#include "gantry/Analysis/VariableUpdates.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Queues/Predict.h"
#include "gantry/Queues/Sequence.h"
#include "gantry/Support/Capped.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

#include <numeric>

using namespace mlir;
using namespace gantry;
using namespace gantry::schedule;

namespace gantry {
#define GEN_PASS_DEF_ORDERLAUNCHESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

using Order = std::vector<uint32_t>;

static constexpr uint64_t kAlignment = 64;
static constexpr double kMostDelay = 1.02;
/// Searches look at every step that may run, at every step, a beam for each of its states.
static constexpr uint64_t kMostWidth = 32, kMostWork = 4'000'000, kMostGreedyWork = 40'000'000;

namespace {
/// The steps of a function's block and what they hold, on the one device that computes.
struct Steps {
  Declarations &declarations;
  const Homes &homes;
  Block &block;
  DeviceAttr device; ///< null until a launch is seen
  SmallVector<Operation *> ops;
  DenseMap<Value, uint32_t> values;
  queues::Sequence sequence;
  std::vector<queues::Task> tasks; ///< of the steps

  Steps(Declarations &declarations, const Homes &homes, Block &block)
      : declarations(declarations), homes(homes), block(block) {}

  bool collect();
  void describe();
  double secondsOf(const Order &order) const;
  void apply(const Order &order);

private:
  bool isOnDevice(LaunchOp launch);
  bool isReturned(Value value) const;
  void keepUpdatesInPlace();
  void addValues(Operation *op, queues::Step &step);
  void addReads(Operation *op, queues::Step &step);
  queues::Task taskOf(Operation *op);
  double secondsOf(LaunchOp launch);
};
} // namespace

bool Steps::isOnDevice(LaunchOp launch) {
  auto own = launch->getAttrOfType<DeviceAttr>(kDeviceAttr);
  if (!device)
    device = own;
  return device == own;
}

/// False where the block is one whose order stays.
bool Steps::collect() {
  for (Operation &op : block.without_terminator()) {
    if (isa<ConstantOp>(op) || isView(&op))
      continue;
    if (!isa<LaunchOp, CopyOp, AssertIndicesOp, RegionBranchOpInterface>(op))
      return false;
    WalkResult alone = op.walk([&](LaunchOp launch) {
      return isOnDevice(launch) ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (alone.wasInterrupted())
      return false;
    ops.push_back(&op);
  }
  return device && ops.size() > 2;
}

/// What is returned is made in the caller's memory.
bool Steps::isReturned(Value value) const {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    return isView(use.getOwner()) ? isReturned(use.getOwner()->getResult(0))
                                  : use.getOwner() == block.getTerminator();
  });
}

void Steps::addValues(Operation *op, queues::Step &step) {
  for (Value result : op->getResults()) {
    bool isHeld = homes.homeOf(result) == device && !isReturned(result);
    step.makes.push_back(sequence.bytes.size());
    values[result] = sequence.bytes.size();
    sequence.bytes.push_back(isHeld ? llvm::alignTo(byteSize(result.getType()), kAlignment) : 0);
  }
}

void Steps::addReads(Operation *op, queues::Step &step) {
  llvm::SetVector<uint32_t> reads;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (auto value = values.find(skipViews(operand)); value != values.end())
        reads.insert(value->second);
  });
  step.reads.assign(reads.begin(), reads.end());
}

/// In the order of the block, so that what is read is known.
void Steps::describe() {
  std::optional<uint32_t> lastCheck;
  DenseMap<uint32_t, uint32_t> makers;
  for (auto [i, op] : llvm::enumerate(ops)) {
    queues::Step &step = sequence.steps.emplace_back();
    addReads(op, step);
    addValues(op, step);
    for (uint32_t value : step.makes)
      makers[value] = i;
    // The first index that is wrong is the one to be told.
    if (isa<AssertIndicesOp>(op)) {
      if (lastCheck)
        step.after.push_back(*lastCheck);
      lastCheck = i;
    }
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      WorkAttr work = declarations.workOf(launch);
      step.scratch = work ? llvm::alignTo(work.getScratch(), kAlignment) : 0;
      if (launch->getNumResults() == 1)
        for (Value value : valuesToOverwrite(launch->getOpResult(0), work))
          step.mayReplace.push_back(values.lookup(value));
    }
    queues::Task &task = tasks.emplace_back(taskOf(op));
    task.after = step.after;
    for (uint32_t value : step.reads)
      task.after.push_back(makers.lookup(value));
  }
  keepUpdatesInPlace();
}

/// What makes the next value of a variable stays behind what the block has before it of readers of
/// the old value, and of checks of indices: then nothing is updated when one of them fails.
void Steps::keepUpdatesInPlace() {
  auto func = cast<func::FuncOp>(block.getParentOp());
  DenseMap<Operation *, SmallVector<Value, 1>> updated; // by what makes the next value: the old one
  for (auto [old, next] : variableUpdatesOf(func))
    if (Operation *maker = skipViews(next->get()).getDefiningOp())
      updated[maker].push_back(old);
  DenseMap<Value, SmallVector<uint32_t>> readers; // of what the caller has
  SmallVector<uint32_t> checks;
  for (auto [i, op] : llvm::enumerate(ops)) {
    auto before = [&, i = i](ArrayRef<uint32_t> those) {
      llvm::append_range(sequence.steps[i].after, those);
      llvm::append_range(tasks[i].after, those);
    };
    if (auto old = updated.find(op); old != updated.end()) {
      for (Value value : old->second)
        before(readers.lookup(value));
      before(checks);
    }
    bool isCheck = false;
    op->walk([&](Operation *inner) {
      isCheck |= isa<AssertIndicesOp>(inner);
      for (Value operand : inner->getOperands())
        if (auto argument = dyn_cast<BlockArgument>(skipViews(operand));
            argument && argument.getOwner() == &block)
          readers[argument].push_back(i);
    });
    if (isCheck)
      checks.push_back(i);
  }
}

double Steps::secondsOf(LaunchOp launch) {
  Work work;
  for (auto op : launch.getOps().getAsRange<LaunchedOpAttr>())
    work.flops = cappedSum(work.flops, op.getFlops());
  for (Type type : launch->getOperandTypes())
    work.bytes += byteSize(type);
  for (Type type : launch->getResultTypes())
    work.bytes += byteSize(type);
  return declarations.costs().seconds(declarations.device(device), work);
}

/// Copies run on queues of their own: one to the device, one from it.
queues::Task Steps::taskOf(Operation *op) {
  constexpr double least = 1e-9;
  if (auto launch = dyn_cast<LaunchOp>(op))
    return {0, std::max(least, secondsOf(launch)), {}};
  auto copy = dyn_cast<CopyOp>(op);
  DeviceAttr home = copy ? homes.homeOf(copy.getInput()) : DeviceAttr();
  if (!home)
    return {0, least, {}};
  uint32_t from = declarations.device(home), to = declarations.device(copy.getDevice());
  double seconds = declarations.costs().copySeconds(from, to, byteSize(copy.getType()));
  return {copy.getDevice() == device ? 1u : 2u, std::max(least, seconds), {}};
}

/// Of the whole block, when its steps run in that order.
double Steps::secondsOf(const Order &order) const {
  std::vector<uint32_t> placeOf(order.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    placeOf[order[i]] = i;
  std::vector<queues::Task> ordered;
  for (uint32_t step : order) {
    ordered.push_back(tasks[step]);
    for (uint32_t &before : ordered.back().after)
      before = placeOf[before];
  }
  queues::Times times = queues::predict(ordered);
  return *llvm::max_element(times.end);
}

/// Constants first, and views in front of what reads them first.
void Steps::apply(const Order &order) {
  Operation *end = block.getTerminator();
  DenseSet<Operation *> placed;
  auto place = [&](Operation *op) {
    op->moveBefore(end);
    placed.insert(op);
  };
  for (ConstantOp constant : llvm::to_vector(block.getOps<ConstantOp>()))
    place(constant);
  for (uint32_t step : order) {
    SmallVector<Operation *> views; // last one first
    ops[step]->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        for (Operation *view = operand.getDefiningOp();
             view && view->getBlock() == &block && isView(view);
             view = view->getOperand(0).getDefiningOp())
          views.push_back(view);
    });
    for (Operation *view : llvm::reverse(views))
      if (!placed.contains(view))
        place(view);
    place(ops[step]);
  }
  SmallVector<Operation *> rest;
  for (Operation &op : block.without_terminator())
    if (!placed.contains(&op))
      rest.push_back(&op);
  llvm::for_each(rest, place);
}

namespace {
struct OrderLaunches : gantry::impl::OrderLaunchesPassBase<OrderLaunches> {
  void runOnOperation() override {
    if (!getOperation()->hasAttr(kTopologyAttr))
      return; // lower-to-plan says so
    Declarations declarations(getOperation());
    Homes homes(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (func.isPublic() && !func.isExternal())
        order({declarations, homes, func.getBody().front()});
  }

  static void order(Steps steps) {
    if (!steps.collect())
      return;
    steps.describe();
    Order program(steps.ops.size());
    std::iota(program.begin(), program.end(), 0);
    Order best = chooseOrder(steps, program);
    if (best != program)
      steps.apply(best);
  }

  /// The first of those that hold least.
  static Order chooseOrder(const Steps &steps, const Order &program) {
    std::vector<Order> orders{program, queues::orderDepthFirst(steps.sequence, false),
                              queues::orderDepthFirst(steps.sequence, true)};
    uint64_t work = std::max<uint64_t>(1, program.size() * program.size());
    if (work <= kMostGreedyWork)
      orders.push_back(queues::orderGreedily(steps.sequence));
    if (uint64_t width = std::min(kMostWidth, kMostWork / work); width > 1)
      orders.push_back(queues::orderByBeam(steps.sequence, width));
    std::vector<double> seconds;
    for (const Order &order : orders)
      seconds.push_back(steps.secondsOf(order));
    double most = *llvm::min_element(seconds) * kMostDelay;
    const Order *best = nullptr;
    uint64_t least = UINT64_MAX;
    for (auto [order, time] : llvm::zip(orders, seconds))
      if (uint64_t peak = queues::peakOf(steps.sequence, order); time <= most && peak < least) {
        best = &order;
        least = peak;
      }
    return best ? *best : program;
  }
};
} // namespace
