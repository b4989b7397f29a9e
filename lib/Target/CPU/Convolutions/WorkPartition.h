// The work partition of a convolution: how it is cut into items, blocks and what is in registers at
// a time.
#pragma once

#include "Convolution.h"

namespace gantry {

/// How pixels and panels are cut, by shapes alone.
struct WorkPartition {
  int64_t pixelsOfBlock; ///< of the first `large` blocks; the others have one less
  int64_t blocks, large;
  llvm::SmallVector<Lanes> bands; ///< columns of a panel that all blocks pass at a time
  int64_t panels;
  int64_t chunks, parts; ///< items are a chunk of the blocks and a part of all panels' bands

  /// Pixels in line, whatever rows they are of.
  WorkPartition(const Convolution &convolution, bool amx);
  /// Rows by themselves, each in so many blocks.
  WorkPartition(const Convolution &convolution, int64_t rows, int64_t blocksOfRow);

  int64_t items() const { return parts * chunks; }
  /// The first pixel of a block, or of the end.
  int64_t firstPixel(int64_t block) const {
    return block * (pixelsOfBlock - 1) + std::min(block, large);
  }

private:
  void partitionItems(const Convolution &convolution);
};

/// What of a block is in registers at a time.
struct PixelRegisters {
  int64_t columns; ///< of a panel
  int64_t pixels;  ///< at most
  bool isTight;    ///< leaves no registers for what a next step begins with

  /// Of so many registers of a panel.
  PixelRegisters(const Convolution &convolution, const Registers &registers,
                 int64_t panelRegisters);
};

/// Registers of a panel, or of a wide one those that are computed at a time.
int64_t registersOf(int64_t panel);

/// Most pixels in a block, whatever rows they are of, of that many registers a pixel: sums, a row
/// of the panel and a pixel's channel are in registers at a time. Words of bytes are read into one
/// register more: the instruction takes only the other factor from memory.
int64_t mostPixelsInLine(int64_t registers, bool isInt8);

/// Whether each pixel reads the one at its place: a product of matrices. With a border the result
/// has other places than the image, also for blocks inside.
bool isProduct(const Convolution &convolution);

/// Whether blocks are multiplied as matrices (AMX).
bool usesAMX(const Convolution &convolution, const Registers &registers);

/// How many steps of a run of terms are written out.
int64_t unrolled(int64_t length);

/// Work that is worth a thread, in multiply-adds.
inline constexpr int64_t kThreadWork = 1 << 17;

} // namespace gantry
