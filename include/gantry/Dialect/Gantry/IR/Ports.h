// What the inputs and outputs of a function are called, and their open dimensions: by the names
// that the graph gives, else by number. Whoever shows or takes such a name asks here.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace gantry {

/// "image", or "input0" when the graph gives the argument no name.
std::string inputName(mlir::func::FuncOp func, unsigned index);
/// "logits", or "output0".
std::string outputName(mlir::func::FuncOp func, unsigned index);

/// What the graph calls dimension `axis` of an argument, else INPUT:AXIS.
std::string dimName(mlir::func::FuncOp func, unsigned index, unsigned axis);
/// Every name that means this dimension: its own, INPUT:AXIS, and by number argN:AXIS.
llvm::SmallVector<std::string, 3> dimNames(mlir::func::FuncOp func, unsigned index, unsigned axis);

/// The flags that give these dimensions sizes, to paste: "--dim batch=N --dim length=N".
std::string dimFlags(llvm::ArrayRef<std::string> names);

/// Inputs and outputs are told apart by their names: no public function may give one twice.
llvm::LogicalResult checkPortNames(mlir::ModuleOp module);

} // namespace gantry
