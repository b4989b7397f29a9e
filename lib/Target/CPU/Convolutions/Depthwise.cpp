// Convolutions of each channel by itself: registers run along the channels.
//
// A work item is some rows of the result. Where the whole window lies in the image, a few pixels
// side by side share what they load; elsewhere each pixel finds its places in the image or the row
// of zeros. Channels are the inner loop, so that whole pixels are read.

#include "Convolution.h"

#include "Panels.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gantry;

/// Multiply-adds of a work item, and those worth a thread.
static constexpr int64_t kItemWork = 1 << 17, kThreadWork = 1 << 15;
/// Pixels side by side.
static constexpr int64_t kTile = 6;

namespace {
/// A place of the window, one index for each dimension.
using Tap = SmallVector<int64_t, 3>;

struct Depthwise {
  ImplicitLocOpBuilder &b;
  const Convolution &convolution;
  const PackedConvolution &form;
  IndexBuilder index;
  Value image, filter; ///< flat
  Epilogue epilogue;
  Borders borders;
  SmallVector<Tap> taps; ///< in the order of the sums
  unsigned last;         ///< spatial dimension

  Depthwise(ImplicitLocOpBuilder &b, const Convolution &convolution);

  void emit();
  void emitRow(Value row);
  void emitPixel(Value row, Value column);
  void emitTile(Value row, Value column, int64_t pixels);
  void forChannels(function_ref<void(Value, Lanes)> body);

  Value isInside(const Pixel &pixel);
  Value weight(size_t tap, Value channel, Lanes lanes);
  Value zeroSum(Lanes lanes);
  /// Of the image, in pixels, where the window of a pixel begins; and from there to a tap.
  Value startOf(const Pixel &pixel);
  int64_t distance(const Tap &tap) const;
  int64_t columns() const { return form.out[last]; }
  /// The columns of a row whose windows lie in the image: from the first up to the second.
  std::pair<int64_t, int64_t> wholeColumns() const;
};
} // namespace

Depthwise::Depthwise(ImplicitLocOpBuilder &b, const Convolution &convolution)
    : b(b), convolution(convolution), form(convolution.form), index{b},
      image(flatten(b, convolution.image)), filter(flatten(b, convolution.filter)),
      epilogue(b, convolution), borders(b, convolution, image, form.channels), taps{Tap()},
      last(form.spatial() - 1) {
  for (int64_t size : form.window) {
    SmallVector<Tap> longer;
    for (const Tap &tap : taps)
      for (int64_t i = 0; i < size; ++i) {
        longer.push_back(tap);
        longer.back().push_back(i);
      }
    taps = std::move(longer);
  }
}

