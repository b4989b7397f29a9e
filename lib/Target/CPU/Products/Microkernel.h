// The microkernel of products (GEMM): a tile of accumulators, rows of one operand by the columns of
// a panel.
//
// It is a function that the kernels of a plan share, called by name; what it does is the same for
// every processor, how is decided when code is made for one (EmitMicrokernel.h). For each row r <
// rows and each column c < width
//
//   accumulators[r * width + c] (+)= left[r * leftStride + k] * panel[k * width + c]
// for k = 0, 1, ... < sizeK
//
// one fused multiply-add after the other, so that a sum does not depend on the tile that it is in.
// With `accumulate` it goes on from what is in `accumulators`, else it begins with zero: K can
// come in blocks. On the way it asks for the cache lines from `next` on. A tile with a `stride`
// stores its accumulators that far apart, straight into the result of a product. One with
// `leftByColumns` reads left[k * leftStride + r]: rows side by side, of each term.
//
// Factors narrower than 32 bits may come in groups of K that fill these: side by side in a row
// of the left operand, which has them anyway, and in each column of the panel
// (PanelLayout::packingFactor). A tile reads 32 bits of either at a time. Terms that fill up the
// last group of a panel are zeros; of the left operand nothing is read behind the last term. Terms
// of bytes fill all groups of both: few processors read some bytes of a word without branches.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace gantry {
struct Registers; // Machine.h
} // namespace gantry

namespace gantry::cpu {

/// What is multiplied. Accumulators have 32 bits.
enum class OperandPrecision : uint8_t {
  f32,
  /// Pairs (a0, a1) and (b0, b1), the odd ones first: fma(a0, b0, fma(a1, b1, sum)), as AVX512-BF16
  /// has it. There, subnormal factors count as zeros, and so do subnormal sums. Where matrices are
  /// multiplied (EmitAMXMicrokernel.cpp), sixteen pairs are summed up before they are added.
  bf16,
  f16, ///< of the panel; the left ones are f32
  /// Unsigned ones on the left by signed ones, four terms to a group; accumulators are i32.
  int8,
};
/// Bytes of a factor.
constexpr int64_t leftBytesOf(OperandPrecision precision) {
  return precision == OperandPrecision::int8 ? 1 : precision == OperandPrecision::bf16 ? 2 : 4;
}
constexpr int64_t panelBytesOf(OperandPrecision precision) {
  return precision == OperandPrecision::int8 ? 1 : precision == OperandPrecision::f32 ? 4 : 2;
}
/// Packing factor: how many neighbours of K a group has.
constexpr int64_t packingFactorOf(OperandPrecision precision) {
  return precision == OperandPrecision::int8 ? 4 : precision == OperandPrecision::bf16 ? 2 : 1;
}
/// "bf16"
llvm::StringRef nameOf(OperandPrecision precision);

/// Whether a processor has AMX for them. All that a plan multiplies in tiles is
/// cut for it then, or nothing: sums have one order, whatever kernel they are in.
bool usesAMX(OperandPrecision precision, const Registers &registers);

struct Microkernel {
  OperandPrecision precision;
  int64_t rows;
  int64_t width;    ///< columns of the panel, a multiple of kColumnUnit
  int64_t ahead;    ///< cache lines of `next` for each kUnitOfK groups of K
  bool amx = false; ///< cut for processors that multiply matrices (EmitAMXMicrokernel.cpp)
  /// Of tiles whose accumulators are a part of a matrix: how many of the columns are stored, and
  /// elements from one row to the next. Such a tile begins with zero.
  int64_t columns = 0, stride = 0;
  bool leftByColumns = false;

  bool storesIntoResult() const { return stride != 0; }

  /// The arguments, all of them numbers of 64 bits; strides are in elements, the others but `sizeK`
  /// and `accumulate` addresses.
  enum Argument { left, leftStride, panel, accumulators, sizeK, accumulate, next, numArguments };

  std::string symbol() const;
  /// The tile of that name; nothing for other functions.
  static std::optional<Microkernel> of(llvm::StringRef symbol);
};

/// Panels are as wide as some of these.
inline constexpr int64_t kColumnUnit = 16;
/// Groups of K that the loop of a microkernel takes at once.
inline constexpr int64_t kUnitOfK = 4;

/// The most rows of a tile whose accumulators fit the registers of AVX-512; tiles of fewer are as
/// fast in proportion when there are several. Not more than 9: rows may be a multiple of 4 KiB
/// apart, and then as many lines share a set of the cache.
constexpr int64_t mostRows(int64_t width) { return width > 48 ? 6 : 9; }
/// The same for processors with so many registers. Where they are 16, six rows of two vectors fill
/// them; nine rows would be five and four, whose additions wait for each other.
constexpr int64_t mostRows(int64_t width, int64_t numRegisters) {
  return numRegisters < 32 ? 6 : mostRows(width);
}

/// Rows of a matrix register (AMX), and groups of K that it has of each row of the left
/// operand.
inline constexpr int64_t kAMXRows = 16, kAMXGroups = 16;
/// Two matrices of rows by two or three of columns are multiplied with what registers hold already.
inline constexpr int64_t kMostAMXRows = 2 * kAMXRows;

} // namespace gantry::cpu
