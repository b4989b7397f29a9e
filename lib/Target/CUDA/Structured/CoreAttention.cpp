// Attention of f16 and bf16 on tensor cores, with an online softmax: a block has some queries and
// goes along the keys, tile by tile, so that the scores of all of them never exist together.
//
// Each warp has sixteen queries, whose pieces stay in its registers, and multiplies them by all
// keys of a tile. Sums that a product gives to a lane are where the next product wants the lane's
// weights, so scores never leave the registers either. A tile with a larger score than all before
// makes the sums so far smaller by exp(old - new). Weights are rounded to the type of the values
// before they are multiplied; a column of ones beside the values adds up the same rounded weights,
// so that they are parts of exactly one.
//
// While a tile is multiplied the next one is on its way by asynchronous copies.

#include "AsyncCopy.h"
#include "AttentionOpSizes.h"
#include "Products/CoreInstructions.h"
#include "Products/TileCost.h"
#include "StructuredKernels.h"
#include "gantry/Target/CUDA/CUDATarget.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

using Predicate = arith::CmpIPredicate;

/// What a warp multiplies at once: rows of queries, columns, terms.
static constexpr int64_t kRows = 16, kColumns = 8, kTerms = 16;
/// Largest size of a query or value whose pieces registers hold.
static constexpr int64_t kWidest = 128;
/// Lines in shared memory are an odd number of 16 bytes apart, so that eight of them are in
/// different banks.
static constexpr int64_t kBytes = 2, kLinePadding = 8;
/// Tiles of keys in shared memory: one is read while the next one comes.
static constexpr int64_t kStages = 2;

//===----------------------------------------------------------------------===//
// How it is cut
//===----------------------------------------------------------------------===//

namespace {
struct Sizes : AttentionOpSizes {
  using AttentionOpSizes::AttentionOpSizes;
  /// With zeros behind them.
  int64_t wholeDepth() const { return int64_t(llvm::alignTo(depth, kTerms)); }
  int64_t wholeWidth() const { return int64_t(llvm::alignTo(width, kTerms)); }
  /// From line to line of keys and queries, and of values.
  int64_t keyLine() const { return wholeDepth() + kLinePadding; }
  int64_t valueLine() const { return wholeWidth() + kLinePadding; }
  /// Elements in shared memory. Queries pass through that of the keys.
  int64_t keyMemory(const CoreAttentionTiles &tiles) const {
    return std::max(kStages * tiles.keys, tiles.warps * kRows) * keyLine();
  }
  int64_t valueMemory(const CoreAttentionTiles &tiles) const {
    return kStages * tiles.keys * valueLine();
  }
};
} // namespace

/// As products on tensor cores are estimated (ChooseTile.cpp); instructions of a lane for a score
/// and its weight are counted, and for what a round does besides: the largest score and the sums
/// that it makes smaller.
static double cyclesOf(const Sizes &sizes, const CoreAttentionTiles &tiles) {
  constexpr double instructionsOfScore = 30, cyclesOfScore = 12, instructionsOfRound = 80;
  const double warps = double(tiles.warps), depth = double(sizes.wholeDepth()),
               width = double(sizes.wholeWidth()), keys = double(tiles.keys);
  const double multiplies =
      keys / kColumns * (depth / kTerms) + keys / kTerms * (width / kColumns + 1);
  const double reads = keys / kTerms * ((depth + width) / kTerms);
  const double scores = kRows * keys / kWarp;
  const double filledBytes = keys * (depth + width) * kBytes;
  const double issue = warps * (multiplies + 3 * reads + instructionsOfScore * scores +
                                instructionsOfRound + width / 2) +
                       8 * filledBytes / 16 / kWarp;
  BlockCost cost;
  cost.blocks = double(sizes.batch) * double(llvm::divideCeil(sizes.queries, tiles.warps * kRows));
  cost.rounds = double(llvm::divideCeil(sizes.keys, tiles.keys));
  cost.threads = double(tiles.threads());
  cost.sharedBytes = double(kBytes * (sizes.keyMemory(tiles) + sizes.valueMemory(tiles)));
  cost.registersOfThread = 60 + depth / 4 + width / 2 + 0.75 * keys;
  cost.work = std::max({warps * multiplies * 2, warps * reads * 3.1 + 7 * filledBytes / 128,
                        issue / 4, filledBytes / 16});
  cost.latency = 570 + 8.6 * multiplies + 37 * (depth + keys) / kTerms + cyclesOfScore * scores;
  cost.start = 1500;
  cost.finish = warps * width;
  return cost.cycles();
}

