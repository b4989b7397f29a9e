// Attention with an online softmax: a block has some queries and goes along the keys, tile by tile,
// so that the scores of all of them never exist together.
//
// For each query a thread's team knows the largest score so far, and sums of exponentials and of
// weighted values that are relative to it. A tile with a larger score makes those smaller by
// exp(old - new). Eight lanes share the keys of a tile, and then the elements of a value.

#include "AttentionOpSizes.h"
#include "StructuredKernels.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

using Predicate = arith::CmpIPredicate;

/// Threads of a block: sixteen teams of eight lanes.
static constexpr int64_t kTeams = 16, kLanes = 8;
/// Largest size of a query or value of which a tile fits into shared memory.
static constexpr int64_t kWidest = 256;

namespace {
struct Sizes : AttentionOpSizes {
  using AttentionOpSizes::AttentionOpSizes;
  /// Queries of a block, and keys of a tile.
  int64_t tile() const { return std::max(depth, width) <= kWidest / 2 ? 32 : 16; }
};
} // namespace

bool gantry::gpu::isByTiles(AttentionOp op) {
  Sizes sizes(op);
  Type wide = computeType(signless(op.getType().getElementType()));
  return wide.isF32() && sizes.depth > 0 && sizes.keys > 0 &&
         std::max(sizes.depth, sizes.width) <= kWidest;
}

int64_t gantry::gpu::threadsOf(AttentionOp) { return kTeams * kLanes; }

namespace {
using Values = SmallVector<Value>;

struct OnlineAttention {
  AttentionOp op;
  Launch &launch;
  Emitter e{op.getLoc(), launch.builder()};
  Sizes sizes{op};
  int64_t tile = sizes.tile(), rows = tile / kTeams, columns = tile / kLanes;
  int64_t elements = llvm::divideCeil(sizes.width, kLanes); ///< of a value, of a lane
  Type f32 = e.getF32Type(), element = signless(op.getType().getElementType());
  Value query = bufferOf(launch, op.getQuery()), key = bufferOf(launch, op.getKey()),
        value = bufferOf(launch, op.getValue());
  Value mask = op.getMask() ? bufferOf(launch, op.getMask()) : Value();

  // In shared memory: queries and keys have a line for each of their elements, values and weights
  // one for each key. Lines of an odd length meet no bank of their neighbours.
  int64_t line = tile + 1;
  Value queries = {}, keysOrValues = {}, weights = {};
  Value team = {}, lane = {}, firstQuery = {};
  Indices batch = {};

  /// Of a query, largest score and sum of exponentials; then its weighted values.
  struct State {
    Values largest, sum, weighted;

    Values all() const {
      Values values(largest);
      llvm::append_range(values, sum);
      llvm::append_range(values, weighted);
      return values;
    }
  };
  State split(ValueRange values) const {
    return {Values(values.take_front(rows)), Values(values.slice(rows, rows)),
            Values(values.drop_front(2 * rows))};
  }

  //===--- Memory ----------------------------------------------------------------------------===//

  Indices at(Value row, Value column) {
    Indices indices(batch.begin(), batch.end());
    indices.append({row, column});
    return indices;
  }

  Value clamp(Value index, int64_t size) {
    return arith::MinUIOp::create(e, index, e.index(size - 1));
  }

  /// Each thread takes every n-th of `count` numbers.
  void forMine(int64_t count, function_ref<void(Value)> emit) {
    LoopBuilder(e).loop(launch.thread(), e.index(count), e.index(launch.threads()), emit);
  }

  /// `tile` rows of `source` from `first` on as lines of elements; behind the end the last one.
  void fillLines(Value source, Value first, int64_t count, Value to) {
    forMine(tile * sizes.depth, [&](Value number) {
      Indices place = delinearize(e, number, {tile, sizes.depth});
      Value row = clamp(addIndex(e, first, place[0]), count);
      Value loaded = e.widen(memref::LoadOp::create(e, source, at(row, place[1])));
      memref::StoreOp::create(e, loaded, to, addIndex(e, mulIndex(e, place[1], line), place[0]));
    });
  }

