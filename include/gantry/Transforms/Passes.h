// Passes from a graph to commands over buffers; descriptions are in Passes.td.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Plan/IR/Plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace gantry {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry
