// Convolutions that mix channels: blocks of pixels by panels of output channels, in registers.
//
//   for a work item, some blocks of pixels of some panels, or bands of a wide one:
//     for its panels, for its blocks:
//       sums[pixel][lanes] = 0
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
// what it reads, with borders (Strip.h), or, where that does not fit, blocks that touch no border
// are told from the others as they come.
//
// Processors that multiply matrices (AMX) take the pixels of a block as rows of one, whole panels
// at a time, by a tile that products have, too (Products/Tile.h): where they lie if each pixel
// reads the one at its place, else gathered on the stack.

#include "Convolution.h"
#include "Cut.h"
#include "Dot.h"

#include "Panels.h"
#include "Products/TileBuilder.h"
#include "Strip.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Gantry/IR/Layout.h"
#include "gantry/Dialect/Gantry/IR/Wide.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gantry;

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

/// How much of a register tile's rate a panel of so many columns reaches: what its last register
/// leaves unused counts, and few registers wait for each other or for loads.
static double rateOf(int64_t columns) {
  constexpr double rates[] = {0.75, 0.95, 1.0, 1.0};
  int64_t registers = llvm::divideCeil(columns, kPanelLanes);
  return rates[registers - 1] * double(columns) / double(registers * kPanelLanes);
}

/// The same of a panel that is cut into bands, or of one that is not.
static double rateOfAll(int64_t columns) {
  return columns > kPanelLanes * kPanelRegisters
             ? double(columns) / double(llvm::alignTo(columns, kPanelLanes))
             : rateOf(columns);
}

int64_t gantry::panelOfColumns(int64_t own, int64_t terms) {
  // All blocks of pixels pass a panel before the next one comes: it stays in the second cache.
  constexpr int64_t panelBytes = 600 << 10;
  int64_t most = std::clamp<int64_t>(panelBytes / (terms * int64_t(sizeof(float))), kPanelLanes,
                                     kPanelLanes * kPanelRegisters);
  int64_t best = 0;
  for (int64_t columns = 1; columns <= std::min(own, most); ++columns)
    if (own % columns == 0 && (!best || rateOf(columns) >= rateOf(best)))
      best = columns;
  // Where no divisor fills registers as well, all columns are one panel, longer than the cache
  // where it must be, which is cut into bands.
  return rateOf(best) < 0.9 * rateOfAll(own) ? own : best;
}

/// Channels of a word: of unsigned bytes by signed ones, of bf16 with sums of f32, or of f32; 0
/// where there is no kernel, or groups do not have whole words.
static int64_t channelsOfWord(ConvOp conv) {
  RankedTensorType filter = conv.getFilter().getType();
  Type left = conv.getInput().getType().getElementType(), right = filter.getElementType();
  const bool isKnown = left.isUnsignedInteger(8) ? right.isSignlessInteger(8)
                       : left.isBF16()           ? isWide(conv)
                                                 : left.isF32();
  const int64_t together = channelsTogether(right);
  return isKnown && (together == 1 ||
                     (filter.getDimSize(1) > 0 && filter.getDimSize(1) % together == 0))
             ? together
             : 0;
}

int64_t gantry::panelOfFilter(ConvOp conv) {
  auto type = conv.getType();
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  const int64_t together = channelsOfWord(conv);
  if (together == 0 || !type.hasStaticShape() || !filter.hasStaticShape() ||
      !input.hasStaticShape() || type.getNumElements() == 0 || input.getNumElements() == 0)
    return 0;
  int64_t outputs = filter.getDimSize(0), groups = conv.getGroups(), own = outputs / groups;
  bool depthwise = groups > 1 && own == 1 && filter.getDimSize(1) == 1;
  if (depthwise)
    return outputs;
  return panelOfColumns(own, filter.getNumElements() / outputs / together);
}

/// Most pixels in a block of that many registers a pixel: sums, a row of the panel and a pixel's
/// channel are in registers at a time.
/// Words of bytes are read into one register more: the instruction takes only the other factor
/// from memory.
static int64_t mostPixels(int64_t registers, bool isBytes) {
  constexpr int64_t most[] = {14, 12, 9, 6}, ofBytes[] = {14, 12, 8, 6};
  return (isBytes ? ofBytes : most)[registers - 1];
}

//===----------------------------------------------------------------------===//
// Work items
//===----------------------------------------------------------------------===//

