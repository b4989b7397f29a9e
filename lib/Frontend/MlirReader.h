// Graphs written in MLIR, as text or bytecode.
#pragma once

#include "gantry/Frontend/Frontend.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace gantry {

/// What a text calls the results of ops, without "%": "product", "parts#1".
using ValueNames = llvm::DenseMap<mlir::Value, std::string>;

/// Parses and verifies `buffer`. Files that would exhaust the parser's stack are refused first, and
/// bytecode that is not trusted. Fills in `names` unless they are null; bytecode has none.
mlir::OwningOpRef<mlir::ModuleOp> readMlir(const std::shared_ptr<llvm::MemoryBuffer> &buffer,
                                           llvm::StringRef name, Bytecode bytecode,
                                           mlir::MLIRContext *context, ValueNames *names = nullptr);

/// Fills in ports and op counts of a module.
void describeMlir(mlir::ModuleOp module, GraphReport &report);

} // namespace gantry
