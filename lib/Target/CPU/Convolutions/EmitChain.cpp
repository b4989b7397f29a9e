// Line-buffered fusion of expand, depthwise, project: a row of the result after the other.
//
//   for a work item, some rows of the result:
//     for its rows:
//       the rows that the window reaches and that are not there yet, into a ring of rows
//       the row of the depthwise convolution, from the ring
//       the row of the result, from that
//
// The ring has as many rows as the window, each with its borders left and right; rows above and
// below the image are zeros. So nobody asks where a pixel lies, and what is between the
// convolutions is a few rows that stay in the second cache. The first rows of an item are made
// by the one before as well: items share nothing. Each element is the sum of the same terms in the
// same order as in kernels of their own, zeros of borders included.

#include "Chain.h"

#include "Panels.h"
#include "WorkPartition.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace gantry;

ChainSizes ChainSizes::of(const PackedConvolution &form, int64_t low, int64_t imageColumns,
                          bool expands, bool projects) {
  auto reach = [&](unsigned dim) { return (form.window[dim] - 1) * form.dilations[dim] + 1; };
  const int64_t across = (form.out[1] - 1) * form.strides[1] + reach(1);
  return {form.batch * form.out[0],
          form.out[1],
          reach(0),
          form.strides[0],
          std::max(across, low + imageColumns),
          form.channels,
          expands,
          projects};
}

int64_t ChainSizes::items() const {
  // For four threads, unless rows would be made twice that are many beside all.
  constexpr int64_t wanted[] = {8, 4, 2}, leastShare[] = {20, 4, 1};
  for (auto [items, share] : llvm::zip(wanted, leastShare))
    if (rows >= items && (!expands || (items - 1) * rowsKept() * share <= rows * stride))
      return items;
  return 1;
}

std::optional<ConvolutionChain> ConvolutionChain::match(ArrayRef<Convolution> convolutions) {
  auto isDepthwise = [](const Convolution &each) {
    return each.form.isDepthwise() && each.form.groups > 1;
  };
  const Convolution *depthwise = llvm::find_if(convolutions, isDepthwise);
  if (convolutions.size() < 2 || convolutions.size() > 3 || depthwise == convolutions.end() ||
      depthwise - convolutions.begin() > 1 || convolutions.end() - depthwise > 2)
    return std::nullopt;
  for (const Convolution &each : convolutions) {
    constexpr unsigned spatial = 2;
    auto isOne = [](int64_t size) { return size == 1; };
    const bool isOfPixels = llvm::all_of(each.form.window, isOne) &&
                            llvm::all_of(each.form.strides, isOne) && each.form.groups == 1 &&
                            !each.hasBorder();
    if (each.form.spatial() != spatial || each.packingFactor != 1 || each.form.isTransposed ||
        (&each != depthwise && !isOfPixels))
      return std::nullopt;
  }
  llvm::SmallPtrSet<Operation *, 16> replaced;
  for (const Convolution &each : convolutions)
    replaced.insert(each.replaced.begin(), each.replaced.end());
  for (auto [each, next] : llvm::zip(convolutions.drop_back(), convolutions.drop_front())) {
    // One buffer may be several of these in turn, but what follows sums reads nothing but them.
    auto readsIt = [&, buffer = each.result](const Convolution &other) {
      linalg::GenericOp epilogue = other.epilogue;
      return epilogue && buffer != other.accumulators &&
             llvm::is_contained(epilogue.getInputs(), buffer);
    };
    auto isForChain = [&](Operation *user) { return replaced.contains(user); };
    if (each.result != next.image || !each.result.getDefiningOp<memref::AllocOp>() ||
        !llvm::all_of(each.result.getUsers(), isForChain) || llvm::any_of(convolutions, readsIt))
      return std::nullopt;
  }
  ConvolutionChain chain{std::nullopt, *depthwise, std::nullopt};
  if (depthwise != convolutions.begin())
    chain.expand = convolutions.front();
  if (depthwise + 1 != convolutions.end())
    chain.project = convolutions.back();
  return chain;
}

namespace {
struct ChainEmitter {
  ImplicitLocOpBuilder &b;
  const ConvolutionChain &chain;
  const Registers &registers;
  IndexBuilder index;
  ChainSizes sizes;
  Value ring, rowBuffer; ///< what is expanded, and what the depthwise convolution gives
  Value part;            ///< the item's in both

  ChainEmitter(ImplicitLocOpBuilder &b, const ConvolutionChain &chain, const Registers &registers)
      : b(b), chain(chain), registers(registers), index{b},
        sizes(ChainSizes::of(chain.depthwise.form, chain.depthwise.low[1],
                             chain.depthwise.imageSize(1), chain.expand.has_value(),
                             chain.project.has_value())) {}

  void emit();
  void makeBuffers(int64_t parts);
  void emitItem(Value item);
  void clearBorders();
  void emitRow(Value row, Value firstOfItem);
  void expandRow(Value image, Value padded);
  void clear(Value pixel, int64_t pixels);

  const PackedConvolution &form() const { return chain.depthwise.form; }
  /// The pixel of the ring where a row begins, numbered with the border above the image.
  Value placeInRing(Value padded) {
    Value row = index.add(index.mul(part, sizes.window), index.rem(padded, sizes.window));
    return index.mul(row, sizes.pitch);
  }
};
} // namespace

void ChainEmitter::makeBuffers(int64_t parts) {
  auto allocate = [&](int64_t rows, int64_t columns) {
    auto type = MemRefType::get({parts, rows, columns, sizes.channels}, b.getF32Type());
    return memref::AllocOp::create(b, type, b.getI64IntegerAttr(64));
  };
  if (sizes.expands)
    ring = allocate(sizes.window, sizes.pitch);
  if (sizes.projects)
    rowBuffer = allocate(1, sizes.columns);
}

