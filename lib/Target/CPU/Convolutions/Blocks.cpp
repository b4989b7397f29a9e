// Convolutions that mix channels: blocks of pixels by panels of output channels, in registers.
//
//   for a work item, some blocks of pixels of some panels, or bands of a wide one:
//     for its panels, for its blocks:
//       accumulators[pixel][lanes] = 0
//       for the window: the row of channels that each pixel reads there
//         for the channels: sums += channel of the pixel * row of the panel
//       store what the epilogue makes of the sums
//
// Pixels are cut evenly into blocks of at most as many as registers allow, so that there are blocks
// of two sizes. They are cut for the registers of AVX-512, so that work items are the same for
// every processor; for fewer or shorter registers a block is some pieces, one after the other, of a
// part of its columns. Where no border is in the way, the last dimension of the window and the
// channels are one run of memory, and a 1x1 window is a plain matrix product. Of an image with few
// channels what a place of the window costs is not spread over many of them: there an item copies
// what it reads, with borders (PaddedInputTile.h), or, where that does not fit, blocks that touch
// no border are told from the others as they come.
//
// A transposed convolution is its phases, one after the other in each item: blocks of the pixels of
// one, which are every so many of the result, and of the window the places that meet pixels of the
// image. So the zeros that strides put between these are no terms.
//
// Processors that multiply matrices (AMX) take the pixels of a block as rows of one, whole panels
// at a time, by a tile that products have, too (Products/Microkernel.h): where they lie if each
// pixel reads the one at its place, else gathered on the stack.

#include "PaddedInputTile.h"
#include "Panels.h"
#include "PixelBlocks.h"
#include "Products/TileBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gantry;

namespace {
struct Blocks : PixelBlocks {
  bool isInside = false; ///< the block that is being written touches no border
  bool amx;              ///< whether blocks are multiplied as such (AMX)
  Value gathered;        ///< what the pixels of a block read, if that is not where they lie
  Value gatherTo;        ///< where in it the pixel at hand begins
  PaddedInputTile inputTile;
  std::optional<Borders> borders; ///< where there is no strip

  Blocks(ImplicitLocOpBuilder &b, const Convolution &convolution, const Registers &registers)
      : PixelBlocks(b, convolution, WorkPartition(convolution, usesAMX(convolution, registers)),
                    PixelRegisters(convolution, registers, registersOf(convolution.form.panel))),
        amx(usesAMX(convolution, registers)), inputTile(b, convolution) {}

  void emit();
  void emitRow();
  static void emitAll(MutableArrayRef<std::unique_ptr<Blocks>> phases, const WorkPartition &whole);
  void emitItem(Value panelItem, Value blockItem);
  Value firstPixel(Value block) const;
  void emitColumns(Value panel, Value column, int64_t columns, Value first, Value end);
  void emitBlock(Value panel, Value column, ArrayRef<Lanes> lanes, Value firstPixel,
                 int64_t pixels);
  void emitPiece(Value panel, Value column, ArrayRef<Lanes> lanes, Value firstPixel,
                 int64_t pixels);
  void emitAMX(Value panel, ArrayRef<Lanes> lanes, Value firstPixel, int64_t pixels);
  void gather(Value firstPixel, int64_t pixels);
  Value addressOf(Value buffer, Value word);

  //===--- One block -------------------------------------------------------===//

  /// Spatial dimensions with a loop over the window, outermost first. The last one has none where
  /// it is one run with the channels.
  unsigned loopedDims() const { return form.spatial() - (isRun() ? 1 : 0); }
  bool isRun() const {
    unsigned last = form.spatial() - 1;
    return !hasBorder(last) && form.dilations[last] == 1 && form.groups == 1 &&
           (!convolution.phase || form.window[last] == 1);
  }
  bool hasBorder(unsigned dim) const {
    return !isInside && !inputTile.elements() && convolution.hasBorder(dim);
  }
  bool isProduct() const { return gantry::isProduct(convolution); }
  int64_t runLength() const { return form.inner() * (isRun() ? form.window.back() : 1); }

