// Moves between orders of dimensions, in blocks that are turned in registers.
//
// What lies side by side in the source does not in the result, so that loops over single elements
// use one lane of a register. Here 16 x 16 elements are loaded along the one dimension, turned by
// shuffles and stored along the other. Where one of both has few elements, as an image has colours,
// whole rows of it are merged into, or parted from, one run of memory. The last block overlaps the
// one before: writing an element twice changes nothing.

#include "Convolutions/Convolution.h"
#include "gantry/Target/CPU/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <functional>

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_EMITTRANSPOSESPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

namespace {
constexpr int64_t kLanes = 16;           ///< of a block, in both directions
constexpr int64_t kChunk = 128;          ///< of the longer of the two, in a cache at a time
constexpr int64_t kFewest = 2, kFew = 8; ///< elements of a dimension that goes as whole rows

struct Transpose {
  linalg::GenericOp op;
  Value from, to; ///< buffers
  AffineMap fromMap, toMap;
  SmallVector<int64_t> sizes; ///< of the loops
  unsigned along, across;     ///< the loops that are last in the source, in the result

  static std::optional<Transpose> match(linalg::GenericOp op);
  void emit();

private:
  enum class TransposeStrategy { none, blocks, merge, part };
  TransposeStrategy way() const;
  void emitBlock(ImplicitLocOpBuilder &b, TransposeStrategy way, Value source, Value result,
                 MutableArrayRef<Value> at) const;
};
} // namespace

static MemRefType typeOf(Value buffer) { return cast<MemRefType>(buffer.getType()); }

/// The loop that runs along the last dimension of an operand.
static unsigned lastLoop(AffineMap map) {
  return cast<AffineDimExpr>(map.getResults().back()).getPosition();
}

std::optional<Transpose> Transpose::match(linalg::GenericOp op) {
  auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 || !op.hasPureBufferSemantics() ||
      op.getNumReductionLoops() || op.getNumLoops() < 2 ||
      yield.getOperand(0) != op.getBody()->getArgument(0))
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  Transpose found{
      op, op.getInputs()[0], op.getOutputs()[0], maps[0], maps[1], op.getStaticLoopRanges(), 0, 0};
  if (!found.fromMap.isPermutation() || !found.toMap.isPermutation())
    return std::nullopt;
  for (Value buffer : {found.from, found.to}) {
    auto type = dyn_cast<MemRefType>(buffer.getType());
    SmallVector<int64_t> strides;
    int64_t offset;
    if (!type || !type.getElementType().isIntOrFloat() ||
        type.getElementType().getIntOrFloatBitWidth() != 32 ||
        failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
      return std::nullopt;
  }
  found.along = lastLoop(found.fromMap);
  found.across = lastLoop(found.toMap);
  for (unsigned loop : {found.along, found.across})
    if (ShapedType::isDynamic(found.sizes[loop]))
      return std::nullopt;
  if (found.along == found.across || found.way() == TransposeStrategy::none)
    return std::nullopt;
  return found;
}

/// Whether the last dimension is whole rows of the one before it, which is that of the loop.
static bool isRowsOf(MemRefType type, AffineMap map, unsigned loop) {
  SmallVector<int64_t> strides;
  int64_t offset;
  unsigned before = type.getRank() - 2;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         cast<AffineDimExpr>(map.getResult(before)).getPosition() == loop &&
         strides[before] == type.getShape().back();
}

Transpose::TransposeStrategy Transpose::way() const {
  auto isFew = [](int64_t size) { return size >= kFewest && size <= kFew; };
  if (sizes[along] >= kLanes && sizes[across] >= kLanes)
    return TransposeStrategy::blocks;
  if (sizes[along] >= kLanes && isFew(sizes[across]) && isRowsOf(typeOf(to), toMap, along))
    return TransposeStrategy::merge;
  if (sizes[across] >= kLanes && isFew(sizes[along]) && isRowsOf(typeOf(from), fromMap, across))
    return TransposeStrategy::part;
  return TransposeStrategy::none;
}

/// The last two dimensions as one.
static Value joinRows(ImplicitLocOpBuilder &b, Value buffer) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t d = 0; d + 1 < typeOf(buffer).getRank(); ++d)
    groups.push_back({d});
  groups.back().push_back(typeOf(buffer).getRank() - 1);
  return memref::CollapseShapeOp::create(b, buffer, groups);
}

/// Each lane from the vector and lane that `sourceOf` gives for it: a shuffle for each vector but
/// the first.
static Value gatherLanes(ImplicitLocOpBuilder &b, ArrayRef<Value> vectors,
                         function_ref<std::pair<int64_t, int64_t>(int64_t)> sourceOf) {
  Value merged = vectors[0];
  for (int64_t v = 1; v < int64_t(vectors.size()); ++v) {
    SmallVector<int64_t> mask;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      auto [vector, at] = sourceOf(lane);
      mask.push_back(vector == v ? kLanes + at : vector == 0 && v == 1 ? at : lane);
    }
    merged = vector::ShuffleOp::create(b, merged, vectors[v], mask);
  }
  return merged;
}

