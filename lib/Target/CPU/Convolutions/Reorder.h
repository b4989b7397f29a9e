// Values in another order of their dimensions: of constants here and now, of others by an op.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace gantry {

/// The permutations of [n, c, rest...] to [n, rest..., c] and back.
llvm::SmallVector<int64_t> toChannelsLast(int64_t rank);
llvm::SmallVector<int64_t> toChannelsFirst(int64_t rank);

/// The dimensions `permutation` names, in its order.
llvm::SmallVector<int64_t> permuted(llvm::ArrayRef<int64_t> values,
                                    llvm::ArrayRef<int64_t> permutation);

/// Whether a permutation leaves the elements of that shape where they are.
bool movesNothing(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> permutation);

/// The bytes of a constant's elements, of one that stands for all of them where they are equal;
/// none where they are not at hand.
llvm::ArrayRef<char> bytesOf(mlir::ElementsAttr value);

/// Makes values in another order. What it makes is where `like` is, and has its name with `suffix`.
class Reorder {
public:
  explicit Reorder(mlir::OpBuilder &builder) : builder(builder) {}

  mlir::Value reshape(mlir::Operation *like, mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value permute(mlir::Operation *like, mlir::Value value, llvm::ArrayRef<int64_t> permutation,
                      llvm::StringRef suffix);
  /// Zeros behind the elements along `dim` until there are `size`.
  mlir::Value fill(mlir::Operation *like, mlir::Value value, int64_t dim, int64_t size);
  /// [o, c, window...] as [o / panel, window..., c, panel], of bytes as [..., c / 4, panel, 4].
  mlir::Value packFilter(mlir::Operation *like, mlir::Value filter, int64_t panel);

private:
  /// One for every value and form, since a weight may have several users.
  using Known = llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, mlir::Value>;

  mlir::Value constantLike(mlir::Value old, mlir::Attribute key,
                           llvm::function_ref<mlir::ElementsAttr()> make);

  mlir::OpBuilder &builder;
  Known known;
};

} // namespace gantry
