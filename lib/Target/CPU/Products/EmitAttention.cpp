// Turns kernels that are attention into loops around tiles.
//
//   for an item (a matrix of the batch, a chunk of queries):
//     pack its keys and values into panels
//     for tiles of queries:
//       rows = queries * keys, and what follows element by element      whole rows of scores
//       the ops over rows, in place                                     a softmax
//       result = rows * values, and what follows element by element
//
// The scores of a tile stay in the cache and those of all queries never exist together: memory is
// linear in the number of keys. Rows are whole, so that each sum has the terms in the order that it
// has in kernels of their own, and reductions along rows become loops where all others do.

#include "TileBuilder.h"
#include "TiledAttention.h"

#include "gantry/Target/CPU/Passes.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::cpu;

namespace gantry {
#define GEN_PASS_DEF_EMITATTENTIONPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

namespace {
class AttentionEmitter : TileBuilder {
public:
  AttentionEmitter(func::FuncOp func, const TiledAttention &attention)
      : TileBuilder(func, attention), a(attention) {}

  void emit() {
    begin(a.root);
    if (a.queries)
      queryBase = addressOf(buffers.lookup(a.queries->argument));
    // Large panels are memory of the plan, a part for each item.
    bool isLarge =
        a.panelElements() * a.factorBytes() + tileElements() * kElementBytes > kStackBytes;
    if (isLarge)
      panels = allocate({a.batch * a.chunks, a.panelElements()}, factorType());
    forItems({a.batch, a.chunks}, [&](ValueRange at) {
      if (!isLarge)
        panels = allocate({1, a.panelElements()}, factorType());
      item = isLarge ? add(mul(at[0], a.chunks), at[1]) : constant(0);
      emitItem(at[0], at[1]);
    });
    end(llvm::divideCeil(a.rows, a.chunks) * a.keys * (a.depth + a.width));
  }

private:
  Type factorType() {
    return a.precision == OperandPrecision::bf16 ? Type(b.getBF16Type()) : Type(b.getF32Type());
  }

  /// Of what a tile is computed in: scores, what the ops over rows make of them, sums, queries.
  int64_t tileElements() {
    int64_t scores = 1 + llvm::count_if(llvm::enumerate(a.rowOps), [&](auto entry) {
                       linalg::GenericOp op = entry.value();
                       return !hasNumbersOfRows(op) && !operandToReplace(op, entry.index() + 1);
                     });
    return a.tileRows * (scores * a.keys + a.keyWidth + a.valueWidth + a.depth);
  }

  void emitItem(Value matrix, Value chunk) {
    batch = delinearize(b, matrix, a.scores.sizes(a.scores.batch));
    keyPanels = constant(0);
    valuePanels = constant(a.keyElements());
    pack(a.scores, a.keysAlongK, keyPanels, a.keyWidth, turnKeys());
    pack(a.context, a.valuesAlongK, valuePanels, a.valueWidth, 0);
    scores = allocate(a.tileRows, a.keys);
    scoreSums = allocate(a.tileRows, a.keyWidth);
    contextSums = allocate(a.tileRows, a.valueWidth);
    if (!a.queries)
      ownQueries = allocate({a.tileRows, a.depth}, factorType());
    Value first = firstTileOf(chunk, a.chunks);
    Value last = a.chunks == 1 ? constant(a.tiles) : firstTileOf(add(chunk, constant(1)), a.chunks);
    loop(first, last, [&](Value tile) {
      computeScores(tile);
      computeRows();
      computeContext(tile);
    });
  }

  //===--- Packing ---------------------------------------------------------------------------===//

