// The best k elements of rows, a block of threads for each row.
//
// The block sorts by a bitonic network: of entries of a value and its index, so that all differ and
// the order of equal values is that of their indices. A row that shared memory holds is sorted as a
// whole. Of a longer one the best are kept sorted, and a tile after the other is sorted and merged
// with them: of the i-th best kept and the i-th worst of the tile the better stays. When more are
// asked for than can be kept, the whole row is sorted in scratch memory, by few blocks in turns.
//
// Rows are filled up with entries that no element is behind: the worst value, with indices beyond
// the row.

#include "StructuredKernels.h"

#include "gantry/Linalg/Scalars.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

using Predicate = arith::CmpIPredicate;

/// Most entries that are sorted at once in shared memory, which holds them with values of 8 bytes.
static constexpr int64_t kMostSorted = 4096;
/// Entries of a tile, unless more are kept; half of what is sorted at once is.
static constexpr int64_t kTile = 1024;
/// Blocks that share scratch memory among all rows.
static constexpr int64_t kScratchBlocks = 256;

namespace {
/// How a row is gone through.
struct SortPlan {
  int64_t entries; ///< sorted at once, a power of two
  bool isByTiles;  ///< entries of a tile, and as many kept
  bool isInScratch;

  SortPlan(int64_t length, int64_t k) {
    entries = llvm::PowerOf2Ceil(uint64_t(std::max<int64_t>(2, length)));
    isByTiles = entries > kMostSorted && k <= kMostSorted / 2;
    isInScratch = entries > kMostSorted && !isByTiles;
    if (isByTiles)
      entries = std::max<int64_t>(kTile, llvm::PowerOf2Ceil(uint64_t(k)));
  }
};

struct Entry {
  Value value, index;
};

struct Selection {
  TopKOp op;
  Launch &launch;
  Emitter e{op.getLoc(), launch.builder()};
  Lines lines{shapeOf(op.getInput()), unsigned(op.getAxis())};
  int64_t k = int64_t(op.getK());
  SortPlan way{lines.length, k};
  Value input = bufferOf(launch, op.getInput());
  Type element = cast<MemRefType>(input.getType()).getElementType();
  Type number = e.getIntegerType(lines.length >> 30 ? 64 : 32); ///< of indices
  Value values = {}, indices = {};                              ///< of entries
  Indices line = {};

  Entry load(Value i) {
    return {memref::LoadOp::create(e, values, i), memref::LoadOp::create(e, indices, i)};
  }
  void store(Entry entry, Value i) {
    memref::StoreOp::create(e, entry.value, values, i);
    memref::StoreOp::create(e, entry.index, indices, i);
  }
  Value isBefore(Entry x, Entry y) {
    Value better = isPreferred(e, op, x.value, y.value);
    Value worse = isPreferred(e, op, y.value, x.value);
    Value earlier = e.compare(Predicate::ult, x.index, y.index);
    return e.either(better, e.both(e.negate(worse), earlier));
  }

  /// For i = 0 .. count - 1, by the block's threads in turns.
  void forMine(int64_t count, function_ref<void(Value)> emit) {
    LoopBuilder(e).loop(launch.thread(), e.index(count), e.index(launch.threads()), emit);
  }

  /// No element of a row comes behind this value.
  Value worst() {
    bool sign = isUnsigned(op.getInput().getType());
    if (!op.getSmallest())
      return e.lowest(element, sign);
    auto type = dyn_cast<FloatType>(element);
    if (!type)
      return e.highest(element, sign);
    return arith::ConstantOp::create(
        e, e.getFloatAttr(type, APFloat::getNaN(type.getFloatSemantics())));
  }

  /// Entry `place` becomes element `i` of the row.
  void fetch(Value i, Value place) {
    Value inside = e.compare(Predicate::ult, i, e.index(lines.length));
    Value value = LoopBuilder(e).choose(
        inside, [&]() -> Value { return memref::LoadOp::create(e, input, lines.element(line, i)); },
        worst());
    store({value, arith::IndexCastOp::create(e, number, i)}, place);
  }

