// Which part of a step of training an op belongs to: the way there, the way back, or what is done
// with the gradients. It is said by the op's location, which passes hand on with everything that
// they make of the op, and which takes no part in what makes ops equal.
#pragma once

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

namespace gantry {

enum class StepPart { forward, backward, update };

/// "forward", ...
llvm::StringRef stepPartName(StepPart part);
/// Forward for what says nothing.
StepPart stepPartOf(mlir::Location location);
/// The same place, of that part.
mlir::Location ofStepPart(mlir::Location location, StepPart part);

/// Whether the op computes what was computed before and is not held until here.
bool isComputedAgain(mlir::Operation *op);
mlir::Location computedAgain(mlir::Location location);

} // namespace gantry