  /// Whole panels of keys that lie one after the other, each with its terms: a move between two
  /// orders, which gantry-emit-transposes does in registers. Gives their number.
  int64_t turnKeys() {
    const bool canTurn = a.directKeys && a.precision == OperandPrecision::f32;
    const int64_t whole = canTurn ? a.keys / a.keyWidth : 0;
    if (whole == 0)
      return 0;
    const int64_t rowStride = a.directKeys->rowStride;
    auto matrix = [&](Value buffer, Value offset, int64_t rows, int64_t columns, int64_t stride) {
      auto layout = StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, {stride, 1});
      auto type = MemRefType::get({rows, columns}, b.getF32Type(), layout);
      return memref::ReinterpretCastOp::create(
          b, type, buffer, OpFoldResult(offset),
          ArrayRef<OpFoldResult>{b.getIndexAttr(rows), b.getIndexAttr(columns)},
          ArrayRef<OpFoldResult>{b.getIndexAttr(stride), b.getIndexAttr(1)});
    };
    Value keys = buffers.lookup(a.directKeys->argument);
    loop(whole, [&](Value panel) {
      Value firstKey = mul(panel, a.keyWidth * rowStride);
      Value from = matrix(keys, add(offsetOf(*a.directKeys, batch), firstKey), a.keyWidth, a.depth,
                          rowStride);
      Value place = add(mul(item, a.panelElements()), mul(panel, a.depth * a.keyWidth));
      Value to = matrix(panels, add(place, keyPanels), a.depth, a.keyWidth, a.keyWidth);
      AffineExpr atK = b.getAffineDimExpr(0), key = b.getAffineDimExpr(1);
      SmallVector<AffineMap> maps{AffineMap::get(2, 0, {key, atK}, b.getContext()),
                                  AffineMap::get(2, 0, {atK, key}, b.getContext())};
      SmallVector<utils::IteratorType> kinds(2, utils::IteratorType::parallel);
      linalg::GenericOp::create(b, from, to, maps, kinds,
                                [](OpBuilder &inner, Location loc, ValueRange elements) {
                                  linalg::YieldOp::create(inner, loc, elements[0]);
                                });
    });
    return whole;
  }

  /// The right operand of `product` as panels, from element `first` of the item's on; those before
  /// `firstPanel` are there.
  void pack(const Product &product, bool alongK, Value first, int64_t width, int64_t firstPanel) {
    int64_t sizeK = product.count(product.k), columns = product.count(product.columns);
    const int64_t group = packingFactorOf(a.precision), paddedK = a.paddedK(sizeK);
    auto place = [&](Value panel, Value atK, Value column) {
      if (group == 1) {
        Value row = add(mul(panel, sizeK), atK);
        return Indices{item, add(first, add(mul(row, width), column))};
      }
      Value size = constant(group);
      Value row = add(mul(panel, paddedK / group), arith::DivUIOp::create(b, atK, size));
      Value pair = add(mul(row, width * group), mul(column, group));
      return Indices{item, add(first, add(pair, arith::RemUIOp::create(b, atK, size)))};
    };
    const int64_t panelsOfAll = llvm::divideCeil(columns, width);
    if (firstPanel == panelsOfAll)
      return;
    loop(constant(firstPanel), constant(panelsOfAll), [&](Value panel) {
      Value firstColumn = mul(panel, width), count = columnsOf(panel, columns, width);
      visit(constant(sizeK), count, alongK, [&](Value atK, Value column) {
        Value element = elements.inBody(product.op, product.right.factor,
                                        loopsAt(product, batch, {}, add(firstColumn, column), atK));
        store(element, panels, place(panel, atK, column));
      });
      if (columns % width == 0 && sizeK == paddedK)
        return;
      Value zero = arith::ConstantOp::create(b, b.getFloatAttr(factorType(), 0));
      if (sizeK != paddedK)
        loop(width,
             [&](Value column) { store(zero, panels, place(panel, constant(sizeK), column)); });
      if (columns % width == 0)
        return;
      loop(constant(0), constant(sizeK), [&](Value atK) {
        loop(count, constant(width),
             [&](Value column) { store(zero, panels, place(panel, atK, column)); });
      });
    });
  }

  /// The last panel may have fewer columns.
  Value columnsOf(Value panel, int64_t columns, int64_t width) {
    if (columns % width == 0)
      return constant(width);
    return least(constant(width), sub(constant(columns), mul(panel, width)));
  }

  Value panelAddress(Value first, Value panel, int64_t sizeK, int64_t width) {
    Value offset =
        add(add(mul(item, a.panelElements()), first), mul(panel, a.paddedK(sizeK) * width));
    return add(addressOf(panels), bytes(offset, a.factorBytes()));
  }