void ChainEmitter::emit() {
  const int64_t items = sizes.items();
  const bool isSmall = sizes.scratchBytes() == 0;
  if (!isSmall)
    makeBuffers(items);
  LoopBuilder(b).forItems({items}, [&](ValueRange item) {
    if (isSmall)
      makeBuffers(1);
    part = isSmall ? index.constant(0) : item[0];
    emitItem(item[0]);
  });
  int64_t work = 0;
  for (const Convolution *each : {chain.expand ? &*chain.expand : nullptr, &chain.depthwise,
                                  chain.project ? &*chain.project : nullptr})
    if (each)
      work += each->pixels() * each->form.outputs * each->sizeK();
  setGrain(b, work / items, kThreadWork);
}

void ChainEmitter::emitItem(Value item) {
  const int64_t items = sizes.items();
  auto first = [&](Value at) { return index.div(index.mul(at, sizes.rows), items); };
  Value from = first(item), to = first(index.add(item, 1));
  if (sizes.expands)
    clearBorders();
  LoopBuilder(b).loop(from, to, 1, [&](Value row) { emitRow(row, from); });
}

/// Zeros in some pixels of the ring.
void ChainEmitter::clear(Value pixel, int64_t pixels) {
  Value flat = flatten(b, ring), first = index.mul(pixel, sizes.channels);
  auto clearLanes = [&](Value at, int64_t live) {
    Value zero = arith::ConstantOp::create(
        b, b.getZeroAttr(VectorType::get({widthOf(live)}, b.getF32Type())));
    storeLanes(b, zero, flat, index.add(first, at), live);
  };
  const int64_t length = pixels * sizes.channels, whole = length / kPanelLanes * kPanelLanes;
  if (whole)
    LoopBuilder(b).loop(0, whole, kPanelLanes, [&](Value at) { clearLanes(at, kPanelLanes); });
  if (whole < length)
    clearLanes(index.constant(whole), length - whole);
}

/// What is left and right of the image; nothing else writes there.
void ChainEmitter::clearBorders() {
  const int64_t low = chain.depthwise.low[1], end = low + chain.depthwise.imageSize(1);
  LoopBuilder(b).loop(0, sizes.window, 1, [&](Value row) {
    Value place = placeInRing(row);
    if (low > 0)
      clear(place, low);
    if (end < sizes.pitch)
      clear(index.add(place, end), sizes.pitch - end);
  });
}

/// A row of what is expanded, by its number with the border above the image.
void ChainEmitter::expandRow(Value image, Value padded) {
  const Convolution &depthwise = chain.depthwise;
  const int64_t height = depthwise.imageSize(0), width = depthwise.imageSize(1);
  Value row = index.add(padded, -depthwise.low[0]);
  Value place = index.add(placeInRing(padded), depthwise.low[1]);
  auto expand = [&] {
    Convolution one = *chain.expand;
    one.form.batch = 1;
    one.form.out = {1, width};
    one.result = ring;
    Value first = index.mul(index.add(index.mul(image, height), row), width);
    one.only = ResultRow{image, row, first, first, place};
    emitRowOfBlocks(b, one, registers);
  };
  if (!depthwise.hasBorder(0))
    return expand();
  auto isThere = scf::IfOp::create(b, index.less(row, height), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(isThere.thenBlock());
  expand();
  b.setInsertionPointToStart(isThere.elseBlock());
  clear(place, width);
}

void ChainEmitter::emitRow(Value row, Value firstOfItem) {
  const int64_t height = form().out[0], columns = sizes.columns;
  Value image = index.div(row, height), y = index.rem(row, height);
  Value first = index.mul(row, columns);
  SmallVector<Value> windowRows;
  Convolution depthwise = chain.depthwise;
  if (sizes.expands) {
    // Those of the row before are there, but for the first of an item and of an image.
    Value begin = index.mul(y, sizes.stride), end = index.add(begin, sizes.window);
    Value starts = arith::OrIOp::create(
        b, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, row, firstOfItem),
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, y, index.constant(0)));
    Value known = index.add(begin, sizes.rowsKept());
    LoopBuilder(b).loop(arith::SelectOp::create(b, starts, begin, known), end, 1,
                        [&](Value padded) { expandRow(image, padded); });
    for (int64_t i = 0; i < form().window[0]; ++i)
      windowRows.push_back(
          index.mul(placeInRing(index.add(begin, i * form().dilations[0])), sizes.channels));
    depthwise.image = ring;
    depthwise.low.assign(depthwise.low.size(), 0);
    depthwise.form.batch = 1;
    depthwise.form.out = {1, columns};
  }
  Value stored = first;
  if (sizes.projects) {
    depthwise.result = rowBuffer;
    stored = index.mul(part, columns);
  }
  depthwise.only = ResultRow{image, y, first, first, stored};
  emitRowOfDepthwise(b, depthwise, registers, windowRows);
  if (!sizes.projects)
    return;
  Convolution project = *chain.project;
  project.form.batch = 1;
  project.form.out = {1, columns};
  project.image = rowBuffer;
  project.only = ResultRow{image, y, first, stored, first};
  emitRowOfBlocks(b, project, registers);
}

void gantry::emitChain(ImplicitLocOpBuilder &b, const ConvolutionChain &chain,
                       const Registers &registers) {
  ChainEmitter(b, chain, registers).emit();
}
