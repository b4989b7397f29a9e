#include "Overwrite.h"

#include "gantry/Analysis/Flow.h"
#include "gantry/Analysis/InPlace.h"
#include "gantry/Dialect/Gantry/IR/Views.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::schedule;

/// Of values with more uses than that, nobody asks which one is the last: for all of them together,
/// that would take the square of their number.
static constexpr unsigned kMostUses = 64;

/// Whether every use of `value` and of its views is a launch of that queue.
static bool isReadByQueue(Value value, Attribute device) {
  return !value.hasNUsesOrMore(kMostUses + 1) &&
         llvm::all_of(value.getUsers(), [&](Operation *user) {
           return isView(user) ? isReadByQueue(user->getResult(0), device)
                               : isa<LaunchOp>(user) && user->getAttr(kDeviceAttr) == device;
         });
}

static bool isReadAfter(LaunchOp last, Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *around = last->getBlock()->findAncestorOpInBlock(*user);
    return isView(user) ? isReadAfter(last, user->getResult(0))
                        : !around || last->isBeforeInBlock(around);
  });
}

/// Whether the kernel may write a result over every operand that is `value`.
static bool mayOverwriteAll(OpResult result, WorkAttr work, Value value) {
  return mayOverwrite(result, work, [&](Value operand) { return skipViews(operand) == value; });
}

SmallVector<Value> gantry::schedule::valuesToOverwrite(OpResult result, WorkAttr work) {
  SmallVector<Value> values;
  auto launch = cast<LaunchOp>(result.getOwner());
  for (const InPlace &place : inPlacesOf(work)) {
    if (place.fromLast + result.getResultNumber() + 1 != launch->getNumResults())
      continue;
    Value value = skipViews(launch->getOperand(place.argument));
    Operation *maker = value.getDefiningOp();
    // Made here, and only for here: a loop around would need it again.
    if (isa_and_present<LaunchOp, CopyOp>(maker) && maker->getBlock() == launch->getBlock() &&
        mayOverwriteAll(result, work, value) && isReadByQueue(value, launch->getAttr(kDeviceAttr)))
      values.push_back(value);
  }
  return values;
}

SmallVector<Value> gantry::schedule::endingValues(OpResult result, WorkAttr work) {
  SmallVector<Value> values = valuesToOverwrite(result, work);
  llvm::erase_if(
      values, [&](Value value) { return isReadAfter(cast<LaunchOp>(result.getOwner()), value); });
  return values;
}

/// Whether the maker may write its result over every operand that is the argument: byte by byte, or
/// as the first value of what a loop carries.
static bool mayReplace(OpResult made, BlockArgument argument, const Declarations &state) {
  Operation *maker = made.getOwner();
  if (isa<RegionBranchOpInterface>(maker))
    return llvm::all_of(argument.getUses(), [&](OpOperand &use) {
      return !maker->isAncestor(use.getOwner()) ||
             (use.getOwner() == maker && resultOf(use) == made);
    });
  auto launch = dyn_cast<LaunchOp>(maker);
  WorkAttr work = launch ? state.workOf(launch) : WorkAttr();
  return work && mayOverwrite(made, work, [&](Value operand) { return operand == argument; });
}

static Operation *readerBehind(Value value, BlockArgument argument, OpResult made,
                               const Declarations &state) {
  Operation *maker = made.getOwner();
  for (Operation *user : value.getUsers()) {
    if (isView(user)) {
      if (Operation *reader = readerBehind(user->getResult(0), argument, made, state))
        return reader;
      continue;
    }
    Operation *around = maker->getBlock()->findAncestorOpInBlock(*user);
    if (maker->isBeforeInBlock(around) ||
        (around == maker && (value != argument || !mayReplace(made, argument, state))))
      return user;
  }
  return nullptr;
}

Operation *gantry::schedule::readerBehind(BlockArgument argument, OpResult made,
                                          const Declarations &state) {
  return ::readerBehind(argument, argument, made, state);
}
