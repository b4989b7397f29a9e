// Ops that move elements or change the shape: Reshape, Slice, Pad, Concat and their like. What they
// need to know about shapes is read from constants now; the dialect has static attributes for it.

#include "Handlers.h"
#include "Places.h"

#include "llvm/ADT/SmallBitVector.h"

#include <numeric>

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

static std::string text(IntsRef shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += (i ? "," : "") + std::to_string(shape[i]);
  return out + "]";
}

/// Product of sizes, or nothing when it is absurdly large.
static std::optional<int64_t> product(IntsRef sizes) {
  __int128 p = 1;
  for (int64_t s : sizes) {
    p *= s;
    if (p > kMaxBytes || p < 0)
      return std::nullopt;
  }
  return int64_t(p);
}

/// Axes from an attribute before `since`, from operand 1 then; nothing when absent or after a
/// failure.
static std::optional<Ints> axesOperand(NodeContext &n, int64_t since) {
  if (n.opset() < since)
    return n.intsAttr("axes");
  return n.input(1) ? n.shapeOperand(1, "axes") : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static Values reshape(NodeContext &n) {
  n.ignoreAttrs({"consumed_inputs"});
  Value x = n.input(0);
  bool keepZeros = n.intAttr("allowzero", 0) != 0;
  std::optional<Ints> wanted = n.opset() < 5 ? n.intsAttr("shape") : n.shapeOperand(1, "shape");
  if (!wanted)
    return {n.fail("the shape is missing")};
  Ints shape = *wanted, given = n.shapeOf(x);
  int64_t open = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !keepZeros) {
      if (i >= given.size())
        return {n.fail("the shape " + text(*wanted) + " copies dimension " + Twine(i) +
                       " of the input " + text(given))};
      shape[i] = given[i];
    } else if (shape[i] == -1 && open < 0) {
      open = int64_t(i);
    } else if (shape[i] < 0) {
      return {n.fail("the shape " + text(*wanted) +
                     " has more than one open dimension or a negative one")};
    }
  }
  if (open >= 0) {
    shape[open] = 1;
    auto rest = product(shape);
    int64_t all = n.typeOf(x).getNumElements();
    if (!rest || *rest == 0 || all % *rest != 0)
      return {
          n.fail("an input of shape " + text(given) + " cannot take the shape " + text(*wanted))};
    shape[open] = all / *rest;
  }
  return {n.reshape(x, shape)};
}

static Values flatten(NodeContext &n) {
  Value x = n.input(0);
  int64_t rank = n.rankOf(x), axis = n.intAttr("axis", 1);
  if (axis < -rank || axis > rank)
    return {
        n.fail("axis " + Twine(axis) + " is outside [-" + Twine(rank) + ", " + Twine(rank) + "]")};
  axis = axis < 0 ? axis + rank : axis;
  IntsRef shape = n.typeOf(x).getShape();
  int64_t rows = *product(shape.take_front(axis)), columns = *product(shape.drop_front(axis));
  return {n.reshape(x, {rows, columns})};
}

static Values squeeze(NodeContext &n) {
  Value x = n.input(0);
  auto given = axesOperand(n, 13);
  if (n.hasFailed())
    return {};
  Ints shape = n.shapeOf(x), kept;
  llvm::SmallBitVector drop(shape.size());
  if (given) {
    auto axes = n.axes(*given, n.rankOf(x));
    if (!axes)
      return {};
    for (int64_t a : *axes) {
      if (shape[a] != 1)
        return {n.fail("dimension " + Twine(a) + " of " + text(shape) + " has not size 1")};
      drop.set(a);
    }
  } else {
    for (size_t i = 0; i < shape.size(); ++i)
      drop[i] = shape[i] == 1;
  }
  std::optional<int64_t> rows;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (drop[i] && !n.needsFixedRows(x, i, "it takes a dimension of size 1 away"))
      return {};
    if (drop[i])
      continue;
    if (const Bound *bound = n.boundOf(x); bound && bound->axis == int64_t(i))
      rows = int64_t(kept.size());
    kept.push_back(shape[i]);
  }
  return {n.reshape(x, kept, rows)};
}