  /// Where a pixel reads, at a place of the window.
  struct Reader {
    SmallVector<Value> start; ///< for each spatial dimension; wraps around below zero
    Value row;                ///< of the image so far: its number among all
    Value inside;             ///< null as long as it must be
  };
  SmallVector<Reader> readersOf(ArrayRef<Pixel> pixels);
  bool tellsBordersApart() const;
  Value touchesNone(ArrayRef<Reader> readers);
  SmallVector<Value> addAll(ArrayRef<Reader> readers, Value panel, Value column,
                            ArrayRef<Lanes> lanes, ValueRange accumulators);
  Reader step(const Reader &reader, unsigned dim, Value tap);
  Value tapAt(unsigned dim, Value before, Value tap);
  int64_t tapOfProduct() const;
  SmallVector<Value> addWindow(unsigned dim, ArrayRef<Reader> readers, Value tapNumber, Value panel,
                               Value column, ArrayRef<Lanes> lanes, ValueRange accumulators);
  SmallVector<Value> addRun(ArrayRef<Reader> readers, Value tapNumber, Value panel, Value column,
                            ArrayRef<Lanes> lanes, ValueRange accumulators);
};
} // namespace

void Blocks::emit() {
  if (amx || (convolution.isInt8() && convolution.epilogue))
    keepAccumulators(registersOf(form.panel) * kPanelLanes);
  if (amx && !isProduct()) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(kept);
    gathered = memref::AllocaOp::create(
        b, MemRefType::get({partition.pixelsOfBlock * convolution.sizeK()}, b.getI32Type()),
        b.getI64IntegerAttr(64));
  }
  auto pixelsOf = [&](int64_t chunk) {
    auto first = [&](int64_t i) {
      return partition.firstPixel(i * partition.blocks / partition.chunks);
    };
    return PaddedInputTile::PixelRange(first(chunk), first(chunk + 1));
  };
  if (!convolution.hasBorder() ||
      !inputTile.make(partition.chunks, partition.parts, partition.panels * partition.bands.size(),
                      pixelsOf))
    borders.emplace(b, convolution, image, runLength() * elementsOfWord(convolution));
  forItems(convolution.pixels() * form.outputs * convolution.sizeK() / partition.items(),
           [&](Value panelItem, Value blockItem) { emitItem(panelItem, blockItem); });
}

/// Each item has its share of each phase, near the others in the image.
void Blocks::emitAll(MutableArrayRef<std::unique_ptr<Blocks>> phases, const WorkPartition &whole) {
  int64_t work = 0;
  for (auto &phase : phases) {
    phase->partition.parts = whole.parts;
    phase->partition.chunks = whole.chunks;
    phase->borders.emplace(phase->b, phase->convolution, phase->image, phase->runLength());
    work += phase->convolution.pixels() * phase->form.outputs * phase->convolution.sizeK();
  }
  phases.front()->forItems(work / whole.items(), [&](Value panelItem, Value blockItem) {
    for (auto &phase : phases)
      phase->emitItem(panelItem, blockItem);
  });
}

/// All there is, here.
void Blocks::emitRow() {
  partition.parts = partition.chunks = 1;
  borders.emplace(b, convolution, image, runLength());
  emitItem(index.constant(0), index.constant(0));
}

void Blocks::emitItem(Value panelItem, Value blockItem) {
  const std::pair<Value, Value> bands = bandsOf(panelItem);
  auto [block, endBlock] = share(blockItem, partition.chunks, partition.blocks);
  if (borders)
    borders->clear();
  else
    inputTile.fill(firstPixel(block), firstPixel(endBlock));
  forColumns(bands, [&, block = block, end = endBlock](Value panel, Value column, int64_t columns) {
    emitColumns(panel, column, columns, block, end);
  });
}

Value Blocks::firstPixel(Value block) const {
  return index.add(index.mul(block, partition.pixelsOfBlock - 1),
                   index.min(block, index.constant(partition.large)));
}

