#include "gantry/Analysis/InPlace.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gantry;

//===----------------------------------------------------------------------===//
// in_place = [-2, 0, -1, 1]
//===----------------------------------------------------------------------===//

SmallVector<InPlace> gantry::inPlacesOf(WorkAttr work) {
  SmallVector<InPlace> places;
  int64_t fromLast = 0;
  if (!work || !work.getInPlace())
    return places;
  for (int64_t number : work.getInPlace().asArrayRef()) {
    if (number < 0)
      fromLast = -1 - number;
    else
      places.push_back({number, fromLast});
  }
  return places;
}

WorkAttr gantry::withInPlaces(WorkAttr work, ArrayRef<InPlace> places) {
  SmallVector<int64_t> numbers;
  const bool hasSeveral =
      llvm::any_of(places, [](const InPlace &place) { return place.fromLast != 0; });
  for (auto [i, place] : llvm::enumerate(places)) {
    if (hasSeveral && (i == 0 || places[i - 1].fromLast != place.fromLast))
      numbers.push_back(-1 - place.fromLast);
    numbers.push_back(place.argument);
  }
  return work.withInPlace(numbers);
}

bool gantry::mayOverwrite(OpResult result, WorkAttr work, function_ref<bool(Value)> isIt) {
  const int64_t fromLast = result.getOwner()->getNumResults() - 1 - result.getResultNumber();
  SmallVector<InPlace> places = inPlacesOf(work);
  return llvm::all_of(result.getOwner()->getOpOperands(), [&](OpOperand &operand) {
    return !isIt(operand.get()) ||
           llvm::is_contained(places, InPlace{operand.getOperandNumber(), fromLast});
  });
}

//===----------------------------------------------------------------------===//
// By ops and types
//===----------------------------------------------------------------------===//

/// Whether everything that is made of `value` is made index by index.
static bool isReadWhereWritten(Value value, DenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return true;
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<YieldOp>(user))
      return true;
    auto kernel = dyn_cast<KernelOpInterface>(user);
    bool isUpdated = kernel && kernel.updatesOperand(use.getOperandNumber());
    return user->getNumResults() == 1 && (isUpdated || isElementwiseUse(use)) &&
           isReadWhereWritten(user->getResult(0), seen);
  });
}

SmallVector<InPlace> gantry::argumentsToOverwrite(KernelOp kernel) {
  if (kernel.getBody().front().getTerminator()->getNumOperands() != 1)
    return {};
  SmallVector<InPlace> places = argumentsLikeResults(kernel);
  llvm::erase_if(places, [&](const InPlace &place) {
    DenseSet<Value> seen;
    return !isReadWhereWritten(kernel.getBody().getArgument(place.argument), seen);
  });
  return places;
}

/// The values of the body that `result` is made of, those first that fewest ops are between.
static llvm::SetVector<Value> madeOf(Value result) {
  llvm::SetVector<Value> values;
  values.insert(result);
  for (size_t i = 0; i < values.size(); ++i)
    if (Operation *maker = values[i].getDefiningOp())
      values.insert_range(maker->getOperands());
  return values;
}

SmallVector<InPlace> gantry::argumentsLikeResults(KernelOp kernel) {
  SmallVector<InPlace> places;
  OperandRange results = kernel.getBody().front().getTerminator()->getOperands();
  for (auto [i, result] : llvm::enumerate(results)) {
    SmallVector<Value> arguments(kernel.getBody().getArguments());
    // Of several states each keeps its array.
    if (results.size() > 1) {
      llvm::SetVector<Value> values = madeOf(result);
      llvm::stable_sort(arguments, [&](Value a, Value b) {
        return llvm::find(values, a) < llvm::find(values, b);
      });
    }
    for (Value argument : arguments)
      if (argument.getType() == result.getType())
        places.push_back(
            {cast<BlockArgument>(argument).getArgNumber(), int64_t(results.size() - 1 - i)});
  }
  return places;
}
