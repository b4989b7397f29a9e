// Which constants of a graph are trained: those that files call weights.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace gantry {

/// Named constants of floats, by name, in the order of the graph.
using Weights = llvm::MapVector<mlir::StringAttr, ConstantOp>;

/// Moves them to the function's start; those of one name, which have to have one value, become one.
llvm::FailureOr<Weights> hoistNamedConstants(mlir::func::FuncOp func);

/// Those that become variables: the ones that a pattern matches, or without patterns those that
/// look like weights. The loss depends on each by floats. Fails where there is none, and where a
/// pattern matches nothing.
llvm::FailureOr<llvm::SmallVector<ConstantOp>> chooseTrained(mlir::func::FuncOp func,
                                                             const Weights &weights,
                                                             mlir::Value loss,
                                                             llvm::ArrayRef<std::string> patterns);

/// "'a', 'b' and 7 more".
std::string listed(llvm::ArrayRef<std::string> names);

} // namespace gantry
