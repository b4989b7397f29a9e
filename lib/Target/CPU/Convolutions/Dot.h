// Sums of products of bytes, four to a lane: lane i of the result is
//
//   sums[i] + left[4 i] * right[4 i] + ... + left[4 i + 3] * right[4 i + 3]
//
// of unsigned bytes on the left and signed ones on the right, exact modulo 2^32. It is a function
// that kernels call by name; what its instructions are is decided when code is made for a
// processor.
#pragma once

#include "Machine.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace gantry::cpu {

/// Calls the function; all three are vectors of i32, which holds the bytes in the order of memory.
mlir::Value callDot(mlir::ImplicitLocOpBuilder &b, mlir::ModuleOp module, mlir::Value left,
                    mlir::Value right, mlir::Value sums);

/// The same in a module that is LLVM's already.
llvm::Value *callDot(llvm::IRBuilder<> &b, llvm::Value *left, llvm::Value *right,
                     llvm::Value *sums);

/// Gives the functions that `module` declares their bodies, which go where they are called.
void defineDots(llvm::Module &module, const Registers &registers);

} // namespace gantry::cpu
