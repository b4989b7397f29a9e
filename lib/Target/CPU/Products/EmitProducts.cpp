// Turns kernels that are products into loops around tiles.
//
//   for an item (a matrix, a chunk of tiles, a panel):
//     for blocks of terms: (pack the panel's block, if nobody did when compiling)
//       for tiles: sums (+)= rows of the left operand * panel       a call, see Tile.h
//     for the rows of the sums: result = what follows from the sum, element by element
//
// Sums are in a buffer of the item's own that stays in the cache; the result is written once. What
// follows is pulled through `Elements`, so that biases, activations, residuals, casts and reshapes
// need no case, and LLVM's vectoriser sees a loop over neighbours.

#include "Panels.h"
#include "Tile.h"

#include "gantry/Linalg/Elements.h"
#include "gantry/Linalg/Emitter.h"
#include "gantry/Target/CPU/Passes.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::cpu;

namespace gantry {
#define GEN_PASS_DEF_EMITPRODUCTSPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

static constexpr int64_t kElementBytes = 4, kLineBytes = 64;

/// The declaration of a tile in the module of the kernels, made when it is first asked for.
static func::FuncOp declareTile(ModuleOp module, const Tile &tile) {
  std::string symbol = tile.symbol();
  if (auto known = module.lookupSymbol<func::FuncOp>(symbol))
    return known;
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<Type> arguments(Tile::numArguments, b.getIndexType());
  auto declared =
      func::FuncOp::create(b, module.getLoc(), symbol, b.getFunctionType(arguments, {}));
  declared.setPrivate();
  return declared;
}

namespace {
/// What an item works on: indices of the batch, and places that all its loops have in common.
struct Item {
  Indices batch;
  Value panel, firstColumn;
  Value firstTile, lastTile, firstRow;
  Value leftOffset;   ///< of the matrix, in elements
  Value panelAddress; ///< of packed panels
  Value sums, ownPanel, ownRows;
};

/// A block of terms.
struct Terms {
  Value first, count;
};

class ProductEmitter {
public:
  ProductEmitter(func::FuncOp func, const PanelProduct &product)
      : func(func), p(product), module(func->getParentOfType<ModuleOp>()),
        b(func.getLoc(), func.getContext()), elements(b) {}

  void emit() {
    Block &body = func.getBody().front();
    SmallVector<Operation *> recipe;
    for (Operation &op : body)
      recipe.push_back(&op);
    unsigned arguments = body.getNumArguments();
    b.setInsertionPointToEnd(&body);
    makeBuffers();
    emitItems();
    func::ReturnOp::create(b);
    for (Operation *op : llvm::reverse(recipe))
      if (op->hasTrait<OpTrait::IsTerminator>() || isOpTriviallyDead(op))
        op->erase();
    body.eraseArguments(0, arguments);
    func.setType(b.getFunctionType(body.getArgumentTypes(), {}));
    setAttributes();
  }

private:
  //===--- The function ----------------------------------------------------------------------===//

  /// Buffers in the place of tensors, one for the result behind them.
  void makeBuffers() {
    Block &body = func.getBody().front();
    for (unsigned i = 0, e = body.getNumArguments(); i < e; ++i) {
      BlockArgument tensor = body.getArgument(i);
      Value buffer = body.addArgument(bufferType(tensor), tensor.getLoc());
      buffers[tensor] = buffer;
      if (!p.right || p.right->argument != tensor)
        elements.provide(tensor, [this, buffer](ValueRange at) -> Value {
          return memref::LoadOp::create(b, buffer, at);
        });
    }
    auto type = typeOf(p.root);
    result = body.addArgument(MemRefType::get(type.getShape(), type.getElementType()), b.getLoc());
    if (p.left)
      leftBase = addressOf(buffers.lookup(p.left->argument));
    if (p.right)
      rightBase = addressOf(buffers.lookup(p.right->argument));
  }

  MemRefType bufferType(BlockArgument tensor) {
    auto type = cast<RankedTensorType>(tensor.getType());
    if (!p.right || p.right->argument != tensor)
      return MemRefType::get(type.getShape(), type.getElementType());
    return MemRefType::get({p.right->layout.elements()}, type.getElementType());
  }

