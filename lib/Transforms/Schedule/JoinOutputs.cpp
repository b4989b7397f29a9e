// Lays what a concatenation joins where it lies in an output, and joins nothing.
//
// Memory places the operands of a concatenation inside its result (docs/designs/memory.md), but an
// output has its bytes from the caller, and so have its parts: each operand becomes the part of the
// output that it would be copied to. A copy from another device then goes there at once.

#include "JoinOutputs.h"

#include "gantry/Analysis/SharedBuffers.h"

using namespace mlir;
using namespace gantry;

/// Of buffers that kernels write or read.
static constexpr uint64_t kAlignment = 64;

/// The commands that write the buffer.
static unsigned numWriters(Value buffer) {
  unsigned number = 0;
  for (Operation *user :
       llvm::SmallSetVector<Operation *, 4>(buffer.user_begin(), buffer.user_end()))
    if (schedule::isCommand(user))
      schedule::forEachBuffer(user,
                              [&](Value used, bool writes) { number += writes && used == buffer; });
  return number;
}

/// Whether one command writes the operand, in the block of the join, and kernels get no bytes that
/// they cannot take.
static bool mayBePart(Value operand, plan::ir::LaunchOp join, uint64_t begin) {
  auto decl = operand.getDefiningOp<plan::ir::BufferDeclOp>();
  return decl && decl.getDeviceAttr() == join.getDeviceAttr() && numWriters(operand) == 1 &&
         llvm::count(join.getInputs(), operand) == 1 &&
         llvm::all_of(operand.getUsers(), [&](Operation *user) {
           return user->getBlock() == join->getBlock() &&
                  (user == join || isa<plan::ir::CopyOp>(user) ||
                   (isa<plan::ir::LaunchOp>(user) && begin % kAlignment == 0));
         });
}

/// The operands in the order of the output's bytes; none where they cannot be its parts.
static SmallVector<plan::ir::BufferDeclOp> partsOf(plan::ir::LaunchOp join,
                                                   plan::ir::OutputOp output) {
  auto order = join->getAttrOfType<DenseI64ArrayAttr>(kJoinsAttr);
  SmallVector<plan::ir::BufferDeclOp> parts;
  uint64_t end = 0;
  for (int64_t number : order.asArrayRef()) {
    Value operand = join.getInputs()[number];
    if (llvm::count(order.asArrayRef(), number) != 1 || !mayBePart(operand, join, end))
      return {};
    parts.push_back(operand.getDefiningOp<plan::ir::BufferDeclOp>());
    end += parts.back().getSize();
  }
  return end == output.getSize() ? parts : SmallVector<plan::ir::BufferDeclOp>();
}

static void place(plan::ir::LaunchOp join) {
  auto output = join.getOutputs().front().getDefiningOp<plan::ir::OutputOp>();
  // Whoever reads the whole would have to wait for all of its parts; of one over an input the plan
  // says so as a whole, too.
  if (!output || !output->hasOneUse() || output->hasAttr(kOverAttr))
    return;
  SmallVector<plan::ir::BufferDeclOp> parts = partsOf(join, output);
  if (parts.empty())
    return;
  join.erase();
  OpBuilder b(output->getContext());
  b.setInsertionPointAfter(output);
  uint64_t begin = memory::beginOf(output);
  for (plan::ir::BufferDeclOp part : parts) {
    auto bound = plan::ir::OutputOp::create(b, output.getLoc(), output.getType(), output.getIndex(),
                                            part.getSize());
    memory::setBegin(bound, begin);
    begin += part.getSize();
    part.replaceAllUsesWith(bound.getResult());
  }
  for (plan::ir::BufferDeclOp part : parts)
    part.erase();
}

void gantry::schedule::joinOutputs(plan::ir::FuncOp func) {
  SmallVector<plan::ir::LaunchOp> joins;
  func.walk([&](plan::ir::LaunchOp launch) {
    if (launch->hasAttr(kJoinsAttr))
      joins.push_back(launch);
  });
  llvm::for_each(joins, place);
}
