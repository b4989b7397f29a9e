// Keeps a weight once that a model has plain and transposed.
//
// Exporters fold the transposition of a tied weight (the embedding that is the last product's
// matrix, too) into a constant of its own. Of the two, the one that is only gathered from gives
// way: a gather reads few of its rows, and these are columns of the other. Products keep theirs as
// it is, so that no sum changes its order.

#include "gantry/Dialect/Gantry/IR/Elements.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Gantry/IR/Requests.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <numeric>

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_TIECONSTANTSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// The bytes of a matrix; empty for what is no matrix, or has no bytes of whole elements.
static ArrayRef<char> bytesOf(ConstantOp constant) {
  auto type = constant.getType();
  if (type.getRank() != 2 || type.getElementTypeBitWidth() % 8 != 0)
    return {};
  ArrayRef<char> bytes = storedBytes(constant.getValue());
  bool isWhole = bytes.size() == size_t(type.getNumElements() * type.getElementTypeBitWidth() / 8);
  return isWhole ? bytes : ArrayRef<char>();
}

/// A use by a gather along the rows, which can read columns of the transposed matrix instead.
static bool isGatheredFrom(OpOperand &use) {
  auto gather = dyn_cast<GatherOp>(use.getOwner());
  return gather && use.getOperandNumber() == 0 && gather.getAxis() == 0;
}

/// Whether `b` is `a` transposed. A few elements first: most pairs differ in those.
static bool areTransposed(ConstantOp a, ConstantOp b) {
  ArrayRef<char> left = bytesOf(a), right = bytesOf(b);
  int64_t rows = a.getType().getDimSize(0), columns = a.getType().getDimSize(1);
  int64_t width = a.getType().getElementTypeBitWidth() / 8;
  auto isEqual = [&](int64_t row, int64_t column) {
    return std::equal(left.data() + (row * columns + column) * width,
                      left.data() + (row * columns + column + 1) * width,
                      right.data() + (column * rows + row) * width);
  };
  constexpr int64_t tried = 64;
  for (int64_t i = 0; i < tried; ++i)
    if (!isEqual(i * 7919 % rows, i * 6007 % columns))
      return false;
  // In blocks, so that both are read along lines of the cache.
  constexpr int64_t block = 16;
  for (int64_t row = 0; row < rows; row += block)
    for (int64_t column = 0; column < columns; column += block)
      for (int64_t r = row; r < std::min(rows, row + block); ++r)
        for (int64_t c = column; c < std::min(columns, column + block); ++c)
          if (!isEqual(r, c))
            return false;
  return true;
}

/// transpose(gather(other, columns))
static void gatherFrom(ConstantOp other, GatherOp gather) {
  OpBuilder b(gather);
  auto type = cast<RankedTensorType>(gather.getType());
  SmallVector<int64_t> shape(type.getShape()), permutation(type.getRank());
  std::rotate(shape.begin(), shape.end() - 1, shape.end());
  std::iota(permutation.begin(), permutation.end(), 1);
  permutation.back() = 0;
  auto columns =
      GatherOp::create(b, gather.getLoc(), type.clone(shape), other, gather.getIndices(), 1);
  auto rows =
      TransposeOp::create(b, gather.getLoc(), type, columns, b.getDenseI64ArrayAttr(permutation));
  for (Operation *op : {columns.getOperation(), rows.getOperation()})
    for (NamedAttribute asked : gather->getDiscardableAttrs())
      op->setAttr(asked.getName(), asked.getValue());
  gather.replaceAllUsesWith(rows.getResult());
  gather.erase();
}

namespace {
struct TieConstants : gantry::impl::TieConstantsPassBase<TieConstants> {
  using TieConstantsPassBase::TieConstantsPassBase;

  void runOnOperation() override {
    SmallVector<ConstantOp> large;
    getOperation().walk([&](ConstantOp constant) {
      if (int64_t(bytesOf(constant).size()) >= least)
        large.push_back(constant);
    });
    SmallVector<bool> gone(large.size());
    for (auto [i, constant] : llvm::enumerate(large)) {
      if (constant->use_empty() || !llvm::all_of(constant->getUses(), isGatheredFrom))
        continue;
      for (auto [j, other] : llvm::enumerate(large))
        if (i != j && !gone[j] && mayStandFor(constant, other)) {
          for (Operation *user : llvm::make_early_inc_range(constant->getUsers()))
            gatherFrom(other, cast<GatherOp>(user));
          gone[i] = true;
          break;
        }
    }
    for (auto [constant, isGone] : llvm::zip(large, gone))
      if (isGone)
        constant.erase();
  }

  /// What is asked of the two must be the same (spec P1).
  static bool mayStandFor(ConstantOp constant, ConstantOp other) {
    auto type = constant.getType(), otherType = other.getType();
    return type.getElementType() == otherType.getElementType() &&
           type.getDimSize(0) == otherType.getDimSize(1) &&
           type.getDimSize(1) == otherType.getDimSize(0) &&
           getRequest(constant) == getRequest(other) && areTransposed(constant, other);
  }
};
} // namespace