  void setAttributes() {
    SmallVector<DictionaryAttr> attributes(
        func.getNumArguments(),
        b.getDictionaryAttr({b.getNamedAttr("llvm.align", b.getI64IntegerAttr(kLineBytes)),
                             b.getNamedAttr("llvm.noalias", b.getUnitAttr())}));
    func.setAllArgAttrs(attributes);
    int64_t work = llvm::divideCeil(p.rows, p.chunks) * p.width * p.terms;
    func->setAttr(kWorkAttr,
                  WorkAttr::of(func).withGrain(std::max<int64_t>(1, kLeastWorkOfThread / work)));
  }

  //===--- Building blocks -------------------------------------------------------------------===//

  Value constant(int64_t value) { return indexConstant(b, value); }
  Value add(Value x, Value y) { return addIndex(b, x, y); }
  Value mul(Value x, int64_t by) { return mulIndex(b, x, by); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value less(Value x, Value y) { return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, y); }
  Value addressOf(Value buffer) {
    return memref::ExtractAlignedPointerAsIndexOp::create(b, buffer);
  }
  Value bytes(Value count) { return mul(count, kElementBytes); }

  void loop(Value from, Value to, function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b, from, to, constant(1));
    loop.getBody()->getTerminator()->erase();
    Elements::Region inside(elements, loop.getBody());
    body(loop.getInductionVar());
    scf::YieldOp::create(b);
  }
  void loop(int64_t to, function_ref<void(Value)> body) { loop(constant(0), constant(to), body); }

  void choose(Value condition, function_ref<void()> then, function_ref<void()> otherwise) {
    auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/true);
    auto fill = [&](Block *block, function_ref<void()> body) {
      block->getTerminator()->erase();
      Elements::Region inside(elements, block);
      body();
      scf::YieldOp::create(b);
    };
    fill(branch.thenBlock(), then);
    fill(branch.elseBlock(), otherwise);
  }

  Value allocate(int64_t rows, int64_t columns) {
    return memref::AllocOp::create(b, MemRefType::get({rows, columns}, b.getF32Type()));
  }

  /// An index for each loop of the product; those that are not given are null.
  Indices loopsAt(const Item &item, Value row, Value column, Value term) {
    Indices loops(linalg::GenericOp(p.product.op).getNumLoops());
    auto place = [&](ArrayRef<unsigned> list, ValueRange indices) {
      for (auto [loop, index] : llvm::zip(list, indices))
        loops[loop] = index;
    };
    auto split = [&](ArrayRef<unsigned> list, Value number) {
      if (number)
        place(list, delinearize(b, number, p.product.sizes(list)));
    };
    place(p.product.batch, item.batch);
    split(p.product.rows, row);
    split(p.product.columns, column);
    split(p.product.terms, term);
    return loops;
  }

  //===--- Items -----------------------------------------------------------------------------===//

  void emitItems() {
    auto index = [&](int64_t value) { return OpFoldResult(b.getIndexAttr(value)); };
    SmallVector<OpFoldResult> from(3, index(0)), step(3, index(1));
    SmallVector<OpFoldResult> to{index(p.batch), index(p.chunks), index(p.panels)};
    auto items = scf::ForallOp::create(b, from, to, step, ValueRange(), std::nullopt);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(items.getTerminator());
    ValueRange at = items.getInductionVars();
    emitItem(describeItem(at[0], at[1], at[2]));
  }

  Value firstTileOf(Value chunk) {
    if (p.chunks == 1)
      return constant(0);
    return arith::DivUIOp::create(b, mul(chunk, p.tiles), constant(p.chunks));
  }

  Item describeItem(Value matrix, Value chunk, Value panel) {
    Item item;
    item.batch = delinearize(b, matrix, p.product.sizes(p.product.batch));
    item.panel = panel;
    item.firstColumn = mul(panel, p.width);
    item.firstTile = firstTileOf(chunk);
    item.lastTile = p.chunks == 1 ? constant(p.tiles) : firstTileOf(add(chunk, constant(1)));
    item.firstRow = rowOf(item.firstTile);
    if (p.left) {
      item.leftOffset = constant(0);
      for (auto [index, step] : llvm::zip(item.batch, p.left->batchSteps))
        if (step != 0)
          item.leftOffset = add(item.leftOffset, mul(index, step));
    } else {
      item.ownRows = allocate(p.tileRows, p.termBlock);
    }
    if (p.right)
      item.panelAddress = packedPanel(item);
    else
      item.ownPanel = allocate(p.termBlock, p.width);
    item.sums = allocate(p.termBlocks == 1 ? p.tileRows : p.tilesOfItem() * p.tileRows, p.width);
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
    return add(rightBase, bytes(mul(panel, p.terms * p.width)));
  }

