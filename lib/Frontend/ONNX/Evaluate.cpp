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
/// Ops looked at for one value: a limit on time, also where an op is reached along many ways.
static constexpr int kMaxOps = 1000;

namespace {

using Result = std::optional<Elements>;

Result evaluateAt(Value value, int &budget);

/// Position in an operand of shape `from` of the element at `linear` of the result shape `to`.
int64_t broadcastPosition(int64_t linear, ArrayRef<int64_t> to, ArrayRef<int64_t> from) {
  int64_t position = 0, stride = 1;
  for (int64_t i = int64_t(to.size()) - 1, j = int64_t(from.size()) - 1; i >= 0; --i, --j) {
    int64_t index = linear % to[i];
    linear /= to[i];
    if (j < 0)
      continue;
    position += (from[j] == 1 ? 0 : index) * stride;
    stride *= from[j];
  }
  return position;
}

/// What storing `value` in the element type leaves of it.
double roundTo(double value, mlir::Type element) {
  return element.isF32() ? double(float(value)) : value;
}

/// Applies `compute` to floating-point operands of one element type, broadcast to each other.
Result mapFloats(Operation *op, int &budget, function_ref<double(ArrayRef<double>)> compute) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<Elements> operands;
  for (Value operand : op->getOperands()) {
    Result elements = evaluateAt(operand, budget);
    if (!elements || !elements->isFloat)
      return std::nullopt;
    operands.push_back(std::move(*elements));
  }
  Elements out;
  out.isFloat = true;
  for (int64_t i = 0, n = type.getNumElements(); i < n; ++i) {
    SmallVector<double> at;
    for (auto [elements, operand] : llvm::zip(operands, op->getOperands()))
      at.push_back(elements.floats[broadcastPosition(
          i, type.getShape(), cast<RankedTensorType>(operand.getType()).getShape())]);
    out.floats.push_back(roundTo(compute(at), type.getElementType()));
  }
  return out;
}

/// Rearranges the elements of the first operand: `source` gives each result element's position in
/// it.
Result pick(Operation *op, int &budget, function_ref<int64_t(int64_t)> source) {
  Result in = evaluateAt(op->getOperand(0), budget);
  if (!in)
    return std::nullopt;
  Elements out;
  out.isFloat = in->isFloat;
  for (int64_t i = 0, n = cast<RankedTensorType>(op->getResult(0).getType()).getNumElements();
       i < n; ++i) {
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
  if (!in)
    return std::nullopt;
  auto flat = RankedTensorType::get(op.getType().getShape(), op.getType().getElementType());
  return readElements(makeElements(flat, *in), kMaxElements);
}

Result evaluateConcat(ConcatOp op, int &budget) {
  if (op.getType().getRank() != 1)
    return std::nullopt;
  Elements out;
  for (Value input : op.getInputs()) {
    Result in = evaluateAt(input, budget);
    if (!in)
      return std::nullopt;
    out.isFloat = in->isFloat;
    llvm::append_range(out.ints, in->ints);
    llvm::append_range(out.floats, in->floats);
  }
  return out;
}

Result evaluateGather(GatherOp op, int &budget) {
  Result indices = evaluateAt(op.getIndices(), budget);
  if (!indices || indices->isFloat ||
      cast<RankedTensorType>(op.getInput().getType()).getRank() != 1)
    return std::nullopt;
  int64_t n = cast<RankedTensorType>(op.getInput().getType()).getNumElements();
  return pick(op, budget, [&](int64_t i) {
    return indices->ints[i] < 0 ? indices->ints[i] + n : indices->ints[i];
  });
}

Result evaluateOp(Operation *op, int &budget) {
  auto unary = [&](double (*f)(double)) {
    return mapFloats(op, budget, [&](ArrayRef<double> v) { return f(v[0]); });
  };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](CastOp cast) { return evaluateCast(cast, budget); })
      .Case([&](ConcatOp concat) { return evaluateConcat(concat, budget); })
      .Case([&](GatherOp gather) { return evaluateGather(gather, budget); })
      .Case([&](ReshapeOp) { return pick(op, budget, [](int64_t i) { return i; }); })
      .Case([&](SliceOp s) {
        return s.getType().getRank() == 1
                   ? pick(op, budget,
                          [&](int64_t i) { return s.getStarts()[0] + i * s.getSteps()[0]; })
                   : std::nullopt;
      })
      .Case([&](BroadcastOp b) {
        return pick(op, budget, [&](int64_t i) {
          return broadcastPosition(i, b.getType().getShape(),
                                   cast<RankedTensorType>(b.getInput().getType()).getShape());
        });
      })
      .Case([&](IotaOp i) {
        Elements out;
        if (i.getType().getRank() != 1 || isa<FloatType>(i.getType().getElementType()))
          return Result();
        for (int64_t k = 0; k < i.getType().getNumElements(); ++k)
          out.ints.push_back(k);
        return Result(out);
      })
      .Case([&](AddOp) {
        return mapFloats(op, budget, [](ArrayRef<double> v) { return v[0] + v[1]; });
      })
      .Case([&](SubOp) {
        return mapFloats(op, budget, [](ArrayRef<double> v) { return v[0] - v[1]; });
      })
      .Case([&](MulOp) {
        return mapFloats(op, budget, [](ArrayRef<double> v) { return v[0] * v[1]; });
      })
      .Case([&](DivOp) {
        return mapFloats(op, budget, [](ArrayRef<double> v) { return v[0] / v[1]; });
      })
      .Case([&](MinimumOp) {
        return mapFloats(op, budget, [](ArrayRef<double> v) { return std::fmin(v[0], v[1]); });
      })
      .Case([&](MaximumOp) {
        return mapFloats(op, budget, [](ArrayRef<double> v) { return std::fmax(v[0], v[1]); });
      })
      .Case([&](FloorOp) { return unary(std::floor); })
      .Case([&](CeilOp) { return unary(std::ceil); })
      .Case([&](RoundOp) { return unary(std::nearbyint); })
      .Case([&](TruncOp) { return unary(std::trunc); })
      .Case([&](SqrtOp) { return unary(std::sqrt); })
      .Case([&](NegOp) { return unary([](double v) { return -v; }); })
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