int64_t gantry::registersOf(int64_t panel) {
  // Of a wide panel three at a time.
  return panel > kPanelLanes * kPanelRegisters ? 3 : llvm::divideCeil(panel, kPanelLanes);
}

/// A wide panel is cut into bands of three registers, at the end rather into two of two registers
/// than into one of three and one of a single one.
static SmallVector<Lanes> bandsOf(int64_t panel) {
  constexpr int64_t wide = 3 * kPanelLanes;
  if (panel <= kPanelLanes * kPanelRegisters)
    return {{0, panel}};
  SmallVector<Lanes> bands;
  for (int64_t at = 0; at < panel; at += bands.back().live) {
    const int64_t left = panel - at, registers = llvm::divideCeil(left, kPanelLanes);
    bands.push_back({at, std::min(left, registers == 4 ? 2 * kPanelLanes : wide)});
  }
  return bands;
}

Cut::Cut(const Convolution &convolution, bool matrices) {
  const int64_t pixels = convolution.pixels();
  const int64_t registers = registersOf(convolution.form.panel);
  blocks = llvm::divideCeil(pixels, matrices ? cpu::kMostMatrixTileRows
                                             : mostPixels(registers, convolution.isBytes()));
  pixelsOfBlock = llvm::divideCeil(pixels, blocks);
  large = pixels - (pixelsOfBlock - 1) * blocks;
  cutItems(convolution);
}

Cut::Cut(const Convolution &convolution, int64_t rows, int64_t blocksOfRow)
    : pixelsOfBlock(llvm::divideCeil(convolution.form.out.back(), blocksOfRow)),
      blocks(rows * blocksOfRow), large(blocks) {
  cutItems(convolution);
}

void Cut::cutItems(const Convolution &convolution) {
  constexpr int64_t imageBytes = 192 << 10, filterBytes = 256 << 10;
  constexpr int64_t mostItems = 16, leastWork = 1 << 19, evenFor = 4;
  const PackedConvolution &form = convolution.form;
  const int64_t pixels = convolution.pixels();
  panels = form.outputs / form.panel;
  bands = bandsOf(form.panel);

  // What a work item reads of the image stays in the cache while it passes the panels.
  int64_t read = form.channels * int64_t(sizeof(float));
  for (int64_t stride : form.strides)
    read *= stride;
  int64_t most = std::clamp<int64_t>(imageBytes / (pixelsOfBlock * read), 1, blocks);
  chunks = llvm::divideCeil(blocks, most);
  parts = 1;
  int64_t terms = convolution.terms(), work = pixels * form.outputs * terms;
  int64_t wanted = std::clamp<int64_t>(work / leastWork, 1, mostItems);
  // A long filter is read once, by whoever has its panels; a short one by all.
  if (form.outputs * terms * int64_t(sizeof(float)) > filterBytes)
    parts = std::min<int64_t>(panels * int64_t(bands.size()), llvm::divideCeil(wanted, chunks));
  chunks = std::max<int64_t>(chunks, llvm::divideCeil(wanted, parts));
  // An even share of them for two threads and for four.
  if (parts % evenFor != 0 && items() > 1)
    chunks = llvm::alignTo(chunks, chunks < evenFor ? 2 : evenFor);
  chunks = std::min(blocks, chunks);
}

/// Whether words are pairs of bf16 that no instruction multiplies.
static bool comeApart(const Convolution &convolution, const Registers &registers) {
  return convolution.isPairs() && !registers.dotBF16;
}

/// Registers that are taken beside the sums, where so many hold a row of the panel. Pairs of bf16
/// that no instruction multiplies come apart into two numbers, as words of bytes do: those of the
/// row, a pixel's word, its halves, and what takes them apart.
static int64_t besideSums(int64_t vectors, const Convolution &convolution,
                          const Registers &registers) {
  if (comeApart(convolution, registers))
    return 2 * vectors + 4;
  return convolution.isBytes() ? cpu::registersOfBytes(vectors, registers) : vectors + 1;
}

