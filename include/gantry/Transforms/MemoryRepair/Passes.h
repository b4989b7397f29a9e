// Passes of the phase Copy that make a plan fit; descriptions are in Passes.td.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Pass/Pass.h"

namespace gantry {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "gantry/Transforms/MemoryRepair/Passes.h.inc"
} // namespace gantry
