// How filters are cut into panels, and the work of convolutions into items, blocks and what is in
// registers at a time. Work items are the same for every processor: they are cut for the registers
// of AVX-512.

#include "WorkPartition.h"

#include "Dot.h"
#include "Panels.h"
#include "Products/Panels.h"
#include "gantry/Dialect/Gantry/IR/Accumulators.h"
#include "gantry/Dialect/Gantry/IR/Layout.h"

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

double gantry::rateOfPanel(int64_t columns) {
  return columns > kPanelLanes * kPanelRegisters
             ? double(columns) / double(llvm::alignTo(columns, kPanelLanes))
             : rateOf(columns);
}

int64_t gantry::panelOfColumns(int64_t own, int64_t sizeK) {
  // All blocks of pixels pass a panel before the next one comes: it stays in the second cache.
  constexpr int64_t panelBytes = 600 << 10;
  int64_t most = std::clamp<int64_t>(panelBytes / (sizeK * int64_t(sizeof(float))), kPanelLanes,
                                     kPanelLanes * kPanelRegisters);
  int64_t best = 0;
  for (int64_t columns = 1; columns <= std::min(own, most); ++columns)
    if (own % columns == 0 && (!best || rateOf(columns) >= rateOf(best)))
      best = columns;
  // Where no divisor fills registers as well, all columns are one panel, longer than the cache
  // where it must be, which is cut into bands.
  return rateOf(best) < 0.9 * rateOfPanel(own) ? own : best;
}

/// Channels of a word: of unsigned bytes by signed ones, of bf16 with sums of f32, or of f32; 0
/// where there is no kernel, or groups do not have whole words.
static int64_t channelsOfWord(ConvOp conv) {
  RankedTensorType filter = conv.getFilter().getType();
  Type left = conv.getInput().getType().getElementType(), right = filter.getElementType();
  const bool isKnown = left.isUnsignedInteger(8) ? right.isSignlessInteger(8)
                       : left.isBF16()           ? givesAccumulators(conv)
                                                 : left.isF32();
  const int64_t packingFactor = packingFactorOfChannels(right);
  return isKnown && (packingFactor == 1 ||
                     (filter.getDimSize(1) > 0 && filter.getDimSize(1) % packingFactor == 0))
             ? packingFactor
             : 0;
}

int64_t gantry::panelOfFilter(ConvOp conv) {
  auto type = conv.getType();
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  const int64_t packingFactor = channelsOfWord(conv);
  if (packingFactor == 0 || !type.hasStaticShape() || !filter.hasStaticShape() ||
      !input.hasStaticShape() || type.getNumElements() == 0 || input.getNumElements() == 0)
    return 0;
  int64_t outputs = filter.getDimSize(0), groups = conv.getGroups(), own = outputs / groups;
  bool depthwise = groups > 1 && own == 1 && filter.getDimSize(1) == 1;
  if (depthwise)
    return outputs;
  return panelOfColumns(own, filter.getNumElements() / outputs / packingFactor);
}

int64_t gantry::panelOfFilter(ConvTransposeOp op) {
  RankedTensorType input = op.getInput().getType(), filter = op.getFilter().getType(),
                   result = op.getType();
  auto isImage = [](RankedTensorType type) {
    return type.getElementType().isF32() && type.hasStaticShape() && type.getNumElements() > 0;
  };
  if (!isImage(input) || !isImage(filter) || !isImage(result) || op.getGroups() != 1)
    return 0;
  for (size_t i = 0; i < op.getStrides().size(); ++i) {
    const int64_t reach = filter.getDimSize(i + 2) - 1;
    // Where pads cut more than the window reaches over the ends, pixels are missing.
    if (op.getDilations()[i] != 1 || op.getPadsLow()[i] > reach ||
        op.getPadsHigh()[i] > reach + op.getOutputPads()[i])
      return 0;
  }
  return panelOfColumns(filter.getDimSize(1), filter.getNumElements() / filter.getDimSize(1));
}