Piece::Piece(const Convolution &convolution, const Registers &registers, int64_t panelRegisters) {
  const int64_t lanes = registers.bytes / int64_t(sizeof(float));
  // Of shorter registers several are one of the panel's, one of which is computed at a time.
  columns = lanes >= kPanelLanes ? panelRegisters * kPanelLanes : kPanelLanes;
  const int64_t vectors = llvm::divideCeil(columns, lanes);
  const int64_t free = registers.count - besideSums(vectors, convolution, registers);
  pixels = std::max<int64_t>(1, free / vectors);
  isTight =
      comeApart(convolution, registers) || (convolution.isBytes() && registers.mostByteLanes == 0);
}

static bool hasBorders(const Convolution &convolution) {
  return llvm::any_of(llvm::seq(convolution.form.spatial()),
                      [&](unsigned dim) { return convolution.hasBorder(dim); });
}

/// Whether each pixel reads the one at its place: a product of matrices. With a border the result
/// has other places than the image, also for blocks inside.
static bool isProduct(const Convolution &convolution) {
  auto isOne = [](int64_t size) { return size == 1; };
  return llvm::all_of(convolution.form.window, isOne) &&
         llvm::all_of(convolution.form.strides, isOne) && !hasBorders(convolution);
}

// Panels are as wide as some matrices, and the rows that are gathered fit the second cache.
bool gantry::multipliesMatrices(const Convolution &convolution, const Registers &registers) {
  constexpr int64_t mostBytes = 256 << 10, wordBytes = 4;
  const int64_t bytes = cpu::kMostMatrixTileRows * convolution.terms() * wordBytes;
  return convolution.isBytes() && registers.matricesBytes && convolution.form.groups == 1 &&
         convolution.form.panel % cpu::kColumnUnit == 0 &&
         convolution.form.panel <= kPanelLanes * kPanelRegisters &&
         (isProduct(convolution) || bytes <= mostBytes);
}

namespace {
struct Blocks {
  ImplicitLocOpBuilder &b;
  const Convolution &convolution;
  const PackedConvolution &form;
  IndexBuilder index;
  Cut cut;
  Piece piece;
  bool isInside = false; ///< the block that is being written touches no border
  Value image, filter;   ///< flat
  Value rows;            ///< the sums of a block on the stack, where what follows reads them
  bool matrices;         ///< whether blocks are multiplied as such (AMX)
  Value gathered;        ///< what the pixels of a block read, if that is not where they lie
  Value gatherTo;        ///< where in it the pixel at hand begins
  Epilogue epilogue;
  Strip strip;
  std::optional<Borders> borders; ///< where there is no strip

  Blocks(ImplicitLocOpBuilder &b, const Convolution &convolution, const Registers &registers)
      : b(b), convolution(convolution), form(convolution.form), index{b},
        cut(convolution, multipliesMatrices(convolution, registers)),
        piece(convolution, registers, registersOf(form.panel)),
        image(flattenFactors(b, convolution, convolution.image)),
        filter(flattenFactors(b, convolution, convolution.filter)),
        matrices(multipliesMatrices(convolution, registers)), epilogue(b, convolution),
        strip(b, convolution) {}

  void emit();
  void emitRow();
  void emitItem(Value panelItem, Value blockItem);
  Value firstPixel(Value block) const;
  void emitBand(Value number, Value first, Value end);
  void emitPart(Value panel, Value column, int64_t columns, Value first, Value end);
  void emitColumns(Value panel, Value column, int64_t columns, Value first, Value end);
  void emitBlock(Value panel, Value column, ArrayRef<Lanes> lanes, Value firstPixel,
                 int64_t pixels);
  void emitPiece(Value panel, Value column, ArrayRef<Lanes> lanes, Value firstPixel,
                 int64_t pixels);
  void emitMatrices(Value panel, ArrayRef<Lanes> lanes, Value firstPixel, int64_t pixels);
  void gather(Value firstPixel, int64_t pixels);
  Value addressOf(Value buffer, Value word);

  //===--- One block -------------------------------------------------------===//

  Type sumType() const { return cast<MemRefType>(convolution.sums.getType()).getElementType(); }
  Value multiplyAdd(Value channel, Value weights, Value sums) {
    if (convolution.together == 1)
      return vector::FMAOp::create(b, channel, weights, sums);
    auto module = convolution.op->getParentOfType<ModuleOp>();
    return cpu::callDot(b, module, channel, weights, sums);
  }

