#include "LiveRanges.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::memory;

void Timeline::number(Region &region) {
  for (Operation &op : region.front()) {
    at[&op] = ops.size();
    ops.push_back(&op);
    for (Region &nested : op.getRegions())
      number(nested);
    // A loop reads its condition once more after its body.
    if (isa<planir::WhileOp>(op))
      ops.push_back(&op);
    end[&op] = ops.size();
  }
}

LiveRange gantry::memory::liveRange(planir::BufferDeclOp buffer, const Timeline &time) {
  uint32_t first = UINT32_MAX, last = 0;
  for (Operation *user : buffer->getUsers()) {
    uint32_t from = time.at.lookup(user);
    // Control flow reads its condition before (if) and throughout (while) its regions.
    uint32_t to = isa<planir::WhileOp>(user) ? time.end.lookup(user) : from + 1;
    for (Operation *parent = user->getParentOp(); parent && !isa<planir::FuncOp>(parent);
         parent = parent->getParentOp()) {
      if (!isa<planir::WhileOp>(parent) || parent->isProperAncestor(buffer))
        continue;
      from = std::min(from, time.at.lookup(parent));
      to = std::max(to, time.end.lookup(parent));
    }
    first = std::min(first, from);
    last = std::max(last, to);
  }
  return first == UINT32_MAX ? LiveRange() : LiveRange{first, last};
}
