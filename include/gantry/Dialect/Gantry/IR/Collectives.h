// What devices of several tasks do together: gantry.exchange and gantry.add_rows.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "gantry/Dialect/Gantry/IR/SeveralDevicesEnums.h.inc"
#include "gantry/Dialect/Gantry/IR/SeveralDevicesInterfaces.h.inc"

namespace gantry {

/// In the syntax of ops: all_gather
mlir::ParseResult parseExchangeKind(mlir::OpAsmParser &parser, ExchangeKindAttr &kind);
void printExchangeKind(mlir::OpAsmPrinter &printer, mlir::Operation *op, ExchangeKindAttr kind);

} // namespace gantry

#define GET_OP_CLASSES
#include "gantry/Dialect/Gantry/IR/CollectiveOps.h.inc"
