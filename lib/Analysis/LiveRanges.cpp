#include "gantry/Analysis/LiveRanges.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::memory;

Timeline::Timeline(plan::ir::FuncOp func, const schedule::CommandCosts *costs) {
  number(func.getBody());
  if (costs)
    schedule::forEachSegment(func.getBody().front(), [&](ArrayRef<Operation *> commands) {
      if (schedule::numberQueues(commands).size() > 1)
        stretch(commands, *costs);
    });
}

/// Two commands overlap in time exactly when their numbers do, as long as the later one starts
/// later; where it starts earlier, they overlap in numbers all the same.
void Timeline::stretch(ArrayRef<Operation *> commands, const schedule::CommandCosts &costs) {
  queues::Times times = queues::predict(schedule::describeTasks(commands, costs));
  std::vector<double> earliest(times.start); // of this command and all later ones
  for (size_t i = earliest.size(); i-- > 1;)
    earliest[i - 1] = std::min(earliest[i - 1], earliest[i]);
  for (auto [i, op] : llvm::enumerate(commands)) {
    auto after = std::lower_bound(earliest.begin(), earliest.end(), times.end[i]);
    // The last one that starts before this one is done; at least this one itself.
    uint32_t last = at.lookup(commands[std::max<size_t>(after - earliest.begin(), i + 1) - 1]);
    end[op] = last + 1;
  }
}

void Timeline::number(Region &region) {
  for (Operation &op : region.front()) {
    at[&op] = ops.size();
    ops.push_back(&op);
    for (Region &nested : op.getRegions())
      number(nested);
    // A loop reads its condition once more after its body.
    if (isa<plan::ir::WhileOp>(op))
      ops.push_back(&op);
    end[&op] = ops.size();
  }
}

LiveRange gantry::memory::liveRange(plan::ir::BufferDeclOp buffer, const Timeline &time) {
  uint32_t first = UINT32_MAX, last = 0;
  for (Operation *user : buffer->getUsers()) {
    uint32_t from = time.at.lookup(user);
    // Control flow reads its condition before (if) and throughout (while) its regions.
    uint32_t to = isa<plan::ir::IfOp>(user) ? from + 1 : time.end.lookup(user);
    for (Operation *parent = user->getParentOp(); parent && !isa<plan::ir::FuncOp>(parent);
         parent = parent->getParentOp()) {
      if (!isa<plan::ir::WhileOp>(parent) || parent->isProperAncestor(buffer))
        continue;
      from = std::min(from, time.at.lookup(parent));
      to = std::max(to, time.end.lookup(parent));
    }
    first = std::min(first, from);
    last = std::max(last, to);
  }
  return first == UINT32_MAX ? LiveRange() : LiveRange{first, last};
}

uint64_t gantry::memory::boundBytes(ModuleOp module, StringAttr device) {
  uint64_t most = 0;
  for (auto func : module.getOps<plan::ir::FuncOp>()) {
    // Constants are counted as such.
    if (func.getAtLoad())
      continue;
    uint64_t bytes = 0;
    for (ArrayAttr bindings : {func.getInputs(), func.getOutputs()})
      for (auto binding : bindings.getAsRange<plan::ir::BindingAttr>())
        if (binding.getDevice().getAttr() == device)
          bytes += getByteSize(cast<RankedTensorType>(binding.getType()));
    most = std::max(most, bytes);
  }
  return most;
}