  /// Values from key `first` on; zeros behind the end, and behind the last element.
  void fillValues(Value first) {
    forMine(tile * elements * kLanes, [&](Value number) {
      Indices place = delinearize(e, number, {tile, elements * kLanes});
      Value row = addIndex(e, first, place[0]);
      Value isThere = e.both(e.compare(Predicate::ult, row, e.index(sizes.keys)),
                             e.compare(Predicate::ult, place[1], e.index(sizes.width)));
      Value loaded = LoopBuilder(e).choose(
          isThere, [&] { return e.widen(memref::LoadOp::create(e, value, at(row, place[1]))); },
          e.number(0, f32));
      memref::StoreOp::create(e, loaded, keysOrValues, number);
    });
  }

  Value load(Value memory, Value lineAt, int64_t stride, Value column) {
    return memref::LoadOp::create(e, memory, addIndex(e, mulIndex(e, lineAt, stride), column));
  }

  //===--- Scores ----------------------------------------------------------------------------===//

  /// Number of this thread's query `i` in the tile, and of its key `j`.
  Value rowOf(int64_t i) { return addIndex(e, mulIndex(e, team, rows), e.index(i)); }
  Value columnOf(int64_t j) { return addIndex(e, lane, e.index(j * kLanes)); }

  /// sum + x * y, rounded once.
  Value multiplyAdd(Value x, Value y, Value sum) {
    e.mathFlags = kReductionMath;
    Value result = e.add(sum, e.mul(x, y));
    e.mathFlags = arith::FastMathFlags::none;
    return result;
  }

  Values products() {
    Values zeros(rows * columns, e.number(0, f32));
    return LoopBuilder(e).loop(0, sizes.depth, 1, zeros, [&](Value d, ValueRange soFar) {
      Values x, y, next;
      for (int64_t i = 0; i < rows; ++i)
        x.push_back(load(queries, d, line, rowOf(i)));
      for (int64_t j = 0; j < columns; ++j)
        y.push_back(load(keysOrValues, d, line, columnOf(j)));
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          next.push_back(multiplyAdd(x[i], y[j], soFar[i * columns + j]));
      return next;
    });
  }

  Value maskAt(Value row, Value column) {
    ArrayRef<int64_t> shape = cast<ShapedType>(mask.getType()).getShape();
    Indices all = at(row, column), own;
    for (auto [d, size] : llvm::enumerate(shape)) {
      Value index = all[all.size() - shape.size() + d];
      own.push_back(size == 1 ? e.index(0) : index);
    }
    return e.widen(memref::LoadOp::create(e, mask, own));
  }

  /// Scaled and masked; -inf where there is no key, or a hidden one.
  Value scoreOf(Value product, Value row, Value column) {
    Value score = e.mul(product, e.number(op.getScale().convertToDouble(), f32));
    if (mask)
      score = e.add(score, maskAt(clamp(row, sizes.queries), clamp(column, sizes.keys)));
    Value isHidden = e.compare(Predicate::uge, column, e.index(sizes.keys));
    if (op.getCausal())
      isHidden = e.either(isHidden, e.compare(Predicate::ugt, column, row));
    return e.select(isHidden, e.lowest(f32, false), score);
  }

  /// Over the lanes of a team.
  Value join(Value mine, function_ref<Value(Value, Value)> combine) {
    for (int64_t offset = 1; offset < kLanes; offset *= 2) {
      Value bits = arith::BitcastOp::create(e, e.getI32Type(), mine);
      Value other = ::mlir::gpu::ShuffleOp::create(e, bits, int32_t(offset), int32_t(kWarp),
                                                   ::mlir::gpu::ShuffleMode::XOR)
                        .getShuffleResult();
      mine = combine(mine, arith::BitcastOp::create(e, f32, other));
    }
    return mine;
  }

  /// Takes the scores of one query in; writes its weights.
  void takeRow(State &state, int64_t i, ArrayRef<Value> scores) {
    Value largest = scores[0];
    for (Value score : scores.drop_front())
      largest = e.maximum(largest, score);
    largest = join(largest, [&](Value a, Value b) { return e.maximum(a, b); });
    largest = e.maximum(state.largest[i], largest);
    // As long as all keys are hidden, exponentials are relative to 0, so that they are 0.
    Value lowest = e.lowest(f32, false);
    Value base =
        e.select(e.compare(arith::CmpFPredicate::OEQ, largest, lowest), e.number(0, f32), largest);
    Value shrink = e.expAtMostZero(e.sub(state.largest[i], base));
    Value sum = e.number(0, f32);
    for (auto [j, score] : llvm::enumerate(scores)) {
      Value weight = e.expAtMostZero(e.sub(score, base));
      sum = e.add(sum, weight);
      memref::StoreOp::create(e, weight, weights,
                              addIndex(e, mulIndex(e, columnOf(int64_t(j)), line), rowOf(i)));
    }
    sum = join(sum, [&](Value a, Value b) { return e.add(a, b); });
    state.sum[i] = e.add(e.mul(state.sum[i], shrink), sum);
    state.largest[i] = largest;
    for (int64_t k = 0; k < elements; ++k)
      state.weighted[i * elements + k] = e.mul(state.weighted[i * elements + k], shrink);
  }

