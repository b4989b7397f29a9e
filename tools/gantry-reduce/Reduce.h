// Makes a module small while something about it stays as it is.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <string>

namespace gantry {

/// Whether a module, as text, is still interesting.
using Interesting = std::function<bool(const std::string &text)>;

/// Simplifies ops of `module` while it verifies and is interesting: scopes give way to their
/// bodies, ops whose results nobody uses go, others give way to an operand of their result's type,
/// or to zeros. The module stays valid, not its meaning. Fails when it is not interesting to begin
/// with.
llvm::LogicalResult reduceModule(mlir::OwningOpRef<mlir::ModuleOp> &module,
                                 const Interesting &isInteresting);

} // namespace gantry