static Values unsqueeze(NodeContext &n) {
  Value x = n.input(0);
  auto given = axesOperand(n, 13);
  if (!given)
    return {n.fail("the axes are missing")};
  int64_t rank = n.rankOf(x) + int64_t(given->size());
  auto axes = n.axes(*given, rank);
  if (!axes)
    return {};
  const Bound *bound = n.boundOf(x);
  std::optional<int64_t> rows;
  Ints shape;
  for (int64_t i = 0, next = 0; i < rank; ++i) {
    const bool isNew = llvm::is_contained(*axes, i);
    if (bound && !isNew && bound->axis == next)
      rows = i;
    shape.push_back(isNew ? 1 : n.typeOf(x).getDimSize(next++));
  }
  return {n.reshape(x, shape, rows)};
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

static Values transpose(NodeContext &n) {
  Ints permutation;
  for (int64_t i = n.rankOf(n.input(0)); i-- > 0;)
    permutation.push_back(i);
  return {n.transpose(n.input(0), n.intsAttr("perm").value_or(permutation))};
}

static Values concat(NodeContext &n) {
  auto axis = n.axis(n.intAttr("axis", 1), n.rankOf(n.input(0)));
  return axis ? Values{n.concat(n.allInputs(), *axis)} : Values{};
}

static Values split(NodeContext &n) {
  Value x = n.input(0);
  auto axis = n.axis(n.intAttr("axis", 0), n.rankOf(x));
  if (!axis)
    return {};
  if (!n.needsFixedRows(x, *axis, "it cuts rows into parts"))
    return {};
  std::optional<Ints> sizes;
  if (n.opset() < 13)
    sizes = n.intsAttr("split");
  else if (n.input(1))
    sizes = n.shapeOperand(1, "split");
  int64_t parts = n.intAttr("num_outputs", int64_t(n.numOutputs())),
          all = n.typeOf(x).getDimSize(*axis);
  if (n.hasFailed())
    return {};
  if (n.numOutputs() == 0)
    return {n.fail("the node has no outputs")};
  if (!sizes) {
    if (parts != int64_t(n.numOutputs()))
      return {n.fail("num_outputs is " + Twine(parts) + ", the node has " + Twine(n.numOutputs()))};
    // Rounded up, so that only the last part may be smaller (opset 18); before, parts are equal.
    int64_t part = (all + parts - 1) / parts;
    if (n.opset() < 18 && part * parts != all)
      return {n.fail("a dimension of size " + Twine(all) + " cannot be cut into " + Twine(parts) +
                     " equal parts")};
    sizes.emplace();
    for (int64_t i = 0; i < parts; ++i)
      sizes->push_back(std::clamp<int64_t>(all - i * part, 0, part));
  }
  if (sizes->size() != n.numOutputs())
    return {n.fail("split lists " + Twine(sizes->size()) + " sizes, the node has " +
                   Twine(n.numOutputs()) + " outputs")};
  int64_t start = 0;
  Values results;
  for (int64_t size : *sizes) {
    if (size < 0 || size > all - start)
      return {n.fail("sizes " + text(*sizes) + " do not add up to the dimension's " + Twine(all))};
    // Slices rather than one op: each part may go its own way, also when folded.
    results.push_back(n.sliceAxis(x, *axis, start, size));
    start += size;
  }
  if (start != all)
    return {n.fail("sizes " + text(*sizes) + " do not add up to the dimension's " + Twine(all))};
  return results;
}

/// Start and number of elements of start:end:step over a dimension, as Python slices do.
static std::pair<int64_t, int64_t> clampSlice(int64_t size, int64_t start, int64_t end,
                                              int64_t step) {
  if (size == 0)
    return {0, 0};
  auto wrap = [&](int64_t v) { return v < 0 ? v + size : v; };
  __int128 count;
  if (step > 0) {
    start = std::clamp<int64_t>(wrap(start), 0, size);
    end = std::clamp<int64_t>(wrap(end), 0, size);
    count = (__int128(end) - start + step - 1) / step;
  } else {
    start = std::clamp<int64_t>(wrap(start), 0, size - 1);
    end = std::clamp<int64_t>(wrap(end), -1, size - 1);
    count = (__int128(end) - start + step + 1) / step;
  }
  return count <= 0 ? std::pair<int64_t, int64_t>{0, 0}
                    : std::pair<int64_t, int64_t>{start, int64_t(count)};
}

namespace {
/// What Slice takes along its axes.
struct SliceRanges {
  SmallVector<Place> starts, ends;
  Ints axes, steps;
};
} // namespace

/// Where slices begin or end: an attribute, or operand `i`, which fails if it cannot be told.
static SmallVector<Place> readPlaces(NodeContext &n, size_t i, StringRef name) {
  bool isOperand = n.opset() >= 10;
  if (isOperand && n.input(i))
    if (auto places = placesOf(n, n.input(i)))
      return *places;
  auto known = !isOperand ? n.intsAttr(name) : n.input(i) ? n.shapeOperand(i, name) : std::nullopt;
  if (!known)
    n.fail("starts and ends are needed");
  return llvm::map_to_vector(known.value_or(Ints()), [](int64_t v) { return Place{{}, v}; });
}

static std::optional<SliceRanges> readRanges(NodeContext &n) {
  SliceRanges ranges{readPlaces(n, 1, "starts"), readPlaces(n, 2, "ends"), {}, {}};
  auto read = [&](size_t operand, StringRef name) {
    return n.opset() < 10     ? n.intsAttr(name)
           : n.input(operand) ? n.shapeOperand(operand, name)
                              : std::nullopt;
  };
  size_t count = ranges.starts.size();
  ranges.axes = read(3, "axes").value_or(llvm::to_vector(llvm::seq<int64_t>(0, count)));
  ranges.steps = (n.opset() < 10 ? std::nullopt : read(4, "steps")).value_or(Ints(count, 1));
  auto axes = n.hasFailed() ? std::nullopt : n.axes(ranges.axes, n.rankOf(n.input(0)));
  if (!axes)
    return std::nullopt;
  ranges.axes = *axes;
  if (ranges.ends.size() != count || axes->size() != count || ranges.steps.size() != count ||
      llvm::is_contained(ranges.steps, 0)) {
    n.fail(llvm::is_contained(ranges.steps, 0) ? "a step is 0"
                                               : "starts, ends, axes and steps differ in length");
    return std::nullopt;
  }
  return ranges;
}

/// How many elements lie between places that are told relative to a value; fails where that depends
/// on data.
static std::optional<int64_t> countBetween(NodeContext &n, const Place &start, const Place &end,
                                           int64_t step, int64_t size) {
  auto length = distance(start, end);
  if (length && step > 0 && *length >= 0 && *length <= size && mayBeInside(n, start, *length, size))
    return *length / step + (*length % step != 0);
  (void)n.shapeOperand(start.base ? 1 : 2, start.base ? "starts" : "ends");
  return std::nullopt;
}

static Values slice(NodeContext &n) {
  Value x = n.input(0);
  auto ranges = readRanges(n);
  if (!ranges)
    return {};
  int64_t rank = n.rankOf(x);
  Ints from(rank, 0), sizes = n.shapeOf(x), by(rank, 1);
  SmallVector<std::function<Value(Value)>> moving; // these go along with a value
  for (auto [start, end, axis, step] :
       llvm::zip(ranges->starts, ranges->ends, ranges->axes, ranges->steps)) {
    if (start.base || end.base) {
      auto count = countBetween(n, start, end, step, sizes[axis]);
      if (!count)
        return {};
      moving.push_back([&n, start, axis, step, count = *count](Value v) {
        return takeFrom(n, v, axis, start, count, step);
      });
      continue;
    }
    if ((start.offset < 0 || end.offset < 0) &&
        !n.needsFixedRows(x, axis, "it counts rows from their end"))
      return {};
    by[axis] = step;
    std::tie(from[axis], sizes[axis]) = clampSlice(sizes[axis], start.offset, end.offset, step);
    // Of one element or none the step says nothing, and a huge one would overflow later.
    if (sizes[axis] <= 1)
      by[axis] = 1;
  }
  Value y = n.slice(x, from, sizes, by);
  for (const auto &take : moving)
    y = take(y);
  return {y};
}

static Values expand(NodeContext &n) {
  auto shape = n.shapeOperand(1, "shape");
  if (!shape)
    return {};
  auto both = broadcastShapes(n.shapeOf(n.input(0)), *shape);
  if (!both)
    return {n.fail("an input of shape " + text(n.shapeOf(n.input(0))) + " cannot be expanded to " +
                   text(*shape))};
  return {n.broadcast(n.input(0), *both)};
}

/// Each dimension d repeated r times is [r, d] stretched from [1, d], then joined.
static Values tile(NodeContext &n) {
  Value x = n.input(0);
  auto repeats = n.shapeOperand(1, "repeats");
  if (!repeats)
    return {};
  if (n.opset() < 6 || int64_t(repeats->size()) != n.rankOf(x))
    return {n.fail("repeats needs one entry for each of the " + Twine(n.rankOf(x)) +
                   " dimensions (opset 6 or newer)")};
  Ints split, stretched, joined;
  for (auto [size, repeat] : llvm::zip(n.shapeOf(x), *repeats)) {
    if (repeat < 0 || (size && repeat > kMaxBytes / size))
      return {n.fail("repeats " + text(*repeats) + " are out of range")};
    split.append({1, size});
    stretched.append({repeat, size});
    joined.push_back(repeat * size);
  }
  return {n.reshape(n.broadcast(n.reshape(x, split), stretched), joined)};
}

static std::optional<PadMode> padMode(NodeContext &n) {
  StringRef mode = n.stringAttr("mode", "constant");
  for (auto [name, value] : {std::pair<StringRef, PadMode>("constant", PadMode::Constant),
                             {"reflect", PadMode::Reflect},
                             {"edge", PadMode::Edge},
                             {"wrap", PadMode::Wrap}})
    if (mode == name)
      return value;
  n.fail("mode '" + mode + "' is not supported; constant, reflect, edge and wrap are");
  return std::nullopt;
}

static Values pad(NodeContext &n) {
  Value x = n.input(0);
  int64_t rank = n.rankOf(x);
  auto mode = padMode(n);
  std::optional<Ints> pads = n.opset() < 2    ? n.intsAttr("paddings")
                             : n.opset() < 11 ? n.intsAttr("pads")
                                              : n.shapeOperand(1, "pads");
  Value value = n.opset() < 11 ? n.scalar(n.elementOf(x), n.floatAttr("value", 0)) : n.input(2);
  std::optional<Ints> axes = n.input(3) ? n.shapeOperand(3, "axes") : std::nullopt;
  if (n.hasFailed() || !mode)
    return {};
  if (!axes) {
    axes.emplace(rank);
    std::iota(axes->begin(), axes->end(), 0);
  }
  axes = n.axes(*axes, rank);
  if (!axes)
    return {};
  if (!pads || pads->size() != 2 * axes->size())
    return {n.fail("pads needs " + Twine(2 * axes->size()) + " entries")};
  Ints low(rank, 0), high(rank, 0), start(rank, 0), sizes = n.shapeOf(x);
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    int64_t before = (*pads)[i], after = (*pads)[i + axes->size()];
    if (std::max(before, after) > kMaxBytes || std::min(before, after) < -kMaxBytes)
      return {n.fail("pads " + text(*pads) + " are out of range")};
    // A negative pad cuts.
    start[axis] = std::max<int64_t>(-before, 0);
    sizes[axis] -= start[axis] + std::max<int64_t>(-after, 0);
    if (sizes[axis] < 0)
      return {n.fail("pads " + text(*pads) + " cut more than there is")};
    if (sizes[axis] == 0)
      start[axis] = 0;
    low[axis] = std::max<int64_t>(before, 0);
    high[axis] = std::max<int64_t>(after, 0);
  }
  x = n.slice(x, start, sizes);
  if (!x)
    return {};
  value = value ? n.cast(n.reshape(value, {}), n.elementOf(x)) : n.scalar(n.elementOf(x), 0);
  return {n.make<PadOp>(x, value, IntsRef(low), IntsRef(high), *mode)};
}

