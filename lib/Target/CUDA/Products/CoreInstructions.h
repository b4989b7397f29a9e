// What warps say to tensor cores: matrices from shared memory to registers, and their products.
//
// Lane 4g + t has of 16 x 8 sums those of rows g and g + 8, columns 2t and 2t + 1.
#pragma once

#include "Elements.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace gantry::gpu {

/// What the cores multiply.
enum class CoreKind { f16, bf16, tf32 };

/// f16 or bf16; nothing for other types.
std::optional<CoreKind> coreKindOf(mlir::Type element);

/// Four matrices of 8 x 8 numbers of 16 bits, or 8 x 4 of 32, a word of each for every lane: of
/// every eight lanes each says at which element of `memory` a line of one begins. Turned, lines are
/// columns; that is for 16 bits alone.
llvm::SmallVector<Value> loadMatrices(mlir::ImplicitLocOpBuilder &b, Value memory, Value place,
                                      bool turned);

/// sums + x * y: four words by two words, four sums of f32.
llvm::SmallVector<Value> multiplyOnCores(mlir::ImplicitLocOpBuilder &b, CoreKind kind,
                                         llvm::ArrayRef<Value> x, llvm::ArrayRef<Value> y,
                                         llvm::ArrayRef<Value> accumulators);

} // namespace gantry::gpu
