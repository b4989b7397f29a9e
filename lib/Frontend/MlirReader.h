// Graphs written in MLIR, as text or bytecode.
#pragma once

#include "gantry/Frontend/Frontend.h"

#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace gantry {

/// Parses and verifies `buffer`. Files that would exhaust the parser's stack are refused first.
mlir::OwningOpRef<mlir::ModuleOp> readMlir(const std::shared_ptr<llvm::MemoryBuffer> &buffer,
                                           llvm::StringRef name, mlir::MLIRContext *context);

/// Fills in ports and op counts of a module.
void describeMlir(mlir::ModuleOp module, GraphReport &report);

} // namespace gantry
