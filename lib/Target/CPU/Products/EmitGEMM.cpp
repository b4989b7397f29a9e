// GEMM: turns kernels that are products into loops around microkernels.
//
//   for an item (a matrix, a chunk of tiles, a panel):
//     for blocks of K: (pack the panel's block, if nobody did when compiling)
//       for tiles: accumulators (+)= rows of the left operand * panel       a call
//     for the rows of the accumulators: result = what follows from the sum, element by element
//
// Accumulators are in a buffer of the item's own that stays in the cache; the result is written
// once, by the tiles themselves where sums of few terms are the result and the buffer would take
// longer. What follows is pulled through `Elements`, so that biases, activations, residuals, casts
// and reshapes need no case, and LLVM's vectoriser sees a loop over neighbours.

#include "TileBuilder.h"

#include "Convolutions/Convolution.h"
#include "gantry/Target/CPU/Passes.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::cpu;

namespace gantry {
#define GEN_PASS_DEF_EMITGEMMPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

namespace {
/// What an item works on: indices of the batch, and places that all its loops have in common.
struct Item {
  Indices batch;
  Value panel, firstColumn;
  Value firstTile, lastTile, firstRow;
  Value leftOffset;   ///< of the matrix, in elements
  Value panelAddress; ///< of packed panels
  Value accumulators, ownPanel, ownRows;
};

/// A block of K.
struct RangeOfK {
  Value first, count;
};

class GEMMEmitter : TileBuilder {
public:
  GEMMEmitter(func::FuncOp func, const PackedGEMM &product)
      : TileBuilder(func, product), p(product) {}

  void emit() {
    begin(p.root, p.right ? p.right->argument : p.bits ? p.bits->argument : BlockArgument());
    if (p.left)
      leftBase = addressOf(buffers.lookup(p.left->argument));
    if (p.right)
      rightBase = addressOf(buffers.lookup(p.right->argument));
    if (p.bits)
      rightBase = addressOf(buffers.lookup(p.bits->argument));
    forItems({p.batch, p.chunks, p.panels},
             [&](ValueRange at) { emitItem(describeItem(at[0], at[1], at[2])); });
    end(llvm::divideCeil(p.rows, p.chunks) * p.width * p.k);
  }

private:
  Indices loopsAt(const Item &item, Value row, Value column, Value atK) {
    return TileBuilder::loopsAt(p.product, item.batch, row, column, atK);
  }

  //===--- Items -----------------------------------------------------------------------------===//

  Item describeItem(Value matrix, Value chunk, Value panel) {
    Item item;
    item.batch = delinearize(b, matrix, p.product.sizes(p.product.batch));
    item.panel = panel;
    item.firstColumn = mul(panel, p.width);
    item.firstTile = firstTileOf(chunk, p.chunks);
    item.lastTile =
        p.chunks == 1 ? constant(p.tiles) : firstTileOf(add(chunk, constant(1)), p.chunks);
    item.firstRow = rowOf(item.firstTile);
    if (p.left) {
      item.leftOffset = offsetOf(*p.left, item.batch);
    } else if (p.leftByColumns) {
      item.ownRows = allocate({p.blockK * p.ownTermStride()}, leftType());
    } else {
      item.ownRows = allocate({p.tileRows, p.ownRowK()}, leftType());
    }
    if (p.right)
      item.panelAddress = packedPanel(item);
    else if (!p.multipliesBlockQuantized())
      item.ownPanel = allocatePanel();
    if (!p.out)
      item.accumulators = allocate(
          {p.blocksOfK == 1 ? p.tileRows : p.tilesOfItem() * p.tileRows, p.width}, sumType());
    return item;
  }

  Value packedPanel(const Item &item) {
    SmallVector<int64_t> sizes;
    Indices indices;
    for (unsigned loop : p.matrixLoops()) {
      sizes.push_back(p.product.sizes({loop}).front());
      indices.push_back(item.batch[llvm::find(p.product.batch, loop) - p.product.batch.begin()]);
    }
    Value panel = add(mul(linearize(b, indices, sizes), p.panels), item.panel);
    return add(rightBase, bytes(mul(panel, p.paddedK() * p.width), p.panelBytes()));
  }