/// Cuts or pads with zeros about the middle; where that is between two, one more goes at the end.
static Values centerCropPad(NodeContext &n) {
  Value x = n.input(0);
  int64_t rank = n.rankOf(x);
  auto wanted = n.shapeOperand(1, "shape");
  Ints all = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  auto axes = n.axes(n.intsAttr("axes").value_or(all), rank);
  if (!wanted || !axes)
    return {};
  if (wanted->size() != axes->size())
    return {n.fail("shape needs " + Twine(axes->size()) + " entries")};
  Ints starts(rank, 0), sizes = n.shapeOf(x), low(rank, 0), high(rank, 0);
  for (auto [axis, size] : llvm::zip(*axes, *wanted)) {
    if (size < 0 || size > kMaxBytes)
      return {n.fail("a size of " + Twine(size) + " is out of range")};
    int64_t more = size - sizes[axis];
    if (more < 0) {
      starts[axis] = -more / 2;
      sizes[axis] = size;
    } else {
      low[axis] = more / 2;
      high[axis] = more - more / 2;
    }
    if (sizes[axis] == 0)
      starts[axis] = 0;
  }
  Value cut = n.slice(x, starts, sizes);
  if (!cut)
    return {};
  return {n.make<PadOp>(cut, n.scalar(n.elementOf(x), 0), IntsRef(low), IntsRef(high),
                        PadMode::Constant)};
}

