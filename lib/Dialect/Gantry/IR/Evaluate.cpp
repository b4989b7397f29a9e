// What ops give for constant operands (see Elements.h).
//
// Integers wrap around as in kernels. Floating-point numbers are computed as doubles and rounded to
// the element type: exporters compute sizes and scales so (Cast, Mul, Floor, Cast), and only shapes
// ask for them, since compute on floating-point constants is placed like any other.

#include "gantry/Dialect/Gantry/IR/Elements.h"
#include "gantry/Dialect/Gantry/IR/Evaluator.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace gantry;

namespace {

using Result = std::optional<KnownElements>;

RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// What storing `value` in the element type leaves of it.
double roundTo(double value, mlir::Type element) {
  return element.isF32() ? double(float(value)) : value;
}

/// Applies `compute` to the operands, broadcast to each other, when all have such `numbers`; it may
/// give nothing to refuse.
template <typename Number>
Result mapNumbers(Operation *op, OperandElements operand,
                  std::vector<Number> KnownElements::*numbers,
                  function_ref<std::optional<Number>(ArrayRef<Number>)> compute) {
  KnownElements out;
  out.isFloat = std::is_same_v<Number, double>;
  SmallVector<KnownElements> operands;
  for (unsigned i : llvm::seq(op->getNumOperands())) {
    Result elements = operand(i);
    if (!elements || elements->isFloat != out.isFloat)
      return std::nullopt;
    operands.push_back(std::move(*elements));
  }
  auto type = tensorOf(op->getResult(0));
  for (int64_t i = 0, n = type.getNumElements(); i < n; ++i) {
    SmallVector<Number> at;
    for (auto [elements, value] : llvm::zip(operands, op->getOperands()))
      at.push_back(
          (elements.*numbers)[broadcastPosition(i, type.getShape(), tensorOf(value).getShape())]);
    std::optional<Number> element = compute(at);
    if (!element)
      return std::nullopt;
    (out.*numbers).push_back(*element);
  }
  return out;
}

/// For floating-point operands of one element type.
Result mapFloats(Operation *op, OperandElements operand,
                 function_ref<double(ArrayRef<double>)> compute) {
  mlir::Type element = tensorOf(op->getResult(0)).getElementType();
  return mapNumbers<double>(op, operand, &KnownElements::floats, [&](ArrayRef<double> at) {
    return std::optional(roundTo(compute(at), element));
  });
}

/// The same for integers.
Result mapInts(Operation *op, OperandElements operand,
               function_ref<std::optional<int64_t>(ArrayRef<int64_t>)> compute) {
  Result out = mapNumbers<int64_t>(op, operand, &KnownElements::ints, compute);
  // Brings sums that left a narrow type back into it.
  return out ? readElements(makeElements(tensorOf(op->getResult(0)), *out)) : out;
}

/// The same where order and division count, which for unsigned integers are not those of int64_t.
Result mapSigned(Operation *op, OperandElements operand,
                 function_ref<std::optional<int64_t>(ArrayRef<int64_t>)> compute) {
  bool isUnsigned = tensorOf(op->getOperand(0)).getElementType().isUnsignedInteger();
  return isUnsigned ? std::nullopt : mapInts(op, operand, compute);
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
Result pick(Operation *op, OperandElements operand, function_ref<int64_t(int64_t)> source) {
  Result in = operand(0);
  if (!in)
    return std::nullopt;
  KnownElements out;
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

Result evaluateCast(CastOp op, OperandElements operand) {
  Result in = operand(0);
  return in ? readElements(makeElements(op.getType(), *in)) : std::nullopt;
}

Result evaluateSlice(SliceOp op, OperandElements operand) {
  return pick(op, operand, [&](int64_t i) {
    SmallVector<int64_t> index = unravel(i, op.getSizes());
    for (auto [at, start, step] : llvm::zip(index, op.getStarts(), op.getSteps()))
      at = start + at * step;
    return ravel(index, tensorOf(op.getInput()).getShape());
  });
}

Result evaluateTranspose(TransposeOp op, OperandElements operand) {
  return pick(op, operand, [&](int64_t i) {
    SmallVector<int64_t> index = unravel(i, op.getType().getShape()), source(index.size());
    for (auto [at, dim] : llvm::zip(index, op.getPermutation()))
      source[dim] = at;
    return ravel(source, tensorOf(op.getInput()).getShape());
  });
}

/// Row by row of what stands before the axis.
Result evaluateConcat(ConcatOp op, OperandElements operand) {
  KnownElements out;
  SmallVector<KnownElements> inputs;
  for (unsigned i : llvm::seq(op.getInputs().size())) {
    Result in = operand(i);
    if (!in)
      return std::nullopt;
    out.isFloat = in->isFloat;
    inputs.push_back(std::move(*in));
  }
  int64_t rows = 1;
  for (int64_t size : op.getType().getShape().take_front(op.getAxis()))
    rows *= size;
  for (int64_t row = 0; row < rows && op.getType().getNumElements() > 0; ++row)
    for (const KnownElements &in : inputs) {
      size_t width = in.size() / rows;
      if (in.isFloat)
        llvm::append_range(out.floats, ArrayRef(in.floats).slice(row * width, width));
      else
        llvm::append_range(out.ints, ArrayRef(in.ints).slice(row * width, width));
    }
  return out;
}

Result evaluateGather(GatherOp op, OperandElements operand) {
  Result indices = operand(1);
  if (!indices || indices->isFloat)
    return std::nullopt;
  ArrayRef<int64_t> in = tensorOf(op.getInput()).getShape();
  auto places = tensorOf(op.getIndices());
  int64_t axis = op.getAxis(), size = in[axis];
  if (size == 0)
    return std::nullopt;
  return pick(op, operand, [&](int64_t i) {
    SmallVector<int64_t> index = unravel(i, op.getType().getShape());
    ArrayRef<int64_t> place = ArrayRef(index).slice(axis, places.getRank());
    int64_t at = indices->ints[ravel(place, places.getShape())];
    SmallVector<int64_t> source = llvm::to_vector(ArrayRef(index).take_front(axis));
    source.push_back(std::clamp<int64_t>(at < 0 ? at + size : at, 0, size - 1));
    llvm::append_range(source, ArrayRef(index).drop_front(axis + places.getRank()));
    return ravel(source, in);
  });
}

/// The input, with the update where its index along the axis is the one.
Result evaluateSetSlice(SetSliceOp op, OperandElements operand) {
  Result out = operand(0), update = operand(1), index = operand(2);
  ArrayRef<int64_t> shape = op.getType().getShape();
  int64_t axis = op.getAxis(), size = shape[axis];
  if (!out || !update || !index || index->isFloat || size == 0)
    return std::nullopt;
  int64_t at = index->ints[0];
  at = std::clamp<int64_t>(at < 0 ? at + size : at, 0, size - 1);
  for (int64_t i = 0, n = update->size(); i < n; ++i) {
    SmallVector<int64_t> place = unravel(i, tensorOf(op.getUpdate()).getShape());
    place.insert(place.begin() + axis, at);
    if (out->isFloat)
      out->floats[ravel(place, shape)] = update->floats[i];
    else
      out->ints[ravel(place, shape)] = update->ints[i];
  }
  return out;
}

/// Combines integers over the axes of a reduction.
template <typename Op>
Result evaluateReduce(Op op, OperandElements operand, int64_t start,
                      int64_t (*combine)(int64_t, int64_t)) {
  Result in = operand(0);
  ArrayRef<int64_t> shape = tensorOf(op.getInput()).getShape();
  if (!in || in->isFloat)
    return std::nullopt;
  SmallVector<int64_t> kept(shape);
  for (int64_t axis : op.getAxes())
    kept[axis] = 1;
  KnownElements out;
  out.ints.assign(op.getType().getNumElements(), start);
  for (int64_t i = 0; i < int64_t(in->size()); ++i) {
    int64_t &into = out.ints[broadcastPosition(i, shape, kept)];
    into = combine(into, in->ints[i]);
  }
  return readElements(makeElements(op.getType(), out));
}

/// The same for the largest and the smallest: signed integers, whose order is int64_t's. Over
/// nothing they are the end of the element type where the search starts.
template <typename Op>
Result evaluateExtreme(Op op, OperandElements operand, bool largest) {
  auto element = dyn_cast<IntegerType>(tensorOf(op.getInput()).getElementType());
  if (!element || element.isUnsigned())
    return std::nullopt;
  int64_t start = largest ? llvm::minIntN(element.getWidth()) : llvm::maxIntN(element.getWidth());
  auto max = [](int64_t a, int64_t b) { return std::max(a, b); };
  auto min = [](int64_t a, int64_t b) { return std::min(a, b); };
  return largest ? evaluateReduce(op, operand, start, max)
                 : evaluateReduce(op, operand, start, min);
}

Result evaluateIota(IotaOp op) {
  KnownElements out;
  if (isa<FloatType>(op.getType().getElementType()))
    return std::nullopt;
  for (int64_t i = 0; i < op.getType().getNumElements(); ++i)
    out.ints.push_back(unravel(i, op.getType().getShape())[op.getAxis()]);
  return out;
}

// Sums and products wrap around, as in kernels; unsigned arithmetic does so without undefined
// behaviour.
int64_t wrappedSum(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
int64_t wrappedDifference(int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }
int64_t wrappedProduct(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }

std::optional<int64_t> divide(int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1))
    return std::nullopt;
  return a / b;
}

/// The remainder with the sign of `b`.
std::optional<int64_t> floorRemainder(int64_t a, int64_t b) {
  if (b == 0 || b == -1)
    return std::nullopt;
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

bool holds(CompareDirection direction, int64_t a, int64_t b) {
  switch (direction) {
  case CompareDirection::EQ:
    return a == b;
  case CompareDirection::NE:
    return a != b;
  case CompareDirection::LT:
    return a < b;
  case CompareDirection::LE:
    return a <= b;
  case CompareDirection::GT:
    return a > b;
  case CompareDirection::GE:
    return a >= b;
  }
  llvm_unreachable("all directions are handled");
}

bool isFloat(Operation *op) { return isa<FloatType>(tensorOf(op->getResult(0)).getElementType()); }

using F = ArrayRef<double>;
using I = ArrayRef<int64_t>;
using Int = std::optional<int64_t>;

/// Arithmetic that integers and floating-point numbers have in common.
Result evaluateArithmetic(Operation *op, OperandElements operand) {
  auto floats = [&](function_ref<double(F)> f) { return mapFloats(op, operand, f); };
  auto ints = [&](function_ref<Int(I)> f) { return mapInts(op, operand, f); };
  auto ordered = [&](function_ref<Int(I)> f) { return mapSigned(op, operand, f); };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](AddOp) {
        return isFloat(op) ? floats([](F v) { return v[0] + v[1]; })
                           : ints([](I v) -> Int { return wrappedSum(v[0], v[1]); });
      })
      .Case([&](SubOp) {
        return isFloat(op) ? floats([](F v) { return v[0] - v[1]; })
                           : ints([](I v) -> Int { return wrappedDifference(v[0], v[1]); });
      })
      .Case([&](MulOp) {
        return isFloat(op) ? floats([](F v) { return v[0] * v[1]; })
                           : ints([](I v) -> Int { return wrappedProduct(v[0], v[1]); });
      })
      .Case([&](DivOp) {
        return isFloat(op) ? floats([](F v) { return v[0] / v[1]; })
                           : ordered([](I v) { return divide(v[0], v[1]); });
      })
      .Case([&](MinimumOp) {
        return isFloat(op) ? floats([](F v) { return std::fmin(v[0], v[1]); })
                           : ordered([](I v) -> Int { return std::min(v[0], v[1]); });
      })
      .Case([&](MaximumOp) {
        return isFloat(op) ? floats([](F v) { return std::fmax(v[0], v[1]); })
                           : ordered([](I v) -> Int { return std::max(v[0], v[1]); });
      })
      .Case([&](NegOp) {
        return isFloat(op) ? floats([](F v) { return -v[0]; })
                           : ordered([](I v) -> Int { return wrappedDifference(0, v[0]); });
      })
      .Case([&](AbsOp) {
        return isFloat(op) ? floats([](F v) { return std::fabs(v[0]); }) : ordered([](I v) -> Int {
          return v[0] < 0 ? wrappedDifference(0, v[0]) : v[0];
        });
      })
      .Default([](Operation *) { return Result(); });
}

/// Ops on integers and truth values only.
Result evaluateIntegral(Operation *op, OperandElements operand) {
  auto ints = [&](function_ref<Int(I)> f) { return mapInts(op, operand, f); };
  auto ordered = [&](function_ref<Int(I)> f) { return mapSigned(op, operand, f); };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](ModOp) {
        return isFloat(op) ? Result() : ordered([](I v) { return floorRemainder(v[0], v[1]); });
      })
      .Case([&](CompareOp compare) {
        return ordered([&](I v) -> Int { return holds(compare.getDirection(), v[0], v[1]); });
      })
      .Case([&](SelectOp) {
        return isFloat(op) ? Result() : ints([](I v) -> Int { return v[0] ? v[1] : v[2]; });
      })
      .Case([&](LogicalNotOp) { return ints([](I v) -> Int { return !v[0]; }); })
      .Case([&](LogicalAndOp) { return ints([](I v) -> Int { return v[0] && v[1]; }); })
      .Case([&](LogicalOrOp) { return ints([](I v) -> Int { return v[0] || v[1]; }); })
      .Case([&](IotaOp iota) { return evaluateIota(iota); })
      .Case([&](ReduceSumOp r) { return evaluateReduce(r, operand, 0, wrappedSum); })
      .Case([&](ReduceProdOp r) { return evaluateReduce(r, operand, 1, wrappedProduct); })
      .Case([&](ReduceMaxOp r) { return evaluateExtreme(r, operand, /*largest=*/true); })
      .Case([&](ReduceMinOp r) { return evaluateExtreme(r, operand, /*largest=*/false); })
      .Default([](Operation *) { return Result(); });
}

