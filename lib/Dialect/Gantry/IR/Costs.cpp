// What ops cost, and how dimensions of elementwise ops correspond: the bodies of the interfaces.

#include "gantry/Dialect/Gantry/IR/Borders.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Gantry/IR/Layout.h"
#include "gantry/Support/Capped.h"

using namespace mlir;
using namespace gantry;

static RankedTensorType tensorOf(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

static uint64_t countElements(Value value) {
  auto type = tensorOf(value);
  return type && type.hasStaticShape() ? type.getNumElements() : 0;
}

uint64_t gantry::getByteSize(RankedTensorType type) {
  unsigned width = type.getElementTypeBitWidth();
  return uint64_t(type.getNumElements()) * (width == 1 ? 1 : width / 8);
}

/// One operation per element touched: right for elementwise ops and reductions, zero for movement.
uint64_t gantry::detail::defaultFlops(Operation *op) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  if (!kernel || kernel.getFusionKind() == FusionKind::Movement ||
      kernel.getFusionKind() == FusionKind::View || kernel.getFusionKind() == FusionKind::Indexing)
    return 0;
  uint64_t elements = 0;
  for (Value v : op->getResults())
    elements = std::max(elements, countElements(v));
  for (Value v : op->getOperands())
    elements = std::max(elements, countElements(v));
  return elements;
}

static uint64_t countBytes(Value value) {
  auto type = tensorOf(value);
  return type && type.hasStaticShape() ? getByteSize(type) : 0;
}

/// Every operand and result once; of what is cut out, or read at computed indices, as much as comes
/// out.
uint64_t gantry::detail::defaultBytes(Operation *op) {
  uint64_t results = 0, operands = 0;
  for (Value result : op->getResults())
    results = cappedSum(results, countBytes(result));
  auto kernel = dyn_cast<KernelOpInterface>(op);
  const FusionKind kind = kernel ? kernel.getFusionKind() : FusionKind::Opaque;
  for (OpOperand &operand : op->getOpOperands()) {
    const bool isPart = kind == FusionKind::Movement ||
                        (kind == FusionKind::Indexing && operand.getOperandNumber() == 0);
    const uint64_t bytes = countBytes(operand.get());
    operands = cappedSum(operands, isPart ? std::min(bytes, results) : bytes);
  }
  return cappedSum(operands, results);
}

/// In place: the rest of the input stays where it is.
uint64_t SetSliceOp::getBytes() { return 2 * countBytes(getUpdate()) + countBytes(getIndex()); }

SmallVector<int64_t> gantry::detail::broadcastDims(Operation *op, unsigned operand) {
  auto result = tensorOf(op->getResult(0)), type = tensorOf(op->getOperand(operand));
  SmallVector<int64_t> dims(result.getRank(), -1);
  int64_t skip = result.getRank() - type.getRank();
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (type.getDimSize(i) == result.getDimSize(skip + i))
      dims[skip + i] = i;
  return dims;
}

bool DimensionMapOpInterface::readsInPlace(unsigned operand) {
  SmallVector<int64_t> dims = getOperandDims(operand);
  auto type = tensorOf((*this)->getOperand(operand));
  return size_t(type.getRank()) == dims.size() && llvm::all_of(llvm::enumerate(dims), [](auto dim) {
           return dim.value() == int64_t(dim.index());
         });
}

bool gantry::isElementwiseUse(OpOperand &use) {
  auto kernel = dyn_cast<KernelOpInterface>(use.getOwner());
  auto map = dyn_cast<DimensionMapOpInterface>(use.getOwner());
  return kernel && map && kernel.getFusionKind() == FusionKind::Elementwise &&
         map.readsInPlace(use.getOperandNumber());
}

/// Statistics, scale and bias are one number a channel.
SmallVector<int64_t> BatchNormOp::getOperandDims(unsigned operand) {
  if (operand == 0)
    return gantry::detail::broadcastDims(*this, operand);
  SmallVector<int64_t> dims(getType().getRank(), -1);
  dims[isNHWC(*this) ? dims.size() - 1 : 1] = 0;
  return dims;
}

uint64_t MatmulOp::getFlops() {
  auto a = getLhs().getType();
  uint64_t k = a.getDimSize(a.getRank() - (getTransposeA() ? 2 : 1));
  return cappedProduct({2, countElements(getResult()), k});
}

/// Places of windows in the image, of all pixels: without those of a border that is left out.
static uint64_t placesInside(ConvOp op) {
  const auto image = op.getInput().getType(), result = op.getType();
  uint64_t count = 1;
  for (int64_t d = 0; d + 2 < result.getRank(); ++d)
    count =
        cappedProduct({count, uint64_t(countTapsInside(result.getDimSize(d + 1), op.getStrides()[d],
                                                       op.getPadsLow()[d], image.getDimSize(d + 1),
                                                       op.getFilter().getType().getDimSize(d + 1),
                                                       op.getDilations()[d]))});
  return count;
}

uint64_t ConvOp::getFlops() {
  // These have their channels last.
  if (skipsBorder(*this)) {
    const auto image = getInput().getType(), result = getType();
    const uint64_t inner = image.getShape().back() / getGroups();
    return cappedProduct({2, placesInside(*this), uint64_t(result.getDimSize(0)),
                          uint64_t(result.getShape().back()), inner});
  }
  auto w = getFilter().getType();
  int64_t columns = w.getRank() - (packingFactorOfChannels(w.getElementType()) > 1 ? 2 : 1);
  int64_t outer = w.getDimSize(0) * (isNHWC(*this) ? w.getDimSize(columns) : 1);
  uint64_t perOutput = outer ? w.getNumElements() / outer : 0;
  return cappedProduct({2, countElements(getResult()), perOutput});
}

uint64_t ConvTransposeOp::getFlops() {
  auto w = getFilter().getType();
  const int64_t channels = w.getDimSize(isNHWC(*this) ? w.getRank() - 2 : 0);
  uint64_t perInput = channels ? w.getNumElements() / channels : 0;
  return cappedProduct({2, countElements(getInput()), perInput});
}

static uint64_t windowFlops(Value result, ArrayRef<int64_t> window) {
  uint64_t flops = countElements(result);
  for (int64_t w : window)
    flops = cappedProduct({flops, uint64_t(w)});
  return flops;
}
uint64_t MaxPoolOp::getFlops() { return windowFlops(getResult(), getWindow()); }
uint64_t AvgPoolOp::getFlops() { return windowFlops(getResult(), getWindow()); }
uint64_t LpPoolOp::getFlops() { return windowFlops(getResult(), getWindow()); }

uint64_t MaxPoolIndexOp::getFlops() { return windowFlops(getResult(), getWindow()); }
/// Each element asks each window that it may be in.
uint64_t PoolSpreadOp::getFlops() { return windowFlops(getResult(), getWindow()); }

/// Each element of the filter is multiplied for each place of the result.
uint64_t ConvFilterGradOp::getFlops() {
  auto d = getCotangent().getType();
  uint64_t outer = d.getDimSize(1) ? d.getNumElements() / d.getDimSize(1) : 0;
  return cappedProduct({2, countElements(getResult()), outer});
}

uint64_t AttentionOp::getFlops() {
  auto k = getKey().getType();
  uint64_t length = k.getDimSize(k.getRank() - 2);
  return cappedProduct({2, length, countElements(getQuery()) + countElements(getResult())});
}
