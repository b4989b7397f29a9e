// A convolution with the channels last on buffers, with what its kernel does before and after.
#pragma once

#include "Machine.h"
#include "gantry/Dialect/Gantry/IR/Layout.h"
#include "gantry/Linalg/LoopBuilder.h"
#include "gantry/Linalg/PackedConvolution.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace gantry {

/// One row of a convolution's result that is computed by itself, by the kernel of a chain.
struct ResultRow {
  mlir::Value image, row;   ///< which it is: of what image of the batch, and where in that
  mlir::Value first;        ///< number of its first pixel among all of the whole result
  mlir::Value read, stored; ///< the pixels that its first one reads (of a 1x1 window), and is
};

/// A phase of a transposed convolution: every so many pixels of its result, whose windows meet the
/// same places of the filter in the image's pixels, and zeros between them elsewhere. By itself it
/// is a convolution without strides, whose pixels are those of the phase.
struct ResultPhase {
  llvm::SmallVector<int64_t, 3> steps;  ///< from one pixel of the result to the next
  llvm::SmallVector<int64_t, 3> first;  ///< the first one
  llvm::SmallVector<int64_t, 3> out;    ///< sizes of the whole result
  llvm::SmallVector<int64_t, 3> window; ///< of the whole filter
  llvm::SmallVector<int64_t, 3> tap;    ///< of the filter, first met; the next is `steps` before it
};

struct Convolution {
  mlir::linalg::GenericOp op;
  PackedConvolution form;
  mlir::Value image, filter;                     ///< buffers; the image without its borders
  mlir::Value accumulators;                      ///< what the op writes
  mlir::Value result;                            ///< where the last op of the kernel writes
  llvm::SmallVector<int64_t, 3> low;             ///< borders before the image
  mlir::linalg::GenericOp epilogue;              ///< the element-wise op behind it, or null
  llvm::SmallVector<mlir::Operation *> replaced; ///< what the loops stand for, users first
  /// Channels of a word of 32 bits: four bytes, two of bf16, or one of f32. Channels, terms and
  /// panels are counted in words, and `form` with them.
  int64_t packingFactor = 1;
  std::optional<ResultRow> only = {}; ///< all that is computed here; pixels are counted in it
  /// From one pixel of the image to the next, where it lies among zeros that are left out.
  llvm::SmallVector<int64_t, 3> imageSteps = {};
  std::optional<ResultPhase> phase = {}; ///< of which `form` and `low` are, where it is one

  bool isInt8() const { return packingFactor == kInt8PackingFactor; }
  bool isPairs() const { return packingFactor == 2; }

  /// What `op` and the ops around it compute; nothing for other ops.
  static std::optional<Convolution> match(mlir::linalg::GenericOp op);

  llvm::ArrayRef<int64_t> imageShape() const {
    return llvm::cast<mlir::MemRefType>(image.getType()).getShape();
  }
  int64_t imageSize(unsigned dim) const { return imageShape()[dim + 1]; }
  /// Pixels of the result, of all images.
  int64_t pixels() const;
  /// Terms of an element.
  int64_t sizeK() const;
  /// Terms that a column of the filter has, of which a phase meets some.
  int64_t filterTerms() const;
  /// Whether some window reaches over the image's ends along a spatial dimension.
  bool hasBorder(unsigned dim) const;
  bool hasBorder() const; ///< along any
};

/// Of a transposed one, those with pixels: convolutions that together compute all of the result.
llvm::SmallVector<Convolution, 4> phasesOf(const Convolution &convolution);

/// Whether an op writes +0 everywhere in its one result.
bool writesZeros(mlir::Operation *op, mlir::Value buffer);

/// An unsigned index of a loop and arithmetic on it, with constants that fold.
struct IndexBuilder {
  mlir::ImplicitLocOpBuilder &b;

  mlir::Value constant(int64_t value) const;
  mlir::Value add(mlir::Value x, mlir::Value y) const;
  mlir::Value add(mlir::Value x, int64_t y) const;
  mlir::Value mul(mlir::Value x, int64_t y) const;
  mlir::Value div(mlir::Value x, int64_t y) const;
  mlir::Value rem(mlir::Value x, int64_t y) const;
  mlir::Value min(mlir::Value x, mlir::Value y) const;
  mlir::Value max(mlir::Value x, mlir::Value y) const;
  mlir::Value less(mlir::Value x, int64_t y) const; ///< and not below zero
};

/// A thread takes work items of `work` multiply-adds until it has `least`.
void setGrain(mlir::OpBuilder &b, int64_t work, int64_t least);