int64_t gantry::mostPixelsInLine(int64_t registers, bool isInt8) {
  constexpr int64_t most[] = {14, 12, 9, 6}, ofBytes[] = {14, 12, 8, 6};
  return (isInt8 ? ofBytes : most)[registers - 1];
}

//===----------------------------------------------------------------------===//
// Items and blocks
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

WorkPartition::WorkPartition(const Convolution &convolution, bool amx) {
  const int64_t pixels = convolution.pixels();
  const int64_t registers = registersOf(convolution.form.panel);
  blocks = llvm::divideCeil(pixels, amx ? cpu::kMostAMXRows
                                        : mostPixelsInLine(registers, convolution.isInt8()));
  pixelsOfBlock = llvm::divideCeil(pixels, blocks);
  large = pixels - (pixelsOfBlock - 1) * blocks;
  partitionItems(convolution);
}

WorkPartition::WorkPartition(const Convolution &convolution, int64_t rows, int64_t blocksOfRow)
    : pixelsOfBlock(llvm::divideCeil(convolution.form.out.back(), blocksOfRow)),
      blocks(rows * blocksOfRow), large(blocks) {
  partitionItems(convolution);
}

void WorkPartition::partitionItems(const Convolution &convolution) {
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
  int64_t sizeK = convolution.sizeK(), work = pixels * form.outputs * sizeK;
  int64_t wanted = std::clamp<int64_t>(work / leastWork, 1, mostItems);
  // A long filter is read once, by whoever has its panels; a short one by all.
  if (form.outputs * sizeK * int64_t(sizeof(float)) > filterBytes)
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
static int64_t besideAccumulators(int64_t vectors, const Convolution &convolution,
                                  const Registers &registers) {
  if (comeApart(convolution, registers))
    return 2 * vectors + 4;
  return convolution.isInt8() ? cpu::registersOfBytes(vectors, registers) : vectors + 1;
}

PixelRegisters::PixelRegisters(const Convolution &convolution, const Registers &registers,
                               int64_t panelRegisters) {
  const int64_t lanes = registers.bytes / int64_t(sizeof(float));
  // Of shorter registers several are one of the panel's, one of which is computed at a time.
  columns = lanes >= kPanelLanes ? panelRegisters * kPanelLanes : kPanelLanes;
  const int64_t vectors = llvm::divideCeil(std::min(columns, convolution.form.panel), lanes);
  const int64_t free = registers.count - besideAccumulators(vectors, convolution, registers);
  // Of one register each so many that their addresses fit registers, too.
  constexpr int64_t mostAddresses = 7;
  pixels = std::max<int64_t>(1, free / vectors);
  if (vectors == 1 && lanes < kPanelLanes)
    pixels = std::min(pixels, mostAddresses);
  isTight =
      comeApart(convolution, registers) || (convolution.isInt8() && registers.mostByteLanes == 0);
}

bool gantry::isProduct(const Convolution &convolution) {
  auto isOne = [](int64_t size) { return size == 1; };
  return llvm::all_of(convolution.form.window, isOne) &&
         llvm::all_of(convolution.form.strides, isOne) && !convolution.hasBorder() &&
         (!convolution.phase ||
          llvm::all_of(llvm::seq(convolution.form.spatial()), [&](unsigned d) {
            return convolution.low[d] == 0 && convolution.form.out[d] == convolution.imageSize(d);
          }));
}

// Panels are as wide as some matrices, and the rows that are gathered fit the second cache.
bool gantry::usesAMX(const Convolution &convolution, const Registers &registers) {
  constexpr int64_t mostBytes = 256 << 10, wordBytes = 4;
  const int64_t bytes = cpu::kMostAMXRows * convolution.sizeK() * wordBytes;
  return convolution.isInt8() && registers.amxInt8 && convolution.form.groups == 1 &&
         convolution.form.panel % cpu::kColumnUnit == 0 &&
         convolution.form.panel <= kPanelLanes * kPanelRegisters &&
         (isProduct(convolution) || bytes <= mostBytes);
}

int64_t gantry::unrolled(int64_t length) {
  if (length <= 8)
    return length;
  for (int64_t steps : {4, 3, 2})
    if (length % steps == 0)
      return steps;
  return 1;
}
