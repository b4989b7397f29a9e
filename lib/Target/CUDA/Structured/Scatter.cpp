// Scatters: updates of one element apply in row-major order, and no two threads write one element.
//
// A thread owns some elements of a line, copies them, goes through all updates of the line in order
// and applies those that are for an element of its own. So nothing waits for anything, and the
// result may take the place of the input. Threads of a line own every n-th element each, n being a
// power of two: then neighbouring threads copy neighbours, and a mask says whose an element is. The
// more updates a line has, the longer each thread reads; so a line is split among as many threads
// only as a GPU can run at once.

#include "StructuredKernels.h"

#include "gantry/Linalg/Scalars.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

using Predicate = arith::CmpIPredicate;

/// Threads that a GPU runs at once, about: more of them would only read the updates more often.
static constexpr int64_t kThreadsAtOnce = int64_t(1) << 16;

/// How many threads share a line of `length` elements, when there are `lines` of them.
static int64_t threadsOfLine(int64_t length, int64_t lines) {
  int64_t most = llvm::PowerOf2Ceil(uint64_t(std::max<int64_t>(1, length)));
  int64_t wanted = llvm::bit_floor(uint64_t(std::max<int64_t>(1, kThreadsAtOnce / lines)));
  return std::min(most, wanted);
}

namespace {
/// The input as lines of elements that updates choose from.
struct Scatter {
  Launch &launch;
  Emitter e;
  ScatterReduction reduction;
  bool isUnsigned;
  int64_t length, lines, updates; ///< elements of a line, lines, updates of a line
  Value input, output;

  /// This thread's first element of its line; it owns each `owners`-th from there on.
  Value first;
  int64_t owners = threadsOfLine(length, lines);

  /// Emits for the threads that have elements, given the numbers of theirs among those of a line
  /// and of the line; `shape` says how these are numbered and `axis` which of its dimensions has
  /// the owners.
  void forOwners(ArrayRef<int64_t> shape, unsigned axis, function_ref<void(Indices)> emit) {
    SmallVector<int64_t> numbers(shape);
    numbers[axis] = owners;
    int64_t count = ShapedType::getNumElements(numbers);
    launch.needThreads(count);
    LoopBuilder(e).onlyIf(e.compare(Predicate::ult, launch.global(), e.index(count)), [&] {
      Indices at = delinearize(e, launch.global(), numbers);
      first = at[axis];
      emit(at);
    });
  }

  void copy(function_ref<Indices(Value)> place) {
    LoopBuilder(e).loop(first, e.index(length), e.index(owners), [&](Value i) {
      Indices at = place(i);
      memref::StoreOp::create(e, memref::LoadOp::create(e, input, at), output, at);
    });
  }

  /// Update `u` is for element `i` of the line and is read by `update` when it is this thread's.
  void apply(Value i, function_ref<Value()> update, function_ref<Indices(Value)> place) {
    Value owner = arith::AndIOp::create(e, i, e.index(owners - 1));
    LoopBuilder(e).onlyIf(e.compare(Predicate::eq, owner, first), [&] {
      Indices at = place(i);
      Value value = update();
      if (reduction != ScatterReduction::None)
        value = meetUpdate(e, reduction, memref::LoadOp::create(e, output, at), value, isUnsigned);
      memref::StoreOp::create(e, value, output, at);
    });
  }

  void forUpdates(function_ref<void(Value)> emit) {
    if (updates > 0)
      LoopBuilder(e).loop(e.index(0), e.index(updates), e.index(1), emit);
  }
};
} // namespace

template <typename Op>
static Scatter makeScatter(Op op, Launch &launch, int64_t length, int64_t updates) {
  int64_t elements = op.getType().getNumElements();
  return {launch,
          Emitter(op.getLoc(), launch.builder()),
          op.getReduction(),
          isUnsigned(op.getInput().getType()),
          length,
          std::max<int64_t>(1, elements / std::max<int64_t>(1, length)),
          updates,
          bufferOf(launch, op.getInput()),
          launch.result(0),
          Value()};
}

void gantry::gpu::emit(ScatterElementsOp op, Launch &launch) {
  ArrayRef<int64_t> shape = op.getType().getShape(), updated = shapeOf(op.getIndices());
  unsigned axis = op.getAxis();
  bool hasUpdates = !llvm::is_contained(updated, 0);
  Scatter scatter = makeScatter(op, launch, shape[axis], hasUpdates ? updated[axis] : 0);
  Emitter &e = scatter.e;
  Value indices = bufferOf(launch, op.getIndices()), updates = bufferOf(launch, op.getUpdates());
  scatter.forOwners(shape, axis, [&](Indices line) {
    auto place = [&](Value i) {
      Indices at = line;
      at[axis] = i;
      return at;
    };
    scatter.copy(place);
    auto applyAll = [&] {
      scatter.forUpdates([&](Value u) {
        Indices at = place(u);
        Value i = e.wrapIndex(memref::LoadOp::create(e, indices, at), shape[axis]);
        scatter.apply(i, [&] { return memref::LoadOp::create(e, updates, at); }, place);
      });
    };
    // The updates may be for some of the lines only.
    Value isUpdated;
    for (auto [d, size] : llvm::enumerate(updated))
      if (d != axis && size < shape[d]) {
        Value inside = e.compare(Predicate::ult, line[d], e.index(size));
        isUpdated = isUpdated ? e.both(isUpdated, inside) : inside;
      }
    if (isUpdated)
      LoopBuilder(e).onlyIf(isUpdated, applyAll);
    else
      applyAll();
  });
}

void gantry::gpu::emit(ScatterNdOp op, Launch &launch) {
  // Of slices that tuples choose, all with their elements; a line is an element of each slice.
  ArrayRef<int64_t> shape = op.getType().getShape(), tuples = shapeOf(op.getIndices());
  ArrayRef<int64_t> addressed = shape.take_front(tuples.back());
  int64_t slices = ShapedType::getNumElements(addressed),
          inner = ShapedType::getNumElements(shape.drop_front(addressed.size()));
  int64_t updates = ShapedType::getNumElements(tuples.drop_back());
  Scatter scatter = makeScatter(op, launch, slices, updates);
  Emitter &e = scatter.e;
  Value from = flat(e, bufferOf(launch, op.getUpdates()));
  Value indices = flat(e, bufferOf(launch, op.getIndices()));
  scatter.input = flat(e, scatter.input);
  scatter.output = flat(e, scatter.output);
  scatter.forOwners({slices, inner}, 0, [&](Indices line) {
    auto place = [&](Value slice) {
      return Indices{addIndex(e, mulIndex(e, slice, inner), line[1])};
    };
    scatter.copy(place);
    scatter.forUpdates([&](Value u) {
      Indices tuple;
      for (auto [j, size] : llvm::enumerate(addressed)) {
        Value at = addIndex(e, mulIndex(e, u, addressed.size()), e.index(j));
        tuple.push_back(e.wrapIndex(memref::LoadOp::create(e, indices, at), size));
      }
      scatter.apply(
          linearize(e, tuple, addressed), [&] { return memref::LoadOp::create(e, from, place(u)); },
          place);
    });
  });
}
