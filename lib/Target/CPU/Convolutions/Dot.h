// Sums of products of what a word of 32 bits holds; they are functions that kernels call by name,
// what their instructions are is decided when code is made for a processor. Lane i of the result is
//
//   accumulators[i] + left[4 i] * right[4 i] + ... + left[4 i + 3] * right[4 i + 3]
//
// of unsigned bytes on the left and signed ones on the right, exact modulo 2^32; or of bf16
//
//   fma(left[2 i], right[2 i], fma(left[2 i + 1], right[2 i + 1], accumulators[i]))
//
// in f32, as products of matrices have it (Products/Microkernel.h): with AVX512-BF16 subnormal
// factors and sums count as zeros.
#pragma once

#include "Machine.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace gantry::cpu {

/// Calls a function: of bf16 if the sums are of f32, of bytes if they are of i32. Left and right
/// are vectors of i32, which holds the factors in the order of memory.
mlir::Value callDot(mlir::ImplicitLocOpBuilder &b, mlir::ModuleOp module, mlir::Value left,
                    mlir::Value right, mlir::Value accumulators);

/// The same in a module that is LLVM's already.
llvm::Value *callDot(llvm::IRBuilder<> &b, llvm::Value *left, llvm::Value *right,
                     llvm::Value *accumulators);

/// Registers that a step with words of bytes takes beside its sums, where so many hold a row of the
/// panel. Words that no instruction multiplies come apart into pairs, or one by one: those of the
/// row once for all that they are multiplied by, those of that and their products in turn.
int64_t registersOfBytes(int64_t vectors, const Registers &registers);

/// Gives the functions that `module` declares their bodies, which go where they are called.
void defineDots(llvm::Module &module, const Registers &registers);

} // namespace gantry::cpu