/// Element t of sequence b comes from len[b] - 1 - t inside the sequence, from itself behind it.
static Values reverseSequence(NodeContext &n) {
  Value x = n.input(0), lengths = n.input(1);
  int64_t time = n.intAttr("time_axis", 0), batch = n.intAttr("batch_axis", 1), rank = n.rankOf(x);
  if (rank < 2 || time + batch != 1 || time * batch != 0)
    return {n.fail("time_axis and batch_axis must be 0 and 1, or 1 and 0")};
  Ints all(rank, 1);
  all[time] = n.shapeOf(x)[time];
  Value t = n.iota(all, n.i64(), time);
  Value length = n.alignChannels(n.cast(lengths, n.i64()), batch, rank);
  Value mirrored = n.sub(n.addScalar(length, -1), t);
  Value index = n.select(n.compare(CompareDirection::LT, t, length), mirrored, t);
  return {n.make<GatherElementsOp>(x, n.broadcast(index, n.shapeOf(x)), uint64_t(time))};
}

//===----------------------------------------------------------------------===//
// Shapes as values
//===----------------------------------------------------------------------===//

static Values shape(NodeContext &n) {
  Ints all = n.shapeOf(n.input(0));
  int64_t rank = int64_t(all.size());
  auto clamp = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  int64_t start = clamp(n.intAttr("start", 0)), end = clamp(n.intAttr("end", rank));
  return {n.ints(IntsRef(all).slice(start, std::max<int64_t>(end - start, 0)))};
}

