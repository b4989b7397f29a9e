// Which arguments of a kernel its results may overwrite: what `in_place` of `gantry.work` says.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// An argument of a kernel and the result that may take its place, counted from the last one, 0.
struct InPlace {
  int64_t argument, fromLast;
  bool operator==(const InPlace &) const = default;
};

llvm::SmallVector<InPlace> inPlacesOf(WorkAttr work);
WorkAttr withInPlaces(WorkAttr work, llvm::ArrayRef<InPlace> places);

/// Whether a result of a launch may be written over every operand of which `isIt` is true.
bool mayOverwrite(mlir::OpResult result, WorkAttr work,
                  llvm::function_ref<bool(mlir::Value operand)> isIt);

/// The arguments that the kernel needs nothing of but element i for element i of its one result,
/// and that are of the result's type: elementwise uses, or those of what is updated, all the way
/// through the body. Whether the code of a target reads each before it writes is the target's to
/// know. None of a kernel with several results.
llvm::SmallVector<InPlace> argumentsToOverwrite(KernelOp kernel);

/// The arguments of the type of each result, of several results those first that it is made of by
/// fewest ops: for a target that proves on its code what
/// may be overwritten, whatever the ops mean.
llvm::SmallVector<InPlace> argumentsLikeResults(KernelOp kernel);

} // namespace gantry