  void emitItem(const Item &item) {
    if (p.multipliesBlockQuantized()) {
      callBlockQuantized(item, p.rows, add(leftBase, bytes(item.leftOffset)), item.accumulators,
                         {constant(0), constant(p.k)});
      return storeRows(item, constant(0), item.firstRow, constant(p.rows));
    }
    if (p.blocksOfK == 1) {
      RangeOfK all{constant(0), constant(p.k)};
      packPanel(item, all);
      packColumns(item, all);
      loop(item.firstTile, item.lastTile, [&](Value tile) {
        callMicrokernel(item, all, tile, constant(0), constant(0));
        if (!p.out)
          storeRows(item, constant(0), rowOf(tile), rowsOf(tile));
      });
      return;
    }
    loop(p.blocksOfK, [&](Value block) {
      Value first = mul(block, p.blockK);
      Value rest = sub(constant(p.k), first);
      RangeOfK range{first, least(rest, constant(p.blockK))};
      packPanel(item, range);
      packColumns(item, range);
      Value isLater = least(block, constant(1));
      loop(item.firstTile, item.lastTile, [&](Value tile) {
        callMicrokernel(item, range, tile, sub(rowOf(tile), item.firstRow), isLater);
      });
    });
    storeRows(item, constant(0), item.firstRow, sub(rowOf(item.lastTile), item.firstRow));
  }

  //===--- Tiles -----------------------------------------------------------------------------===//

  Type leftType() {
    if (p.precision == OperandPrecision::int8)
      return b.getI8Type();
    return p.precision == OperandPrecision::bf16 ? Type(b.getBF16Type()) : Type(b.getF32Type());
  }
  Type sumType() { return p.product.type(); }

  /// Groups of `sizeK`, the last of which need not be full.
  Value groupsOf(Value sizeK) {
    if (p.packingFactor() == 1)
      return sizeK;
    return arith::DivUIOp::create(b, add(sizeK, constant(p.packingFactor() - 1)),
                                  constant(p.packingFactor()));
  }

  /// Bytes of a panel for each group of K.
  int64_t bytesOfGroup() const { return p.width * p.packingFactor() * p.panelBytes(); }

  /// Lines that each tile asks for, so that all tiles of an item ask for the next panel.
  int64_t linesAhead() const {
    int64_t lines = bytesOfGroup() * kUnitOfK / kLineBytes, tiles = p.tiles / p.chunks;
    if (!p.right || tiles < 2)
      return 0;
    return tiles >= lines ? 1 : 2;
  }

  void callMicrokernel(const Item &item, const RangeOfK &range, Value tile, Value firstSum,
                       Value goesOn) {
    SmallVector<Value> arguments(Microkernel::numArguments);
    if (p.left) {
      Value row = mul(rowOf(tile), p.left->rowStride);
      arguments[Microkernel::left] =
          add(leftBase, bytes(add(add(item.leftOffset, row), range.first), p.leftBytes()));
      arguments[Microkernel::leftStride] = constant(p.left->rowStride);
    } else if (p.leftByColumns) {
      Value first = sub(rowOf(tile), item.firstRow);
      arguments[Microkernel::left] = add(addressOf(item.ownRows), bytes(first, p.leftBytes()));
      arguments[Microkernel::leftStride] = constant(p.ownTermStride());
    } else {
      packRows(item, range, tile);
      arguments[Microkernel::left] = addressOf(item.ownRows);
      arguments[Microkernel::leftStride] = constant(p.ownRowK());
    }
    arguments[Microkernel::panel] = panelAt(item, range);
    if (!p.out)
      arguments[Microkernel::accumulators] =
          add(addressOf(item.accumulators), bytes(mul(firstSum, p.width)));
    arguments[Microkernel::sizeK] = p.precision == OperandPrecision::int8
                                        ? mul(groupsOf(range.count), p.packingFactor())
                                        : range.count;
    arguments[Microkernel::accumulate] = goesOn;
    arguments[Microkernel::next] = nextLines(item, range, tile, arguments);
    Microkernel form{p.precision, /*rows=*/0, p.width, linesAhead()};
    form.leftByColumns = p.leftByColumns;
    if (!p.out)
      return TileBuilder::callMicrokernel(form, tile, arguments);
    Value place = add(add(offsetOf(*p.out, item.batch), mul(rowOf(tile), p.out->rowStride)),
                      item.firstColumn);
    arguments[Microkernel::accumulators] = add(addressOf(result), bytes(place));
    form.stride = p.out->rowStride;
    forColumns(item, p.columns % p.width, [&](int64_t columns) {
      form.columns = columns;
      TileBuilder::callMicrokernel(form, tile, arguments);
    });
  }

  Value panelAt(const Item &item, const RangeOfK &range) {
    if (p.right)
      return add(item.panelAddress, bytes(mul(range.first, p.width), p.panelBytes()));
    return addressOf(item.ownPanel);
  }

