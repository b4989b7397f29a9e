// A GEMM as panels, tiles and items: everything that its code follows from, and that the shape
// alone decides, and whether the processor multiplies matrices.
//
// The columns are cut into panels, the rows into tiles of two sizes that differ by one, so that no
// tile is much smaller than the others whatever the number of rows. K comes in blocks, so that
// the part of a panel that is in use stays in the cache. A work item is one panel and a chunk of
// the tiles; items that follow each other read panels that do.
#pragma once

#include "BlockQuantizedMicrokernel.h"
#include "Machine.h"
#include "Microkernel.h"
#include "gantry/Analysis/PanelLayout.h"
#include "gantry/Dialect/Gantry/IR/BlockQuantized.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Linalg/Product.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gantry::cpu {

/// The width of panels for so many columns.
int64_t panelWidth(int64_t columns);

/// The layout of a constant that is the second operand of a product, or null.
mlir::Attribute layoutOfConstant(KernelOp kernel, unsigned argument);

/// The same of an operand that is computed, where its product would pack it.
mlir::Attribute layoutOfComputed(KernelOp kernel, unsigned argument);

/// Whether a kernel that picks single elements of its argument can do so where a product wants that
/// in panels.
bool canPickFromPanels(KernelOp kernel, unsigned argument, mlir::Attribute layout);

/// Makes such kernels read panels; false when an argument in panels is read in any other way.
bool pickFromPanels(mlir::func::FuncOp func);

/// An operand that tiles read where it lies: an argument of the kernel, row by row.
struct DirectRows {
  mlir::BlockArgument argument;
  int64_t offset, rowStride;
  llvm::SmallVector<int64_t> batchSteps; ///< for each loop of the batch
};

/// Where the left operand of `product` lies in an argument, if its terms lie side by side there.
std::optional<DirectRows> findDirectRows(const Product &product, mlir::func::FuncOp func);

/// The same of the columns of the right operand.
std::optional<DirectRows> findDirectColumns(const Product &product, mlir::func::FuncOp func);

/// An operand whose rows lie side by side in an argument of the kernel, wherever its terms do.
struct DirectColumns {
  mlir::BlockArgument argument;
  int64_t offset;
  llvm::SmallVector<int64_t> termSteps, batchSteps; ///< for each loop of K, of the batch
};

/// Where the left operand of `product` lies in an argument, if it does so by columns.
std::optional<DirectColumns> findDirectColumnsOfLeft(const Product &product,
                                                     mlir::func::FuncOp func);

/// Whether the last of the terms moves less far than the last of the others does.
bool isAlongK(const Product &product, const Side &side, llvm::ArrayRef<unsigned> others);

/// Takes the factors of a product as they are before they are widened; false if not all of them are
/// bf16.
bool takeNarrowFactors(Product &product);

/// Whether all that the function computes can be asked for element by element.
bool hasElements(mlir::func::FuncOp func);

/// Whether the operand's indices are loops, each of its own: no window moves over it.
bool isPlain(mlir::linalg::GenericOp op, mlir::OpOperand *operand);

/// The second operand, packed when the plan was made.
struct PackedPanels {
  mlir::BlockArgument argument;
  PanelLayout layout;
};

/// The same of few bits an element, which tiles unpack.
struct BlockQuantizedPanels : PackedPanels {
  BlockQuantized form;
};

/// Rows cut into tiles: the first ones have `tileRows` rows, the others one less.
struct RowTiles {
  int64_t rows = 0, tileRows = 0, tiles = 0, tallTiles = 0;
  bool amx = false; ///< whether tiles are cut for AMX
  /// Whether tiles of one row less are computed with one more, the sums of which nobody reads:
  /// registers of matrices have one shape in a kernel.
  bool filled = false;

  static RowTiles of(int64_t rows, int64_t mostOfTile);
};

struct PackedGEMM : RowTiles {
  /// Of bf16, the factors of its sides are the narrow ones.
  Product product;
  OperandPrecision precision = OperandPrecision::f32;
  mlir::Value root; ///< what the kernel stores, in the shape it has there
  std::optional<DirectRows> left;
  std::optional<PackedPanels> right;
  std::optional<BlockQuantizedPanels> bits; ///< what `right` would be made of
  /// Where tiles store sums that are the result, without an argument; others go through a buffer.
  std::optional<DirectRows> out;

  int64_t batch, columns, k;
  int64_t width, panels;
  int64_t chunks; ///< of the tiles
  int64_t blockK, blocksOfK;
  /// Whether terms are nearer to each other than rows (columns) are in an operand that items pack.
  bool leftAlongK = false, rightAlongK = false;
  /// Whether items pack the left operand term by term, for all their tiles at once; where it lies
  /// if that is so in an argument.
  bool leftByColumns = false;
  std::optional<DirectColumns> leftColumns;

  int64_t leftBytes() const { return leftBytesOf(precision); }
  int64_t panelBytes() const { return panelBytesOf(precision); }
  int64_t packingFactor() const { return packingFactorOf(precision); }
  /// Terms of a packed panel, those included that fill up the last group.
  int64_t paddedK() const { return llvm::alignTo(k, packingFactor()); }
  /// Terms of a row that an item packs itself: bytes fill the last group there, too.
  int64_t ownRowK() const {
    return precision == OperandPrecision::int8 ? llvm::alignTo(blockK, packingFactor()) : blockK;
  }
  /// Whether weights of few bits are multiplied as they are unpacked, and not kept by an item.
  bool multipliesBlockQuantized() const { return bits && left && rows <= kMostBlockQuantizedRows; }
  /// The most tiles of an item.
  int64_t tilesOfItem() const { return llvm::divideCeil(tiles, chunks); }
  /// The most rows of an item.
  int64_t rowsOfItem() const { return tilesOfItem() * tileRows; }
  /// Elements from a term to the next one of a left operand that is packed by columns: cache lines
  /// whose number is odd, so that terms have sets of the cache of their own.
  int64_t ownTermStride() const;
  /// Loops of the batch that the second operand has matrices for.
  llvm::SmallVector<unsigned> matrixLoops() const;
};

/// What the function computes, if that is a product of f32 (of f16 or bf16, summed in it) and what
/// follows from it element by element, cut for processors with these registers.
std::optional<PackedGEMM> findPackedGEMM(mlir::func::FuncOp func, const Registers &registers);

} // namespace gantry::cpu