void Blocks::emitColumns(Value panel, Value column, int64_t columns, Value first, Value end) {
  SmallVector<Lanes> lanes = lanesOf(columns);
  Value border = index.constant(partition.large);
  LoopBuilder(b).loop(first, index.min(end, border), 1, [&](Value block) {
    emitBlock(panel, column, lanes, index.mul(block, partition.pixelsOfBlock),
              partition.pixelsOfBlock);
  });
  if (partition.large == partition.blocks)
    return;
  LoopBuilder(b).loop(index.max(first, border), end, 1, [&](Value block) {
    Value pixel = index.add(index.mul(block, partition.pixelsOfBlock - 1), border);
    emitBlock(panel, column, lanes, pixel, partition.pixelsOfBlock - 1);
  });
}

//===----------------------------------------------------------------------===//
// One block
//===----------------------------------------------------------------------===//

void Blocks::emitBlock(Value panel, Value column, ArrayRef<Lanes> lanes, Value firstPixel,
                       int64_t pixels) {
  if (amx)
    return emitAMX(panel, lanes, firstPixel, pixels);
  const int64_t pieces = llvm::divideCeil(pixels, piece.pixels);
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t from = pixels * i / pieces, to = pixels * (i + 1) / pieces;
    emitPiece(panel, column, lanes, index.add(firstPixel, from), to - from);
  }
}

void Blocks::emitPiece(Value panel, Value column, ArrayRef<Lanes> lanes, Value firstPixel,
                       int64_t pixels) {
  SmallVector<Pixel> places;
  for (int64_t i = 0; i < pixels; ++i)
    places.push_back(pixelAt(convolution, index, index.add(firstPixel, i)));
  SmallVector<Value> accumulators = zeroAccumulators(pixels, lanes);
  SmallVector<Reader> readers = readersOf(places);
  if (tellsBordersApart()) {
    auto choice =
        scf::IfOp::create(b, ValueRange(accumulators).getTypes(), touchesNone(readers), true);
    for (bool inside : {true, false}) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&choice->getRegion(inside ? 0 : 1).front());
      isInside = inside;
      scf::YieldOp::create(b, addAll(readers, panel, column, lanes, accumulators));
    }
    isInside = false;
    accumulators.assign(choice->result_begin(), choice->result_end());
  } else {
    accumulators = addAll(readers, panel, column, lanes, accumulators);
  }
  Value firstColumn = columnOf(panel, column);
  if (convolution.isInt8() && convolution.epilogue)
    return storeByRows(accumulators, lanes, firstPixel, pixels, firstColumn);
  for (int64_t i = 0; i < pixels; ++i)
    for (auto [j, part] : llvm::enumerate(lanes))
      epilogue.store(accumulators[i * lanes.size() + j], places[i], firstColumn, part);
}

//===----------------------------------------------------------------------===//
// One block as a matrix
//===----------------------------------------------------------------------===//

Value Blocks::addressOf(Value buffer, Value word) {
  constexpr int64_t wordBytes = 4;
  Value start = memref::ExtractAlignedPointerAsIndexOp::create(b, buffer);
  return index.add(start, index.mul(word, wordBytes));
}

void Blocks::emitAMX(Value panel, ArrayRef<Lanes> lanes, Value firstPixel, int64_t pixels) {
  constexpr int64_t wordBytes = 4;
  Value left = image, first = index.mul(firstPixel, form.channels);
  if (!isProduct()) {
    gather(firstPixel, pixels);
    left = gathered;
    first = index.constant(0);
  }
  const int64_t rowBytes = (isProduct() ? form.channels : convolution.sizeK()) * wordBytes;
  Value none = index.constant(0);
  SmallVector<Value> arguments(cpu::Microkernel::numArguments, none);
  arguments[cpu::Microkernel::left] = addressOf(left, first);
  arguments[cpu::Microkernel::leftStride] = index.constant(rowBytes);
  arguments[cpu::Microkernel::panel] =
      addressOf(filter, index.mul(panel, convolution.sizeK() * form.panel));
  arguments[cpu::Microkernel::accumulators] = addressOf(kept, none);
  arguments[cpu::Microkernel::sizeK] = index.constant(convolution.sizeK() * wordBytes);
  cpu::callMicrokernel(b, convolution.op->getParentOfType<ModuleOp>(),
                       {cpu::OperandPrecision::int8, pixels, form.panel, /*ahead=*/0, /*amx=*/true},
                       arguments);
  storeKept(lanes, firstPixel, pixels, index.mul(panel, form.panel));
}