  //===--- Values ----------------------------------------------------------------------------===//

  Values addValues(ValueRange weighted) {
    return LoopBuilder(e).loop(0, tile, 1, weighted, [&](Value c, ValueRange soFar) {
      Values x, next;
      for (int64_t i = 0; i < rows; ++i)
        x.push_back(load(weights, c, line, rowOf(i)));
      Values y;
      for (int64_t k = 0; k < elements; ++k)
        y.push_back(load(keysOrValues, c, elements * kLanes, columnOf(k)));
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t k = 0; k < elements; ++k)
          next.push_back(multiplyAdd(x[i], y[k], soFar[i * elements + k]));
      return next;
    });
  }

  Values takeTile(Value first, ValueRange before) {
    State state = split(before);
    barrier(e); // whoever still reads the tile before this one
    fillLines(key, first, sizes.keys, keysOrValues);
    barrier(e);
    Values scores = products();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        Value &score = scores[i * columns + j];
        score = scoreOf(score, addIndex(e, firstQuery, rowOf(i)), addIndex(e, first, columnOf(j)));
      }
    for (int64_t i = 0; i < rows; ++i)
      takeRow(state, i, ArrayRef(scores).slice(i * columns, columns));
    barrier(e); // all have read the keys
    fillValues(first);
    barrier(e);
    state.weighted = addValues(state.weighted);
    return state.all();
  }

  void storeRow(const State &state, int64_t i) {
    Value row = addIndex(e, firstQuery, rowOf(i));
    LoopBuilder(e).onlyIf(e.compare(Predicate::ult, row, e.index(sizes.queries)), [&] {
      for (int64_t k = 0; k < elements; ++k) {
        Value column = columnOf(k);
        Value result = e.div(state.weighted[i * elements + k], state.sum[i]);
        LoopBuilder(e).onlyIf(e.compare(Predicate::ult, column, e.index(sizes.width)), [&] {
          memref::StoreOp::create(e, e.narrow(result, element), launch.result(0), at(row, column));
        });
      }
    });
  }

  void emitAll() {
    int64_t tiles = llvm::divideCeil(sizes.queries, tile);
    launch.needBlocks(sizes.batch * tiles);
    queries = launch.allocate(sizes.depth * line, f32, 1);
    keysOrValues = launch.allocate(std::max(sizes.depth * line, tile * elements * kLanes), f32, 1);
    weights = launch.allocate(tile * line, f32, 1);
    Indices block = delinearize(e, launch.block(), {sizes.batch, tiles});
    Indices thread = delinearize(e, launch.thread(), {kTeams, kLanes});
    team = thread[0];
    lane = thread[1];
    firstQuery = mulIndex(e, block[1], tile);
    batch = delinearize(e, block[0], cast<ShapedType>(query.getType()).getShape().drop_back(2));
    fillLines(query, firstQuery, sizes.queries, queries);

    Value zero = e.number(0, f32), end = e.index(sizes.keys);
    // Keys behind the block's last query are hidden from all of it.
    if (op.getCausal())
      end = arith::MinUIOp::create(e, end, addIndex(e, firstQuery, e.index(tile)));
    State start{Values(rows, e.lowest(f32, false)), Values(rows, zero),
                Values(rows * elements, zero)};
    auto step = [&](Value first, ValueRange before) { return takeTile(first, before); };
    State last = split(LoopBuilder(e).loop(e.index(0), end, tile, start.all(), step));
    for (int64_t i = 0; i < rows; ++i)
      storeRow(last, i);
  }
};
} // namespace

void gantry::gpu::emit(AttentionOp op, Launch &launch) { OnlineAttention{op, launch}.emitAll(); }
