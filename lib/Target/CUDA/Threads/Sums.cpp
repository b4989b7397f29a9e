#include "Sums.h"

#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

/// Elements that a step of a loop takes at least, so that some loads are in flight.
static constexpr int64_t kElementsOfStep = 4;

//===----------------------------------------------------------------------===//
// Shares of a row
//===----------------------------------------------------------------------===//

Share::Share(KernelEmitter &kernel, const Team &team, ArrayRef<int64_t> sizes, int64_t piece,
             bool isUnrolled)
    : kernel(kernel), team(team), sizes(sizes), piece(piece),
      pieces(ShapedType::getNumElements(sizes) / piece), wholeRounds(pieces / team.lanes),
      isUnrolled(isUnrolled) {
  if (!isUnrolled)
    return;
  for (int64_t round = 0; round * team.lanes < pieces; ++round)
    known.push_back(make(indexConstant(kernel.builder(), round)));
}

Share::LanePiece Share::make(Value round) {
  ImplicitLocOpBuilder &b = kernel.builder();
  std::optional<int64_t> known = getConstantIntValue(round);
  Value number = team.lanes == 1 ? round
                 : known         ? addIndex(b, team.lane, indexConstant(b, *known * team.lanes))
                                 : addIndex(b, mulIndex(b, round, team.lanes), team.lane);
  LanePiece own;
  if (known && (*known + 1) * team.lanes > pieces) {
    own.isThere =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, indexConstant(b, pieces));
    number = arith::MinUIOp::create(b, number, indexConstant(b, pieces - 1));
  }
  // In pieces, so that it is plain where they begin.
  SmallVector<int64_t> shape(sizes);
  unsigned last = shape.size();
  while (last > 0 && shape[last - 1] == 1)
    --last;
  if (piece > 1)
    shape[last - 1] /= piece;
  Indices first = delinearize(b, number, shape);
  if (piece > 1)
    first[last - 1] = mulIndex(b, first[last - 1], piece);
  for (int64_t i = 0; i < piece; ++i) {
    own.at.push_back(first);
    if (i != 0)
      own.at.back()[last - 1] = addIndex(b, first[last - 1], indexConstant(b, i));
  }
  return own;
}

SmallVector<Value> Share::forEach(ValueRange first, Body body) {
  SmallVector<Value> values(first);
  if (isUnrolled) {
    for (const LanePiece &own : known)
      values = body(own, values);
    return values;
  }
  // Some loads at once.
  int64_t together = std::max<int64_t>(1, kElementsOfStep / piece);
  int64_t aligned = wholeRounds / together * together;
  values = rounds(0, aligned, together, values, body);
  values = rounds(aligned, wholeRounds, 1, values, body);
  if (wholeRounds * team.lanes < pieces)
    values = body(make(indexConstant(kernel.builder(), wholeRounds)), values);
  return values;
}

SmallVector<Value> Share::rounds(int64_t begin, int64_t end, int64_t together, ValueRange first,
                                 Body body) {
  ImplicitLocOpBuilder &b = kernel.builder();
  if (begin == end)
    return SmallVector<Value>(first);
  return kernel.loops().loop(begin, end, together, first, [&](Value round, ValueRange carried) {
    SmallVector<Value> values(carried);
    for (int64_t i = 0; i < together; ++i)
      values = body(make(addIndex(b, round, indexConstant(b, i))), values);
    return values;
  });
}

//===----------------------------------------------------------------------===//
// Adding up
//===----------------------------------------------------------------------===//

/// The value of the lane whose number differs in the bit `offset`.
static Value shuffle(ImplicitLocOpBuilder &b, Value value, int64_t offset) {
  Type type = value.getType(), word = b.getI32Type();
  unsigned width = type.getIntOrFloatBitWidth();
  Type bits = b.getIntegerType(width);
  auto swap = [&](Value v) -> Value {
    return ::mlir::gpu::ShuffleOp::create(b, v, int32_t(offset), int32_t(kWarp),
                                          ::mlir::gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  Value v = isa<FloatType>(type) ? Value(arith::BitcastOp::create(b, bits, value)) : value;
  if (width == 32) {
    v = swap(v);
  } else if (width < 32) {
    v = arith::TruncIOp::create(b, bits, swap(arith::ExtUIOp::create(b, word, v)));
  } else {
    Value half = arith::ConstantOp::create(b, b.getIntegerAttr(bits, 32));
    Value low = swap(arith::TruncIOp::create(b, word, v));
    Value high = swap(arith::TruncIOp::create(b, word, arith::ShRUIOp::create(b, v, half)));
    high = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, bits, high), half);
    v = arith::OrIOp::create(b, arith::ExtUIOp::create(b, bits, low), high);
  }
  return isa<FloatType>(type) ? Value(arith::BitcastOp::create(b, type, v)) : v;
}