/// Puts what each pixel reads side by side, in the order of the filter.
void Blocks::gather(Value firstPixel, int64_t pixels) {
  LoopBuilder(b).loop(0, pixels, 1, [&](Value row) {
    Pixel pixel = pixelAt(convolution, index, index.add(firstPixel, row));
    gatherTo = index.mul(row, convolution.sizeK());
    addWindow(0, readersOf(pixel), index.constant(0), {}, {}, {}, {});
  });
}

SmallVector<Blocks::Reader> Blocks::readersOf(ArrayRef<Pixel> pixels) {
  SmallVector<Reader> readers;
  for (const Pixel &pixel : pixels) {
    ArrayRef<Value> at = convolution.phase ? pixel.inPhase : pixel.at;
    Reader reader{{}, isProduct() ? pixel.read : at[0], {}};
    for (unsigned d = 0; d < form.spatial() && !isProduct(); ++d)
      reader.start.push_back(index.add(index.mul(at[d + 1], form.strides[d]),
                                       inputTile.elements() ? 0 : -convolution.low[d]));
    readers.push_back(std::move(reader));
  }
  return readers;
}

/// Whether blocks that touch no border have loops of their own.
bool Blocks::tellsBordersApart() const {
  constexpr int64_t fewChannels = 24;
  return convolution.hasBorder() && !inputTile.elements() && form.inner() <= fewChannels;
}

/// Whether the windows of all of them lie in the image.
Value Blocks::touchesNone(ArrayRef<Reader> readers) {
  Value all;
  for (const Reader &reader : readers)
    for (unsigned d = 0; d < form.spatial(); ++d) {
      if (!convolution.hasBorder(d))
        continue;
      const int64_t reach = (form.window[d] - 1) * form.dilations[d];
      Value inside =
          index.less(reader.start[d], std::max<int64_t>(0, convolution.imageSize(d) - reach));
      all = all ? Value(arith::AndIOp::create(b, all, inside)) : inside;
    }
  return all;
}

SmallVector<Value> Blocks::addAll(ArrayRef<Reader> readers, Value panel, Value column,
                                  ArrayRef<Lanes> lanes, ValueRange accumulators) {
  if (llvm::is_contained(form.window, 0))
    return accumulators; // a phase that meets no pixel
  if (!isProduct())
    return addWindow(0, readers, index.constant(0), panel, column, lanes, accumulators);
  return addRun(readers, index.constant(tapOfProduct()), panel, column, lanes, accumulators);
}

/// One dimension further into the image.
Blocks::Reader Blocks::step(const Reader &reader, unsigned dim, Value tap) {
  Reader next = reader;
  Value at = index.add(reader.start[dim], index.mul(tap, form.dilations[dim]));
  if (hasBorder(dim)) {
    Value inside = index.less(at, convolution.imageSize(dim));
    next.inside = next.inside ? Value(arith::AndIOp::create(b, next.inside, inside)) : inside;
  }
  const int64_t size = inputTile.elements() ? inputTile.size(dim) : convolution.imageSize(dim);
  next.row = index.add(index.mul(reader.row, size), at);
  if (inputTile.elements() && dim == 0)
    next.row = b.createOrFold<arith::SubIOp>(next.row, inputTile.firstSlice());
  return next;
}

