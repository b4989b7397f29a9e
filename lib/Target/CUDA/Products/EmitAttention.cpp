// Attention as one kernel (AttentionTiles.h), with whole rows of scores in shared memory: what
// stands between the products goes to the emitter of all rows, the products to that of all tiles,
// so that each adds up in the order that it has in a kernel of its own.

#include "AttentionTiles.h"
#include "CoreTiles.h"
#include "EmitTiles.h"
#include "Threads/Rows.h"
#include "gantry/Linalg/AttentionForm.h"
#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

/// The reductions over rows of scores, one value for each.
static SmallVector<Kept> reductionsOf(const AttentionForm &form) {
  SmallVector<Kept> kept;
  for (linalg::GenericOp op : form.rowOps)
    if (op.getNumReductionLoops() > 0) {
      SmallVector<int64_t> dims(op.getNumParallelLoops());
      std::iota(dims.begin(), dims.end(), 0);
      kept.push_back({op, dims});
    }
  return kept;
}

/// All dimensions of the scores but the last.
static SmallVector<unsigned> rowDims(const AttentionForm &form) {
  SmallVector<unsigned> dims(shapeOf(form.first).size() - 1);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

namespace {
/// Products of f32 on lanes.
struct OnLanes {
  using TileOf = Tile;

  void emit(KernelEmitter &kernel, const Product &product, const Tile &tile, const TilePlace &place,
            StoreAccumulators &store) const {
    emitTile(kernel, product, tile, place, store);
  }
};

/// Products on tensor cores.
struct OnCores {
  using TileOf = CoreTile;
  Output output;

  void emit(KernelEmitter &kernel, const Product &product, const CoreTile &tile,
            const TilePlace &place, StoreAccumulators &store) const {
    emitTile(kernel, product, *coreOperandsOf(product, output), tile, place, store);
  }
};

template <typename Products>
class AttentionStrategy : public LoweringStrategy {
public:
  using TileOf = typename Products::TileOf;

  AttentionStrategy(const Output &output, AttentionForm form, const AttentionTiles<TileOf> &tiles,
                    Products products)
      : LoweringStrategy(output), form(std::move(form)), tiles(tiles),
        products(std::move(products)),
        rows(this->form.weights, reductionsOf(this->form), rowDims(this->form), this->form.rowOps) {
  }

  /// Teams fit into a block.
  bool applies() const {
    return rows.apply() && rows.order().isAlongRows && rows.order().lanes <= threads();
  }
  int64_t threads() const override { return tiles.scores.threads(); }
  void emit(KernelEmitter &kernel) override;

private:
  int64_t matrices() const { return form.scores.count(form.scores.batch); }
  int64_t blocksOfMatrix() const {
    return llvm::divideCeil(form.scores.count(form.scores.rows), tiles.scores.rows);
  }
  int64_t blocks() const { return matrices() * blocksOfMatrix(); }
  void computeScores(KernelEmitter &kernel);
  void computeWeights(KernelEmitter &kernel);
  void computeContext(KernelEmitter &kernel);
  void forTiles(KernelEmitter &kernel, const Product &product, const TileOf &tile,
                StoreAccumulators &store);

  AttentionForm form;
  AttentionTiles<TileOf> tiles;
  Products products;
  Rows rows;
  Value memory;    ///< lines of scores, later of weights
  TilePlace place; ///< of this block's queries
};
} // namespace

/// Along the columns of a product.
template <typename Products>
void AttentionStrategy<Products>::forTiles(KernelEmitter &kernel, const Product &product,
                                           const TileOf &tile, StoreAccumulators &store) {
  ImplicitLocOpBuilder &b = kernel.builder();
  int64_t across = llvm::divideCeil(product.count(product.columns), tile.columns);
  if (across == 1) {
    place.column = indexConstant(b, 0);
    return products.emit(kernel, product, tile, place, store);
  }
  kernel.loops().loop(0, across, 1, [&](Value number) {
    place.column = mulIndex(b, number, tile.columns);
    products.emit(kernel, product, tile, place, store);
    kernel.launch().barrier(); // before the next tile is read into the same memory
  });
}

template <typename Products>
void AttentionStrategy<Products>::computeScores(KernelEmitter &kernel) {
  Output scores = output;
  scores.tensor = form.first;
  StoreAccumulators store(kernel, scores, form.scores, tiles.scores.rows, tiles.scores.columns);
  store.keepIn(memory, tiles.stride);
  forTiles(kernel, form.scores, tiles.scores, store);
}

/// Behind the last query there are its scores again.
template <typename Products>
void AttentionStrategy<Products>::computeWeights(KernelEmitter &kernel) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  const int64_t lanes = rows.order().lanes, count = tiles.scores.rows,
                teams = launch.threads() / lanes;
  Value line; // where that of the row begins
  kernel.provideInputs();
  kernel.elements().provide(form.first, [&](ValueRange at) -> Value {
    return memref::LoadOp::create(b, memory, addIndex(b, line, at.back()));
  });
  // Rounded weights take the places of scores, which may be wider.
  const bool isWider = elementOf(form.first) != elementOf(form.weights);
  Team team{lanes, 1, arith::RemUIOp::create(b, launch.thread(), indexConstant(b, lanes)),
            blocks()};
  Value own = arith::DivUIOp::create(b, launch.thread(), indexConstant(b, lanes));
  auto emitRow = [&](Value number, Value isThere) {
    line = mulIndex(b, number, tiles.stride);
    Rows::Row row{place.batch, isThere, Rows::Overwrites::row};
    row.at.push_back(addIndex(b, place.row, number));
    rows.emit(kernel, team, row, [&](const Indices &at, Value value) {
      if (isWider)
        value = arith::ExtFOp::create(b, elementOf(form.first), value);
      memref::StoreOp::create(b, value, memory, addIndex(b, line, at.back()));
    });
  };
  if (teams == count)
    return emitRow(own, Value());
  // Teams without a row help the last one.
  if (teams > count)
    return emitRow(arith::MinUIOp::create(b, own, indexConstant(b, count - 1)),
                   isBelow(b, own, count));
  kernel.loops().loop(0, count, teams, [&](Value first) {
    emitRow(addIndex(b, first, own), Value());
    if (lanes > kWarp)
      launch.barrier(); // before the next sums meet in the same memory
  });
}