  /// Spatial dimensions with a loop over the window, outermost first. The last one has none where
  /// it is one run with the channels.
  unsigned loopedDims() const { return form.spatial() - (isRun() ? 1 : 0); }
  bool isRun() const {
    unsigned last = form.spatial() - 1;
    return !hasBorder(last) && form.dilations[last] == 1 && form.groups == 1;
  }
  bool hasBorder(unsigned dim) const {
    return !isInside && !strip.elements() && convolution.hasBorder(dim);
  }
  bool isProduct() const { return ::isProduct(convolution); }
  int64_t runLength() const { return form.inner() * (isRun() ? form.window.back() : 1); }

  /// Where a pixel reads, at a place of the window.
  struct Reader {
    SmallVector<Value> start; ///< for each spatial dimension; wraps around below zero
    Value row;                ///< of the image so far: its number among all
    Value inside;             ///< null as long as it must be
  };
  void storeByRows(ValueRange sums, ArrayRef<Lanes> lanes, Value firstPixel, int64_t pixels,
                   Value firstColumn);
  void storeRows(ArrayRef<Lanes> lanes, Value firstPixel, int64_t pixels, Value firstColumn);
  SmallVector<Reader> readersOf(ArrayRef<Pixel> pixels);
  bool tellsBordersApart() const;
  Value touchesNone(ArrayRef<Reader> readers);
  SmallVector<Value> addAll(ArrayRef<Reader> readers, Value panel, Value column,
                            ArrayRef<Lanes> lanes, ValueRange sums);
  Reader step(const Reader &reader, unsigned dim, Value tap);
  SmallVector<Value> addWindow(unsigned dim, ArrayRef<Reader> readers, Value tapNumber, Value panel,
                               Value column, ArrayRef<Lanes> lanes, ValueRange sums);
  SmallVector<Value> addRun(ArrayRef<Reader> readers, Value tapNumber, Value panel, Value column,
                            ArrayRef<Lanes> lanes, ValueRange sums);
};
} // namespace

