// Names for the symbols that Gantry adds to a module. A graph's functions and variables keep their
// names, whatever they are, since nobody can rename a graph in ONNX: ours give way.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

namespace gantry {

/// Knows the symbols of a module as it was, and those that it gave out.
class FreshSymbols {
public:
  explicit FreshSymbols(mlir::ModuleOp module);

  /// The name itself where it is free, else followed by `_0`, `_1`, ...
  mlir::StringAttr take(const llvm::Twine &name);

private:
  mlir::MLIRContext *context;
  llvm::StringSet<> taken;
};

} // namespace gantry
