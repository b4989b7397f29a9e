// What a kernel's threads have in common, while its code is emitted: how many they are, which one
// this is, the memory that a block shares, where they wait for each other.
#pragma once

#include "Elements.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace gantry::gpu {

/// Static shared memory that every GPU has for a block, in bytes.
inline constexpr int64_t kSharedBytes = 48 * 1024;
inline constexpr int64_t kWarp = 32, kMostThreads = 256;

/// `n` threads, in whole warps, at most as many as a block has.
int64_t threadsFor(int64_t n);

class Launch {
public:
  /// Takes the tensors of `func` for memrefs and adds one for each of `results`, which are the
  /// shapes and element types of what it gives. Code goes in front of the terminator.
  Launch(mlir::func::FuncOp func, mlir::TypeRange results, int64_t threads);

  mlir::ImplicitLocOpBuilder &builder() { return b; }
  Value argument(unsigned i) { return body.getArgument(i); }
  Value result(unsigned i) { return body.getArgument(firstResult + i); }

  int64_t threads() const { return blockSize; }
  Value block();  ///< number of this block
  Value thread(); ///< number of this thread in its block
  Value global(); ///< number of this thread in the grid

  /// Asks for at least that many blocks.
  void needBlocks(int64_t blocks) { gridSize = std::max(gridSize, blocks); }
  /// For each of `count` elements a thread.
  void needThreads(int64_t count) { needBlocks((count + blockSize - 1) / blockSize); }

  /// Memory of this block's own for `count` elements: shared, or of the scratch buffer, of which
  /// each of `blocks` blocks has its part, when there is not as much.
  Value allocate(int64_t count, mlir::Type element, int64_t blocks);
  bool hasShared(int64_t bytes) const { return sharedBytes + bytes <= kSharedBytes; }

  /// How many pieces of shared memory there are.
  size_t allocated() const { return sharedPieces.size(); }
  /// Nobody needs the pieces from number `first` on any more, behind a barrier: those that are
  /// allocated now take their places, one by one.
  void release(size_t first) { nextReleased = first; }

  void barrier();

  /// Whether the result may take the place of an argument.
  bool mayOverwrite() const;

  /// Ends the function: no results, `gantry.work`, the size of the launch.
  void finish();

private:
  Value allocateShared(int64_t count, mlir::Type element);
  void describeArguments();

  mlir::func::FuncOp func;
  mlir::Block &body;
  mlir::ImplicitLocOpBuilder b;
  unsigned firstResult = 0;
  int64_t blockSize, gridSize = 1, sharedBytes = 0, scratchBytes = 0;
  Value blockId, threadId, globalId, scratch;
  llvm::SmallVector<Value> sharedPieces;
  size_t nextReleased = std::numeric_limits<size_t>::max();
};

/// The elements of a row-major memref of any shape, in one line.
Value flat(mlir::ImplicitLocOpBuilder &b, Value memref);

} // namespace gantry::gpu
