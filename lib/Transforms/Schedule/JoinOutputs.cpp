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
static bool mayBePart(Value operand, commands::LaunchOp join, uint64_t begin) {
  auto decl = operand.getDefiningOp<commands::BufferDeclOp>();
  return decl && decl.getDeviceAttr() == join.getDeviceAttr() && numWriters(operand) == 1 &&
         llvm::count(join.getInputs(), operand) == 1 &&
         llvm::all_of(operand.getUsers(), [&](Operation *user) {
           return user->getBlock() == join->getBlock() &&
                  (user == join || isa<commands::CopyOp>(user) ||
                   (isa<commands::LaunchOp>(user) && begin % kAlignment == 0));
         });
}

/// The operands in the order of the output's bytes; none where they cannot be its parts.
static SmallVector<commands::BufferDeclOp> partsOf(commands::LaunchOp join,
                                                   commands::OutputOp output) {
  auto order = join->getAttrOfType<DenseI64ArrayAttr>(kJoinsAttr);
  SmallVector<commands::BufferDeclOp> parts;
  uint64_t end = 0;
  for (int64_t number : order.asArrayRef()) {
    Value operand = join.getInputs()[number];
    if (llvm::count(order.asArrayRef(), number) != 1 || !mayBePart(operand, join, end))
      return {};
    parts.push_back(operand.getDefiningOp<commands::BufferDeclOp>());
    end += parts.back().getSize();
  }
  return end == output.getSize() ? parts : SmallVector<commands::BufferDeclOp>();
}

static void place(commands::LaunchOp join) {
  auto output = join.getOutputs().front().getDefiningOp<commands::OutputOp>();
  // Whoever reads the whole would have to wait for all of its parts; of one over an input the plan
  // says so as a whole, too.
  if (!output || !output->hasOneUse() || output->hasAttr(kOverAttr))
    return;
  SmallVector<commands::BufferDeclOp> parts = partsOf(join, output);
  if (parts.empty())
    return;
  join.erase();
  OpBuilder b(output->getContext());
  b.setInsertionPointAfter(output);
  uint64_t begin = memory::beginOf(output);
  for (commands::BufferDeclOp part : parts) {
    auto bound = commands::OutputOp::create(b, output.getLoc(), output.getType(), output.getIndex(),
                                            part.getSize());
    memory::setBegin(bound, begin);
    begin += part.getSize();
    part.replaceAllUsesWith(bound.getResult());
  }
  for (commands::BufferDeclOp part : parts)
    part.erase();
}

void gantry::schedule::joinOutputs(commands::FuncOp func) {
  SmallVector<commands::LaunchOp> joins;
  func.walk([&](commands::LaunchOp launch) {
    if (launch->hasAttr(kJoinsAttr))
      joins.push_back(launch);
  });
  llvm::for_each(joins, place);
}