SmallVector<Value> Blocks::addWindow(unsigned dim, ArrayRef<Reader> readers, Value tapNumber,
                                     Value panel, Value column, ArrayRef<Lanes> lanes,
                                     ValueRange accumulators) {
  if (dim == form.spatial())
    return addRun(readers, tapNumber, panel, column, lanes, accumulators);
  auto at = [&](Value tap, ValueRange carried) {
    SmallVector<Reader> inner;
    for (const Reader &reader : readers)
      inner.push_back(step(reader, dim, tap));
    return addWindow(dim + 1, inner, tapAt(dim, tapNumber, tap), panel, column, lanes, carried);
  };
  // Where it is one run with the channels, the window's last dimension begins at its first place.
  if (dim >= loopedDims())
    return at(index.constant(0), accumulators);
  return LoopBuilder(b).rounds(form.window[dim], 1, accumulators, at);
}

/// The number of a place of the window in the filter, from that in the dimensions before.
Value Blocks::tapAt(unsigned dim, Value before, Value tap) {
  const std::optional<ResultPhase> &phase = convolution.phase;
  if (!phase)
    return index.add(index.mul(before, form.window[dim]), tap);
  Value back = index.mul(tap, phase->steps[dim]);
  Value own = b.createOrFold<arith::SubIOp>(index.constant(phase->tap[dim]), back);
  return index.add(index.mul(before, phase->window[dim]), own);
}

/// The same where there is one place alone.
int64_t Blocks::tapOfProduct() const {
  int64_t number = 0;
  for (unsigned d = 0; convolution.phase && d < form.spatial(); ++d)
    number = number * convolution.phase->window[d] + convolution.phase->tap[d];
  return number;
}

SmallVector<Value> Blocks::addRun(ArrayRef<Reader> readers, Value tapNumber, Value panel,
                                  Value column, ArrayRef<Lanes> lanes, ValueRange accumulators) {
  int64_t length = runLength(), steps = piece.isTight ? 1 : unrolled(length);
  SmallVector<Value> rows;
  for (const Reader &reader : readers) {
    Value offset = index.mul(reader.row, form.channels);
    if (Value channel = firstChannelOf(panel))
      offset = index.add(offset, channel);
    const int64_t elements = elementsOfWord(convolution);
    offset = index.mul(offset, elements);
    rows.push_back(borders ? borders->pick(reader.inside, offset)
                           : viewOfRun(b, inputTile.elements(), offset, runLength() * elements));
  }
  if (amx) {
    Value first = index.add(gatherTo, index.mul(tapNumber, form.inner()));
    LoopBuilder(b).loop(0, length, 1, [&](Value at) {
      Value word = memref::LoadOp::create(b, rows.front(), at);
      memref::StoreOp::create(b, word, gathered, index.add(first, at));
    });
    return {};
  }
  return addOverK(panel, index.mul(tapNumber, form.inner()), column, lanes, length, steps,
                  int64_t(rows.size()), accumulators, [&](int64_t pixel, Value at, int64_t k) {
                    return loadWord(b, convolution, rows[pixel], index.add(at, k));
                  });
}

void gantry::emitBlocks(ImplicitLocOpBuilder &b, const Convolution &convolution,
                        const Registers &registers) {
  Blocks(b, convolution, registers).emit();
}

void gantry::emitPhases(ImplicitLocOpBuilder &b, const Convolution &convolution,
                        const Registers &registers) {
  const SmallVector<Convolution, 4> phases = phasesOf(convolution);
  SmallVector<std::unique_ptr<Blocks>> blocks;
  for (const Convolution &phase : phases)
    blocks.push_back(std::make_unique<Blocks>(b, phase, registers));
  Blocks::emitAll(blocks, WorkPartition(convolution, /*amx=*/false));
}

void gantry::emitRowOfBlocks(ImplicitLocOpBuilder &b, const Convolution &convolution,
                             const Registers &registers) {
  Blocks(b, convolution, registers).emitRow();
}