void Blocks::emit() {
  if (matrices || (convolution.isBytes() && convolution.epilogue)) {
    OpBuilder::InsertionGuard guard(b);
    auto function = convolution.op->getParentOfType<func::FuncOp>();
    b.setInsertionPointToStart(&function.getBody().front());
    const int64_t width = registersOf(form.panel) * kPanelLanes;
    rows = memref::AllocaOp::create(b, MemRefType::get({cut.pixelsOfBlock * width}, sumType()),
                                    b.getI64IntegerAttr(64));
    if (matrices && !isProduct())
      gathered = memref::AllocaOp::create(
          b, MemRefType::get({cut.pixelsOfBlock * convolution.terms()}, b.getI32Type()),
          b.getI64IntegerAttr(64));
  }
  auto pixelsOf = [&](int64_t chunk) {
    auto first = [&](int64_t i) { return cut.firstPixel(i * cut.blocks / cut.chunks); };
    return Strip::Range(first(chunk), first(chunk + 1));
  };
  if (!hasBorders(convolution) ||
      !strip.make(cut.chunks, cut.parts, cut.panels * cut.bands.size(), pixelsOf))
    borders.emplace(b, convolution, image, runLength() * elementsOfWord(convolution));
  SmallVector<OpFoldResult> bounds{b.getIndexAttr(cut.parts), b.getIndexAttr(cut.chunks)};
  auto items = scf::ForallOp::create(b, bounds, ValueRange(), std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(items.getBody());
  emitItem(items.getInductionVar(0), items.getInductionVar(1));
  auto func = items->getParentOfType<func::FuncOp>();
  int64_t work = convolution.pixels() * form.outputs * convolution.terms() / cut.items();
  func->setAttr(kWorkAttr, WorkAttr::of(func).withGrain(
                               std::max<int64_t>(1, kThreadWork / std::max<int64_t>(work, 1))));
}

/// All there is, here.
void Blocks::emitRow() {
  cut.parts = cut.chunks = 1;
  borders.emplace(b, convolution, image, runLength());
  emitItem(index.constant(0), index.constant(0));
}

void Blocks::emitItem(Value panelItem, Value blockItem) {
  // No item has more than one more than another: the last one does not end before the others.
  auto range = [&](Value item, int64_t items, int64_t all) {
    Value from = index.mul(item, all), to = index.add(from, all);
    return std::pair(index.div(from, items), index.div(to, items));
  };
  auto [band, endBand] = range(panelItem, cut.parts, cut.panels * int64_t(cut.bands.size()));
  auto [block, endBlock] = range(blockItem, cut.chunks, cut.blocks);
  if (borders)
    borders->clear();
  else
    strip.fill(firstPixel(block), firstPixel(endBlock));
  loop(b, band, endBand, 1,
       [&, block = block, endBlock = endBlock](Value at) { emitBand(at, block, endBlock); });
}

Value Blocks::firstPixel(Value block) const {
  return index.add(index.mul(block, cut.pixelsOfBlock - 1),
                   index.min(block, index.constant(cut.large)));
}

/// One of all panels' bands, by its number.
void Blocks::emitBand(Value number, Value first, Value end) {
  const int64_t count = cut.bands.size();
  if (count == 1)
    return emitPart(number, index.constant(0), form.panel, first, end);
  Value panel = index.div(number, count), band = index.rem(number, count);
  // All of the same width have their loops in common.
  for (int64_t from = 0, to = 0; from < count; from = to) {
    const int64_t columns = cut.bands[from].live;
    while (to < count && cut.bands[to].live == columns)
      ++to;
    Value past = b.createOrFold<arith::SubIOp>(band, index.constant(from));
    auto isOne = scf::IfOp::create(b, index.less(past, to - from), /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(isOne.thenBlock());
    Value column = index.add(index.mul(past, columns), cut.bands[from].first);
    emitPart(panel, column, columns, first, end);
  }
}

/// Some columns of a panel, as many at a time as there are registers for.
void Blocks::emitPart(Value panel, Value column, int64_t columns, Value first, Value end) {
  if (columns <= piece.columns)
    return emitColumns(panel, column, columns, first, end);
  const int64_t whole = columns / piece.columns * piece.columns;
  loop(b, index.constant(0), index.constant(whole), piece.columns,
       [&](Value at) { emitColumns(panel, index.add(column, at), piece.columns, first, end); });
  if (whole < columns)
    emitColumns(panel, index.add(column, whole), columns - whole, first, end);
}

void Blocks::emitColumns(Value panel, Value column, int64_t columns, Value first, Value end) {
  SmallVector<Lanes> lanes = lanesOf(columns);
  Value border = index.constant(cut.large);
  loop(b, first, index.min(end, border), 1, [&](Value block) {
    emitBlock(panel, column, lanes, index.mul(block, cut.pixelsOfBlock), cut.pixelsOfBlock);
  });
  if (cut.large == cut.blocks)
    return;
  loop(b, index.max(first, border), end, 1, [&](Value block) {
    Value pixel = index.add(index.mul(block, cut.pixelsOfBlock - 1), border);
    emitBlock(panel, column, lanes, pixel, cut.pixelsOfBlock - 1);
  });
}

//===----------------------------------------------------------------------===//
// One block
//===----------------------------------------------------------------------===//

void Blocks::emitBlock(Value panel, Value column, ArrayRef<Lanes> lanes, Value firstPixel,
                       int64_t pixels) {
  if (matrices)
    return emitMatrices(panel, lanes, firstPixel, pixels);
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
  SmallVector<Value> sums;
  for (int64_t i = 0; i < pixels; ++i)
    for (Lanes part : lanes)
      sums.push_back(arith::ConstantOp::create(
          b, b.getZeroAttr(VectorType::get({widthOf(part.live)}, sumType()))));
  SmallVector<Reader> readers = readersOf(places);
  if (tellsBordersApart()) {
    auto choice = scf::IfOp::create(b, ValueRange(sums).getTypes(), touchesNone(readers), true);
    for (bool inside : {true, false}) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&choice->getRegion(inside ? 0 : 1).front());
      isInside = inside;
      scf::YieldOp::create(b, addAll(readers, panel, column, lanes, sums));
    }
    isInside = false;
    sums.assign(choice->result_begin(), choice->result_end());
  } else {
    sums = addAll(readers, panel, column, lanes, sums);
  }
  Value firstColumn = index.add(index.mul(panel, form.panel), column);
  if (convolution.isBytes() && convolution.epilogue)
    return storeByRows(sums, lanes, firstPixel, pixels, firstColumn);
  for (int64_t i = 0; i < pixels; ++i)
    for (auto [j, part] : llvm::enumerate(lanes))
      epilogue.store(sums[i * lanes.size() + j], places[i], firstColumn, part);
}

