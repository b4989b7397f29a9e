// Convolutions that mix channels and leave their border out: blocks of pixels of one row, by panels
// of output channels, in registers.
//
//   for a work item, some blocks of some panels, or bands of a wide one:
//     accumulators[pixel][lanes] = 0
//     for the places of the window in the image, in all dimensions but the last
//       for groups of places along the last, which lie in the image for the same pixels:
//         for the channels: sums += channel of the pixel * row of the panel
//     store what the epilogue makes of the sums
//
// Where in its row a block is, is known when code is made: blocks at the ends of rows have code of
// their own, in which each place of the window has the pixels for which it is in the image. The
// other dimensions' ranges are computed for each row. Pixels lie at known distances from the first
// one, so that no address but that is needed.

#include "Rows.h"

#include "Panels.h"
#include "PixelBlocks.h"
#include "Taps.h"
#include "gantry/Dialect/Gantry/IR/Borders.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gantry;

//===----------------------------------------------------------------------===//
// How rows are cut
//===----------------------------------------------------------------------===//

/// The last dimension's places and the channels are one run of memory.
static bool isRun(const Convolution &convolution) {
  return convolution.form.dilations.back() == 1 && convolution.form.groups == 1;
}

/// Most pixels of a block of that many registers each. Their addresses need no registers.
static int64_t mostPixels(int64_t registers, bool isInt8) {
  constexpr int64_t most[] = {20, 14, 9, 6}, ofBytes[] = {14, 12, 8, 6};
  return (isInt8 ? ofBytes : most)[registers - 1];
}

/// Cycles of a step of so many pixels by registers: each multiply-add one, but rows of the panel
/// come from the second cache, and sums wait for each other.
static double cyclesOfStep(int64_t pixels, int64_t registers) {
  constexpr double waits[] = {1.15, 1.03, 1, 1};
  constexpr int64_t least = 8, ofLoad = 4;
  return waits[registers - 1] * double(std::max({pixels * registers, ofLoad * registers, least}));
}

/// Of a run of that many steps, its begin included.
static double cyclesOfRun(int64_t steps, int64_t pixels, int64_t registers) {
  constexpr double begin = 12;
  return begin + double(steps) * cyclesOfStep(pixels, registers);
}

/// Cycles for all columns of a panel, `registers` at a time.
static double forPanel(const Convolution &convolution, int64_t registers,
                       function_ref<double(int64_t)> cycles) {
  const int64_t all = llvm::divideCeil(convolution.form.panel, kPanelLanes);
  const int64_t rest = all % registers;
  return double(all / registers) * cycles(registers) + (rest ? cycles(rest) : 0);
}

/// Of a row whose windows lie in the image in the other dimensions, for each place in those.
static double cyclesOfRow(const Convolution &convolution, const RowPartition &rows) {
  return forPanel(convolution, rows.registers, [&](int64_t registers) {
    double cycles = 0;
    for (const BlocksOfRow &kind : partitionRow(convolution, rows.blocks))
      for (const TapGroup &group : kind.groups)
        cycles += double(kind.count) *
                  cyclesOfRun((group.taps.second - group.taps.first) * convolution.form.inner(),
                              group.pixels.second - group.pixels.first, registers);
    return cycles;
  });
}

/// Places of the window in all dimensions but the last, of all rows.
static int64_t placesOfRows(const Convolution &convolution) {
  const int64_t along = countTapsInside(convolution, convolution.form.spatial() - 1);
  return along ? countTapsInside(convolution) / along * convolution.form.batch : 0;
}

/// Blocks that go on from row to row, each with all places.
static double cyclesInLine(const Convolution &convolution) {
  const int64_t registers = registersOf(convolution.form.panel),
                pixels = mostPixelsInLine(registers, convolution.isInt8());
  const double blocks = double(llvm::divideCeil(convolution.pixels(), pixels));
  const int64_t window = convolution.form.window.back();
  return forPanel(convolution, registers, [&](int64_t registers) {
    return blocks * double(convolution.sizeK() / convolution.form.inner() / window) *
           cyclesOfRun(window * convolution.form.inner(), pixels, registers);
  });
}

