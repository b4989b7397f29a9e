// What follows a convolution in its kernel, on the sums in registers.

#include "Convolution.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace gantry;

static bool isFlat(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getLayout().isIdentity();
}

Epilogue::Epilogue(ImplicitLocOpBuilder &b, const Convolution &convolution)
    : b(b), convolution(convolution), flatResult(flatten(b, convolution.result)) {
  linalg::GenericOp op = convolution.epilogue;
  if (!op)
    return;
  for (OpOperand *input : op.getDpsInputOperands()) {
    bool alike = op.getMatchingIndexingMap(input).isIdentity() && isFlat(input->get()) &&
                 input->get() != convolution.accumulators;
    flatInputs.push_back(alike ? flatten(b, input->get()) : Value());
  }
}

/// Where the channel of a pixel is, by the number of that.
static Value placeOf(ImplicitLocOpBuilder &b, const Convolution &convolution, Value pixel,
                     Value column, Lanes lanes) {
  IndexBuilder index{b};
  return index.add(index.add(index.mul(pixel, convolution.form.outputs), column), lanes.first);
}

void Epilogue::store(Value sum, const Pixel &pixel, Value column, Lanes lanes) {
  Value value = convolution.epilogue ? compute(sum, pixel, column, lanes) : sum;
  storeLanes(b, value, flatResult, placeOf(b, convolution, pixel.stored, column, lanes),
             lanes.live);
}

Value Epilogue::operand(unsigned input, const Pixel &pixel, Value column, Lanes lanes) {
  linalg::GenericOp op = convolution.epilogue;
  if (flatInputs[input])
    return loadLanes(b, flatInputs[input], placeOf(b, convolution, pixel.number, column, lanes),
                     lanes.live);
  OpOperand *operand = op.getDpsInputOperand(input);
  AffineMap map = op.getMatchingIndexingMap(operand);
  unsigned channel = op.getNumLoops() - 1;
  SmallVector<Value> at;
  for (AffineExpr expr : map.getResults()) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      at.push_back(IndexBuilder{b}.constant(constant.getValue()));
      continue;
    }
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    at.push_back(dim == channel ? IndexBuilder{b}.add(column, lanes.first) : pixel.at[dim]);
  }
  if (map.isFunctionOfDim(channel))
    return loadLanes(b, operand->get(), at, lanes.live);
  Value scalar = memref::LoadOp::create(b, operand->get(), at);
  auto type = VectorType::get({widthOf(lanes.live)}, scalar.getType());
  return vector::BroadcastOp::create(b, type, scalar);
}

Value Epilogue::compute(Value sum, const Pixel &pixel, Value column, Lanes lanes) {
  linalg::GenericOp op = convolution.epilogue;
  int64_t width = cast<VectorType>(sum.getType()).getDimSize(0);
  auto widen = [&](Type type) { return VectorType::get({width}, type); };
  IRMapping mapping;
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    bool isSum = input->get() == convolution.accumulators;
    if (!argument.use_empty())
      mapping.map(argument, isSum ? sum : operand(input->getOperandNumber(), pixel, column, lanes));
  }
  auto captured = [&](Value value) {
    if (!mapping.contains(value))
      mapping.map(value, vector::BroadcastOp::create(b, widen(value.getType()), value).getResult());
  };
  // In place the sum is what the result held.
  BlockArgument held = op.getRegionOutputArgs()[0];
  if (!held.use_empty())
    mapping.map(held, sum);
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(inner)) {
      auto splat = DenseElementsAttr::get(widen(constant.getType()), constant.getValue());
      mapping.map(constant.getResult(), arith::ConstantOp::create(b, splat).getResult());
      continue;
    }
    for (Value operand : inner.getOperands())
      captured(operand);
    Operation *copy = b.clone(inner, mapping);
    copy->getResult(0).setType(widen(inner.getResult(0).getType()));
  }
  Value yielded = op.getBody()->getTerminator()->getOperand(0);
  captured(yielded);
  return mapping.lookup(yielded);
}
