// Convolutions of each channel by itself: registers run along the channels.
//
// A work item is some rows of the result. Where the whole window lies in the image, a few pixels
// side by side share what they load; elsewhere each pixel finds its places in the image or the row
// of zeros. Where the border may be left out, all rows are such pixels: what of the window is in
// the image is known for each of a row's blocks, and computed for each row. Channels are the inner
// loop, so that whole pixels are read.

#include "Convolution.h"

#include "Panels.h"
#include "Taps.h"
#include "gantry/Dialect/Gantry/IR/Borders.h"
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
  SmallVector<Tap> taps;          ///< in the order of the sums
  unsigned last;                  ///< spatial dimension
  ArrayRef<Value> windowRows;     ///< where they are, if that is all of the image
  SmallVector<BlocksOfRow> kinds; ///< where the border is left out

  Depthwise(ImplicitLocOpBuilder &b, const Convolution &convolution, const Registers &registers,
            ArrayRef<Value> windowRows = {});

  void emit();
  void emitRow(Value row);
  void emitPixel(Value row, Value column);
  void emitTile(Value row, Value column, int64_t pixels);
  void emitRowInBlocks(Value row);
  void emitBlock(Value row, Value firstPixel, const BlocksOfRow &kind, bool isWhole);
  using Accumulators = SmallVector<Value>;
  Accumulators addPlaces(unsigned dim, const Pixel &first, Value imageRow, Value tap, Value channel,
                         Lanes lanes, const BlocksOfRow &kind, bool isWhole,
                         Accumulators accumulators);
  Accumulators addRow(Value imagePixel, Value tap, Value channel, Lanes lanes,
                      const BlocksOfRow &kind, Accumulators accumulators);
  void forChannels(function_ref<void(Value, Lanes)> body);

  Value isInside(const Pixel &pixel);
  Value weight(size_t tap, Value channel, Lanes lanes);
  Value zeroAccumulator(Lanes lanes);
  /// Of the image, in pixels, where the window of a pixel begins; and from there to a tap.
  Value startOf(const Pixel &pixel);
  SmallVector<Value> rowsOf(const Pixel &pixel);
  int64_t distance(const Tap &tap) const;
  int64_t columns() const { return form.out[last]; }
  /// The columns of a row whose windows lie in the image: from the first up to the second.
  std::pair<int64_t, int64_t> wholeColumns() const;
};
} // namespace

/// Whether rows are cut into blocks whose places of the window are known.
static bool leavesBorderOut(const Convolution &convolution) {
  constexpr int64_t mostPlaces = 16;
  return convolution.op->hasAttr(kUnseenBorderAttr) &&
         convolution.form.window.back() <= mostPlaces && convolution.hasBorder();
}

Depthwise::Depthwise(ImplicitLocOpBuilder &b, const Convolution &convolution,
                     const Registers &registers, ArrayRef<Value> windowRows)
    : b(b), convolution(convolution), form(convolution.form), index{b},
      image(flatten(b, convolution.image)), filter(flatten(b, convolution.filter)),
      epilogue(b, convolution), borders(b, convolution, image, form.channels), taps{Tap()},
      last(form.spatial() - 1), windowRows(windowRows) {
  for (int64_t size : form.window) {
    SmallVector<Tap> longer;
    for (const Tap &tap : taps)
      for (int64_t i = 0; i < size; ++i) {
        longer.push_back(tap);
        longer.back().push_back(i);
      }
    taps = std::move(longer);
  }
  // Sums and what they share are in registers; of shorter ones two hold the lanes of one.
  const int64_t mostPixels = registers.bytes >= int64_t(kPanelLanes * sizeof(float)) ? 8 : 5;
  if (leavesBorderOut(convolution))
    kinds = partitionRow(convolution, llvm::divideCeil(columns(), mostPixels));
}

