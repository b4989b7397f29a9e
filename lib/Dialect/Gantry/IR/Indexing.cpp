// Where ops have their indices, and the dimensions that those go into.

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Support/ElementType.h"

using namespace mlir;
using namespace gantry;

using Sizes = SmallVector<int64_t>;

/// As many dimensions as tuples have components, from `first` on.
static Sizes addressedBy(Value indices, Value input, int64_t first) {
  return Sizes(shapeOf(input).slice(first, shapeOf(indices).back()));
}

unsigned GatherOp::getIndexOperand() { return 1; }
Sizes GatherOp::getIndexedSizes() { return {shapeOf(getInput())[getAxis()]}; }

unsigned GatherElementsOp::getIndexOperand() { return 1; }
Sizes GatherElementsOp::getIndexedSizes() { return {shapeOf(getInput())[getAxis()]}; }

unsigned GatherNdOp::getIndexOperand() { return 1; }
Sizes GatherNdOp::getIndexedSizes() {
  return addressedBy(getIndices(), getInput(), getBatchDims());
}

unsigned ScatterElementsOp::getIndexOperand() { return 1; }
Sizes ScatterElementsOp::getIndexedSizes() { return {shapeOf(getInput())[getAxis()]}; }

unsigned ScatterNdOp::getIndexOperand() { return 1; }
Sizes ScatterNdOp::getIndexedSizes() { return addressedBy(getIndices(), getInput(), 0); }

unsigned SetSliceOp::getIndexOperand() { return 2; }
Sizes SetSliceOp::getIndexedSizes() { return {shapeOf(getInput())[getAxis()]}; }

unsigned OneHotOp::getIndexOperand() { return 0; }
Sizes OneHotOp::getIndexedSizes() { return {int64_t(getDepth())}; }

LogicalResult AssertIndicesOp::verify() {
  auto type = getFirst().getType();
  if (type.getShape() != ArrayRef<int64_t>{2} || !type.getElementType().isInteger(64))
    return emitOpError() << "reads a tensor<2xi64>, got " << type;
  if (getSizes().empty() || llvm::is_contained(getShape(), 0))
    return emitOpError("needs at least one size, and indices to be about");
  // They are only told, so that no type has checked them.
  if (!tensorByteSize(ElementType::i64, getShape()))
    return emitOpError() << "tells of indices of the shape [" << getShape()
                         << "], which no tensor has";
  if (llvm::any_of(getSizes(), [](int64_t size) { return size < 0; }))
    return emitOpError() << "tells of the sizes [" << getSizes() << "], which no tensor has";
  return success();
}