static Values size(NodeContext &n) {
  return {n.scalarInt(n.i64(), n.typeOf(n.input(0)).getNumElements())};
}

void gantry::onnx::addShapeOps(OpTable &table) {
  auto moves = [&](OpTable::Entry &entry) -> OpTable::Entry & {
    entry.narrow = Narrow::moves;
    return entry;
  };
  moves(table.add("Reshape", reshape, {1, 2, 1})).shapeOperands = {1};
  moves(table.add("Flatten", flatten));
  moves(table.add("Squeeze", squeeze, {1, 2, 1})).shapeOperands = {1};
  moves(table.add("Unsqueeze", unsqueeze, {1, 2, 1})).shapeOperands = {1};
  moves(table.add("Transpose", transpose));
  table.add("Concat", concat, {1, kAny, 1});
  table.add("Split", split, {1, 2, kAny}).shapeOperands = {1};
  table.add("Slice", slice, {1, 5, 1}).shapeOperands = {1, 2, 3, 4};
  table.add("Expand", expand, {2, 2, 1}).shapeOperands = {1};
  table.add("Tile", tile, {2, 2, 1}).shapeOperands = {1};
  table.add("Pad", pad, {1, 4, 1}).shapeOperands = {1, 3};
  table.add("CenterCropPad", centerCropPad, {2, 2, 1}).shapeOperands = {1};
  table.add("ReverseSequence", reverseSequence, {2, 2, 1});
  table.setRowByRow(
      {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Concat", "Split", "Slice"});
  table.add("Shape", shape).narrow = Narrow::reads;
  table.add("Size", size).narrow = Narrow::reads;
}
