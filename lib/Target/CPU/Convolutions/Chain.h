// A convolution of each channel by itself and its neighbours of one pixel, as one kernel.
#pragma once

#include "Convolution.h"

namespace gantry {

/// What one pixel's channels are made of, the window of each channel, and what is made of those.
/// One of the first and the last may be missing.
struct ConvolutionChain {
  std::optional<Convolution> expand;
  Convolution depthwise;
  std::optional<Convolution> project;

  /// The convolutions of a kernel, in their order, if they are a chain: each reads what the one
  /// before it writes, and nobody else does.
  static std::optional<ConvolutionChain> match(llvm::ArrayRef<Convolution> convolutions);

  const Convolution &last() const { return project ? *project : depthwise; }
};

/// How much of its images a chain has at a time, and in how many items it is computed: by shapes
/// alone.
struct ChainSizes {
  int64_t rows;           ///< of the result, of all images
  int64_t columns;        ///< of it
  int64_t window, stride; ///< in rows of what is expanded; the window from its first to its last
  int64_t pitch;          ///< pixels of such a row, with borders
  int64_t channels;
  bool expands, projects;

  /// Of a depthwise convolution of pictures, whose image has a border of `low` columns before its
  /// own.
  static ChainSizes of(const PackedConvolution &form, int64_t low, int64_t imageColumns,
                       bool expands, bool projects);

  /// What an item has on its stack at most; more is memory of the plan, a part for each item.
  static constexpr int64_t kStackBytes = 112 << 10;

  /// Elements of an item: of a ring of rows of what is expanded, and of a row of what the depthwise
  /// convolution gives.
  int64_t ringElements() const { return expands ? window * pitch * channels : 0; }
  int64_t rowElements() const { return projects ? columns * channels : 0; }
  int64_t itemBytes() const { return (ringElements() + rowElements()) * int64_t(sizeof(float)); }
  int64_t scratchBytes() const { return itemBytes() > kStackBytes ? items() * itemBytes() : 0; }

  int64_t items() const;
  /// Rows that the window of a row has in common with that of the one before.
  int64_t rowsKept() const { return std::max<int64_t>(window - stride, 0); }
  /// Of the rows of what is expanded, as several items make the same ones.
  double shareMadeTwice() const {
    return expands ? double((items() - 1) * rowsKept()) / double(rows * stride) : 0;
  }
};

void emitChain(mlir::ImplicitLocOpBuilder &b, const ConvolutionChain &chain,
               const Registers &registers);

} // namespace gantry