void Depthwise::emit() {
  int64_t rows = convolution.pixels() / columns();
  int64_t workOfRow = columns() * form.outputs * int64_t(taps.size());
  int64_t rowsOfItem = std::clamp<int64_t>(kItemWork / std::max<int64_t>(workOfRow, 1), 1, rows);
  if (kinds.empty())
    borders.clear();
  LoopBuilder loops(b);
  loops.forItems({int64_t(llvm::divideCeil(rows, rowsOfItem))}, [&](ValueRange item) {
    Value from = index.mul(item[0], rowsOfItem), to = index.add(from, rowsOfItem);
    loops.loop(from, index.min(to, index.constant(rows)), 1,
               [&](Value row) { kinds.empty() ? emitRow(row) : emitRowInBlocks(row); });
  });
  setGrain(b, rowsOfItem * workOfRow, kThreadWork);
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
    LoopBuilder(b).loop(from, to, 1, [&](Value column) { emitPixel(row, column); });
  };
  Value all = index.constant(columns());
  if (tiled == first && windowRows.empty())
    return pixels(index.constant(0), all);
  if (first > 0 || inside)
    pixels(index.constant(0), where(first));
  Value tilesEnd = index.constant(tiled);
  LoopBuilder(b).loop(where(first), tilesEnd, kTile,
                      [&](Value column) { emitTile(row, column, kTile); });
  if (tiled < columns() && windowRows.empty())
    pixels(where(tiled), all);
  else if (tiled < columns())
    emitTile(row, tilesEnd, columns() - tiled);
}

void Depthwise::forChannels(function_ref<void(Value, Lanes)> body) {
  int64_t whole = form.outputs / kPanelLanes * kPanelLanes;
  if (whole)
    LoopBuilder(b).loop(0, whole, kPanelLanes,
                        [&](Value channel) { body(channel, {0, kPanelLanes}); });
  if (whole < form.outputs)
    body(index.constant(whole), {0, form.outputs - whole});
}

Value Depthwise::weight(size_t tap, Value channel, Lanes lanes) {
  return loadLanes(b, filter, index.add(channel, int64_t(tap) * form.outputs), lanes.live);
}

Value Depthwise::zeroAccumulator(Lanes lanes) {
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

/// Where the rows of a window that lies in the image begin, in elements.
SmallVector<Value> Depthwise::rowsOf(const Pixel &pixel) {
  SmallVector<Value> rows;
  if (!windowRows.empty()) {
    Value start = index.mul(pixel.at.back(), form.strides[last] * form.channels);
    for (Value row : windowRows)
      rows.push_back(index.add(row, start));
    return rows;
  }
  Value start = index.mul(startOf(pixel), form.channels);
  for (size_t i = 0; i < taps.size(); i += form.window[last])
    rows.push_back(index.add(start, distance(taps[i]) * form.channels));
  return rows;
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
    Value sum = zeroAccumulator(lanes);
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
  SmallVector<Value> rows = rowsOf(places[0]);
  forChannels([&](Value channel, Lanes lanes) {
    DenseMap<std::pair<int64_t, int64_t>, Value> loaded; // by rows and pixels from the start
    SmallVector<Value> accumulators(pixels, zeroAccumulator(lanes));
    for (auto [i, tap] : llvm::enumerate(taps)) {
      Value factor = weight(i, channel, lanes);
      const int64_t row = int64_t(i) / form.window[last];
      for (int64_t p = 0; p < pixels; ++p) {
        const int64_t at = tap[last] * form.dilations[last] + p * form.strides[last];
        Value &element = loaded[{row, at}];
        if (!element)
          element = loadLanes(
              b, image, index.add(index.add(rows[row], channel), at * form.channels), lanes.live);
        accumulators[p] = vector::FMAOp::create(b, element, factor, accumulators[p]);
      }
    }
    for (int64_t p = 0; p < pixels; ++p)
      epilogue.store(accumulators[p], places[p], channel, lanes);
  });
}

//===----------------------------------------------------------------------===//
// Without the border
//===----------------------------------------------------------------------===//

void Depthwise::emitRowInBlocks(Value row) {
  // Small windows that lie in the image along the other dimensions have no loops.
  constexpr size_t mostUnrolled = 9;
  const bool isSmall = taps.size() <= mostUnrolled;
  Pixel start = pixelAt(convolution, index, index.mul(row, columns()));
  Value inside = isSmall ? isInside(start) : Value();
  auto blocks = [&](bool isWhole) {
    for (const BlocksOfRow &kind : kinds)
      LoopBuilder(b).loop(0, kind.count, 1, [&](Value block) {
        Value first = index.add(index.mul(block, kind.pixels), kind.firstPixel);
        emitBlock(row, first, kind, isWhole);
      });
  };
  if (!inside)
    return blocks(/*isWhole=*/isSmall);
  auto choice = scf::IfOp::create(b, inside, /*withElseRegion=*/true);
  for (bool isWhole : {true, false}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&choice->getRegion(isWhole ? 0 : 1).front());
    blocks(isWhole);
  }
}

