// Regions that are differentiated: where control goes, and what has to fit.

#include "gantry/Dialect/Gantry/IR/GradientBuilder.h"

using namespace mlir;
using namespace gantry;

static bool areCompatible(TypeRange a, TypeRange b) {
  return gantry::detail::areCompatibleTypes(a, b);
}

static bool isLoss(Type type) {
  return carriesGradients(type) && cast<RankedTensorType>(type).getRank() == 0;
}

//===----------------------------------------------------------------------===//
// gantry.gradient
//===----------------------------------------------------------------------===//

OperandRange GradientOp::getEntrySuccessorOperands(RegionSuccessor) { return getWrt(); }

void GradientOp::getSuccessorRegions(RegionBranchPoint point,
                                     SmallVectorImpl<RegionSuccessor> &successors) {
  if (point.isParent())
    successors.emplace_back(&getBody(), getBody().getArguments());
  else
    successors.emplace_back(getOperation(), getYielded());
}

/// The first values that are yielded are what is differentiated: a loss, or what the seeds are of.
static LogicalResult verifyLosses(GradientOp op, TypeRange yielded) {
  if (op.getNumSeeds() == 0) {
    if (yielded.empty() || !isLoss(yielded.front())) {
      auto error = op.emitOpError("differentiates ");
      yielded.empty() ? error << "nothing, since its region yields nothing"
                      : error << "the first value of its region, " << yielded.front();
      return error << "; a loss is a scalar of floats: yield one first, or give seeds";
    }
    return success();
  }
  for (auto [i, seed, type] :
       llvm::enumerate(op.getCotangents().getTypes(), yielded.take_front(op.getNumSeeds())))
    if (!carriesGradients(type) || !areCompatible(seed, type))
      return op.emitOpError() << "has the seed " << seed << " for value " << i
                              << " of its region, which is " << type
                              << "; a seed has the type of its value, which is of floats";
  return success();
}

LogicalResult GradientOp::verify() {
  int64_t seeds = getSeeds().value_or(0);
  TypeRange yielded = getBody().front().getTerminator()->getOperandTypes();
  if (seeds < 0 || seeds > int64_t(getValues().size()) || seeds > int64_t(yielded.size()))
    return emitOpError() << "has " << seeds << " seeds, but " << getValues().size()
                         << " operands, and " << yielded.size() << " values of its region";
  for (auto [i, type] : llvm::enumerate(getWrt().getTypes()))
    if (!carriesGradients(type))
      return emitOpError() << "differentiates with respect to operand " << i << ", which is "
                           << type << "; only floats have gradients";
  if (!areCompatible(getBody().getArgumentTypes(), getWrt().getTypes()))
    return emitOpError() << "region must take (" << getWrt().getTypes() << "), takes ("
                         << getBody().getArgumentTypes() << ")";
  if (failed(verifyLosses(*this, yielded)))
    return failure();
  SmallVector<Type> types(yielded);
  llvm::append_range(types, getWrt().getTypes());
  if (!areCompatible(types, getResultTypes()))
    return emitOpError() << "gives (" << getResultTypes()
                         << "); the results are what the region yields, then a gradient for each "
                            "operand: ("
                         << types << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// gantry.checkpoint, gantry.custom_gradient
//===----------------------------------------------------------------------===//

void CheckpointOp::getSuccessorRegions(RegionBranchPoint point,
                                       SmallVectorImpl<RegionSuccessor> &successors) {
  if (point.isParent())
    successors.emplace_back(&getBody(), getBody().getArguments());
  else
    successors.emplace_back(getOperation(), getResults());
}

/// The end of `region` must yield `types`.
static LogicalResult verifyYields(Operation *op, Region &region, TypeRange types, StringRef what) {
  TypeRange yielded = region.front().getTerminator()->getOperandTypes();
  if (areCompatible(yielded, types))
    return success();
  return op->emitOpError() << what << " must yield (" << types << "), yields (" << yielded << ")";
}

LogicalResult CheckpointOp::verify() {
  if (getBody().getNumArguments() != 0)
    return emitOpError("region takes values; it reads them from outside");
  return verifyYields(*this, getBody(), getResultTypes(), "region");
}

OperandRange CustomGradientOp::getEntrySuccessorOperands(RegionSuccessor) { return getValues(); }

/// Control never enters the second region: it is for who differentiates the op.
void CustomGradientOp::getSuccessorRegions(RegionBranchPoint point,
                                           SmallVectorImpl<RegionSuccessor> &successors) {
  Operation *end = point.getTerminatorPredecessorOrNull();
  if (point.isParent())
    successors.emplace_back(&getBody(), getBody().getArguments());
  else if (end->getParentRegion() == &getBody())
    successors.emplace_back(getOperation(), getResults());
}

LogicalResult CustomGradientOp::verify() {
  TypeRange given = getValues().getTypes();
  if (!areCompatible(getBody().getArgumentTypes(), given))
    return emitOpError() << "region must take (" << given << "), takes ("
                         << getBody().getArgumentTypes() << ")";
  if (failed(verifyYields(*this, getBody(), getResultTypes(), "region")))
    return failure();
  SmallVector<Type> taken(given), gradients;
  llvm::append_range(taken, getResultTypes());
  llvm::copy_if(getResultTypes(), std::back_inserter(taken), carriesGradients);
  llvm::copy_if(given, std::back_inserter(gradients), carriesGradients);
  if (!areCompatible(getBackward().getArgumentTypes(), taken))
    return emitOpError()
           << "backward region must take the operands, the results and a cotangent for each result "
              "of floats: ("
           << taken << "), takes (" << getBackward().getArgumentTypes() << ")";
  return verifyYields(*this, getBackward(), gradients, "backward region");
}
