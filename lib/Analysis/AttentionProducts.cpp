#include "gantry/Analysis/AttentionProducts.h"

#include "gantry/Dialect/Gantry/IR/Accumulators.h"

using namespace mlir;
using namespace gantry;

static bool isElementwise(Operation *op) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  return kernel && kernel.getFusionKind() == FusionKind::Elementwise;
}

/// The value elsewhere that copies bring; attention may be spread over devices.
static Value skipCopies(Value value) {
  while (auto copy = value.getDefiningOp<CopyOp>())
    value = copy.getInput();
  return value;
}

/// The left operand before copies, and before it was rounded for the product (--math).
static Value leftOf(MatmulOp product) {
  Value left = skipCopies(product.getLhs());
  if (auto cast = left.getDefiningOp<CastOp>(); cast && givesAccumulators(product))
    left = skipCopies(cast.getInput());
  return left;
}

/// Adds the products whose elements `scores` is computed from, each from the one at its place.
static void addProductsOf(Value scores, llvm::SetVector<MatmulOp> &products) {
  llvm::SetVector<Value> open;
  open.insert(scores);
  for (size_t i = 0; i < open.size(); ++i) {
    Operation *op = open[i].getDefiningOp();
    if (auto matmul = dyn_cast_or_null<MatmulOp>(op))
      products.insert(matmul);
    else if (auto copy = dyn_cast_or_null<CopyOp>(op))
      open.insert(copy.getInput());
    else if (op && isElementwise(op))
      for (Value operand : op->getOperands())
        if (operand.getType() == open[i].getType())
          open.insert(operand);
  }
}

llvm::SetVector<MatmulOp> gantry::productsOfAttention(func::FuncOp func) {
  llvm::SetVector<MatmulOp> products;
  func.walk([&](MatmulOp second) {
    auto softmax = leftOf(second).getDefiningOp<SoftmaxOp>();
    if (!softmax)
      return;
    addProductsOf(softmax.getInput(), products);
    products.insert(second);
  });
  return products;
}
