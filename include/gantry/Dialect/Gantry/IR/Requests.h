// What a graph asks for an op, and when an op may give way to another: the one home of spec P1's
// "obeyed or refused, never silently changed" for folds and rewrites.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// The attributes that say where an op is to run; what else an op carries says why, or its name.
inline constexpr llvm::StringLiteral kRequestAttrs[] = {kDeviceAttr, kSoftAttr, kColocateAttr};

/// Whether the graph says where the op is to run.
bool hasRequest(mlir::Operation *op);

/// All that it asks for, as one attribute that is equal for equal requests, be it nothing.
mlir::DictionaryAttr getRequest(mlir::Operation *op);

/// Whether `op` may disappear and its users read `value` instead: nobody asked where `op` runs, or
/// what computes `value` was asked to run there, too. A constant computes nothing.
bool mayGiveWay(mlir::Operation *op, mlir::Value value);

/// The end of every fold: `folded`, or nothing where it would make a request disappear.
mlir::OpFoldResult unlessRequested(mlir::Operation *op, mlir::OpFoldResult folded);

/// Gives `to` the request of `from`, and what says where that came from.
void inheritRequest(mlir::Operation *from, mlir::Operation *to);

/// What is asked for `like` counts for `op`, which is made for it, too; so does its name, with a
/// suffix, if there is one.
void placeLike(mlir::Operation *like, mlir::Operation *op, llvm::StringRef suffix);

} // namespace gantry
