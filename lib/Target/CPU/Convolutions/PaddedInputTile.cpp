#include "PaddedInputTile.h"

#include "Panels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gantry;

PaddedInputTile::PaddedInputTile(ImplicitLocOpBuilder &b, const Convolution &convolution)
    : b(b), convolution(convolution), index{b},
      image(flattenFactors(b, convolution, convolution.image)) {
  int64_t pixels = convolution.form.batch;
  for (unsigned d = 0; d < convolution.form.spatial(); ++d)
    pixels *= convolution.imageSize(d);
  elementsOfPixel = cast<MemRefType>(image.getType()).getDimSize(0) / pixels;
}

int64_t PaddedInputTile::size(unsigned dim) const {
  const PackedConvolution &form = convolution.form;
  return (form.out[dim] - 1) * form.strides[dim] + (form.window[dim] - 1) * form.dilations[dim] + 1;
}

int64_t PaddedInputTile::pixelsOfSlice() const {
  int64_t count = 1;
  for (unsigned d = 1; d < convolution.form.spatial(); ++d)
    count *= size(d);
  return count;
}

PaddedInputTile::PixelRange PaddedInputTile::slicesOf(PixelRange pixels) const {
  const PackedConvolution &form = convolution.form;
  const int64_t ofImage = convolution.pixels() / form.batch, ofRow = ofImage / form.out[0];
  auto start = [&](int64_t pixel) {
    return pixel / ofImage * size(0) + pixel % ofImage / ofRow * form.strides[0];
  };
  return {start(pixels.first),
          start(pixels.second - 1) + (form.window[0] - 1) * form.dilations[0] + 1};
}

bool PaddedInputTile::make(int64_t items, int64_t parts, int64_t bands,
                           function_ref<PixelRange(int64_t)> pixelsOf) {
  // What buffers on the stack may take together, but for other small ones.
  constexpr int64_t mostBytes = 112 << 10;
  // Elements that are copied while a pixel's place in the window is looked up.
  constexpr int64_t copiesOfPlace = 8;
  int64_t most = 0, copied = 0;
  for (int64_t i = 0; i < items; ++i) {
    PixelRange slices = slicesOf(pixelsOf(i));
    most = std::max(most, slices.second - slices.first);
    copied += slices.second - slices.first;
  }
  const int64_t ofSlice = pixelsOfSlice() * elementsOfPixel;
  Type element = cast<MemRefType>(image.getType()).getElementType();
  const int64_t places = convolution.pixels() * convolution.sizeK() / convolution.form.inner();
  if (most * ofSlice * int64_t(element.getIntOrFloatBitWidth() / 8) > mostBytes ||
      copied * ofSlice * parts > places * bands * copiesOfPlace)
    return false;
  OpBuilder::InsertionGuard guard(b);
  auto function = convolution.op->getParentOfType<func::FuncOp>();
  b.setInsertionPointToStart(&function.getBody().front());
  buffer = memref::AllocaOp::create(b, MemRefType::get({most * ofSlice}, element),
                                    b.getI64IntegerAttr(64));
  return true;
}

Value PaddedInputTile::firstSliceOf(Value pixel) const {
  Pixel place = pixelAt(convolution, index, pixel);
  return index.add(index.mul(place.at[0], size(0)),
                   index.mul(place.at[1], convolution.form.strides[0]));
}

void PaddedInputTile::fill(Value from, Value to) {
  const PackedConvolution &form = convolution.form;
  first = firstSliceOf(from);
  const int64_t reach = (form.window[0] - 1) * form.dilations[0] + 1;
  Value end = index.add(firstSliceOf(index.add(to, -1)), reach);
  const int64_t low = convolution.low[0], ofSlice = pixelsOfSlice() * elementsOfPixel;
  LoopBuilder(b).loop(first, end, 1, [&](Value slice) {
    Value at = index.add(index.rem(slice, size(0)), -low);
    Value target = index.mul(b.createOrFold<arith::SubIOp>(slice, first), ofSlice);
    auto inside =
        scf::IfOp::create(b, index.less(at, convolution.imageSize(0)), /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(inside.thenBlock());
    Value row = index.add(index.mul(index.div(slice, size(0)), convolution.imageSize(0)), at);
    fillDim(1, row, target);
    b.setInsertionPointToStart(inside.elseBlock());
    clearRun(target, ofSlice);
  });
}

/// All that lies at `imageRow`, the image's number of a place in the dimensions before `dim`.
void PaddedInputTile::fillDim(unsigned dim, Value imageRow, Value to) {
  if (dim == convolution.form.spatial())
    return copyRun(index.mul(imageRow, elementsOfPixel), to, elementsOfPixel);
  int64_t length = elementsOfPixel;
  for (unsigned d = dim + 1; d < convolution.form.spatial(); ++d)
    length *= size(d);
  const int64_t low = std::min(convolution.low[dim], size(dim));
  const int64_t copied = std::min(convolution.imageSize(dim), size(dim) - low);
  Value start = index.mul(imageRow, convolution.imageSize(dim));
  clearRun(to, low * length);
  if (dim + 1 == convolution.form.spatial())
    copyRun(index.mul(start, elementsOfPixel), index.add(to, low * length), copied * length);
  else
    LoopBuilder(b).loop(0, copied, 1, [&](Value at) {
      fillDim(dim + 1, index.add(start, at), index.add(to, index.mul(index.add(at, low), length)));
    });
  clearRun(index.add(to, (low + copied) * length), (size(dim) - low - copied) * length);
}

void PaddedInputTile::forLanes(int64_t length, function_ref<void(Value, int64_t)> body) {
  const int64_t whole = length / kPanelLanes * kPanelLanes;
  if (whole)
    LoopBuilder(b).loop(0, whole, kPanelLanes, [&](Value at) { body(at, kPanelLanes); });
  if (whole < length)
    body(index.constant(whole), length - whole);
}

void PaddedInputTile::clearRun(Value to, int64_t length) {
  forLanes(length, [&](Value at, int64_t live) {
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    auto type = VectorType::get({widthOf(live)}, element);
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
    storeLanes(b, zero, buffer, index.add(to, at), live);
  });
}

void PaddedInputTile::copyRun(Value from, Value to, int64_t length) {
  forLanes(length, [&](Value at, int64_t live) {
    storeLanes(b, loadLanes(b, image, index.add(from, at), live), buffer, index.add(to, at), live);
  });
}
