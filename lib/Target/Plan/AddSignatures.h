// What the functions of a plan's code take, said beside the code (Plan.fbs, Signature).
#pragma once

#include "gantry/Plan/Plan_generated.h"

#include "mlir/IR/BuiltinOps.h"

namespace gantry {

/// To a plan that has all of its kernels, code and functions; `module` is what it was made of.
/// Where launches are of another target's work, as where a driver stands in, variants say their
/// own.
void addSignatures(mlir::ModuleOp module, plan::fb::PlanT &plan);

} // namespace gantry
