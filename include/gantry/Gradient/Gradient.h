// Reverse-mode differentiation of straight lists of ops, by the rules that ops have
// (GradientOpInterface).
//
// Values of floats that depend on what is differentiated with respect to are on a way; ops are
// visited from the last to the first, and each turns the cotangents of its results into parts of
// those of its operands. What a value gets from its uses is added one by one, from the last use to
// the first: a fixed order in which no part waits for all others.
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/DenseSet.h"

#include <string>

namespace gantry {

/// Appends to `block`, in front of its terminator, the gradients of `of`, whose cotangents are
/// `seeds`, with respect to `wrt`; null where no way of floats leads there, or one that is zero by
/// definition. Shapes in the block are static. Fails with an error at the op that has no gradient.
llvm::LogicalResult differentiate(mlir::Block &block, mlir::ValueRange of, mlir::ValueRange seeds,
                                  mlir::ValueRange wrt,
                                  llvm::SmallVectorImpl<mlir::Value> &gradients);

/// Whether gradients of what the op gives lead to one of the values through it, as far as its
/// kind tells: it reads one, and does not stop them.
bool leadsTo(mlir::Operation *op, const llvm::DenseSet<mlir::Value> &values);

/// Values of floats that depend on `from` by the ops of the block, and `from` itself.
llvm::DenseSet<mlir::Value> dependentOn(mlir::Block &block, mlir::ValueRange from);

/// Why the op has no gradient with respect to what it reads of `varied`, in words that follow its
/// name; empty when it has one, be it zero by definition.
std::string whyNoGradient(mlir::Operation *op, llvm::function_ref<bool(mlir::Value)> isVaried);

/// The fewest ops of a block that lead from the values `from` to `to`, in words, from the last one
/// to run to the first; empty where it makes one of them itself.
std::string describeWay(mlir::Operation *to, mlir::ValueRange from);

/// What the op reads: its operands, and what its regions read from outside.
llvm::SmallVector<mlir::Value> valuesReadBy(mlir::Operation *op);

/// Attaches the rules of this dialect's ops.
void registerGradients(mlir::DialectRegistry &registry);

} // namespace gantry