  /// What follows this block of the panel in memory is what is wanted next: the next block, or the
  /// next panel. Each tile asks for a part of it; tiles beyond that for what is there already.
  Value nextLines(const Item &item, const RangeOfK &range, Value tile, ArrayRef<Value> arguments) {
    if (linesAhead() == 0)
      return constant(0);
    Value groups = groupsOf(range.count);
    Value size = bytes(mul(groups, p.width * p.packingFactor()), p.panelBytes());
    int64_t bytesOfGroup = linesAhead() * kLineBytes / kUnitOfK;
    Value mine = arith::MulIOp::create(b, sub(tile, item.firstTile), mul(groups, bytesOfGroup));
    Value there = add(add(arguments[Microkernel::panel], size), mine);
    return arith::SelectOp::create(b, less(mine, size), there, arguments[Microkernel::left]);
  }

  //===--- Weights of few bits ---------------------------------------------------------------===//

  /// Multiplies `rows` rows from the address `left` on; without rows it unpacks the weights.
  void callBlockQuantized(const Item &item, int64_t rows, Value left, Value out,
                          const RangeOfK &range) {
    SmallVector<Value> arguments(BlockQuantizedMicrokernel::numArguments);
    arguments[BlockQuantizedMicrokernel::left] = left;
    arguments[BlockQuantizedMicrokernel::leftStride] = constant(p.left ? p.left->rowStride : 0);
    arguments[BlockQuantizedMicrokernel::panel] =
        add(rightBase, mul(item.panel, p.bits->form.columnBytes() * p.width));
    arguments[BlockQuantizedMicrokernel::out] = addressOf(out);
    arguments[BlockQuantizedMicrokernel::first] = range.first;
    arguments[BlockQuantizedMicrokernel::end] = add(range.first, range.count);
    const BlockQuantized &form = p.bits->form;
    TileBuilder::callBlockQuantized({form.bits, form.block, form.zero, rows, p.width}, arguments);
  }

  //===--- Packing ---------------------------------------------------------------------------===//

  Value factorAt(const Side &side, const Item &item, Value row, Value column, Value atK) {
    return elements.inBody(p.product.op, side.factor, loopsAt(item, row, column, atK));
  }

  /// Of the block that an item packs itself.
  Value allocatePanel() {
    if (p.packingFactor() == 1)
      return allocate(p.blockK, p.width);
    return allocate(
        {int64_t(llvm::divideCeil(p.blockK, p.packingFactor())), p.width, p.packingFactor()},
        leftType());
  }

  void storeInPanel(Value element, const Item &item, Value atK, Value column) {
    if (p.packingFactor() == 1)
      return store(element, item.ownPanel, {atK, column});
    Value group = constant(p.packingFactor());
    store(element, item.ownPanel,
          {arith::DivUIOp::create(b, atK, group), column, arith::RemUIOp::create(b, atK, group)});
  }

  void packPanel(const Item &item, const RangeOfK &range) {
    if (p.right)
      return;
    if (p.bits)
      return callBlockQuantized(item, /*rows=*/0, constant(0), item.ownPanel, range);
    Value zero = zeroFactor();
    // The last group of all terms.
    if (p.k % p.packingFactor() != 0)
      loop(range.count, mul(groupsOf(range.count), p.packingFactor()), [&](Value atK) {
        loop(p.width, [&](Value column) { storeInPanel(zero, item, atK, column); });
      });
    forColumns(item, p.columns % p.width, [&](int64_t columns) {
      auto pack = [&](Value atK, Value column) {
        Value element = factorAt(p.product.right, item, {}, add(item.firstColumn, column),
                                 add(range.first, atK));
        storeInPanel(element, item, atK, column);
      };
      if (p.rightAlongK)
        visit(range.count, constant(columns), /*alongK=*/true, pack);
      else
        visitGroups(range.count, p.packingFactor(), constant(columns), pack);
      if (columns == p.width)
        return;
      loop(constant(0), range.count, [&](Value atK) {
        loop(constant(columns), constant(p.width),
             [&](Value column) { storeInPanel(zero, item, atK, column); });
      });
    });
  }

  Value zeroFactor() { return arith::ConstantOp::create(b, b.getZeroAttr(leftType())); }

  void packRows(const Item &item, const RangeOfK &range, Value tile) {
    Value first = rowOf(tile);
    if (p.precision == OperandPrecision::int8 && p.k % p.packingFactor() != 0) {
      Value zero = zeroFactor();
      loop(range.count, mul(groupsOf(range.count), p.packingFactor()), [&](Value atK) {
        loop(constant(0), rowsOf(tile), [&](Value row) { store(zero, item.ownRows, {row, atK}); });
      });
    }
    visit(range.count, rowsOf(tile), p.leftAlongK, [&](Value atK, Value row) {
      Value element = factorAt(p.product.left, item, add(first, row), {}, add(range.first, atK));
      store(element, item.ownRows, {row, atK});
    });
  }

