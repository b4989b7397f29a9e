// Places relative to a value; see Places.h.

#include "Places.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

/// Ops looked through, from a place to its base, and where two bases are compared.
static constexpr int kMaxDepth = 8;

static std::optional<int64_t> knownOne(NodeContext &n, Value v) {
  auto ints = n.knownInts(v);
  return ints && ints->size() == 1 ? std::optional(ints->front()) : std::nullopt;
}

static std::optional<Place> placeOf(NodeContext &n, Value v, int depth);

/// `base + number`, where the number is known.
static std::optional<Place> sum(NodeContext &n, Value base, std::optional<int64_t> number,
                                int depth) {
  std::optional<Place> place = number ? placeOf(n, base, depth) : std::nullopt;
  if (!place || llvm::AddOverflow(place->offset, *number, place->offset))
    return std::nullopt;
  return place;
}

/// One integer, seen through its other shapes and types and through sums with known numbers.
static std::optional<Place> placeOf(NodeContext &n, Value v, int depth) {
  if (n.typeOf(v).getNumElements() != 1 || n.isFloat(v) || n.isBool(v))
    return std::nullopt;
  if (auto known = knownOne(n, v))
    return Place{{}, *known};
  std::optional<Place> seen;
  if (depth < kMaxDepth) {
    if (auto reshape = v.getDefiningOp<ReshapeOp>()) {
      seen = placeOf(n, reshape.getInput(), depth + 1);
    } else if (auto cast = v.getDefiningOp<CastOp>(); cast && n.elementOf(v).isInteger(64)) {
      seen = placeOf(n, cast.getInput(), depth + 1);
    } else if (auto add = v.getDefiningOp<AddOp>()) {
      seen = sum(n, add.getLhs(), knownOne(n, add.getRhs()), depth + 1);
      seen = seen ? seen : sum(n, add.getRhs(), knownOne(n, add.getLhs()), depth + 1);
    } else if (auto sub = v.getDefiningOp<SubOp>()) {
      auto number = knownOne(n, sub.getRhs());
      if (number && *number != std::numeric_limits<int64_t>::min())
        seen = sum(n, sub.getLhs(), -*number, depth + 1);
    }
  }
  return seen ? seen : Place{v, 0};
}

std::optional<SmallVector<Place>> gantry::onnx::placesOf(NodeContext &n, Value list) {
  if (n.isFloat(list) || n.rankOf(list) > 1)
    return std::nullopt;
  if (auto known = n.knownInts(list))
    return llvm::map_to_vector(*known, [](int64_t number) { return Place{{}, number}; });
  if (auto one = placeOf(n, list, 0))
    return SmallVector<Place>{*one};
  auto concat = list.getDefiningOp<ConcatOp>();
  if (!concat)
    return std::nullopt;
  SmallVector<Place> all;
  for (Value part : concat.getInputs()) {
    // Parts that are lists of lists would make this take long, and nobody writes them.
    auto places = part.getDefiningOp<ConcatOp>() ? std::nullopt : placesOf(n, part);
    if (!places)
      return std::nullopt;
    llvm::append_range(all, *places);
  }
  return all;
}

/// Whether two values are computed in the same way.
static bool areEqual(Value a, Value b, int depth = 0) {
  if (a == b)
    return true;
  Operation *one = a.getDefiningOp(), *other = b.getDefiningOp();
  return depth < kMaxDepth && one && other && one->getName() == other->getName() && isPure(one) &&
         one->getNumRegions() == 0 && one->getNumResults() == 1 && a.getType() == b.getType() &&
         one->getName().compareOpProperties(one->getPropertiesStorage(),
                                            other->getPropertiesStorage()) &&
         one->getNumOperands() == other->getNumOperands() && one->getNumOperands() <= 2 &&
         llvm::all_of(
             llvm::zip(one->getOperands(), other->getOperands()),
             [&](auto both) { return areEqual(std::get<0>(both), std::get<1>(both), depth + 1); });
}

std::optional<int64_t> gantry::onnx::distance(const Place &from, const Place &to) {
  int64_t far;
  bool haveOneBase =
      bool(from.base) == bool(to.base) && (!from.base || areEqual(from.base, to.base));
  if (!haveOneBase || llvm::SubOverflow(to.offset, from.offset, far))
    return std::nullopt;
  return far;
}

/// Most values that are looked at to tell what a place is computed from.
static constexpr size_t kMaxValues = 1000;

/// Whether a loop's counter is among what `value` is computed from, or may be.
static bool needsCounter(NodeContext &n, Value value) {
  SmallVector<Value> pending{value};
  llvm::SmallPtrSet<void *, 16> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!seen.insert(next.getAsOpaquePointer()).second)
      continue;
    if (n.counters().contains(next) || seen.size() > kMaxValues)
      return true;
    if (Operation *op = next.getDefiningOp())
      llvm::append_range(pending, op->getOperands());
  }
  return false;
}

bool gantry::onnx::mayBeInside(NodeContext &n, const Place &place, int64_t length, int64_t size) {
  if (auto counter = n.counters().find(place.base); counter != n.counters().end()) {
    int64_t last;
    return place.offset >= 0 && !llvm::AddOverflow(counter->second - 1, place.offset, last) &&
           last <= size - length;
  }
  return n.counters().empty() || !needsCounter(n, place.base);
}

Value gantry::onnx::takeFrom(NodeContext &n, Value v, int64_t axis, const Place &place,
                             int64_t count, int64_t step) {
  Value start = n.reshape(n.cast(place.base, n.i64()), {1});
  Value offset = n.add(n.mul(n.iota({count}, n.i64(), 0), n.scalarInt(n.i64(), step)),
                       n.scalarInt(n.i64(), place.offset));
  return n.make<GatherOp>(v, n.add(start, offset), uint64_t(axis));
}