  //===--- A tile of queries -----------------------------------------------------------------===//

  void callTileOf(Value tile, Value left, Value leftStride, Value panel, Value accumulators,
                  int64_t sizeK, int64_t width) {
    SmallVector<Value> arguments(Microkernel::numArguments);
    arguments[Microkernel::left] = left;
    arguments[Microkernel::leftStride] = leftStride;
    arguments[Microkernel::panel] = panel;
    arguments[Microkernel::accumulators] = addressOf(accumulators);
    arguments[Microkernel::sizeK] = constant(sizeK);
    arguments[Microkernel::accumulate] = constant(0);
    arguments[Microkernel::next] = constant(0);
    callMicrokernel({a.precision, /*rows=*/0, width, /*ahead=*/0}, tile, arguments);
  }

  /// Where the queries of a tile are: in the argument, or packed.
  Value queriesOf(Value tile) {
    Value first = rowOf(tile);
    if (a.queries) {
      Value offset = add(offsetOf(*a.queries, batch), mul(first, a.queries->rowStride));
      return add(queryBase, bytes(offset, a.factorBytes()));
    }
    loop(constant(0), rowsOf(tile), [&](Value row) {
      loop(a.depth, [&](Value atK) {
        Value element = elements.inBody(a.scores.op, a.scores.left.factor,
                                        loopsAt(a.scores, batch, add(first, row), {}, atK));
        store(element, ownQueries, {row, atK});
      });
    });
    return addressOf(ownQueries);
  }

  Indices matrixAt(Value row, Value column) {
    Indices at(batch);
    at.append({row, column});
    return at;
  }

  void computeScores(Value tile) {
    Value queries = queriesOf(tile);
    Value stride = constant(a.queries ? a.queries->rowStride : a.depth);
    loop(a.keyPanels, [&](Value panel) {
      callTileOf(tile, queries, stride, panelAddress(keyPanels, panel, a.depth, a.keyWidth),
                 scoreSums, a.depth, a.keyWidth);
      loop(constant(0), rowsOf(tile), [&](Value row) {
        loop(constant(0), columnsOf(panel, a.keys, a.keyWidth), [&](Value column) {
          Value key = add(mul(panel, a.keyWidth), column);
          Value sum = load(scoreSums, {row, column});
          elements.provide(a.scores.op->getResult(0), [sum](ValueRange) { return sum; });
          store(elements.at(a.first, matrixAt(add(rowOf(tile), row), key)), scores, {row, key});
        });
      });
    });
  }

  void computeContext(Value tile) {
    loop(a.valuePanels, [&](Value panel) {
      callTileOf(tile, addressOf(rowBuffers.lookup(a.weights)), constant(a.keys),
                 panelAddress(valuePanels, panel, a.keys, a.valueWidth), contextSums, a.keys,
                 a.valueWidth);
      loop(constant(0), rowsOf(tile), [&](Value row) {
        loop(constant(0), columnsOf(panel, a.width, a.valueWidth), [&](Value column) {
          Value sum = load(contextSums, {row, column});
          storeElement(matrixAt(add(rowOf(tile), row), add(mul(panel, a.valueWidth), column)), sum);
        });
      });
    });
  }

  void storeElement(Indices at, Value sum) {
    elements.provide(a.context.op->getResult(0), [sum](ValueRange) { return sum; });
    Value element = elements.at(a.inner, at);
    // Where the moves behind it take it.
    SmallVector<linalg::GenericOp> moves;
    for (Value value = a.root; value != a.inner; value = moves.back()->getOperand(0))
      moves.push_back(value.getDefiningOp<linalg::GenericOp>());
    for (linalg::GenericOp move : llvm::reverse(moves)) {
      Indices to(at.size());
      AffineMap map = move.getMatchingIndexingMap(&move->getOpOperand(0));
      for (auto [expr, index] : llvm::zip(map.getResults(), at))
        to[cast<AffineDimExpr>(expr).getPosition()] = index;
      at = to;
    }
    store(element, result, at);
  }

  //===--- Ops over rows ---------------------------------------------------------------------===//