template <typename Products>
void AttentionStrategy<Products>::computeContext(KernelEmitter &kernel) {
  ImplicitLocOpBuilder &b = kernel.builder();
  kernel.provideInputs();
  kernel.elements().provide(form.weights, [&](ValueRange at) -> Value {
    Value row = arith::SubIOp::create(b, at[at.size() - 2], place.row);
    Value element = addIndex(b, mulIndex(b, row, tiles.stride), at.back());
    Value weight = memref::LoadOp::create(b, memory, element);
    const Type own = elementOf(form.weights);
    return weight.getType() == own ? weight : arith::TruncFOp::create(b, own, weight).getResult();
  });
  StoreAccumulators store(kernel, output, form.context, tiles.context.rows, tiles.context.columns);
  forTiles(kernel, form.context, tiles.context, store);
}

template <typename Products>
void AttentionStrategy<Products>::emit(KernelEmitter &kernel) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  launch.needBlocks(blocks());
  Indices at = delinearize(b, launch.block(), {matrices(), blocksOfMatrix()});
  llvm::append_range(place.batch, delinearize(b, at[0], form.scores.sizes(form.scores.batch)));
  place.row = mulIndex(b, at[1], tiles.scores.rows);
  memory = launch.allocate(tiles.scores.rows * tiles.stride, elementOf(form.first), blocks());
  const size_t own = launch.allocated();
  computeScores(kernel);
  launch.barrier();
  computeWeights(kernel);
  launch.barrier();
  launch.release(own);
  computeContext(kernel);
}

static AttentionSizes sizesOf(const AttentionForm &form) {
  const Product &scores = form.scores, &context = form.context;
  return {scores.count(scores.batch), scores.count(scores.rows), scores.count(scores.columns),
          scores.count(scores.k), context.count(context.columns)};
}

template <typename Products>
static std::unique_ptr<LoweringStrategy>
makeStrategy(const Output &output, AttentionForm form,
             const std::optional<AttentionTiles<typename Products::TileOf>> &tiles,
             Products products) {
  if (!tiles)
    return nullptr;
  auto strategy = std::make_unique<AttentionStrategy<Products>>(output, std::move(form), *tiles,
                                                                std::move(products));
  return strategy->applies() ? std::move(strategy) : nullptr;
}

std::unique_ptr<LoweringStrategy> gantry::gpu::findAttentionStrategy(const Output &output) {
  std::optional<AttentionForm> form = output.isOnly ? findAttention(output.tensor) : std::nullopt;
  if (!form)
    return nullptr;
  const Type score = elementOf(form->first), weight = elementOf(form->weights);
  if (score != weight && !(score.isF32() && coreKindOf(weight)))
    return nullptr;
  const AttentionSizes sizes = sizesOf(*form);
  std::optional<CoreOperands> ofScores = coreOperandsOf(form->scores, output),
                              ofContext = coreOperandsOf(form->context, output);
  if (ofScores && ofContext && ofScores->kind == ofContext->kind)
    return makeStrategy(output, std::move(*form),
                        chooseAttention(sizes, ofScores->kind, score.getIntOrFloatBitWidth() / 8),
                        OnCores{output});
  auto isF32 = [](const Value &tensor) { return elementOf(tensor).isF32(); };
  if (ofScores || ofContext || !isF32(form->first) || !isF32(form->weights) ||
      !form->scores.type().isF32() ||
      !llvm::all_of(std::array{form->scores.left.operand, form->scores.right.operand,
                               form->context.right.operand},
                    [&](OpOperand *operand) { return isF32(operand->get()); }))
    return nullptr;
  return makeStrategy(output, std::move(*form), chooseAttention(sizes), OnLanes());
}
