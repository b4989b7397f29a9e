// Where the elements of one side of a product lie in memory, when that is a sum: so many elements
// for a step of each loop. That is so for arguments of the kernel, reshaped, transposed or read
// through a window, with borders or without; each element may be scaled or the like.
#pragma once

#include "Product.h"

namespace gantry::gpu {

/// Inside of the image is where 0 <= start + the sum of steps * loops < size.
struct Border {
  int64_t start = 0, size;
  llvm::SmallVector<int64_t> steps; ///< for each loop of the op
};

struct Places {
  mlir::BlockArgument argument;
  int64_t start = 0;                ///< below zero where there are borders
  llvm::SmallVector<int64_t> steps; ///< for each loop of the op
  llvm::SmallVector<Border, 2> borders;
  Value outside; ///< the scalar that is there behind a border
  /// What is made of an element of the argument, by ops of one operand, in their order.
  llvm::SmallVector<mlir::linalg::GenericOp, 1> bodies;

  /// Nothing for elements that are computed.
  static std::optional<Places> of(const Product &product, const Side &side);
};

/// Loops that are numbered together, as far as memory sees them: those that follow each other
/// evenly are one, those of one step none.
class Walk {
public:
  Walk(const Places &places, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<unsigned> loops);

  struct Loop {
    int64_t size, step;
    llvm::SmallVector<int64_t, 2> borders; ///< steps towards each border
    bool meetsBorder() const;
  };
  llvm::SmallVector<Loop, 4> loops;

  /// The fastest one, of one step if there is none.
  Loop last() const;
  /// Whether so many steps of the last loop, if one goes `along` it, and one of each other loop,
  /// are multiples of `values`.
  bool isMultipleOf(int64_t values, bool along) const;
};

/// A place in memory, and what borders ask of it; null for zero.
struct Spot {
  Value address;
  llvm::SmallVector<Value, 2> borders;

  explicit Spot(size_t borders) : borders(borders) {}
  /// Moves to where all loops begin.
  void start(mlir::ImplicitLocOpBuilder &b, const Places &places);
  /// Moves by `index` steps of the loop.
  void move(mlir::ImplicitLocOpBuilder &b, const Walk::Loop &loop, Value index);
  void add(mlir::ImplicitLocOpBuilder &b, const Spot &other);
};

} // namespace gantry::gpu