  /// The rows of an item, side by side, of each term.
  void packColumns(const Item &item, const RangeOfK &range) {
    if (!p.leftByColumns)
      return;
    Value count = p.chunks == 1 ? constant(p.rows) : sub(rowOf(item.lastTile), item.firstRow);
    loop(constant(0), range.count, [&](Value atK) {
      Value term = add(range.first, atK), to = mul(atK, p.ownTermStride());
      if (p.leftColumns)
        return copyRows(add(offsetOfTerm(*p.leftColumns, item, term), item.firstRow), item.ownRows,
                        to, count);
      loop(constant(0), count, [&](Value row) {
        Value element = factorAt(p.product.left, item, add(item.firstRow, row), {}, term);
        store(element, item.ownRows, {add(to, row)});
      });
    });
  }

  Value offsetOfTerm(const DirectColumns &columns, const Item &item, Value term) {
    Value offset = constant(columns.offset);
    auto move = [&](ValueRange indices, ArrayRef<int64_t> steps) {
      for (auto [index, step] : llvm::zip(indices, steps))
        if (step != 0)
          offset = add(offset, mul(index, step));
    };
    move(item.batch, columns.batchSteps);
    move(delinearize(b, term, p.product.sizes(p.product.k)), columns.termSteps);
    return offset;
  }

  /// Neighbours of the left operand, in vectors. The last one begins where it ends with the rows,
  /// so that it may have some of the one before it again.
  void copyRows(Value from, Value into, Value to, Value count) {
    // An item has as many rows as there are, or more than a vector.
    const int64_t lanes = llvm::bit_floor(uint64_t(std::min<int64_t>(p.rows, kColumnUnit)));
    auto type = VectorType::get({lanes}, leftType());
    Value source = flatten(b, buffers.lookup(p.leftColumns->argument));
    auto copy = [&](Value row) {
      Value loaded = vector::LoadOp::create(b, type, source, add(from, row));
      vector::StoreOp::create(b, loaded, into, add(to, row));
    };
    Value last = sub(count, constant(lanes));
    LoopBuilder(b).loop(constant(0), last, lanes, copy);
    copy(last);
  }

  /// Of a full panel, or of the last one that has fewer columns.
  void forColumns(const Item &item, int64_t tail, function_ref<void(int64_t)> body) {
    if (tail == 0)
      return body(p.width);
    if (p.panels == 1)
      return body(tail);
    choose(less(item.panel, constant(p.panels - 1)), [&] { body(p.width); }, [&] { body(tail); });
  }

  //===--- The result ------------------------------------------------------------------------===//

  /// Stores `count` rows of the result from `row` on, whose sums are from `firstSum` on.
  void storeRows(const Item &item, Value firstSum, Value row, Value count) {
    forColumns(item, p.columns % p.width, [&](int64_t columns) {
      loop(constant(0), count, [&](Value i) {
        loop(columns, [&](Value column) {
          Value sum = load(item.accumulators, {add(firstSum, i), column});
          storeElement(loopsAt(item, add(row, i), add(item.firstColumn, column), {}), sum);
        });
      });
    });
  }

  void storeElement(ArrayRef<Value> loops, Value sum) {
    linalg::GenericOp op = p.product.op;
    Value product = op->getResult(0);
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    Indices at;
    for (AffineExpr expr : map.getResults())
      at.push_back(loops[cast<AffineDimExpr>(expr).getPosition()]);
    if (shapeOf(p.root) != shapeOf(product))
      at = delinearize(b, linearize(b, at, shapeOf(product)), shapeOf(p.root));
    elements.provide(product, [sum](ValueRange) { return sum; });
    store(elements.at(p.root, at), result, at);
  }

  const PackedGEMM &p;
  Value leftBase, rightBase;
};

struct EmitGEMM : gantry::impl::EmitGEMMPassBase<EmitGEMM> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> kernels(getOperation().getOps<func::FuncOp>());
    auto target = getOperation()->getAttrOfType<TargetAttr>(kTargetAttr);
    FailureOr<Registers> registers = registersFor(getOperation().getLoc(), target);
    if (failed(registers))
      return signalPassFailure();
    for (func::FuncOp kernel : kernels) {
      if (kernel.isExternal())
        continue;
      std::optional<PackedGEMM> product = findPackedGEMM(kernel, *registers);
      if (product)
        GEMMEmitter(kernel, *product).emit();
      else if (!pickFromPanels(kernel)) {
        kernel.emitError("internal error: a kernel with packed constants is no product");
        return signalPassFailure();
      }
    }
  }
};
} // namespace