using Partial = SmallVector<Value>;

/// Neighbours first, then pairs of them, and so on.
static Partial joinTree(ImplicitLocOpBuilder &b, const Joiner &joiner,
                        SmallVector<Partial> partials) {
  while (partials.size() > 1) {
    SmallVector<Partial> next;
    for (size_t i = 0; i < partials.size(); i += 2)
      next.push_back(joiner.join(b, partials[i], partials[i + 1]));
    partials = std::move(next);
  }
  return partials.front();
}

/// Through memory of the block: what thread `from(i)` of each `writers` threads has, for i < count.
static Partial joinInMemory(KernelEmitter &kernel, const Joiner &joiner, const Team &team,
                            ValueRange own, int64_t slots, Value slot, Value isWriter,
                            int64_t count, function_ref<Value(int64_t)> from) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  SmallVector<Value> memory;
  for (Value value : own)
    memory.push_back(launch.allocate(slots, value.getType(), team.rows));
  auto writeAll = [&] {
    for (auto [value, place] : llvm::zip(own, memory))
      memref::StoreOp::create(b, value, place, slot);
  };
  if (isWriter)
    kernel.onlyIf(isWriter, writeAll);
  else
    writeAll();
  launch.barrier();
  SmallVector<Partial> partials;
  for (int64_t i = 0; i < count; ++i) {
    Value at = from(i);
    partials.emplace_back();
    for (Value place : memory)
      partials.back().push_back(memref::LoadOp::create(b, place, at));
  }
  return joinTree(b, joiner, std::move(partials));
}

/// Every lane gets what all lanes of its team have together.
static Partial joinLanes(KernelEmitter &kernel, const Joiner &joiner, const Team &team,
                         Partial own) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  Value thread = launch.thread();
  auto divide = [&](Value x, int64_t by) -> Value {
    return arith::DivUIOp::create(b, x, indexConstant(b, by));
  };
  auto rest = [&](Value x, int64_t by) -> Value {
    return arith::RemUIOp::create(b, x, indexConstant(b, by));
  };
  if (team.lanes == 1)
    return own;
  if (team.stride > 1) {
    Value column = rest(thread, team.stride);
    return joinInMemory(
        kernel, joiner, team, own, launch.threads(), thread, Value(), team.lanes,
        [&](int64_t i) { return addIndex(b, column, indexConstant(b, i * team.stride)); });
  }
  for (int64_t offset = 1; offset < std::min(team.lanes, kWarp); offset *= 2) {
    Partial other;
    for (Value value : own)
      other.push_back(shuffle(b, value, offset));
    own = joiner.join(b, own, other);
  }
  if (team.lanes <= kWarp)
    return own;
  int64_t warps = team.lanes / kWarp;
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest(thread, kWarp), indexConstant(b, 0));
  Value first = mulIndex(b, divide(thread, team.lanes), warps);
  return joinInMemory(kernel, joiner, team, own, launch.threads() / kWarp, divide(thread, kWarp),
                      isFirst, warps,
                      [&](int64_t i) { return addIndex(b, first, indexConstant(b, i)); });
}

SmallVector<Value> gantry::gpu::addUp(KernelEmitter &kernel, linalg::GenericOp op, ValueRange loops,
                                      const Team &team, Share &share) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Joiner joiner = *Joiner::of(op);
  Partial start = kernel.elements().start(op, loops), first = start;
  Value neutral = joiner.neutral(b);
  if (neutral && team.lanes > 1)
    first = {neutral};
  Partial sum = share.forEach(first, [&](const Share::LanePiece &piece, ValueRange soFar) {
    Partial next(soFar);
    for (const Indices &at : piece.at) {
      Indices all(loops.begin(), loops.end());
      size_t term = 0;
      for (Value &loop : all)
        if (!loop)
          loop = at[term++];
      next = kernel.elements().step(op, all, next);
    }
    if (piece.isThere)
      for (auto [value, before] : llvm::zip(next, soFar))
        value = arith::SelectOp::create(b, piece.isThere, value, before);
    return next;
  });
  sum = joinLanes(kernel, joiner, team, sum);
  return neutral && team.lanes > 1 ? joiner.join(b, start, sum) : sum;
}