std::optional<CoreAttentionTiles> gantry::gpu::coreTilesOf(AttentionOp op, int64_t arch) {
  Sizes sizes(op);
  auto isAlike = [&](Value other) {
    return getElementTypeOrSelf(other.getType()) == getElementTypeOrSelf(op.getQuery().getType());
  };
  if (arch < kTensorCoreArch || !coreKindOf(op.getType().getElementType()) ||
      !isAlike(op.getKey()) || !isAlike(op.getValue()) || sizes.depth == 0 || sizes.width == 0 ||
      sizes.keys == 0 || std::max(sizes.depth, sizes.width) > kWidest)
    return std::nullopt;
  std::optional<CoreAttentionTiles> best;
  double least = 0;
  for (int64_t warps : {1, 2, 4, 8})
    for (int64_t keys : {16, 32, 64}) {
      CoreAttentionTiles tiles{warps, keys};
      if ((warps > 1 && warps * kRows >= 2 * sizes.queries) ||
          (keys > kTerms && keys >= 2 * sizes.keys) ||
          kBytes * (sizes.keyMemory(tiles) + sizes.valueMemory(tiles)) > kSharedBytes)
        continue;
      double cycles = cyclesOf(sizes, tiles);
      if (!best || cycles < least) {
        best = tiles;
        least = cycles;
      }
    }
  return best;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

namespace {
using Values = SmallVector<Value>;

struct CoreAttention {
  AttentionOp op;
  CoreAttentionTiles tiles;
  Launch &launch;
  Emitter e{op.getLoc(), launch.builder()};
  Sizes sizes{op};
  Type f32 = e.getF32Type(), element = signless(op.getType().getElementType());
  CoreKind kind = *coreKindOf(element);
  Value mask = op.getMask() ? bufferOf(launch, op.getMask()) : Value();
  int64_t rows = tiles.warps * kRows; ///< of the block

  Value keys = {}, values = {};                      ///< in shared memory
  Value matrix = {}, firstQuery = {}, firstRow = {}; ///< of the batch, the block, the warp
  Value group = {}, member = {};                     ///< lane = 4 * group + member
  Value ofQueries = {}, ofKeys = {}, ofValues = {};  ///< where this lane's line begins
  Indices batch = {};
  SmallVector<Values> pieces = {}; ///< of this warp's queries, one for each step of terms

  /// Of a lane's two queries the largest score, and sums of both as tensor cores give them: of
  /// weights, and of weighted values.
  struct State {
    Values largest, all;

    Values list() const {
      Values values(largest);
      llvm::append_range(values, all);
      return values;
    }
  };

  //===--- Memory ----------------------------------------------------------------------------===//

  /// Elements of a row that a thread copies at once.
  static int64_t widthOf(int64_t size) {
    return int64_t(std::min<uint64_t>(16 / kBytes, uint64_t(size) & -uint64_t(size)));
  }

  /// `lines` rows of `source` from `first` on, `size` elements each; zeros behind them and behind
  /// the last row. A row of an odd number of elements is copied by threads that wait for it.
  void fill(Value source, Value first, int64_t count, int64_t size, int64_t whole, int64_t lines,
            Value to, Value offset) {
    const int64_t width = widthOf(size), across = whole / width, all = lines * across;
    Value from = flat(e, source);
    auto copy = [&](Value number) {
      Indices at = delinearize(e, number, {lines, across});
      Value row = addIndex(e, first, at[0]), column = mulIndex(e, at[1], width), isThere;
      Value place =
          addIndex(e, addIndex(e, mulIndex(e, at[0], whole + kLinePadding), column), offset);
      if (count % lines != 0) {
        isThere = e.compare(Predicate::ult, row, e.index(count));
        row = arith::MinUIOp::create(e, row, e.index(count - 1));
      }
      if (size != whole) {
        Value isInRow = e.compare(Predicate::ult, column, e.index(size));
        isThere = isThere ? e.both(isThere, isInRow) : isInRow;
        column = arith::MinUIOp::create(e, column, e.index(size - width));
      }
      row = addIndex(e, mulIndex(e, matrix, count), row);
      Value element = addIndex(e, mulIndex(e, row, size), column);
      if (width > 1)
        return copyLater(e, from, element, to, place, width, isThere);
      Value loaded = memref::LoadOp::create(e, from, element);
      if (isThere)
        loaded = e.select(isThere, loaded, e.number(0, this->element));
      memref::StoreOp::create(e, loaded, to, place);
    };
    constexpr int64_t mostUnrolled = 8;
    if (all > mostUnrolled * launch.threads())
      return LoopBuilder(e).loop(launch.thread(), e.index(all), e.index(launch.threads()), copy);
    for (int64_t number = 0; number < all; number += launch.threads()) {
      Value own = addIndex(e, launch.thread(), e.index(number));
      if (number + launch.threads() <= all)
        copy(own);
      else
        LoopBuilder(e).onlyIf(e.compare(Predicate::ult, own, e.index(all)), [&] { copy(own); });
    }
  }

  void fillTile(Value first, Value stage) {
    fill(bufferOf(launch, op.getKey()), first, sizes.keys, sizes.depth, sizes.wholeDepth(),
         tiles.keys, keys, mulIndex(e, stage, tiles.keys * sizes.keyLine()));
    fill(bufferOf(launch, op.getValue()), first, sizes.keys, sizes.width, sizes.wholeWidth(),
         tiles.keys, values, mulIndex(e, stage, tiles.keys * sizes.valueLine()));
  }

  /// Into registers, through the memory of the keys.
  void loadQueries() {
    fill(bufferOf(launch, op.getQuery()), firstQuery, sizes.queries, sizes.depth,
         sizes.wholeDepth(), rows, keys, e.index(0));
    closeCopies(e);
    waitForCopies(e, 0);
    barrier(e);
    for (int64_t term = 0; term < sizes.wholeDepth(); term += kTerms)
      pieces.push_back(loadMatrices(e, keys, addIndex(e, ofQueries, e.index(term)), false));
    barrier(e);
  }

  //===--- Scores ----------------------------------------------------------------------------===//

  /// sums += x * y for the pieces of two neighbouring columns of tiles.
  void multiplyTwo(ArrayRef<Value> x, ArrayRef<Value> y, Values &accumulators, int64_t column) {
    for (int64_t half : {0, 1}) {
      size_t at = size_t(column / kColumns + half) * 4;
      Values next = multiplyOnCores(e, kind, x, y.slice(size_t(2 * half), 2),
                                    ArrayRef(accumulators).slice(at, 4));
      llvm::copy(next, accumulators.begin() + at);
    }
  }

  Values scoresOf(Value stage) {
    Values accumulators(size_t(tiles.keys / 2), e.number(0, f32));
    Value first = addIndex(e, ofKeys, mulIndex(e, stage, tiles.keys * sizes.keyLine()));
    for (auto [step, piece] : llvm::enumerate(pieces))
      for (int64_t key = 0; key < tiles.keys; key += 2 * kColumns) {
        Value place = addIndex(e, first, e.index(key * sizes.keyLine() + int64_t(step) * kTerms));
        multiplyTwo(piece, loadMatrices(e, keys, place, false), accumulators, key);
      }
    return accumulators;
  }

  /// Row of the block and column of the tile that a lane's sum `i` of those of all pieces is for.
  Value queryOf(size_t i) {
    Value own = addIndex(e, firstRow, group);
    return addIndex(e, firstQuery, i % 4 < 2 ? own : addIndex(e, own, e.index(kRows / 2)));
  }
  Value columnOf(size_t i) {
    return addIndex(e, mulIndex(e, member, 2), e.index(int64_t(i / 4) * kColumns + int64_t(i % 2)));
  }

  Value clamp(Value index, int64_t size) {
    return arith::MinUIOp::create(e, index, e.index(size - 1));
  }

  Value maskAt(Value query, Value key) {
    ArrayRef<int64_t> shape = cast<ShapedType>(mask.getType()).getShape();
    Indices all(batch.begin(), batch.end()), own;
    all.append({clamp(query, sizes.queries), clamp(key, sizes.keys)});
    for (auto [d, size] : llvm::enumerate(shape)) {
      Value index = all[all.size() - shape.size() + d];
      own.push_back(size == 1 ? e.index(0) : index);
    }
    return e.widen(memref::LoadOp::create(e, mask, own));
  }

  /// What is added to the tile's scores; on its way while they are multiplied.
  Values masksOf(Value first) {
    Values masks;
    if (mask)
      for (size_t i = 0; i < size_t(tiles.keys / 2); ++i)
        masks.push_back(maskAt(queryOf(i), addIndex(e, first, columnOf(i))));
    return masks;
  }

  /// Scaled and masked; -inf where there is no key, or a hidden one.
  void finishScores(Values &scores, ArrayRef<Value> masks, Value first) {
    Value scale = e.number(op.getScale().convertToDouble(), f32);
    for (auto [i, score] : llvm::enumerate(scores)) {
      score = e.mul(score, scale);
      if (mask)
        score = e.add(score, masks[i]);
      Value key = addIndex(e, first, columnOf(i)), isHidden;
      if (sizes.keys % tiles.keys != 0)
        isHidden = e.compare(Predicate::uge, key, e.index(sizes.keys));
      if (op.getCausal()) {
        Value isLater = e.compare(Predicate::ugt, key, queryOf(i));
        isHidden = isHidden ? e.either(isHidden, isLater) : isLater;
      }
      if (isHidden)
        score = e.select(isHidden, e.lowest(f32, false), score);
    }
  }

  /// Over the four lanes that share a query.
  Value largestOf(Value mine) {
    for (int32_t offset : {1, 2}) {
      Value bits = arith::BitcastOp::create(e, e.getI32Type(), mine);
      Value other = ::mlir::gpu::ShuffleOp::create(e, bits, offset, int32_t(kWarp),
                                                   ::mlir::gpu::ShuffleMode::XOR)
                        .getShuffleResult();
      mine = e.maximum(mine, arith::BitcastOp::create(e, f32, other));
    }
    return mine;
  }

  //===--- Weights and values ----------------------------------------------------------------===//

  /// Scores become weights, relative to the largest score so far; what was relative to an earlier
  /// one is made so.
  void weigh(State &state, Values &scores) {
    Value lowest = e.lowest(f32, false);
    for (size_t half : {0, 1}) {
      auto isOwn = [&](size_t i) { return i % 4 / 2 == half; };
      Value largest;
      for (auto [i, score] : llvm::enumerate(scores))
        if (isOwn(i))
          largest = largest ? e.maximum(largest, score) : score;
      largest = e.maximum(state.largest[half], largestOf(largest));
      // As long as all keys are hidden, exponentials are relative to 0, so that they are 0.
      Value isNone = e.compare(arith::CmpFPredicate::OEQ, largest, lowest);
      Value base = e.select(isNone, e.number(0, f32), largest);
      Value shrink = e.expAtMostZero(e.sub(state.largest[half], base));
      state.largest[half] = largest;
      for (auto [i, score] : llvm::enumerate(scores))
        if (isOwn(i))
          score = e.expAtMostZero(e.sub(score, base));
      for (auto [i, sum] : llvm::enumerate(state.all))
        if (isOwn(i))
          sum = e.mul(sum, shrink);
    }
  }

  /// Two numbers, rounded, in a word.
  Value pack(Value x, Value y) {
    Value both = vector::FromElementsOp::create(e, VectorType::get({2}, element),
                                                Values{e.narrow(x, element), e.narrow(y, element)});
    return LLVM::BitcastOp::create(e, e.getI32Type(), both);
  }

  void addValues(State &state, ArrayRef<Value> weights, Value stage) {
    Value first = addIndex(e, ofValues, mulIndex(e, stage, tiles.keys * sizes.valueLine()));
    Value ones = e.integer(kind == CoreKind::f16 ? 0x3C003C00 : 0x3F803F80, e.getI32Type());
    Values accumulators(ArrayRef(state.all).take_front(4)),
        weighted(ArrayRef(state.all).drop_front(4));
    for (int64_t key = 0; key < tiles.keys; key += kTerms) {
      ArrayRef<Value> own = weights.slice(size_t(key / 2), 8);
      Values piece{pack(own[0], own[1]), pack(own[2], own[3]), pack(own[4], own[5]),
                   pack(own[6], own[7])};
      accumulators = multiplyOnCores(e, kind, piece, {ones, ones}, accumulators);
      for (int64_t column = 0; column < sizes.wholeWidth(); column += 2 * kColumns) {
        Value place = addIndex(e, first, e.index(key * sizes.valueLine() + column));
        multiplyTwo(piece, loadMatrices(e, values, place, true), weighted, column);
      }
    }
    state.all = accumulators;
    llvm::append_range(state.all, weighted);
  }

  //===--- All of it -------------------------------------------------------------------------===//

  /// The tile from key `first` on is in `stage`, or on its way there.
  Values takeTile(Value first, Value end, Value stage, ValueRange before) {
    State state{Values(before.take_front(2)), Values(before.drop_front(2))};
    Value next = addIndex(e, first, e.index(tiles.keys));
    LoopBuilder(e).onlyIf(e.compare(Predicate::ult, next, end),
                          [&] { fillTile(next, arith::SubIOp::create(e, e.index(1), stage)); });
    closeCopies(e);
    Values masks = masksOf(first);
    waitForCopies(e, 1);
    barrier(e);
    Values scores = scoresOf(stage);
    finishScores(scores, masks, first);
    weigh(state, scores);
    addValues(state, scores, stage);
    barrier(e); // all have read the tile: the one after the next takes its place
    return state.list();
  }

  void store(const State &state) {
    Value to = flat(e, launch.result(0));
    ArrayRef<Value> accumulators = ArrayRef(state.all).take_front(4),
                    weighted = ArrayRef(state.all).drop_front(4);
    for (size_t half : {0, 1}) {
      Value query = queryOf(2 * half);
      LoopBuilder(e).onlyIf(e.compare(Predicate::ult, query, e.index(sizes.queries)), [&] {
        Value row = addIndex(e, mulIndex(e, matrix, sizes.queries), query);
        for (size_t i = 2 * half; i < weighted.size(); i += 4)
          for (size_t j : {i, i + 1}) {
            Value column = columnOf(j);
            auto write = [&] {
              Value result = e.narrow(e.div(weighted[j], accumulators[2 * half]), element);
              memref::StoreOp::create(e, result, to,
                                      addIndex(e, mulIndex(e, row, sizes.width), column));
            };
            if (int64_t(i / 4 + 1) * kColumns <= sizes.width)
              write();
            else
              LoopBuilder(e).onlyIf(e.compare(Predicate::ult, column, e.index(sizes.width)), write);
          }
      });
    }
  }

  void findPlaces() {
    const int64_t blocks = llvm::divideCeil(sizes.queries, rows);
    launch.needBlocks(sizes.batch * blocks);
    Indices block = delinearize(e, launch.block(), {sizes.batch, blocks});
    Indices thread = delinearize(e, launch.thread(), {tiles.warps, kWarp});
    Indices lane = delinearize(e, thread[1], {2, 2, 8}), pair = delinearize(e, thread[1], {8, 4});
    matrix = block[0];
    batch =
        delinearize(e, matrix, cast<ShapedType>(op.getQuery().getType()).getShape().drop_back(2));
    firstQuery = mulIndex(e, block[1], rows);
    firstRow = mulIndex(e, thread[0], kRows);
    group = pair[0];
    member = pair[1];
    auto place = [&](Value line, int64_t length, Value column) {
      return addIndex(e, mulIndex(e, line, length), mulIndex(e, column, 8));
    };
    auto lineOf = [&](Value half) { return addIndex(e, mulIndex(e, half, 8), lane[2]); };
    ofQueries = place(addIndex(e, firstRow, lineOf(lane[1])), sizes.keyLine(), lane[0]);
    ofKeys = place(lineOf(lane[0]), sizes.keyLine(), lane[1]);
    ofValues = place(lineOf(lane[1]), sizes.valueLine(), lane[0]);
  }

  void emitAll() {
    keys = launch.allocate(sizes.keyMemory(tiles), element, 1);
    values = launch.allocate(sizes.valueMemory(tiles), element, 1);
    findPlaces();
    loadQueries();
    Value zero = e.index(0), end = e.index(sizes.keys);
    // Keys behind the block's last query are hidden from all of it.
    if (op.getCausal())
      end = arith::MinUIOp::create(e, end, addIndex(e, firstQuery, e.index(rows)));
    fillTile(zero, zero);
    closeCopies(e);
    State start{Values(2, e.lowest(f32, false)),
                Values(size_t(4 + sizes.wholeWidth() / 2), e.number(0, f32))};
    auto take = [&](Value first, ValueRange before) {
      Value number = arith::DivUIOp::create(e, first, e.index(tiles.keys));
      Value stage = arith::RemUIOp::create(e, number, e.index(kStages));
      return takeTile(first, end, stage, before);
    };
    const Values all = LoopBuilder(e).loop(zero, end, tiles.keys, start.list(), take);
    ValueRange last = all;
    store({Values(last.take_front(2)), Values(last.drop_front(2))});
  }
};
} // namespace

void gantry::gpu::emit(AttentionOp op, const CoreAttentionTiles &tiles, Launch &launch) {
  CoreAttention{op, tiles, launch}.emitAll();
}
