// Sums and means of one index space, as one kernel: what is computed in front of them and behind.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry::cpu {

/// Whether the ops may be one kernel whose results are sums over the same elements, and what is
/// made of these: no term is rounded or added up in another way than by an op of its own.
bool areSums(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace gantry::cpu
