#include "PixelBlocks.h"

#include "Dot.h"
#include "Panels.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gantry;

PixelBlocks::PixelBlocks(ImplicitLocOpBuilder &b, const Convolution &convolution,
                         WorkPartition partition, PixelRegisters piece)
    : b(b), convolution(convolution), form(convolution.form), index{b},
      partition(std::move(partition)), piece(piece),
      image(flattenFactors(b, convolution, convolution.image)),
      filter(flattenFactors(b, convolution, convolution.filter)), epilogue(b, convolution) {}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

void PixelBlocks::keepAccumulators(int64_t width) {
  OpBuilder::InsertionGuard guard(b);
  auto function = convolution.op->getParentOfType<func::FuncOp>();
  b.setInsertionPointToStart(&function.getBody().front());
  kept = memref::AllocaOp::create(b, MemRefType::get({partition.pixelsOfBlock * width}, sumType()),
                                  b.getI64IntegerAttr(64));
}

void PixelBlocks::forItems(int64_t work, function_ref<void(Value, Value)> emitItem) {
  LoopBuilder(b).forItems({partition.parts, partition.chunks},
                          [&](ValueRange item) { emitItem(item[0], item[1]); });
  setGrain(b, work, kThreadWork);
}

std::pair<Value, Value> PixelBlocks::share(Value item, int64_t items, int64_t all) const {
  Value from = index.mul(item, all), to = index.add(from, all);
  return {index.div(from, items), index.div(to, items)};
}

void PixelBlocks::forColumns(std::pair<Value, Value> bands,
                             function_ref<void(Value, Value, int64_t)> emit) {
  LoopBuilder(b).loop(bands.first, bands.second, 1, [&](Value at) { emitBand(at, emit); });
}

