// What every target does between its own passes; descriptions are in Passes.td.
#pragma once

#include "mlir/Pass/Pass.h"

namespace gantry {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "gantry/Target/Passes.h.inc"
} // namespace gantry