/// The elements of a buffer without gaps, in one dimension.
mlir::Value flatten(mlir::ImplicitLocOpBuilder &b, mlir::Value buffer);
/// The factors of a convolution, likewise: bytes as words of four.
mlir::Value flattenFactors(mlir::ImplicitLocOpBuilder &b, const Convolution &convolution,
                           mlir::Value buffer);

/// A part of a row of channels: a register of which the first `live` lanes count.
struct Lanes {
  int64_t first, live;
};
llvm::SmallVector<Lanes> lanesOf(int64_t columns);
/// Of the register for so many lanes.
int64_t widthOf(int64_t live);

/// What is multiplied, in a buffer of flattenFactors: by places and numbers of words.
mlir::Value loadWord(mlir::ImplicitLocOpBuilder &b, const Convolution &convolution,
                     mlir::Value buffer, mlir::Value at);
mlir::Value loadWords(mlir::ImplicitLocOpBuilder &b, const Convolution &convolution,
                      mlir::Value buffer, mlir::Value at, int64_t live);
/// Elements of such a buffer that a word is.
int64_t elementsOfWord(const Convolution &convolution);

mlir::Value loadLanes(mlir::ImplicitLocOpBuilder &b, mlir::Value buffer, mlir::ValueRange at,
                      int64_t live);
void storeLanes(mlir::ImplicitLocOpBuilder &b, mlir::Value value, mlir::Value buffer,
                mlir::ValueRange at, int64_t live);

/// A pixel of the result: its number among all, and its place in image and picture where needed.
struct Pixel {
  mlir::Value number;
  llvm::SmallVector<mlir::Value> at;           ///< batch, then one for each spatial dimension
  mlir::Value read, stored;                    ///< the number, but in a chain, as ResultRow has it
  llvm::SmallVector<mlir::Value> inPhase = {}; ///< as `at`, but among the pixels of a phase
};
Pixel pixelAt(const Convolution &convolution, const IndexBuilder &index, mlir::Value number);

/// Stores accumulators, after what the epilogue makes of them.
class Epilogue {
public:
  Epilogue(mlir::ImplicitLocOpBuilder &b, const Convolution &convolution);

  /// For the columns `column` + lanes.first onwards of a pixel.
  void store(mlir::Value sum, const Pixel &pixel, mlir::Value column, Lanes lanes);

private:
  mlir::Value operand(unsigned input, const Pixel &pixel, mlir::Value column, Lanes lanes);
  mlir::Value compute(mlir::Value sum, const Pixel &pixel, mlir::Value column, Lanes lanes);

  mlir::ImplicitLocOpBuilder &b;
  const Convolution &convolution;
  mlir::Value flatResult;
  llvm::SmallVector<mlir::Value> flatInputs; ///< of those that are read like the result
};

/// Elements of a flat buffer from `offset` on.
mlir::Value viewOfRun(mlir::ImplicitLocOpBuilder &b, mlir::Value flat, mlir::Value offset,
                      int64_t length);

/// The pixels of windows outside of the image: zeros on the stack, as many as are read at once, and
/// how to read them or the image.
class Borders {
public:
  Borders(mlir::ImplicitLocOpBuilder &b, const Convolution &convolution, mlir::Value flatImage,
          int64_t length);

  bool any() const { return bool(zeros); }
  /// Inside of a work item, before anything else.
  void clear();
  /// The elements of the image from `offset` on, or zeros.
  mlir::Value pick(mlir::Value inside, mlir::Value offset);

private:
  mlir::ImplicitLocOpBuilder &b;
  mlir::Value flatImage, zeros;
  int64_t length;
};

/// What is computed of a convolution's one row, in the kernel of a chain. Of the image of a
/// depthwise one there may be just the rows that its window reaches, without borders: where in it
/// they begin, in elements.
void emitRowOfBlocks(mlir::ImplicitLocOpBuilder &b, const Convolution &convolution,
                     const Registers &registers);
void emitRowOfDepthwise(mlir::ImplicitLocOpBuilder &b, const Convolution &convolution,
                        const Registers &registers, llvm::ArrayRef<mlir::Value> windowRows);

/// The kinds of kernels. Each makes one scf.forall.
void emitBlocks(mlir::ImplicitLocOpBuilder &b, const Convolution &convolution,
                const Registers &registers);
void emitPhases(mlir::ImplicitLocOpBuilder &b, const Convolution &convolution,
                const Registers &registers);
void emitDepthwise(mlir::ImplicitLocOpBuilder &b, const Convolution &convolution,
                   const Registers &registers);

} // namespace gantry
