// From a plan file back to the plan dialect, to be printed.
#pragma once

#include "gantry/Plan/PlanFile.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace gantry {

/// The plan in words: the same ops that Memory left when it was compiled. Bytes of constants and
/// code stay in the file.
mlir::OwningOpRef<mlir::ModuleOp> readPlan(const plan::PlanFile &file, mlir::MLIRContext *context);

} // namespace gantry