/// A pixel after the other: what follows sums of bytes is long, and code for each register of a
/// block longer than all else.
void Blocks::storeByRows(ValueRange sums, ArrayRef<Lanes> lanes, Value firstPixel, int64_t pixels,
                         Value firstColumn) {
  const int64_t width = int64_t(lanes.size()) * kPanelLanes;
  for (int64_t i = 0; i < pixels; ++i)
    for (auto [j, part] : llvm::enumerate(lanes))
      vector::StoreOp::create(b, sums[i * lanes.size() + j], rows,
                              index.constant(i * width + part.first));
  storeRows(lanes, firstPixel, pixels, firstColumn);
}

void Blocks::storeRows(ArrayRef<Lanes> lanes, Value firstPixel, int64_t pixels, Value firstColumn) {
  const int64_t width = int64_t(lanes.size()) * kPanelLanes;
  loop(b, index.constant(0), index.constant(pixels), 1, [&](Value row) {
    Pixel pixel = pixelAt(convolution, index, index.add(firstPixel, row));
    for (Lanes part : lanes) {
      auto type = VectorType::get({widthOf(part.live)}, sumType());
      Value at = index.add(index.mul(row, width), part.first);
      epilogue.store(vector::LoadOp::create(b, type, rows, at), pixel, firstColumn, part);
    }
  });
}

//===----------------------------------------------------------------------===//
// One block as a matrix
//===----------------------------------------------------------------------===//

Value Blocks::addressOf(Value buffer, Value word) {
  constexpr int64_t wordBytes = 4;
  Value start = memref::ExtractAlignedPointerAsIndexOp::create(b, buffer);
  return index.add(start, index.mul(word, wordBytes));
}

void Blocks::emitMatrices(Value panel, ArrayRef<Lanes> lanes, Value firstPixel, int64_t pixels) {
  constexpr int64_t wordBytes = 4;
  Value left = image, first = index.mul(firstPixel, form.channels);
  if (!isProduct()) {
    gather(firstPixel, pixels);
    left = gathered;
    first = index.constant(0);
  }
  const int64_t rowBytes = (isProduct() ? form.channels : convolution.terms()) * wordBytes;
  Value none = index.constant(0);
  SmallVector<Value> arguments(cpu::Tile::numArguments, none);
  arguments[cpu::Tile::left] = addressOf(left, first);
  arguments[cpu::Tile::leftStride] = index.constant(rowBytes);
  arguments[cpu::Tile::panel] =
      addressOf(filter, index.mul(panel, convolution.terms() * form.panel));
  arguments[cpu::Tile::sums] = addressOf(rows, none);
  arguments[cpu::Tile::terms] = index.constant(convolution.terms() * wordBytes);
  cpu::callTile(b, convolution.op->getParentOfType<ModuleOp>(),
                {cpu::Factors::bytes, pixels, form.panel, /*ahead=*/0, /*matrices=*/true},
                arguments);
  storeRows(lanes, firstPixel, pixels, index.mul(panel, form.panel));
}

/// Puts what each pixel reads side by side, in the order of the filter.
void Blocks::gather(Value firstPixel, int64_t pixels) {
  loop(b, index.constant(0), index.constant(pixels), 1, [&](Value row) {
    Pixel pixel = pixelAt(convolution, index, index.add(firstPixel, row));
    gatherTo = index.mul(row, convolution.terms());
    addWindow(0, readersOf(pixel), index.constant(0), {}, {}, {}, {});
  });
}

SmallVector<Blocks::Reader> Blocks::readersOf(ArrayRef<Pixel> pixels) {
  SmallVector<Reader> readers;
  for (const Pixel &pixel : pixels) {
    Reader reader{{}, isProduct() ? pixel.read : pixel.at[0], {}};
    for (unsigned d = 0; d < form.spatial() && !isProduct(); ++d)
      reader.start.push_back(index.add(index.mul(pixel.at[d + 1], form.strides[d]),
                                       strip.elements() ? 0 : -convolution.low[d]));
    readers.push_back(std::move(reader));
  }
  return readers;
}

/// Whether blocks that touch no border have loops of their own.
bool Blocks::tellsBordersApart() const {
  constexpr int64_t fewChannels = 24;
  return hasBorders(convolution) && !strip.elements() && form.inner() <= fewChannels;
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
                                  ArrayRef<Lanes> lanes, ValueRange sums) {
  unsigned outermost = isProduct() ? form.spatial() : 0;
  return addWindow(outermost, readers, index.constant(0), panel, column, lanes, sums);
}

