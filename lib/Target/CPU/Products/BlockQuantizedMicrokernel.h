// Rows of f32 by a panel of few bits an element: the innermost part of products whose weights stay
// packed in memory (gantry.matmul_bits). As other microkernels (Microkernel.h), it is a function
// that kernels call by name and each processor gives a body. For each row r < rows and each column
// c < width
//
//   out[r * width + c] = left[r * leftStride + k] * w(k, c)          for k = first, ..., end - 1
//   w(k, c) = (q - zero) * scale of the block of k (Dialect/Gantry/IR/BlockQuantized.h)
//
// one fused multiply-add after the other, from zero. Without rows it gives the weights themselves,
// out[(k - first) * width + c] = w(k, c), for tiles of f32 that use them more than once.
//
// The panel has a word of each of its columns side by side, and the words of records one after the
// other.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"

#include <cstdint>
#include <optional>
#include <string>

namespace gantry {
struct Registers; // Machine.h
} // namespace gantry

namespace gantry::cpu {

struct BlockQuantizedMicrokernel {
  int64_t bits;
  int64_t block; ///< terms that have a scale in common
  int64_t zero;  ///< the zero point of all weights; -1: of each block
  int64_t rows, width;

  /// The arguments, all of them numbers of 64 bits; `first` is a multiple of the terms of a word.
  enum Argument { left, leftStride, panel, out, first, end, numArguments };

  std::string symbol() const;
  /// The tile of that name; nothing for other functions.
  static std::optional<BlockQuantizedMicrokernel> of(llvm::StringRef symbol);
};

/// More rows than that take weights that were unpacked for them: so many have room for their sums
/// of two vectors in the registers of AVX-512, of one in those of AVX2, beside what unpacks.
inline constexpr int64_t kMostBlockQuantizedRows = 9;

/// Gives the microkernel that `function` declares its body.
void emitBlockQuantizedMicrokernel(llvm::Function &function, const BlockQuantizedMicrokernel &tile,
                                   const Registers &registers);

} // namespace gantry::cpu
