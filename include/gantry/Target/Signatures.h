// What the functions of kernels take, noted for the plan's signatures (Plan.fbs) while it can be
// read off them: their code is made of nothing else, and knows no more than addresses.
#pragma once

#include "gantry/Dialect/Plan/IR/Plan.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace gantry {

/// Of a kernel's function, for one driver.
struct TakenBuffers {
  llvm::ArrayRef<int64_t> bytes; ///< of each buffer: operands, results, and scratch memory if any
  int64_t items = 1, grain = 1;  ///< of its work
};

/// Notes it on the kernels of `plan`, for the drivers that will run the code of `kernels`: a module
/// of one target, as Schedule and its passes have left it.
void noteTakenBuffers(mlir::ModuleOp kernels, mlir::ModuleOp plan,
                      llvm::ArrayRef<llvm::StringRef> drivers);

/// Nothing where nothing was noted: of kernels that have no function for that driver.
std::optional<TakenBuffers> takenBuffers(plan::ir::KernelOp kernel, llvm::StringRef driver);

} // namespace gantry