  /// Whether an op from `next` on reads the tensor.
  bool isReadFrom(size_t next, Value tensor) {
    return tensor == a.weights || llvm::any_of(ArrayRef(a.rowOps).drop_front(next), [&](auto op) {
             return llvm::is_contained(op->getOperands(), tensor);
           });
  }

  /// Each op as it is, on the rows of the tile: all of them, also where the last tile has one less.
  void computeRows() {
    rowBuffers.clear();
    rowBuffers[a.first] = scores;
    for (auto [i, op] : llvm::enumerate(a.rowOps))
      emitRowOp(op, i + 1);
  }

  /// How many loops an op has over the rows of a tile: one where each row has one number.
  unsigned loopsOf(linalg::GenericOp op) {
    return op.getNumLoops() < shapeOf(a.first).size() ? 1 : 2;
  }

  bool hasNumbersOfRows(linalg::GenericOp op) {
    return op.getNumReductionLoops() > 0 || loopsOf(op) == 1;
  }

  /// The rows that end with the op, whose place its own can take.
  Value operandToReplace(linalg::GenericOp op, size_t next) {
    for (Value input : op.getDpsInputs()) {
      auto maker = input.getDefiningOp<linalg::GenericOp>();
      bool isOfRows = input == a.first || (maker && llvm::is_contained(a.rowOps, maker));
      if (isOfRows && input.getType() == op->getResult(0).getType() && !isReadFrom(next, input))
        return input;
    }
    return {};
  }

  Value bufferFor(linalg::GenericOp op, size_t next) {
    Type element = elementOf(op->getResult(0));
    if (hasNumbersOfRows(op))
      return memref::AllocOp::create(b, MemRefType::get({a.tileRows}, element));
    if (Value ended = operandToReplace(op, next))
      return rowBuffers.lookup(ended);
    return memref::AllocOp::create(b, MemRefType::get({a.tileRows, a.keys}, element));
  }

  void emitRowOp(linalg::GenericOp op, size_t next) {
    Value buffer = bufferFor(op, next);
    if (op.getNumReductionLoops() > 0)
      linalg::FillOp::create(b, arith::ConstantOp::create(b, startOf(op)).getResult(), buffer);
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    const unsigned loops = loopsOf(op);
    auto mapOf = [&](unsigned rank) {
      SmallVector<AffineExpr> dims{b.getAffineDimExpr(0), b.getAffineDimExpr(1)};
      return AffineMap::get(loops, 0, ArrayRef(dims).take_front(rank), b.getContext());
    };
    for (OpOperand *input : op.getDpsInputOperands()) {
      Value known = rowBuffers.lookup(input->get());
      inputs.push_back(known ? known : input->get());
      maps.push_back(mapOf(known ? cast<MemRefType>(known.getType()).getRank() : 0));
    }
    maps.push_back(mapOf(cast<MemRefType>(buffer.getType()).getRank()));
    auto kinds = op.getIteratorTypesArray();
    auto copy =
        linalg::GenericOp::create(b, inputs, buffer, maps, ArrayRef(kinds).take_back(loops));
    IRMapping mapping;
    op.getRegion().cloneInto(&copy.getRegion(), mapping);
    rowBuffers[op->getResult(0)] = buffer;
  }

  const TiledAttention &a;
  Indices batch;
  Value queryBase, panels, item;
  Value keyPanels, valuePanels; ///< first elements of them in the panels of the item
  Value scores, scoreSums, contextSums, ownQueries;
  DenseMap<Value, Value> rowBuffers; ///< of tensors between the products
};

struct EmitAttention : gantry::impl::EmitAttentionPassBase<EmitAttention> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> kernels(getOperation().getOps<func::FuncOp>());
    auto target = getOperation()->getAttrOfType<TargetAttr>(kTargetAttr);
    FailureOr<Registers> registers = registersFor(getOperation().getLoc(), target);
    if (failed(registers))
      return signalPassFailure();
    for (func::FuncOp kernel : kernels) {
      if (kernel.isExternal())
        continue;
      if (std::optional<TiledAttention> attention = findAttention(kernel, *registers))
        AttentionEmitter(kernel, *attention).emit();
    }
  }
};
} // namespace