/// One of all panels' bands, by its number.
void PixelBlocks::emitBand(Value number, function_ref<void(Value, Value, int64_t)> emit) {
  const int64_t count = partition.bands.size();
  if (count == 1)
    return emitPart(number, index.constant(0), form.panel, emit);
  Value panel = index.div(number, count), band = index.rem(number, count);
  // All of the same width have their loops in common.
  for (int64_t from = 0, to = 0; from < count; from = to) {
    const int64_t columns = partition.bands[from].live;
    while (to < count && partition.bands[to].live == columns)
      ++to;
    Value past = b.createOrFold<arith::SubIOp>(band, index.constant(from));
    auto isOne = scf::IfOp::create(b, index.less(past, to - from), /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(isOne.thenBlock());
    emitPart(panel, index.add(index.mul(past, columns), partition.bands[from].first), columns,
             emit);
  }
}

/// Some columns of a panel.
void PixelBlocks::emitPart(Value panel, Value column, int64_t columns,
                           function_ref<void(Value, Value, int64_t)> emit) {
  if (columns <= piece.columns)
    return emit(panel, column, columns);
  const int64_t whole = columns / piece.columns * piece.columns;
  LoopBuilder(b).loop(0, whole, piece.columns,
                      [&](Value at) { emit(panel, index.add(column, at), piece.columns); });
  if (whole < columns)
    emit(panel, index.add(column, whole), columns - whole);
}

//===----------------------------------------------------------------------===//
// Sums of a block
//===----------------------------------------------------------------------===//

Type PixelBlocks::sumType() const {
  return cast<MemRefType>(convolution.accumulators.getType()).getElementType();
}

SmallVector<Value> PixelBlocks::zeroAccumulators(int64_t pixels, ArrayRef<Lanes> lanes) {
  SmallVector<Value> accumulators;
  for (int64_t i = 0; i < pixels; ++i)
    for (Lanes part : lanes)
      accumulators.push_back(arith::ConstantOp::create(
          b, b.getZeroAttr(VectorType::get({widthOf(part.live)}, sumType()))));
  return accumulators;
}

Value PixelBlocks::columnOf(Value panel, Value column) const {
  return index.add(index.mul(panel, form.panel), column);
}

Value PixelBlocks::firstChannelOf(Value panel) const {
  if (form.groups == 1)
    return {};
  const int64_t panelsOfGroup = form.outputs / form.groups / form.panel;
  return index.mul(index.div(panel, panelsOfGroup), form.inner());
}

Value PixelBlocks::multiplyAdd(Value channel, Value weights, Value accumulators) {
  if (convolution.packingFactor == 1)
    return vector::FMAOp::create(b, channel, weights, accumulators);
  auto module = convolution.op->getParentOfType<ModuleOp>();
  return cpu::callDot(b, module, channel, weights, accumulators);
}

SmallVector<Value> PixelBlocks::addOverK(Value panel, Value atK, Value column,
                                         ArrayRef<Lanes> lanes, int64_t length, int64_t steps,
                                         int64_t pixels, ValueRange accumulators,
                                         function_ref<Value(int64_t, Value, int64_t)> wordOf) {
  // Rows of a wide panel lie so far apart that the processor does not see the next ones coming.
  constexpr int64_t rowsAhead = 12;
  const bool prefetches = form.panel > kPanelLanes * kPanelRegisters;
  Value rowOfPanel = index.add(index.mul(panel, convolution.filterTerms()), atK);
  Value filterAt = index.add(index.mul(rowOfPanel, form.panel), column);
  return LoopBuilder(b).rounds(length, steps, accumulators, [&](Value at, ValueRange carried) {
    SmallVector<Value> next(carried);
    Value rowAt = index.add(filterAt, index.mul(at, form.panel));
    for (int64_t k = 0; k < steps; ++k) {
      SmallVector<Value> weights;
      for (Lanes part : lanes) {
        weights.push_back(loadWords(b, convolution, filter,
                                    index.add(rowAt, k * form.panel + part.first), part.live));
        if (prefetches) {
          Value ahead = index.add(rowAt, (k + rowsAhead) * form.panel + part.first);
          memref::PrefetchOp::create(b, filter, index.mul(ahead, elementsOfWord(convolution)),
                                     /*isWrite=*/false, /*localityHint=*/3, /*isDataCache=*/true);
        }
      }
      for (int64_t i = 0; i < pixels; ++i) {
        Value channel = wordOf(i, at, k);
        for (auto [j, weight] : llvm::enumerate(weights)) {
          Value &sum = next[i * lanes.size() + j];
          Value spread = vector::BroadcastOp::create(b, weight.getType(), channel);
          sum = multiplyAdd(spread, weight, sum);
        }
      }
    }
    return next;
  });
}

void PixelBlocks::storeByRows(ValueRange accumulators, ArrayRef<Lanes> lanes, Value firstPixel,
                              int64_t pixels, Value firstColumn) {
  const int64_t width = int64_t(lanes.size()) * kPanelLanes;
  for (int64_t i = 0; i < pixels; ++i)
    for (auto [j, part] : llvm::enumerate(lanes))
      vector::StoreOp::create(b, accumulators[i * lanes.size() + j], kept,
                              index.constant(i * width + part.first));
  storeKept(lanes, firstPixel, pixels, firstColumn);
}

void PixelBlocks::storeKept(ArrayRef<Lanes> lanes, Value firstPixel, int64_t pixels,
                            Value firstColumn) {
  const int64_t width = int64_t(lanes.size()) * kPanelLanes;
  LoopBuilder(b).loop(0, pixels, 1, [&](Value row) {
    Pixel pixel = pixelAt(convolution, index, index.add(firstPixel, row));
    for (Lanes part : lanes) {
      auto type = VectorType::get({widthOf(part.live)}, sumType());
      Value at = index.add(index.mul(row, width), part.first);
      epilogue.store(vector::LoadOp::create(b, type, kept, at), pixel, firstColumn, part);
    }
  });
}
