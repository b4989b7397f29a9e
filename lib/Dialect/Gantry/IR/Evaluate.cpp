// Evaluates shape arithmetic while importing.
//
// The dialect folds small integer constants by itself. Exporters also compute sizes and scales in
// floating point (Cast, Mul, Floor, Cast), which is never folded because compute on constants is
// placed like any other; here its value is only read, when a shape asks for it.

#include "Importer.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

/// Constants that decide shapes are small; this is also the most that is read of any.
static constexpr int64_t kMaxElements = 65536;
/// Integer constants up to here are folded at once, as the dialect does.
static constexpr int64_t kMaxFolded = 1024;
/// Ops looked at for one value: a limit on time, also where an op is reached along many ways.
static constexpr int kMaxOps = 1000;

namespace {

using Result = std::optional<Elements>;

Result evaluateAt(Value value, int &budget);

RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// What storing `value` in the element type leaves of it.
double roundTo(double value, mlir::Type element) {
  return element.isF32() ? double(float(value)) : value;
}

/// Applies `compute` to the operands, broadcast to each other, when all have such `numbers`; it may
/// give nothing to refuse.
template <typename Number>
Result mapNumbers(Operation *op, int &budget, std::vector<Number> Elements::*numbers,
                  function_ref<std::optional<Number>(ArrayRef<Number>)> compute) {
  Elements out;
  out.isFloat = std::is_same_v<Number, double>;
  SmallVector<Elements> operands;
  for (Value operand : op->getOperands()) {
    Result elements = evaluateAt(operand, budget);
    if (!elements || elements->isFloat != out.isFloat)
      return std::nullopt;
    operands.push_back(std::move(*elements));
  }
  auto type = tensorOf(op->getResult(0));
  for (int64_t i = 0, n = type.getNumElements(); i < n; ++i) {
    SmallVector<Number> at;
    for (auto [elements, operand] : llvm::zip(operands, op->getOperands()))
      at.push_back(
          (elements.*numbers)[broadcastPosition(i, type.getShape(), tensorOf(operand).getShape())]);
    std::optional<Number> element = compute(at);
    if (!element)
      return std::nullopt;
    (out.*numbers).push_back(*element);
  }
  return out;
}

/// For floating-point operands of one element type.
Result mapFloats(Operation *op, int &budget, function_ref<double(ArrayRef<double>)> compute) {
  mlir::Type element = tensorOf(op->getResult(0)).getElementType();
  return mapNumbers<double>(op, budget, &Elements::floats, [&](ArrayRef<double> at) {
    return std::optional(roundTo(compute(at), element));
  });
}

/// The same for integers.
Result mapInts(Operation *op, int &budget,
               function_ref<std::optional<int64_t>(ArrayRef<int64_t>)> compute) {
  Result out = mapNumbers<int64_t>(op, budget, &Elements::ints, compute);
  // Brings sums that left a narrow type back into it.
  return out ? readElements(makeElements(tensorOf(op->getResult(0)), *out), kMaxElements) : out;
}

/// An operation on numbers, in both worlds.
Result map(Operation *op, int &budget, function_ref<double(ArrayRef<double>)> floats,
           function_ref<std::optional<int64_t>(ArrayRef<int64_t>)> ints) {
  mlir::Type element = tensorOf(op->getResult(0)).getElementType();
  if (isa<FloatType>(element))
    return mapFloats(op, budget, floats);
  // Unsigned division and order are not those of int64_t.
  return element.isUnsignedInteger() ? std::nullopt : mapInts(op, budget, ints);
}

SmallVector<int64_t> unravel(int64_t linear, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> index(shape.size());
  for (size_t i = shape.size(); i-- > 0; linear /= shape[i])
    index[i] = linear % shape[i];
  return index;
}

int64_t ravel(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  int64_t linear = 0;
  for (auto [i, size] : llvm::zip(index, shape))
    linear = linear * size + i;
  return linear;
}

/// Rearranges the elements of the first operand: `source` gives each result element's position in
/// it.
Result pick(Operation *op, int &budget, function_ref<int64_t(int64_t)> source) {
  Result in = evaluateAt(op->getOperand(0), budget);
  if (!in)
    return std::nullopt;
  Elements out;
  out.isFloat = in->isFloat;
  for (int64_t i = 0, n = tensorOf(op->getResult(0)).getNumElements(); i < n; ++i) {
    int64_t at = source(i);
    if (at < 0 || at >= int64_t(in->size()))
      return std::nullopt;
    if (in->isFloat)
      out.floats.push_back(in->floats[at]);
    else
      out.ints.push_back(in->ints[at]);
  }
  return out;
}

Result evaluateCast(CastOp op, int &budget) {
  Result in = evaluateAt(op.getInput(), budget);
  return in ? readElements(makeElements(op.getType(), *in), kMaxElements) : std::nullopt;
}

Result evaluateSlice(SliceOp op, int &budget) {
  return pick(op, budget, [&](int64_t i) {
    SmallVector<int64_t> index = unravel(i, op.getSizes());
    for (auto [at, start, step] : llvm::zip(index, op.getStarts(), op.getSteps()))
      at = start + at * step;
    return ravel(index, tensorOf(op.getInput()).getShape());
  });
}

Result evaluateTranspose(TransposeOp op, int &budget) {
  return pick(op, budget, [&](int64_t i) {
    SmallVector<int64_t> index = unravel(i, op.getType().getShape()), source(index.size());
    for (auto [at, dim] : llvm::zip(index, op.getPermutation()))
      source[dim] = at;
    return ravel(source, tensorOf(op.getInput()).getShape());
  });
}

/// Row by row of what stands before the axis.
Result evaluateConcat(ConcatOp op, int &budget) {
  Elements out;
  SmallVector<Elements> inputs;
  for (Value input : op.getInputs()) {
    Result in = evaluateAt(input, budget);
    if (!in)
      return std::nullopt;
    out.isFloat = in->isFloat;
    inputs.push_back(std::move(*in));
  }
  int64_t rows = 1;
  for (int64_t size : op.getType().getShape().take_front(op.getAxis()))
    rows *= size;
  for (int64_t row = 0; row < rows && op.getType().getNumElements() > 0; ++row)
    for (const Elements &in : inputs) {
      size_t width = in.size() / rows;
      if (in.isFloat)
        llvm::append_range(out.floats, ArrayRef(in.floats).slice(row * width, width));
      else
        llvm::append_range(out.ints, ArrayRef(in.ints).slice(row * width, width));
    }
  return out;
}

Result evaluateGather(GatherOp op, int &budget) {
  Result indices = evaluateAt(op.getIndices(), budget);
  if (!indices || indices->isFloat)
    return std::nullopt;
  ArrayRef<int64_t> in = tensorOf(op.getInput()).getShape();
  auto places = tensorOf(op.getIndices());
  int64_t axis = op.getAxis(), size = in[axis];
  return pick(op, budget, [&](int64_t i) {
    SmallVector<int64_t> index = unravel(i, op.getType().getShape());
    ArrayRef<int64_t> place = ArrayRef(index).slice(axis, places.getRank());
    int64_t at = indices->ints[ravel(place, places.getShape())];
    SmallVector<int64_t> source = llvm::to_vector(ArrayRef(index).take_front(axis));
    source.push_back(std::clamp<int64_t>(at < 0 ? at + size : at, 0, size - 1));
    llvm::append_range(source, ArrayRef(index).drop_front(axis + places.getRank()));
    return ravel(source, in);
  });
}

/// Combines integers over the axes of a reduction.
template <typename Op>
Result evaluateReduce(Op op, int &budget, int64_t start, int64_t (*combine)(int64_t, int64_t)) {
  Result in = evaluateAt(op.getInput(), budget);
  ArrayRef<int64_t> shape = tensorOf(op.getInput()).getShape();
  if (!in || in->isFloat || tensorOf(op.getInput()).getElementType().isUnsignedInteger())
    return std::nullopt;
  SmallVector<int64_t> kept(shape);
  for (int64_t axis : op.getAxes())
    kept[axis] = 1;
  Elements out;
  out.ints.assign(op.getType().getNumElements(), start);
  for (int64_t i = 0; i < int64_t(in->size()); ++i) {
    int64_t &into = out.ints[broadcastPosition(i, shape, kept)];
    into = combine(into, in->ints[i]);
  }
  return readElements(makeElements(op.getType(), out), kMaxElements);
}

Result evaluateIota(IotaOp op) {
  Elements out;
  if (isa<FloatType>(op.getType().getElementType()))
    return std::nullopt;
  for (int64_t i = 0; i < op.getType().getNumElements(); ++i)
    out.ints.push_back(unravel(i, op.getType().getShape())[op.getAxis()]);
  return out;
}

std::optional<int64_t> divide(ArrayRef<int64_t> v) {
  if (v[1] == 0 || (v[0] == INT64_MIN && v[1] == -1))
    return std::nullopt;
  return v[0] / v[1];
}

Result evaluateOp(Operation *op, int &budget) {
  using F = ArrayRef<double>;
  using I = ArrayRef<int64_t>;
  using Wrapped = std::optional<int64_t>;
  auto unary = [&](double (*f)(double)) {
    return mapFloats(op, budget, [&](F v) { return f(v[0]); });
  };
  // Sums wrap around; unsigned arithmetic may.
  auto u = [](int64_t v) { return uint64_t(v); };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](CastOp cast) { return evaluateCast(cast, budget); })
      .Case([&](ConcatOp concat) { return evaluateConcat(concat, budget); })
      .Case([&](GatherOp gather) { return evaluateGather(gather, budget); })
      .Case([&](SliceOp slice) { return evaluateSlice(slice, budget); })
      .Case([&](TransposeOp transpose) { return evaluateTranspose(transpose, budget); })
      .Case([&](IotaOp iota) { return evaluateIota(iota); })
      .Case([&](ReshapeOp) { return pick(op, budget, [](int64_t i) { return i; }); })
      .Case([&](BroadcastOp b) {
        return pick(op, budget, [&](int64_t i) {
          return broadcastPosition(i, b.getType().getShape(), tensorOf(b.getInput()).getShape());
        });
      })
      .Case([&](ReduceSumOp r) {
        return evaluateReduce(
            r, budget, 0, [](int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); });
      })
      .Case([&](ReduceProdOp r) {
        return evaluateReduce(
            r, budget, 1, [](int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); });
      })
      .Case([&](ReduceMaxOp r) {
        return evaluateReduce(r, budget, INT64_MIN,
                              [](int64_t a, int64_t b) { return std::max(a, b); });
      })
      .Case([&](ReduceMinOp r) {
        return evaluateReduce(r, budget, INT64_MAX,
                              [](int64_t a, int64_t b) { return std::min(a, b); });
      })
      .Case([&](AddOp) {
        return map(
            op, budget, [](F v) { return v[0] + v[1]; },
            [&](I v) -> Wrapped { return u(v[0]) + u(v[1]); });
      })
      .Case([&](SubOp) {
        return map(
            op, budget, [](F v) { return v[0] - v[1]; },
            [&](I v) -> Wrapped { return u(v[0]) - u(v[1]); });
      })
      .Case([&](MulOp) {
        return map(
            op, budget, [](F v) { return v[0] * v[1]; },
            [&](I v) -> Wrapped { return u(v[0]) * u(v[1]); });
      })
      .Case([&](DivOp) { return map(op, budget, [](F v) { return v[0] / v[1]; }, divide); })
      .Case([&](MinimumOp) {
        return map(
            op, budget, [](F v) { return std::fmin(v[0], v[1]); },
            [](I v) -> Wrapped { return std::min(v[0], v[1]); });
      })
      .Case([&](MaximumOp) {
        return map(
            op, budget, [](F v) { return std::fmax(v[0], v[1]); },
            [](I v) -> Wrapped { return std::max(v[0], v[1]); });
      })
      .Case([&](NegOp) {
        return map(
            op, budget, [](F v) { return -v[0]; }, [&](I v) -> Wrapped { return 0 - u(v[0]); });
      })
      .Case([&](AbsOp) {
        return map(
            op, budget, [](F v) { return std::fabs(v[0]); },
            [&](I v) -> Wrapped { return v[0] < 0 ? 0 - u(v[0]) : v[0]; });
      })
      .Case([&](LogicalNotOp) { return mapInts(op, budget, [](I v) -> Wrapped { return !v[0]; }); })
      .Case([&](LogicalAndOp) {
        return mapInts(op, budget, [](I v) -> Wrapped { return v[0] && v[1]; });
      })
      .Case([&](LogicalOrOp) {
        return mapInts(op, budget, [](I v) -> Wrapped { return v[0] || v[1]; });
      })
      .Case([&](FloorOp) { return unary(std::floor); })
      .Case([&](CeilOp) { return unary(std::ceil); })
      .Case([&](RoundOp) { return unary(std::nearbyint); })
      .Case([&](TruncOp) { return unary(std::trunc); })
      .Case([&](SqrtOp) { return unary(std::sqrt); })
      .Case([&](ReluOp) { return unary([](double v) { return v > 0 ? v : 0; }); })
      .Default([](Operation *) { return Result(); });
}

Result evaluateAt(Value value, int &budget) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!op || !type || !type.hasStaticShape() || type.getNumElements() > kMaxElements ||
      --budget < 0)
    return std::nullopt;
  if (ElementsAttr constant = getConstantElements(value))
    return readElements(constant, kMaxElements);
  return evaluateOp(op, budget);
}

} // namespace

std::optional<Elements> gantry::onnx::evaluate(Value value) {
  int budget = kMaxOps;
  return evaluateAt(value, budget);
}

ElementsAttr gantry::onnx::foldIntegers(Operation *op) {
  auto type = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                                       : RankedTensorType();
  if (!type || !isa<IntegerType>(type.getElementType()) || type.getNumElements() > kMaxFolded ||
      op->getNumOperands() == 0)
    return {};
  for (Value operand : op->getOperands()) {
    auto in = dyn_cast<RankedTensorType>(operand.getType());
    if (!in || isa<FloatType>(in.getElementType()) || !getConstantElements(operand))
      return {};
  }
  auto elements = evaluate(op->getResult(0));
  return elements ? makeElements(type, *elements) : ElementsAttr();
}
