// Sums of products, found rather than named: a matrix product, batched or not, a convolution of any
// rank, grouped, dilated or transposed, with what is computed from it element by element.
//
// A result is a product when it reads, through elementwise ops and reshapes, one reduction that
// adds up x * y, x of one operand and y of another. Floats are multiplied and added up in one
// step, which the lowering of one op allows (contract); products that an op in front of a sum
// has rounded are terms like others. The loops of that op are sorted by who uses them: *rows*
// the left operand only, *columns* the right one only, *batch* both, and *k* are summed: K, the
// reduction dimension. So the result is a matrix of rows by columns for each index of the batch,
// whatever the dimensions were, and who computes it in tiles needs no case for any op.
#pragma once

#include "gantry/Linalg/Elements.h"

#include <optional>

namespace gantry {

/// One of the two tensors that are multiplied.
struct Side {
  mlir::OpOperand *operand; ///< of the op
  mlir::Value factor;       ///< in its body: the operand's element, widened, shifted, ...
};

struct Product {
  mlir::linalg::GenericOp op;
  Side left, right;
  mlir::Operation *multiply, *add; ///< in the body
  // Loops of the op; those of one list are numbered together, the last one fastest.
  llvm::SmallVector<unsigned> batch, rows, columns, k;

  llvm::SmallVector<int64_t> sizes(llvm::ArrayRef<unsigned> loops) const;
  int64_t count(llvm::ArrayRef<unsigned> loops) const;
  /// What is multiplied and added: f32 for f16 and bf16.
  mlir::Type type() const { return multiply->getResult(0).getType(); }
};

/// The product that `result` is: what is multiplied is there already or cheap.
std::optional<Product> findProduct(mlir::Value result);

// Its parts, for who looks for something that has a product in it.

/// Whether computing an element of `tensor` is a matter of a few loads.
bool isCheap(mlir::Value tensor);
/// The only reduction that `result` reads, element by element at its own place; null if there is
/// none, or more.
mlir::linalg::GenericOp findSum(mlir::Value result);
/// The scalar that every element of `tensor` is, or null.
mlir::Value filledWith(mlir::Value tensor);
/// For each dimension of a tensor the one of its only input that it is, where the op gives the
/// elements of that in another order.
std::optional<llvm::SmallVector<unsigned>> orderOfMove(mlir::linalg::GenericOp op);
/// The tensor whose elements `tensor` has in another order, or `tensor` itself.
mlir::Value skipMoves(mlir::Value tensor);
/// Whether `term` is a product of floats that may be added up without being rounded.
bool isContractible(mlir::Value term);
/// The op as a product, whatever it multiplies.
std::optional<Product> readProduct(mlir::linalg::GenericOp op);

} // namespace gantry
