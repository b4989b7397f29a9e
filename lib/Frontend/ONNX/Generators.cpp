// Ops that make values from attributes and shapes: constants, ranges, random numbers, triangles.

#include "Handlers.h"

#include <cmath>

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;
using llvm::APFloat;

static Values constant(NodeContext &n) {
  if (const Tensor *tensor = n.tensorAttr("value"))
    return {n.tensor(*tensor)};
  if (n.hasAttr("value_float"))
    return {n.scalar(n.f32(), n.floatAttr("value_float", 0))};
  if (n.hasAttr("value_int"))
    return {n.scalarInt(n.i64(), n.intAttr("value_int", 0))};
  if (auto values = n.intsAttr("value_ints"))
    return {n.ints(*values)};
  if (auto values = n.floatsAttr("value_floats")) {
    KnownElements elements;
    elements.isFloat = true;
    elements.floats.assign(values->begin(), values->end());
    return {n.constant(
        makeElements(RankedTensorType::get({int64_t(values->size())}, n.f32()), elements))};
  }
  return {n.fail("its value is not supported; tensors, numbers and lists of numbers are")};
}

static Values constantOfShape(NodeContext &n) {
  auto shape = n.shapeOperand(0, "shape");
  const Tensor *tensor = n.tensorAttr("value");
  if (!shape || n.hasFailed())
    return {};
  Value value = tensor ? n.tensor(*tensor) : n.scalar(n.f32(), 0);
  if (value && n.typeOf(value).getNumElements() != 1)
    return {n.fail("attribute 'value' must hold one element")};
  return {n.broadcast(n.reshape(value, {}), *shape)};
}

static Values range(NodeContext &n) {
  auto start = n.knownOperand(0, "start"), limit = n.knownOperand(1, "limit"),
       delta = n.knownOperand(2, "delta");
  if (!start || !limit || !delta)
    return {};
  if (start->size() != 1 || limit->size() != 1 || delta->size() != 1 ||
      start->isFloat != limit->isFloat || start->isFloat != delta->isFloat)
    return {n.fail("start, limit and delta must be scalars of one type")};
  mlir::Type element = n.elementOf(n.input(0));
  double count;
  if (start->isFloat)
    count = std::ceil((limit->floats[0] - start->floats[0]) / delta->floats[0]);
  else
    count =
        delta->ints[0] == 0
            ? NAN
            : std::ceil((double(limit->ints[0]) - double(start->ints[0])) / double(delta->ints[0]));
  if (!(count <= double(int64_t(1) << 40)))
    return {n.fail("delta is 0, or the range has too many elements")};
  int64_t size = std::max<int64_t>(int64_t(count), 0);
  // Small integer ranges are part of shape arithmetic.
  if (!start->isFloat && size <= 1024) {
    Ints values;
    for (int64_t i = 0; i < size; ++i)
      values.push_back(int64_t(uint64_t(start->ints[0]) + uint64_t(i) * uint64_t(delta->ints[0])));
    return {n.ints(values, element)};
  }
  Value steps = n.mul(n.iota({size}, element, 0), n.reshape(n.input(2), {}));
  return {n.add(steps, n.reshape(n.input(0), {}))};
}

/// Column minus row for the last two dimensions, as [rows, columns].
static Value diagonalIndex(NodeContext &n, int64_t rows, int64_t columns) {
  return n.sub(n.iota({1, columns}, n.i64(), 1), n.iota({rows, 1}, n.i64(), 0));
}

static Values eyeLike(NodeContext &n) {
  Value x = n.input(0);
  int64_t k = n.intAttr("k", 0);
  mlir::Type element = n.hasAttr("dtype") ? n.elementType(n.intAttr("dtype", 1)) : n.elementOf(x);
  if (n.rankOf(x) != 2)
    return {n.fail("the operand must be a matrix")};
  Value on = n.compare(CompareDirection::EQ, diagonalIndex(n, n.shapeOf(x)[0], n.shapeOf(x)[1]),
                       n.scalarInt(n.i64(), k));
  return {n.cast(on, element)};
}

static Values trilu(NodeContext &n) {
  Value x = n.input(0);
  bool upper = n.intAttr("upper", 1) != 0;
  if (n.rankOf(x) < 2)
    return {n.fail("the operand needs at least 2 dimensions")};
  Value k = n.input(1) ? n.cast(n.reshape(n.input(1), {}), n.i64()) : n.scalarInt(n.i64(), 0);
  Ints shape = n.shapeOf(x);
  Value index = diagonalIndex(n, shape[shape.size() - 2], shape.back());
  Value keep = n.compare(upper ? CompareDirection::GE : CompareDirection::LE, index, k);
  return {n.select(keep, x, n.scalar(n.elementOf(x), 0))};
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

static uint64_t seedOf(NodeContext &n) {
  if (!n.hasAttr("seed"))
    return n.ownSeed();
  double seed = n.floatAttr("seed", 0);
  return uint64_t(std::fabs(seed) < 1e15 ? int64_t(std::fabs(seed) * 1024) : 0);
}

template <bool normal>
static Value draw(NodeContext &n, IntsRef shape, mlir::Type element) {
  uint64_t seed = seedOf(n);
  if constexpr (normal) {
    double mean = n.floatAttr("mean", 0), scale = n.floatAttr("scale", 1);
    return n.makeTyped<RandomNormalOp>(shape, element, seed, APFloat(mean), APFloat(scale));
  } else {
    double low = n.floatAttr("low", 0), high = n.floatAttr("high", 1);
    return n.makeTyped<RandomUniformOp>(shape, element, seed, APFloat(low), APFloat(high));
  }
}

template <bool normal>
static Values random(NodeContext &n) {
  auto shape = n.intsAttr("shape");
  mlir::Type element = n.elementType(n.intAttr("dtype", 1));
  if (!shape)
    return {n.fail("attribute 'shape' is missing")};
  return {draw<normal>(n, *shape, element)};
}

template <bool normal>
static Values randomLike(NodeContext &n) {
  Value x = n.input(0);
  mlir::Type element = n.hasAttr("dtype") ? n.elementType(n.intAttr("dtype", 1)) : n.elementOf(x);
  return {draw<normal>(n, n.shapeOf(x), element)};
}

static Values bernoulli(NodeContext &n) {
  Value x = n.input(0);
  mlir::Type element = n.hasAttr("dtype") ? n.elementType(n.intAttr("dtype", 1)) : n.elementOf(x);
  Value uniform = draw<false>(n, n.shapeOf(x), n.elementOf(x));
  return {n.cast(n.compare(CompareDirection::LT, uniform, x), element)};
}

void gantry::onnx::addGeneratorOps(OpTable &table) {
  table.add("Constant", constant, {0, 0, 1});
  table.add("ConstantOfShape", constantOfShape).shapeOperands = {0};
  table.add("Range", range, {3, 3, 1}).shapeOperands = {0, 1, 2};
  table.add("EyeLike", eyeLike);
  table.add("Trilu", trilu, {1, 2, 1});
  table.add("Trilu", trilu, {1, 2, 1}, kMicrosoft);
  table.add("RandomUniform", random<false>, {0, 0, 1});
  table.add("RandomNormal", random<true>, {0, 0, 1});
  table.add("RandomUniformLike", randomLike<false>);
  table.add("RandomNormalLike", randomLike<true>);
  table.add("Bernoulli", bernoulli);
}