  void emitItem(const Item &item) {
    if (p.termBlocks == 1) {
      Terms all{constant(0), constant(p.terms)};
      packPanel(item, all);
      loop(item.firstTile, item.lastTile, [&](Value tile) {
        callTile(item, all, tile, constant(0), constant(0));
        store(item, constant(0), rowOf(tile), rowsOf(tile));
      });
      return;
    }
    loop(p.termBlocks, [&](Value block) {
      Value first = mul(block, p.termBlock);
      Value rest = sub(constant(p.terms), first);
      Terms terms{first, arith::MinUIOp::create(b, rest, constant(p.termBlock))};
      packPanel(item, terms);
      Value isLater = arith::MinUIOp::create(b, block, constant(1));
      loop(item.firstTile, item.lastTile, [&](Value tile) {
        callTile(item, terms, tile, sub(rowOf(tile), item.firstRow), isLater);
      });
    });
    store(item, constant(0), item.firstRow, sub(rowOf(item.lastTile), item.firstRow));
  }

  //===--- Tiles -----------------------------------------------------------------------------===//

  bool allTall() const { return p.tallTiles == p.tiles; }

  Value rowOf(Value tile) {
    if (allTall())
      return mul(tile, p.tileRows);
    Value tall = arith::MinUIOp::create(b, tile, constant(p.tallTiles));
    return add(mul(tile, p.tileRows - 1), tall);
  }

  Value rowsOf(Value tile) {
    if (allTall())
      return constant(p.tileRows);
    return arith::SelectOp::create(b, less(tile, constant(p.tallTiles)), constant(p.tileRows),
                                   constant(p.tileRows - 1));
  }

  /// Lines that each tile asks for, so that all tiles of an item ask for the next panel.
  int64_t linesAhead() const {
    int64_t lines = p.width * kTermUnit * kElementBytes / kLineBytes, tiles = p.tiles / p.chunks;
    if (!p.right || tiles < 2)
      return 0;
    return tiles >= lines ? 1 : 2;
  }

  void callTile(const Item &item, const Terms &terms, Value tile, Value firstSum, Value goesOn) {
    SmallVector<Value> arguments(Tile::numArguments);
    if (p.left) {
      Value row = mul(rowOf(tile), p.left->rowStride);
      arguments[Tile::left] = add(leftBase, bytes(add(add(item.leftOffset, row), terms.first)));
      arguments[Tile::leftStride] = constant(p.left->rowStride);
    } else {
      packRows(item, terms, tile);
      arguments[Tile::left] = addressOf(item.ownRows);
      arguments[Tile::leftStride] = constant(p.termBlock);
    }
    arguments[Tile::panel] = panelAt(item, terms);
    arguments[Tile::sums] = add(addressOf(item.sums), bytes(mul(firstSum, p.width)));
    arguments[Tile::terms] = terms.count;
    arguments[Tile::accumulate] = goesOn;
    arguments[Tile::next] = nextLines(item, terms, tile, arguments);
    auto call = [&](int64_t rows) {
      func::CallOp::create(b, declareTile(module, {rows, p.width, linesAhead()}), arguments);
    };
    if (allTall())
      return call(p.tileRows);
    choose(
        less(tile, constant(p.tallTiles)), [&] { call(p.tileRows); },
        [&] { call(p.tileRows - 1); });
  }

  Value panelAt(const Item &item, const Terms &terms) {
    if (p.right)
      return add(item.panelAddress, bytes(mul(terms.first, p.width)));
    return addressOf(item.ownPanel);
  }

