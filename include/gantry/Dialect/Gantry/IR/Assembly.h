// What the custom directives of the ops' assembly formats call.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// "GPU:1"
mlir::ParseResult parseDevice(mlir::OpAsmParser &parser, DeviceAttr &device);
void printDevice(mlir::OpAsmPrinter &printer, mlir::Operation *op, DeviceAttr device);

/// ["GPU:0", "GPU:1"]
mlir::ParseResult parseDevices(mlir::OpAsmParser &parser, mlir::ArrayAttr &devices);
void printDevices(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::ArrayAttr devices);

/// prefer
mlir::ParseResult parseSoftMode(mlir::OpAsmParser &parser, SoftModeAttr &mode);
void printSoftMode(mlir::OpAsmPrinter &printer, mlir::Operation *op, SoftModeAttr mode);

/// mean
mlir::ParseResult parseCombineKind(mlir::OpAsmParser &parser, CombineKindAttr &kind);
void printCombineKind(mlir::OpAsmPrinter &printer, mlir::Operation *op, CombineKindAttr kind);

/// [split 0, per_replica]
mlir::ParseResult parseReplicaModes(mlir::OpAsmParser &parser, mlir::ArrayAttr &modes);
void printReplicaModes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::ArrayAttr modes);

} // namespace gantry
