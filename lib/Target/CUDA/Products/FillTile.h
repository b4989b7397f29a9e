// Reads a part of one side of a product into shared memory: `extent` rows (or columns) by `depth`
// terms, all threads of a block together, in an order in which threads of a warp read neighbours
// in memory and write to different banks.
//
// What lies in memory as a sum of its loops (Places.h) is read from there: where rows are is found
// out once, where a round's terms are once for the round, and a border is asked for once for all
// that a thread reads of a row. All else is asked of `Elements`, one by one.
//
// Reading and writing are apart, so that the next part is on its way while sums are added up.
#pragma once

#include "Places.h"
#include "Threads/Kernel.h"

namespace gantry::gpu {

/// Lines without space between them, whose pieces of 16 bytes have other places in each, so that
/// lanes which read the same piece of several lines want different banks: the piece at `column` of
/// `line` is at column ^ ((line / lines * step) & mask) * piece.
struct Swizzle {
  int64_t piece, lines, step, mask;

  /// For lines of so many bytes, a power of two. With `step` 2, lanes read two pieces of a line.
  static Swizzle of(int64_t lineBytes, int64_t elementBytes, int64_t step);
  /// What is to be combined with columns of a line.
  Value of(mlir::ImplicitLocOpBuilder &b, Value line) const;
};

/// A tile in shared memory: lines of K for each row, or of rows for each term.
struct TileMemory {
  Value memory; ///< one-dimensional, for all stages
  int64_t extent, depth;
  bool linesOfK;
  int64_t stride; ///< from line to line, in elements
  int64_t stages;
  std::optional<Swizzle> swizzle;

  int64_t lines() const { return linesOfK ? extent : depth; }
  int64_t stageSize() const { return lines() * stride; }
};

/// Whether a side is read from memory in pieces that may be copied as they are: `factor` is its
/// element itself, and what is outside of an image is zero.
bool mayBeCopied(const Product &product, const Side &side, Value factor,
                 llvm::ArrayRef<unsigned> loops);

/// As many values as `memory` wants are computed for `values`.
class FillTile {
public:
  /// `factor` is what of the body of the product's op is kept of each element; `loops` are the
  /// product's rows or its columns, whichever the side has.
  FillTile(KernelEmitter &kernel, const Product &product, const Side &side, Value factor,
           llvm::ArrayRef<unsigned> loops, int64_t extent, int64_t depth);

  /// From now on it is `copy` that brings the tile, where `mayBeCopied`.
  void useCopies();
  /// Asks for copies of the `depth` terms from `atK` on to a stage that begins at `offset`, which
  /// arrive later (AsyncCopy.h).
  void copy(Value atK, const TileMemory &to, Value offset);

  /// What of each element is kept instead of it; of the same type.
  std::function<Value(Value)> round;

  /// Whether what is read at once are terms, not rows.
  bool readsAlongK() const { return alongK; }
  /// Of what is kept.
  mlir::Type type() const { return factor.getType(); }

  /// From now on it is the tile that begins with row `first`, at these indices of the batch.
  void moveTo(ValueRange batch, Value first);

  /// What this thread reads of the `depth` terms from `atK` on, if `condition` holds (it may be
  /// null); else anything.
  llvm::SmallVector<Value> load(Value atK, Value condition);

  /// Writes what `load` gave into a stage that begins at `offset`.
  void store(llvm::ArrayRef<Value> loaded, const TileMemory &to, Value offset);

  /// Neighbours in lines of that kind that a thread writes at once.
  int64_t valuesOfStore(bool linesOfK) const { return linesOfK == alongK ? values : 1; }

  /// How often a warp goes over the banks to write a tile's part of its own, into lines of that
  /// stride.
  int64_t passesToStore(bool linesOfK, int64_t stride) const;

private:
  /// Where in the tile a thread reads.
  struct Place {
    Value row, k;
  };
  /// A part of its number: (thread / divisor % modulus) * weight, of the row or of the term.
  struct Digit {
    int64_t divisor, modulus, weight;
    bool isOfK;
  };
  llvm::SmallVector<Digit, 4> digits() const;
  /// What the `turn`-th time adds to the first one.
  int64_t offsetOf(int64_t turn, bool ofK) const;
  /// For the `turn`-th time.
  Place placeOf(int64_t turn);
  int64_t pieces() const { return extent * depth / values; }
  int64_t turns() const;
  bool isForAll() const { return pieces() >= launch.threads(); }
  Value rowAt(int64_t offset);
  Value placeK(Value atK, int64_t offset, Value &isInK);
  int64_t bytesOfElement() const;

  void chooseComputed();
  void chooseRead();

  /// Runs `read` where the condition, which may be null, holds; elsewhere so many pieces are what
  /// `otherwise` gives for one.
  llvm::SmallVector<Value> where(Value condition, size_t pieces,
                                 llvm::function_ref<llvm::SmallVector<Value>()> read,
                                 llvm::function_ref<Value(mlir::Type)> otherwise);

  // What is computed.
  Value compute(int64_t turn, Value atK);
  llvm::SmallVector<Value> computeAll(Value atK);

  // What is read.
  bool isEven() const;
  void makeTable();
  Spot spotInTable(Value atK);
  Spot spotOf(const Walk &walk, Value index);
  Spot spotOfRow(int64_t offset);
  Value factorOf(Value element);
  llvm::SmallVector<Value> readPiece(Value address);
  /// Where pieces of one row are, and whether there are such; null for yes.
  struct Reach {
    Spot spot;
    Value isInK, isInside;
  };
  Reach reachOf(const Spot &row, llvm::ArrayRef<int64_t> turns, Value atK);
  /// From there, in elements.
  int64_t distanceOf(int64_t turn) const;
  /// Turns whose pieces have one place to begin at, by the offset of their row.
  using Groups = llvm::MapVector<std::pair<int64_t, int64_t>, llvm::SmallVector<int64_t>>;
  Groups groupsOfTurns() const;
  llvm::SmallVector<Value> readRow(const Spot &row, llvm::ArrayRef<int64_t> turns, Value atK);
  llvm::SmallVector<Value> readAll(Value atK);

  KernelEmitter &kernel;
  Launch &launch;
  const Product &product;
  const Side &side;
  Value factor;
  llvm::SmallVector<unsigned> loops;
  int64_t extent, depth;
  /// What a piece of `values` elements is made of, and whether neighbours among threads have
  /// neighbours among rows.
  bool alongK = false, lanesAlongRows = true;
  int64_t values = 1;
  bool copies = false; ///< pieces go to shared memory by themselves

  std::optional<Places> places; ///< nothing for what is computed
  std::optional<Walk> rowWalk, walkOfK;

  llvm::SmallVector<Value> batch;
  Value first;
  Value threadRow, threadK;                     ///< of this thread's first piece
  llvm::SmallMapVector<int64_t, Spot, 4> spots; ///< of its rows, by their offset
  Value table;                                  ///< of where terms are, null for none
  Value memory;                                 ///< of the argument, in one line
};

} // namespace gantry::gpu