void Depthwise::emit() {
  int64_t rows = convolution.pixels() / columns();
  int64_t workOfRow = columns() * form.outputs * int64_t(taps.size());
  int64_t rowsOfItem = std::clamp<int64_t>(kItemWork / std::max<int64_t>(workOfRow, 1), 1, rows);
  SmallVector<OpFoldResult> bounds{b.getIndexAttr(llvm::divideCeil(rows, rowsOfItem))};
  auto items = scf::ForallOp::create(b, bounds, ValueRange(), std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(items.getBody());
  borders.clear();
  Value from = index.mul(items.getInductionVar(0), rowsOfItem), to = index.add(from, rowsOfItem);
  loop(b, from, index.min(to, index.constant(rows)), 1, [&](Value row) { emitRow(row); });
  auto func = items->getParentOfType<func::FuncOp>();
  func->setAttr(kWorkAttr, WorkAttr::of(func).withGrain(std::max<int64_t>(
                               1, kThreadWork / std::max<int64_t>(rowsOfItem * workOfRow, 1))));
}

std::pair<int64_t, int64_t> Depthwise::wholeColumns() const {
  int64_t stride = form.strides[last], low = convolution.low[last];
  int64_t span = (form.window[last] - 1) * form.dilations[last] + 1;
  int64_t first = std::min<int64_t>(llvm::divideCeil(low, stride), columns());
  int64_t room = convolution.imageSize(last) + low - span;
  int64_t end = room < 0 ? 0 : std::min(room / stride + 1, columns());
  return {first, std::max(first, end)};
}

/// Whether all places of the window but for the last dimension's are in the image; null: always.
Value Depthwise::isInside(const Pixel &pixel) {
  Value all;
  for (unsigned d = 0; d < last; ++d) {
    if (!convolution.hasBorder(d))
      continue;
    Value start = index.add(index.mul(pixel.at[d + 1], form.strides[d]), -convolution.low[d]);
    int64_t span = (form.window[d] - 1) * form.dilations[d] + 1;
    Value inside = index.less(start, std::max<int64_t>(0, convolution.imageSize(d) - span + 1));
    all = all ? Value(arith::AndIOp::create(b, all, inside)) : inside;
  }
  return all;
}

void Depthwise::emitRow(Value row) {
  auto [first, end] = wholeColumns();
  int64_t tiled = first + (end - first) / kTile * kTile;
  Pixel start = pixelAt(convolution, index, index.mul(row, columns()));
  Value inside = tiled > first ? isInside(start) : Value();
  // Rows at a border are done pixel by pixel.
  auto where = [&](int64_t column) -> Value {
    Value at = index.constant(column), none = index.constant(columns());
    return inside ? Value(arith::SelectOp::create(b, inside, at, none)) : at;
  };
  auto pixels = [&](Value from, Value to) {
    loop(b, from, to, 1, [&](Value column) { emitPixel(row, column); });
  };
  Value all = index.constant(columns());
  if (tiled == first)
    return pixels(index.constant(0), all);
  if (first > 0 || inside)
    pixels(index.constant(0), where(first));
  Value tilesEnd = index.constant(tiled);
  loop(b, where(first), tilesEnd, kTile, [&](Value column) { emitTile(row, column, kTile); });
  if (tiled < columns())
    pixels(where(tiled), all);
}

void Depthwise::forChannels(function_ref<void(Value, Lanes)> body) {
  int64_t whole = form.outputs / kPanelLanes * kPanelLanes;
  if (whole)
    loop(b, index.constant(0), index.constant(whole), kPanelLanes,
         [&](Value channel) { body(channel, {0, kPanelLanes}); });
  if (whole < form.outputs)
    body(index.constant(whole), {0, form.outputs - whole});
}

Value Depthwise::weight(size_t tap, Value channel, Lanes lanes) {
  return loadLanes(b, filter, index.add(channel, int64_t(tap) * form.outputs), lanes.live);
}

Value Depthwise::zeroSum(Lanes lanes) {
  return arith::ConstantOp::create(
      b, b.getZeroAttr(VectorType::get({widthOf(lanes.live)}, b.getF32Type())));
}

Value Depthwise::startOf(const Pixel &pixel) {
  Value at = pixel.at[0];
  for (unsigned d = 0; d <= last; ++d)
    at = index.add(index.add(index.mul(at, convolution.imageSize(d)),
                             index.mul(pixel.at[d + 1], form.strides[d])),
                   -convolution.low[d]);
  return at;
}

int64_t Depthwise::distance(const Tap &tap) const {
  int64_t pixels = 0;
  for (unsigned d = 0; d <= last; ++d)
    pixels = pixels * convolution.imageSize(d) + tap[d] * form.dilations[d];
  return pixels;
}

/// One pixel, wherever its window lies.
void Depthwise::emitPixel(Value row, Value column) {
  Pixel pixel = pixelAt(convolution, index, index.add(index.mul(row, columns()), column));
  Value start = startOf(pixel);
  SmallVector<Value> places;
  for (const Tap &tap : taps) {
    Value inside;
    for (unsigned d = 0; d <= last; ++d) {
      if (!convolution.hasBorder(d))
        continue;
      Value at = index.add(index.mul(pixel.at[d + 1], form.strides[d]),
                           tap[d] * form.dilations[d] - convolution.low[d]);
      Value one = index.less(at, convolution.imageSize(d));
      inside = inside ? Value(arith::AndIOp::create(b, inside, one)) : one;
    }
    Value offset = index.mul(index.add(start, distance(tap)), form.channels);
    places.push_back(borders.pick(inside, offset));
  }
  forChannels([&](Value channel, Lanes lanes) {
    Value sum = zeroSum(lanes);
    for (auto [i, place] : llvm::enumerate(places))
      sum = vector::FMAOp::create(b, loadLanes(b, place, channel, lanes.live),
                                  weight(i, channel, lanes), sum);
    epilogue.store(sum, pixel, channel, lanes);
  });
}

/// Pixels side by side whose windows lie in the image.
void Depthwise::emitTile(Value row, Value column, int64_t pixels) {
  SmallVector<Pixel> places;
  Value first = index.add(index.mul(row, columns()), column);
  for (int64_t i = 0; i < pixels; ++i)
    places.push_back(pixelAt(convolution, index, index.add(first, i)));
  Value start = index.mul(startOf(places[0]), form.channels);
  forChannels([&](Value channel, Lanes lanes) {
    Value base = index.add(start, channel);
    DenseMap<int64_t, Value> loaded; // by distance from the start
    SmallVector<Value> sums(pixels, zeroSum(lanes));
    for (auto [i, tap] : llvm::enumerate(taps)) {
      Value factor = weight(i, channel, lanes);
      for (int64_t p = 0; p < pixels; ++p) {
        int64_t at = distance(tap) + p * form.strides[last];
        Value &element = loaded[at];
        if (!element)
          element = loadLanes(b, image, index.add(base, at * form.channels), lanes.live);
        sums[p] = vector::FMAOp::create(b, element, factor, sums[p]);
      }
    }
    for (int64_t p = 0; p < pixels; ++p)
      epilogue.store(sums[p], places[p], channel, lanes);
  });
}

void gantry::emitDepthwise(ImplicitLocOpBuilder &b, const Convolution &convolution) {
  Depthwise(b, convolution).emit();
}