  /// Compares entries that are 2^`exponent` apart, all of them; the better one of two comes first
  /// where bit `descends` of its place is 0, or everywhere.
  void compareAll(Value start, Value exponent, Value descends) {
    Value one = e.index(1), distance = arith::ShLIOp::create(e, one, exponent);
    forMine(way.entries / 2, [&](Value pair) {
      Value above = arith::ShRUIOp::create(e, pair, exponent);
      Value below = arith::AndIOp::create(e, pair, e.sub(distance, one));
      Value low = arith::ShLIOp::create(e, above, e.add(exponent, one));
      low = arith::OrIOp::create(e, low, below);
      Value first = e.add(start, low), second = e.add(first, distance);
      Entry x = load(first), y = load(second);
      Value swaps = isBefore(y, x);
      if (descends) {
        Value bit = arith::AndIOp::create(e, arith::ShRUIOp::create(e, low, descends), one);
        Value isTurned = e.compare(Predicate::ne, bit, e.index(0));
        swaps = arith::XOrIOp::create(e, swaps, isTurned);
      }
      LoopBuilder(e).onlyIf(swaps, [&] {
        store(y, first);
        store(x, second);
      });
    });
    barrier(e);
  }

  /// Entries from `start` on, of which the first half rises and the other one falls or the other
  /// way round, best first.
  void merge(Value start) {
    int64_t last = llvm::Log2_64(uint64_t(way.entries)) - 1;
    LoopBuilder(e).loop(0, last + 1, 1, [&](Value round) {
      compareAll(start, e.sub(e.index(last), round), Value());
    });
  }

  /// Runs of 2, 4, ... entries from `start` on are sorted, best and worst first in turns.
  void sort(Value start) {
    int64_t exponents = llvm::Log2_64(uint64_t(way.entries));
    LoopBuilder(e).loop(1, exponents + 1, 1, [&](Value run) {
      LoopBuilder(e).loop(e.index(0), run, e.index(1), [&](Value round) {
        Value exponent = e.sub(e.sub(run, e.index(1)), round);
        compareAll(start, exponent, run);
      });
    });
  }

  void sortWhole() {
    forMine(way.entries, [&](Value i) { fetch(i, i); });
    barrier(e);
    sort(e.index(0));
  }

  void sortByTiles() {
    Value tile = e.index(way.entries), zero = e.index(0);
    // Nothing is kept at first.
    forMine(way.entries, [&](Value i) { fetch(e.add(i, e.index(lines.length)), i); });
    LoopBuilder(e).loop(zero, e.index(lines.length), tile, [&](Value start) {
      forMine(way.entries, [&](Value i) { fetch(e.add(start, i), e.add(tile, i)); });
      barrier(e);
      sort(tile);
      forMine(way.entries, [&](Value i) {
        Entry kept = load(i), other = load(e.sub(e.index(2 * way.entries - 1), i));
        LoopBuilder(e).onlyIf(isBefore(other, kept), [&] { store(other, i); });
      });
      barrier(e);
      merge(zero);
    });
  }

  void write() {
    forMine(k, [&](Value i) {
      Entry entry = load(i);
      Indices at = lines.element(line, i);
      memref::StoreOp::create(e, entry.value, launch.result(0), at);
      Value index = e.getI64Type() == number
                        ? entry.index
                        : Value(arith::ExtUIOp::create(e, e.getI64Type(), entry.index));
      memref::StoreOp::create(e, index, launch.result(1), at);
    });
  }

  void emitRow(Value row) {
    line = lines.take(e, row);
    if (way.isByTiles)
      sortByTiles();
    else
      sortWhole();
    write();
  }

  void emitRows() {
    int64_t rows = lines.count(), entries = way.isByTiles ? 2 * way.entries : way.entries;
    int64_t blocks = way.isInScratch ? std::min(rows, kScratchBlocks) : rows;
    launch.needBlocks(blocks);
    values = launch.allocate(entries, element, blocks);
    indices = launch.allocate(entries, number, blocks);
    if (blocks == rows)
      return emitRow(launch.block());
    LoopBuilder(e).loop(launch.block(), e.index(rows), e.index(blocks), [&](Value row) {
      emitRow(row);
      barrier(e); // before the entries are those of the next row
    });
  }
};
} // namespace

int64_t gantry::gpu::threadsOf(TopKOp op) {
  return threadsFor(SortPlan(shapeOf(op.getInput())[op.getAxis()], int64_t(op.getK())).entries / 2);
}

void gantry::gpu::emit(TopKOp op, Launch &launch) {
  Selection selection{op, launch};
  selection.emitRows();
}
