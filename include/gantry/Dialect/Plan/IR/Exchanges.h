// What goes between tasks: plan.exchange, plan.part, plan.conditions.
#pragma once

#include "gantry/Dialect/Gantry/IR/Collectives.h"
#include "gantry/Dialect/Plan/IR/Plan.h"

#define GET_OP_CLASSES
#include "gantry/Dialect/Plan/IR/ExchangeOps.h.inc"

namespace gantry::plan::ir {

/// Of a plan.if or plan.while: the condition, and those of the other tasks that have commands
/// inside.
llvm::SmallVector<mlir::Value> conditionsOf(mlir::Operation *op);

} // namespace gantry::plan::ir