void Depthwise::emitBlock(Value row, Value firstPixel, const BlocksOfRow &kind, bool isWhole) {
  SmallVector<Pixel> pixels;
  Value first = index.add(index.mul(row, columns()), firstPixel);
  for (int64_t i = 0; i < kind.pixels; ++i)
    pixels.push_back(pixelAt(convolution, index, index.add(first, i)));
  forChannels([&](Value channel, Lanes lanes) {
    Accumulators accumulators =
        addPlaces(0, pixels[0], pixels[0].at[0], index.constant(0), channel, lanes, kind, isWhole,
                  Accumulators(kind.pixels, zeroAccumulator(lanes)));
    for (auto [pixel, sum] : llvm::zip_equal(pixels, accumulators))
      epilogue.store(sum, pixel, channel, lanes);
  });
}

/// From the first dimension to the last. `imageRow` is the number of the image's place in the
/// dimensions so far among all, `tap` that of the window's.
Depthwise::Accumulators Depthwise::addPlaces(unsigned dim, const Pixel &first, Value imageRow,
                                             Value tap, Value channel, Lanes lanes,
                                             const BlocksOfRow &kind, bool isWhole,
                                             Accumulators accumulators) {
  Value start = index.add(index.mul(first.at[dim + 1], form.strides[dim]), -convolution.low[dim]);
  imageRow = index.mul(imageRow, convolution.imageSize(dim));
  tap = index.mul(tap, form.window[dim]);
  if (dim == last)
    return addRow(index.add(imageRow, start), tap, channel, lanes, kind, std::move(accumulators));
  auto at = [&](Value place, ValueRange carried) {
    Value row = index.add(start, index.mul(place, form.dilations[dim]));
    return addPlaces(dim + 1, first, index.add(imageRow, row), index.add(tap, place), channel,
                     lanes, kind, isWhole, Accumulators(carried));
  };
  if (!isWhole) {
    auto [from, to] = tapsInside(b, convolution, dim, first.at[dim + 1]);
    return LoopBuilder(b).loop(from, to, 1, accumulators, at);
  }
  for (int64_t place = 0; place < form.window[dim]; ++place)
    accumulators = at(index.constant(place), accumulators);
  return accumulators;
}

/// The window's places along the last dimension, for pixels side by side.
Depthwise::Accumulators Depthwise::addRow(Value imagePixel, Value tap, Value channel, Lanes lanes,
                                          const BlocksOfRow &kind, Accumulators accumulators) {
  Value base = index.add(index.mul(imagePixel, form.channels), channel);
  Value weights = index.add(index.mul(tap, form.outputs), channel);
  DenseMap<int64_t, Value> loaded; // by distance from the first pixel's window
  for (const TapGroup &group : kind.groups)
    for (int64_t at = group.taps.first; at < group.taps.second; ++at) {
      Value factor = loadLanes(b, filter, index.add(weights, at * form.outputs), lanes.live);
      for (int64_t p = group.pixels.first; p < group.pixels.second; ++p) {
        const int64_t place = at * form.dilations[last] + p * form.strides[last];
        Value &element = loaded[place];
        if (!element)
          element = loadLanes(b, image, index.add(base, place * form.channels), lanes.live);
        accumulators[p] = vector::FMAOp::create(b, element, factor, accumulators[p]);
      }
    }
  return accumulators;
}

void gantry::emitDepthwise(ImplicitLocOpBuilder &b, const Convolution &convolution,
                           const Registers &registers) {
  Depthwise(b, convolution, registers).emit();
}

void gantry::emitRowOfDepthwise(ImplicitLocOpBuilder &b, const Convolution &convolution,
                                const Registers &registers, ArrayRef<Value> windowRows) {
  Depthwise depthwise(b, convolution, registers, windowRows);
  if (windowRows.empty())
    depthwise.borders.clear();
  depthwise.emitRow(depthwise.index.constant(0));
}