/// Ops on floating-point numbers only.
Result evaluateRounding(Operation *op, OperandElements operand) {
  auto unary = [&](double (*f)(double)) {
    return mapFloats(op, operand, [&](F v) { return f(v[0]); });
  };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](FloorOp) { return unary(std::floor); })
      .Case([&](CeilOp) { return unary(std::ceil); })
      .Case([&](RoundOp) { return unary(std::nearbyint); })
      .Case([&](TruncOp) { return unary(std::trunc); })
      .Case([&](SqrtOp) { return unary(std::sqrt); })
      .Case([&](ReluOp) { return unary([](double v) { return v > 0 ? v : 0; }); })
      .Default([](Operation *) { return Result(); });
}

/// Ops that move elements of any type.
Result evaluateMovement(Operation *op, OperandElements operand) {
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](CastOp cast) { return evaluateCast(cast, operand); })
      .Case([&](ConcatOp concat) { return evaluateConcat(concat, operand); })
      .Case([&](GatherOp gather) { return evaluateGather(gather, operand); })
      .Case([&](SetSliceOp set) { return evaluateSetSlice(set, operand); })
      .Case([&](SliceOp slice) { return evaluateSlice(slice, operand); })
      .Case([&](TransposeOp transpose) { return evaluateTranspose(transpose, operand); })
      .Case([&](ReshapeOp) { return pick(op, operand, [](int64_t i) { return i; }); })
      .Case([&](BroadcastOp b) {
        return pick(op, operand, [&](int64_t i) {
          return broadcastPosition(i, b.getType().getShape(), tensorOf(b.getInput()).getShape());
        });
      })
      .Default([](Operation *) { return Result(); });
}

} // namespace

std::optional<KnownElements> gantry::evaluateOp(Operation *op, OperandElements operand) {
  for (auto evaluate : {evaluateArithmetic, evaluateIntegral, evaluateRounding, evaluateMovement})
    if (Result result = evaluate(op, operand))
      return result;
  return std::nullopt;
}

/// Ops looked at for one value: a limit on time, also where an op is reached along many ways.
static constexpr int kMaxEvaluatedOps = 1000;

/// Elements of `value` when constants decide it.
static std::optional<KnownElements> evaluate(Value value, int &budget) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!op || !type || !type.hasStaticShape() || type.getNumElements() > kMaxEvaluated ||
      --budget < 0)
    return std::nullopt;
  if (ElementsAttr constant = getConstantElements(value))
    return readElements(constant);
  if (ElementsAttr computed = getComputedElements(value))
    return readElements(computed);
  return evaluateOp(op, [&](unsigned i) { return evaluate(op->getOperand(i), budget); });
}

std::optional<KnownElements> gantry::evaluateValue(Value value) {
  int budget = kMaxEvaluatedOps;
  return evaluate(value, budget);
}
