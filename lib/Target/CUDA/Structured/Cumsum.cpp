// Cumulative sums, in one of two ways that the shape alone decides.
//
// Many lines: a thread takes one and goes along it; neighbouring threads have neighbouring lines.
// Few long lines: a block takes one, a tile after the other. In a tile each thread adds up some
// neighbours, the threads' sums are summed up in shared memory by doubling steps, and each thread
// goes over its neighbours again, beginning with what lies before them.

#include "StructuredKernels.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

using Predicate = arith::CmpIPredicate;

/// So many threads keep a GPU busy, each with a line of its own.
static constexpr int64_t kManyLines = 2048;
/// A shorter line is not worth the steps of a block.
static constexpr int64_t kLongLine = 256;
/// Neighbours of a thread in a tile: a sector of f32.
static constexpr int64_t kNeighbours = 8;

static Lines linesOf(CumsumOp op) { return Lines(op.getType().getShape(), op.getAxis()); }

static bool isByBlock(const Lines &lines) {
  return lines.count() < kManyLines && lines.length >= kLongLine;
}

int64_t gantry::gpu::threadsOf(CumsumOp op) {
  Lines lines = linesOf(op);
  return isByBlock(lines) ? threadsFor(lines.length / kNeighbours) : kMostThreads;
}

namespace {
struct Summation {
  CumsumOp op;
  Launch &launch;
  Emitter e{op.getLoc(), launch.builder()};
  Lines lines = linesOf(op);
  Value input = bufferOf(launch, op.getInput()), output = launch.result(0);
  Type element = signless(op.getType().getElementType()), wide = computeType(element);
  Indices line = {}; ///< of the one at hand

  Value zero() { return e.number(0, wide); }
  Value one() { return e.index(1); }

  Indices at(Value i) {
    return lines.element(line, op.getReverse() ? e.sub(e.index(lines.length - 1), i) : i);
  }

  /// The sum up to element `i` and with it; stores what the result is there.
  Value step(Value i, Value before) {
    Indices place = at(i);
    Value sum = e.add(before, e.widen(memref::LoadOp::create(e, input, place)));
    Value stored = op.getExclusive() ? before : sum;
    memref::StoreOp::create(e, e.narrow(stored, element), output, place);
    return sum;
  }

  void emitByThread() {
    launch.needThreads(lines.count());
    LoopBuilder(e).onlyIf(e.compare(Predicate::ult, launch.global(), e.index(lines.count())), [&] {
      line = lines.take(e, launch.global());
      LoopBuilder(e).loop(e.index(0), e.index(lines.length), one(), zero(),
                          [&](Value i, Value sum) { return step(i, sum); });
    });
  }

  /// Over this thread's neighbours from `first` on, as far as the line goes.
  Value overNeighbours(Value first, Value initial, function_ref<Value(Value, Value)> emit) {
    return LoopBuilder(e).loop(e.index(0), e.index(kNeighbours), one(), initial,
                               [&](Value j, Value sum) {
                                 Value i = addIndex(e, first, j);
                                 return LoopBuilder(e).choose(
                                     e.compare(Predicate::ult, i, e.index(lines.length)),
                                     [&] { return emit(i, sum); }, sum);
                               });
  }

  /// Element t of `sums` becomes the sum of elements 0..t, by steps of 1, 2, 4, ...
  void sumUp(Value sums) {
    Value thread = launch.thread();
    for (int64_t distance = 1; distance < launch.threads(); distance *= 2) {
      Value mine = memref::LoadOp::create(e, sums, thread);
      Value hasOther = e.compare(Predicate::uge, thread, e.index(distance));
      Value sum = LoopBuilder(e).choose(
          hasOther,
          [&] {
            Value other = e.sub(thread, e.index(distance));
            return e.add(memref::LoadOp::create(e, sums, other), mine);
          },
          mine);
      barrier(e);
      memref::StoreOp::create(e, sum, sums, thread);
      barrier(e);
    }
  }

  void emitByBlock() {
    launch.needBlocks(lines.count());
    Value sums = launch.allocate(launch.threads(), wide, lines.count());
    Value thread = launch.thread();
    int64_t tile = launch.threads() * kNeighbours;
    line = lines.take(e, launch.block());
    LoopBuilder(e).loop(
        e.index(0), e.index(lines.length), e.index(tile), zero(), [&](Value start, Value soFar) {
          Value first = addIndex(e, start, mulIndex(e, thread, kNeighbours));
          Value own = overNeighbours(first, zero(), [&](Value i, Value sum) {
            return e.add(sum, e.widen(memref::LoadOp::create(e, input, at(i))));
          });
          memref::StoreOp::create(e, own, sums, thread);
          barrier(e);
          sumUp(sums);
          Value isBehind = e.compare(Predicate::ugt, thread, e.index(0));
          Value before = LoopBuilder(e).choose(
              isBehind,
              [&] { return e.add(soFar, memref::LoadOp::create(e, sums, e.sub(thread, one()))); },
              soFar);
          overNeighbours(first, before, [&](Value i, Value sum) { return step(i, sum); });
          Value all = memref::LoadOp::create(e, sums, e.index(launch.threads() - 1));
          barrier(e); // before the next tile's sums
          return e.add(soFar, all);
        });
  }
};
} // namespace

void gantry::gpu::emit(CumsumOp op, Launch &launch) {
  Summation summation{op, launch};
  if (isByBlock(summation.lines))
    summation.emitByBlock();
  else
    summation.emitByThread();
}