std::optional<RowPartition> gantry::partitionRows(const Convolution &convolution) {
  // Places of the window that are written out, at most.
  constexpr int64_t mostPlaces = 16, mostKinds = 6;
  const unsigned last = convolution.form.spatial() - 1;
  if (!convolution.hasBorder() || !convolution.op->hasAttr(kUnseenBorderAttr) ||
      convolution.form.window[last] > mostPlaces)
    return std::nullopt;
  const double places = double(placesOfRows(convolution));
  double least = cyclesInLine(convolution);
  std::optional<RowPartition> best;
  for (int64_t registers = registersOf(convolution.form.panel); registers > 0; --registers) {
    RowPartition rows{registers,
                      int64_t(llvm::divideCeil(convolution.form.out[last],
                                               mostPixels(registers, convolution.isInt8())))};
    const double cycles = cyclesOfRow(convolution, rows) * places;
    if (cycles < least && int64_t(partitionRow(convolution, rows.blocks).size()) <= mostKinds) {
      least = cycles;
      best = rows;
    }
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Work items
//===----------------------------------------------------------------------===//

/// Places of windows in the image in all dimensions but the last, of a row by its number.
static int64_t placesOfRow(const Convolution &convolution, int64_t row) {
  int64_t places = 1;
  for (unsigned d = convolution.form.spatial() - 1; d-- > 0;) {
    auto [from, to] = tapsInside(convolution, d, row % convolution.form.out[d]);
    places *= to - from;
    row /= convolution.form.out[d];
  }
  return places;
}

/// The first block of each chunk, and the end: even shares of the places in the image, since rows
/// at its ends have fewer.
static SmallVector<int64_t> shareBlocks(const Convolution &convolution,
                                        const WorkPartition &partition, int64_t blocksOfRow) {
  SmallVector<int64_t> before{0};
  for (int64_t block = 0; block < partition.blocks; ++block)
    before.push_back(before.back() + placesOfRow(convolution, block / blocksOfRow));
  SmallVector<int64_t> first{0};
  for (int64_t chunk = 1; chunk <= partition.chunks; ++chunk) {
    // As many of the blocks as come nearest to the share.
    const double share = double(before.back()) * double(chunk) / double(partition.chunks);
    int64_t block = first.back();
    while (block < partition.blocks && double(before[block] + before[block + 1]) < 2 * share)
      ++block;
    first.push_back(chunk == partition.chunks ? partition.blocks : block);
  }
  return first;
}

namespace {
struct Rows : PixelBlocks {
  RowPartition rows;
  SmallVector<BlocksOfRow> kinds;
  unsigned last; ///< spatial dimension

  /// What a block is computed of: a part of a panel's columns.
  Value panel, column;
  SmallVector<Lanes> lanes;

  Rows(ImplicitLocOpBuilder &b, const Convolution &convolution, const RowPartition &rows,
       const Registers &registers)
      : PixelBlocks(b, convolution,
                    WorkPartition(convolution, convolution.pixels() / convolution.form.out.back(),
                                  rows.blocks),
                    PixelRegisters(convolution, registers, rows.registers)),
        rows(rows), kinds(partitionRow(convolution, rows.blocks)), last(form.spatial() - 1) {}

  void emit();
  void emitItem(Value panelItem, Value blockItem);
  std::pair<Value, Value> blocksOf(Value chunk) const;
  void emitBlock(Value block);

  //===--- One block -------------------------------------------------------===//

  /// A row of the result: its number among all, and its place.
  struct Row {
    Value number;
    SmallVector<Value> at; ///< batch, then one for each spatial dimension but the last
  };
  void emitPixels(const Row &row, Value firstPixel, ArrayRef<TapGroup> groups, Interval pixels);
  SmallVector<Value> addPlaces(unsigned dim, const Row &row, Value imageRow, Value tap,
                               Value firstPixel, ArrayRef<TapGroup> groups, Interval pixels,
                               ValueRange accumulators);
  SmallVector<Value> addGroup(Value imageRow, Value tap, Value firstPixel, const TapGroup &group,
                              Interval pixels, ValueRange accumulators);
  SmallVector<Value> addRun(Value from, Value atK, int64_t length, Interval pixels,
                            ValueRange accumulators);
  void store(const Row &row, Value firstPixel, int64_t pixels, ValueRange accumulators);
};
} // namespace

void Rows::emit() {
  if (convolution.isInt8() && convolution.epilogue)
    keepAccumulators(rows.registers * kPanelLanes);
  const int64_t work = form.batch * countTapsInside(convolution) * form.inner() * form.outputs;
  forItems(work / partition.items(),
           [&](Value panelItem, Value blockItem) { emitItem(panelItem, blockItem); });
}

void Rows::emitItem(Value panelItem, Value blockItem) {
  const std::pair<Value, Value> bands = bandsOf(panelItem);
  auto [first, end] = blocksOf(blockItem);
  forColumns(bands, [&, first = first, end = end](Value ofPanel, Value from, int64_t columns) {
    panel = ofPanel;
    column = from;
    lanes = lanesOf(columns);
    LoopBuilder(b).loop(first, end, 1, [&](Value block) { emitBlock(block); });
  });
}

/// The blocks of a chunk: from the first up to the second.
std::pair<Value, Value> Rows::blocksOf(Value chunk) const {
  // Of so many chunks none is long enough for its rows to matter.
  constexpr int64_t mostShares = 64;
  if (partition.chunks > mostShares)
    return share(chunk, partition.chunks, partition.blocks);
  SmallVector<int64_t> first = shareBlocks(convolution, partition, rows.blocks);
  Value from = index.constant(first[0]), to = index.constant(first[1]);
  for (int64_t i = 1; i < partition.chunks; ++i) {
    Value before = index.less(chunk, i);
    from = arith::SelectOp::create(b, before, from, index.constant(first[i]));
    to = arith::SelectOp::create(b, before, to, index.constant(first[i + 1]));
  }
  return {from, to};
}

//===----------------------------------------------------------------------===//
// One block
//===----------------------------------------------------------------------===//

void Rows::emitBlock(Value block) {
  Row row{index.div(block, rows.blocks), {}};
  Value inRow = index.rem(block, rows.blocks), rest = row.number;
  for (int64_t size : llvm::reverse(ArrayRef(form.out).drop_back())) {
    row.at.push_back(index.rem(rest, size));
    rest = index.div(rest, size);
  }
  row.at.push_back(rest);
  std::reverse(row.at.begin(), row.at.end());
  for (const BlocksOfRow &kind : kinds) {
    OpBuilder::InsertionGuard guard(b);
    Value past = b.createOrFold<arith::SubIOp>(inRow, index.constant(kind.first));
    if (kinds.size() > 1) {
      auto isOne = scf::IfOp::create(b, index.less(past, kind.count), /*withElseRegion=*/false);
      b.setInsertionPointToStart(isOne.thenBlock());
    }
    Value first = index.add(index.mul(past, kind.pixels), kind.firstPixel);
    const int64_t pieces = llvm::divideCeil(kind.pixels, piece.pixels);
    for (int64_t i = 0; i < pieces; ++i)
      emitPixels(row, first, kind.groups,
                 {kind.pixels * i / pieces, kind.pixels * (i + 1) / pieces});
  }
}

void Rows::emitPixels(const Row &row, Value firstPixel, ArrayRef<TapGroup> groups,
                      Interval pixels) {
  SmallVector<Value> accumulators = zeroAccumulators(pixels.second - pixels.first, lanes);
  accumulators =
      addPlaces(0, row, row.at[0], index.constant(0), firstPixel, groups, pixels, accumulators);
  store(row, index.add(firstPixel, pixels.first), pixels.second - pixels.first, accumulators);
}

/// From the first dimension to the last. `imageRow` is the number of the image's place in the
/// dimensions so far among all, `tap` that of the window's.
SmallVector<Value> Rows::addPlaces(unsigned dim, const Row &row, Value imageRow, Value tap,
                                   Value firstPixel, ArrayRef<TapGroup> groups, Interval pixels,
                                   ValueRange accumulators) {
  imageRow = index.mul(imageRow, convolution.imageSize(dim));
  tap = index.mul(tap, form.window[dim]);
  if (dim == last) {
    SmallVector<Value> next(accumulators);
    for (const TapGroup &group : groups)
      next = addGroup(imageRow, tap, firstPixel, group, pixels, next);
    return next;
  }
  Value start = index.add(index.mul(row.at[dim + 1], form.strides[dim]), -convolution.low[dim]);
  auto [first, end] = tapsInside(b, convolution, dim, row.at[dim + 1]);
  return LoopBuilder(b).loop(first, end, 1, accumulators, [&](Value at, ValueRange carried) {
    Value place = index.add(start, index.mul(at, form.dilations[dim]));
    return addPlaces(dim + 1, row, index.add(imageRow, place), index.add(tap, at), firstPixel,
                     groups, pixels, carried);
  });
}

/// The places of a group, for those of its pixels that are among `pixels`.
SmallVector<Value> Rows::addGroup(Value imageRow, Value tap, Value firstPixel,
                                  const TapGroup &group, Interval pixels, ValueRange accumulators) {
  const Interval live{std::max(pixels.first, group.pixels.first),
                      std::min(pixels.second, group.pixels.second)};
  if (live.first >= live.second)
    return SmallVector<Value>(accumulators);
  const auto [from, to] = group.taps;
  auto addFrom = [&](Value first, int64_t length, ValueRange carried) {
    Value place = index.add(index.mul(firstPixel, form.strides[last]),
                            live.first * form.strides[last] - convolution.low[last]);
    place = index.add(place, index.mul(first, form.dilations[last]));
    Value channel = index.mul(index.add(imageRow, place), form.channels);
    if (Value first = firstChannelOf(panel))
      channel = index.add(channel, first);
    const size_t one = lanes.size(), before = size_t(live.first - pixels.first) * one,
                 count = size_t(live.second - live.first) * one;
    SmallVector<Value> next(carried);
    SmallVector<Value> added = addRun(channel, index.mul(index.add(tap, first), form.inner()),
                                      length, live, carried.slice(before, count));
    llvm::copy(added, next.begin() + before);
    return next;
  };
  if (isRun(convolution) || to - from == 1)
    return addFrom(index.constant(from), (to - from) * form.inner(), accumulators);
  return LoopBuilder(b).loop(from, to, 1, accumulators, [&](Value at, ValueRange carried) {
    return addFrom(at, form.inner(), carried);
  });
}

/// Terms `atK` onwards of the panel, of the pixels' channels from `from` on.
SmallVector<Value> Rows::addRun(Value from, Value atK, int64_t length, Interval pixels,
                                ValueRange accumulators) {
  // Words that two pixels read in steps that are written out would be kept: f32 is read again by
  // what multiplies it, pairs are not.
  const bool sharesWords =
      convolution.isPairs() && form.strides[last] * form.channels < unrolled(length);
  const int64_t steps = piece.isTight || sharesWords ? 1 : unrolled(length);
  return addOverK(panel, atK, column, lanes, length, steps, pixels.second - pixels.first,
                  accumulators, [&](int64_t pixel, Value at, int64_t k) {
                    const int64_t ahead = k + pixel * form.strides[last] * form.channels;
                    return loadWord(b, convolution, image, index.add(index.add(from, at), ahead));
                  });
}

void Rows::store(const Row &row, Value firstPixel, int64_t pixels, ValueRange accumulators) {
  Value first = index.add(index.mul(row.number, form.out[last]), firstPixel);
  Value firstColumn = columnOf(panel, column);
  if (kept)
    return storeByRows(accumulators, lanes, first, pixels, firstColumn);
  for (int64_t i = 0; i < pixels; ++i) {
    Value number = index.add(first, i);
    Pixel pixel{number, row.at, number, number};
    pixel.at.push_back(index.add(firstPixel, i));
    for (auto [j, part] : llvm::enumerate(lanes))
      epilogue.store(accumulators[i * lanes.size() + j], pixel, firstColumn, part);
  }
}

void gantry::emitRows(ImplicitLocOpBuilder &b, const Convolution &convolution,
                      const RowPartition &rows, const Registers &registers) {
  Rows(b, convolution, rows, registers).emit();
}