/// Rows become columns. Within 128 bits lanes of two rows go in turn, twice, which is an
/// instruction everywhere; then rows exchange such parts, and halves, which are registers of their
/// own with AVX2.
static SmallVector<Value> turned(ImplicitLocOpBuilder &b, SmallVector<Value> rows) {
  constexpr int64_t part = 4;
  auto exchange = [&](int64_t distance, function_ref<int64_t(int64_t, int64_t)> laneOf) {
    for (int64_t i = 0; i < kLanes; ++i) {
      if (i & distance)
        continue;
      Value one = rows[i], other = rows[i + distance];
      for (int64_t half : {0, 1}) {
        SmallVector<int64_t> mask;
        for (int64_t lane = 0; lane < kLanes; ++lane)
          mask.push_back(laneOf(lane, half));
        rows[i + half * distance] = vector::ShuffleOp::create(b, one, other, mask);
      }
    }
  };
  for (int64_t distance : {2, 1})
    exchange(distance, [](int64_t lane, int64_t half) {
      return lane / part * part + lane % part / 2 + half * 2 + lane % 2 * kLanes;
    });
  for (int64_t distance : {4, 8})
    exchange(distance, [=](int64_t lane, int64_t half) {
      const bool isOther = lane & distance;
      return lane + (half - isOther) * distance + isOther * kLanes;
    });
  return rows;
}

/// `at` has the first element of the block for each loop.
void Transpose::emitBlock(ImplicitLocOpBuilder &b, TransposeStrategy way, Value source,
                          Value result, MutableArrayRef<Value> at) const {
  IndexBuilder index{b};
  auto places = [&](AffineMap map) {
    SmallVector<Value> found;
    for (AffineExpr expr : map.getResults())
      found.push_back(at[cast<AffineDimExpr>(expr).getPosition()]);
    return found;
  };
  // The i-th row of a side that has whole registers along its last dimension; `loop` counts rows.
  auto row = [&](AffineMap map, unsigned loop, int64_t i) {
    Value first = at[loop];
    at[loop] = index.add(first, i);
    SmallVector<Value> found = places(map);
    at[loop] = first;
    return found;
  };
  // The i-th register of a side whose rows are one run of memory.
  auto run = [&](AffineMap map, unsigned loop, int64_t length, int64_t i) {
    SmallVector<Value> found = places(map);
    found.pop_back();
    found.back() = index.add(index.mul(at[loop], length), i * kLanes);
    return found;
  };
  auto type = VectorType::get({kLanes}, typeOf(from).getElementType());
  const int64_t few =
      way == TransposeStrategy::blocks ? kLanes : std::min(sizes[along], sizes[across]);
  SmallVector<Value> loaded, stored;
  for (int64_t i = 0; i < few; ++i)
    loaded.push_back(vector::LoadOp::create(
        b, type, source,
        way == TransposeStrategy::part ? run(fromMap, across, few, i) : row(fromMap, across, i)));
  if (way == TransposeStrategy::blocks)
    stored = turned(b, loaded);
  for (int64_t i = 0; i < few && way != TransposeStrategy::blocks; ++i)
    stored.push_back(gatherLanes(b, loaded, [&](int64_t lane) {
      const int64_t place = way == TransposeStrategy::merge ? i * kLanes + lane : lane * few + i;
      return way == TransposeStrategy::merge ? std::pair(place % few, place / few)
                                             : std::pair(place / kLanes, place % kLanes);
    }));
  for (auto [i, value] : llvm::enumerate(stored))
    vector::StoreOp::create(b, value, result,
                            way == TransposeStrategy::merge ? run(toMap, along, few, i)
                                                            : row(toMap, along, i));
}

void Transpose::emit() {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  IndexBuilder index{b};
  const TransposeStrategy taken = way();
  Value source = taken == TransposeStrategy::part ? joinRows(b, from) : from;
  Value result = taken == TransposeStrategy::merge ? joinRows(b, to) : to;
  SmallVector<Value> at(sizes.size(), index.constant(0));
  // `which` in blocks of registers from `first` to `end`.
  auto blocks = [&](unsigned which, Value first, Value end, function_ref<void()> body) {
    if (sizes[which] < kLanes) // whole rows
      return body();
    LoopBuilder(b).loop(first, end, kLanes, [&](Value block) {
      const bool overlaps = sizes[which] % kLanes;
      at[which] = overlaps ? index.min(block, index.constant(sizes[which] - kLanes)) : block;
      body();
    });
  };
  // An outer loop may end sooner in the last work item.
  auto extent = [&](unsigned loop) -> Value {
    if (!ShapedType::isDynamic(sizes[loop]))
      return index.constant(sizes[loop]);
    const unsigned dim = *toMap.getResultPosition(b.getAffineDimExpr(loop));
    return memref::DimOp::create(b, to, dim);
  };
  const unsigned longer = sizes[along] >= sizes[across] ? along : across;
  const unsigned shorter = longer == along ? across : along;
  std::function<void(unsigned)> nest = [&](unsigned outer) {
    if (outer < sizes.size()) {
      if (outer == along || outer == across)
        return nest(outer + 1);
      return LoopBuilder(b).loop(index.constant(0), extent(outer), 1, [&](Value place) {
        at[outer] = place;
        nest(outer + 1);
      });
    }
    // What is read and written of a chunk stays in the cache until its lines are whole.
    Value all = index.constant(sizes[longer]);
    LoopBuilder(b).loop(index.constant(0), all, kChunk, [&](Value chunk) {
      Value end = index.min(index.add(chunk, kChunk), all);
      blocks(shorter, index.constant(0), index.constant(sizes[shorter]),
             [&] { blocks(longer, chunk, end, [&] { emitBlock(b, taken, source, result, at); }); });
    });
  };
  nest(0);
  op->erase();
}

namespace {
struct EmitTransposes : gantry::impl::EmitTransposesPassBase<EmitTransposes> {
  void runOnOperation() override {
    SmallVector<Transpose> found;
    getOperation().walk([&](linalg::GenericOp op) {
      if (auto transpose = Transpose::match(op))
        found.push_back(*transpose);
    });
    for (Transpose &transpose : found)
      transpose.emit();
  }
};
} // namespace