  /// What follows this block of the panel in memory is what is wanted next: the next block, or the
  /// next panel. Each tile asks for a part of it; tiles beyond that for what is there already.
  Value nextLines(const Item &item, const Terms &terms, Value tile, ArrayRef<Value> arguments) {
    if (linesAhead() == 0)
      return constant(0);
    Value size = bytes(mul(terms.count, p.width));
    int64_t bytesOfTerm = linesAhead() * kLineBytes / kTermUnit;
    Value mine = arith::MulIOp::create(b, sub(tile, item.firstTile), mul(terms.count, bytesOfTerm));
    Value there = add(add(arguments[Tile::panel], size), mine);
    return arith::SelectOp::create(b, less(mine, size), there, arguments[Tile::left]);
  }

  //===--- Packing ---------------------------------------------------------------------------===//

  Value factorAt(const Side &side, const Item &item, Value row, Value column, Value term) {
    return elements.inBody(p.product.op, side.factor, loopsAt(item, row, column, term));
  }

  /// Visits all of terms by others in the order in which an operand lies. Terms that lie side by
  /// side are taken some at a time, of each of the others: as many as a cache line has.
  void visit(Value terms, Value others, bool byTerms, function_ref<void(Value, Value)> body) {
    if (!byTerms)
      return loop(constant(0), terms, [&](Value term) {
        loop(constant(0), others, [&](Value other) { body(term, other); });
      });
    // One after the other without a loop: LLVM would take a loop for one that scatters.
    constexpr int64_t side = kLineBytes / kElementBytes;
    Value blocks = arith::DivUIOp::create(b, terms, constant(side));
    loop(constant(0), blocks, [&](Value block) {
      loop(constant(0), others, [&](Value other) {
        for (int64_t i = 0; i < side; ++i)
          body(add(mul(block, side), constant(i)), other);
      });
    });
    loop(constant(0), others, [&](Value other) {
      loop(mul(blocks, side), terms, [&](Value term) { body(term, other); });
    });
  }

  void packPanel(const Item &item, const Terms &terms) {
    if (p.right)
      return;
    forColumns(item, p.columns % p.width, [&](int64_t columns) {
      visit(terms.count, constant(columns), p.rightByTerms, [&](Value term, Value column) {
        Value element = factorAt(p.product.right, item, {}, add(item.firstColumn, column),
                                 add(terms.first, term));
        memref::StoreOp::create(b, element, item.ownPanel, ValueRange{term, column});
      });
      if (columns == p.width)
        return;
      Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
      loop(constant(0), terms.count, [&](Value term) {
        loop(constant(columns), constant(p.width), [&](Value column) {
          memref::StoreOp::create(b, zero, item.ownPanel, ValueRange{term, column});
        });
      });
    });
  }

  void packRows(const Item &item, const Terms &terms, Value tile) {
    Value first = rowOf(tile);
    visit(terms.count, rowsOf(tile), p.leftByTerms, [&](Value term, Value row) {
      Value element = factorAt(p.product.left, item, add(first, row), {}, add(terms.first, term));
      memref::StoreOp::create(b, element, item.ownRows, ValueRange{row, term});
    });
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

  /// `count` rows of the result from `row` on, whose sums are from `firstSum` on.
  void store(const Item &item, Value firstSum, Value row, Value count) {
    forColumns(item, p.columns % p.width, [&](int64_t columns) {
      loop(constant(0), count, [&](Value i) {
        loop(columns, [&](Value column) {
          Value sum = memref::LoadOp::create(b, item.sums, ValueRange{add(firstSum, i), column});
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
    memref::StoreOp::create(b, elements.at(p.root, at), result, at);
  }

  /// Multiply-adds that are worth a thread of their own.
  static constexpr int64_t kLeastWorkOfThread = 32768;

  func::FuncOp func;
  const PanelProduct &p;
  ModuleOp module;
  ImplicitLocOpBuilder b;
  Elements elements;
  DenseMap<Value, Value> buffers; ///< of the arguments
  Value result, leftBase, rightBase;
};

struct EmitProducts : gantry::impl::EmitProductsPassBase<EmitProducts> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> kernels(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp kernel : kernels) {
      if (kernel.isExternal())
        continue;
      std::optional<PanelProduct> product = findPanelProduct(kernel);
      if (product)
        ProductEmitter(kernel, *product).emit();
      else if (kernel->hasAttr(kLayoutsAttr)) {
        kernel.emitError("internal error: a kernel with packed constants is no product");
        return signalPassFailure();
      }
    }
  }
};
} // namespace