/// One dimension further into the image.
Blocks::Reader Blocks::step(const Reader &reader, unsigned dim, Value tap) {
  Reader next = reader;
  Value at = index.add(reader.start[dim], index.mul(tap, form.dilations[dim]));
  if (hasBorder(dim)) {
    Value inside = index.less(at, convolution.imageSize(dim));
    next.inside = next.inside ? Value(arith::AndIOp::create(b, next.inside, inside)) : inside;
  }
  const int64_t size = strip.elements() ? strip.size(dim) : convolution.imageSize(dim);
  next.row = index.add(index.mul(reader.row, size), at);
  if (strip.elements() && dim == 0)
    next.row = b.createOrFold<arith::SubIOp>(next.row, strip.firstSlice());
  return next;
}

SmallVector<Value> Blocks::addWindow(unsigned dim, ArrayRef<Reader> readers, Value tapNumber,
                                     Value panel, Value column, ArrayRef<Lanes> lanes,
                                     ValueRange sums) {
  if (dim == form.spatial())
    return addRun(readers, tapNumber, panel, column, lanes, sums);
  auto at = [&](Value tap, ValueRange carried) {
    SmallVector<Reader> inner;
    for (const Reader &reader : readers)
      inner.push_back(step(reader, dim, tap));
    Value number = index.add(index.mul(tapNumber, form.window[dim]), tap);
    return addWindow(dim + 1, inner, number, panel, column, lanes, carried);
  };
  // Where it is one run with the channels, the window's last dimension begins at its first place.
  if (dim >= loopedDims())
    return at(index.constant(0), sums);
  return loopWith(b, form.window[dim], 1, sums, at);
}

int64_t gantry::unrolled(int64_t length) {
  if (length <= 8)
    return length;
  for (int64_t steps : {4, 3, 2})
    if (length % steps == 0)
      return steps;
  return 1;
}

SmallVector<Value> Blocks::addRun(ArrayRef<Reader> readers, Value tapNumber, Value panel,
                                  Value column, ArrayRef<Lanes> lanes, ValueRange sums) {
  int64_t length = runLength(), steps = piece.isTight ? 1 : unrolled(length);
  SmallVector<Value> rows;
  for (const Reader &reader : readers) {
    Value offset = index.mul(reader.row, form.channels);
    if (form.groups > 1) {
      int64_t panelsOfGroup = form.outputs / form.groups / form.panel;
      offset = index.add(offset, index.mul(index.div(panel, panelsOfGroup), form.inner()));
    }
    const int64_t elements = elementsOfWord(convolution);
    offset = index.mul(offset, elements);
    rows.push_back(borders ? borders->pick(reader.inside, offset)
                           : viewOfRun(b, strip.elements(), offset, runLength() * elements));
  }
  if (matrices) {
    Value first = index.add(gatherTo, index.mul(tapNumber, form.inner()));
    loop(b, index.constant(0), index.constant(length), 1, [&](Value at) {
      Value word = memref::LoadOp::create(b, rows.front(), at);
      memref::StoreOp::create(b, word, gathered, index.add(first, at));
    });
    return {};
  }
  Value before =
      index.add(index.mul(panel, convolution.terms()), index.mul(tapNumber, form.inner()));
  Value filterAt = index.add(index.mul(before, form.panel), column);
  // Rows of a wide panel lie so far apart that the processor does not see the next ones coming.
  constexpr int64_t rowsAhead = 12;
  const bool prefetches = form.panel > kPanelLanes * kPanelRegisters;
  return loopWith(b, length, steps, sums, [&](Value at, ValueRange carried) {
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
      for (auto [i, row] : llvm::enumerate(rows)) {
        Value channel = loadWord(b, convolution, row, index.add(at, k));
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

void gantry::emitBlocks(ImplicitLocOpBuilder &b, const Convolution &convolution,
                        const Registers &registers) {
  Blocks(b, convolution, registers).emit();
}

void gantry::emitRowOfBlocks(ImplicitLocOpBuilder &b, const Convolution &convolution,
                             const Registers &registers) {
  Blocks(b, convolution, registers).emitRow();
}
