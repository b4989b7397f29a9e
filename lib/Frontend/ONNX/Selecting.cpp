// NonZero, Compress and Unique of elements that are known when compiling. Their output has as many
// elements as data say: what they select is a list of indices then, and the output a Gather.

#include "Handlers.h"

#include <cmath>
#include <compare>
#include <numeric>

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

static Values nonZero(NodeContext &n) {
  auto x = n.decidingElements(0);
  if (!x)
    return {};
  Ints shape = n.shapeOf(n.input(0)), found;
  for (size_t i = 0; i < x->size(); ++i)
    if (x->isFloat ? x->floats[i] != 0 : x->ints[i] != 0)
      found.push_back(int64_t(i));
  // Row by row the indices in one dimension, from the last one to the first.
  const int64_t rank = shape.size(), count = found.size();
  std::vector<int64_t> indices(rank * count);
  for (int64_t dim = rank; dim-- > 0;)
    for (int64_t i = 0; i < count; ++i) {
      indices[dim * count + i] = found[i] % shape[dim];
      found[i] /= shape[dim];
    }
  return {n.reshape(n.ints(indices), {rank, count})};
}

/// What stands at the indices along the axis; there may be no index, and then no element either.
static Value select(NodeContext &n, Value x, int64_t axis, IntsRef indices) {
  return indices.empty() ? n.sliceAxis(x, axis, 0, 0)
                         : n.make<GatherOp>(x, n.ints(indices), uint64_t(axis));
}

static Values compress(NodeContext &n) {
  auto condition = n.decidingElements(1);
  auto axis = n.hasAttr("axis") ? n.axis(n.intAttr("axis", 0), n.rankOf(n.input(0)))
                                : std::optional<int64_t>(0);
  if (!condition || !axis)
    return {};
  Value x = n.input(0);
  if (!n.hasAttr("axis"))
    x = n.reshape(x, {n.typeOf(x).getNumElements()});
  const int64_t size = n.shapeOf(x)[*axis];
  Ints kept;
  for (auto [i, keep] : llvm::enumerate(condition->ints))
    if (keep)
      kept.push_back(int64_t(i));
  if (!kept.empty() && kept.back() >= size)
    return {n.fail("the condition keeps index " + Twine(kept.back()) + " of a dimension of size " +
                   Twine(size))};
  return {select(n, x, *axis, kept)};
}

//===----------------------------------------------------------------------===//
// Unique
//===----------------------------------------------------------------------===//

namespace {
/// The slices of a tensor along an axis, with the order of NumPy: element by element, NaN last and
/// equal to itself.
class Slices {
public:
  Slices(const KnownElements &elements, bool isUnsigned, IntsRef shape, int64_t axis)
      : elements(elements), isUnsigned(isUnsigned), count(shape[axis]) {
    for (int64_t size : shape.take_front(axis))
      outer *= size;
    for (int64_t size : shape.drop_front(axis + 1))
      inner *= size;
  }

  int64_t size() const { return count; }

  std::weak_ordering compare(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i)
        if (auto order = compareElements((o * count + a) * inner + i, (o * count + b) * inner + i);
            order != 0)
          return order;
    return std::weak_ordering::equivalent;
  }

private:
  std::weak_ordering compareElements(int64_t a, int64_t b) const {
    if (!elements.isFloat)
      return isUnsigned ? uint64_t(elements.ints[a]) <=> uint64_t(elements.ints[b])
                        : elements.ints[a] <=> elements.ints[b];
    const double x = elements.floats[a], y = elements.floats[b];
    if (std::isnan(x) || std::isnan(y))
      return std::isnan(x) <=> std::isnan(y);
    return x < y   ? std::weak_ordering::less
           : x > y ? std::weak_ordering::greater
                   : std::weak_ordering::equivalent;
  }

  const KnownElements &elements;
  bool isUnsigned;
  int64_t count, outer = 1, inner = 1;
};

/// Groups of equal slices, in the order of the output.
struct Groups {
  Ints first;   ///< where each stands first
  Ints sizes;   ///< how often
  Ints inverse; ///< the group of each slice
};
} // namespace

static Groups groupSlices(const Slices &slices, bool isSorted) {
  Ints order(slices.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](int64_t a, int64_t b) { return slices.compare(a, b) < 0; });
  Groups groups;
  groups.inverse.resize(slices.size());
  for (int64_t slice : order) {
    if (groups.first.empty() || slices.compare(groups.first.back(), slice) != 0) {
      groups.first.push_back(slice);
      groups.sizes.push_back(0);
    }
    groups.inverse[slice] = groups.first.size() - 1;
    ++groups.sizes.back();
  }
  if (isSorted)
    return groups;
  // By first places instead.
  Ints rank(groups.first.size());
  std::iota(rank.begin(), rank.end(), 0);
  llvm::sort(rank, [&](int64_t a, int64_t b) { return groups.first[a] < groups.first[b]; });
  Groups renamed{{}, {}, groups.inverse};
  Ints newName(rank.size());
  for (auto [name, old] : llvm::enumerate(rank)) {
    newName[old] = int64_t(name);
    renamed.first.push_back(groups.first[old]);
    renamed.sizes.push_back(groups.sizes[old]);
  }
  for (int64_t &group : renamed.inverse)
    group = newName[group];
  return renamed;
}

static Values unique(NodeContext &n) {
  auto elements = n.decidingElements(0);
  const bool isSorted = n.intAttr("sorted", 1) != 0;
  Value x = n.input(0);
  auto axis =
      n.hasAttr("axis") ? n.axis(n.intAttr("axis", 0), n.rankOf(x)) : std::optional<int64_t>(0);
  if (!elements || !axis)
    return {};
  if (!n.hasAttr("axis"))
    x = n.reshape(x, {n.typeOf(x).getNumElements()});
  Ints shape = n.shapeOf(x);
  Groups groups =
      groupSlices(Slices(*elements, n.elementOf(x).isUnsignedInteger(), shape, *axis), isSorted);
  return {select(n, x, *axis, groups.first), n.ints(groups.first), n.ints(groups.inverse),
          n.ints(groups.sizes)};
}

/// Of ONNX Runtime: of rank 1, in the order of first places, and without those.
static Values microsoftUnique(NodeContext &n) {
  auto elements = n.decidingElements(0);
  Value x = n.input(0);
  if (!elements)
    return {};
  if (n.rankOf(x) != 1)
    return {n.fail("the input must have one dimension, it has " + Twine(n.rankOf(x)))};
  Groups groups = groupSlices(
      Slices(*elements, n.elementOf(x).isUnsignedInteger(), n.shapeOf(x), 0), /*isSorted=*/false);
  return {select(n, x, 0, groups.first), n.ints(groups.inverse), n.ints(groups.sizes)};
}

void gantry::onnx::addSelectingOps(OpTable &table) {
  table.add("NonZero", nonZero).decidingOperands = {0};
  table.add("Compress", compress, {2, 2, 1}).decidingOperands = {1};
  table.add("Unique", unique, {1, 1, 4}).decidingOperands = {0};
  table.add("Unique", microsoftUnique, {1, 1, 3}, kMicrosoft).decidingOperands = {0};
}
