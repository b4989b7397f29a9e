// The plan dialect: how, where and when. See PlanOps.td.
// Its namespace is plan::ir; the rest of the namespace plan is about the file.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "gantry/Dialect/Plan/IR/PlanDialect.h.inc"
#include "gantry/Dialect/Plan/IR/PlanEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "gantry/Dialect/Plan/IR/PlanAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "gantry/Dialect/Plan/IR/PlanTypes.h.inc"
#define GET_OP_CLASSES
#include "gantry/Dialect/Plan/IR/PlanOps.h.inc"
