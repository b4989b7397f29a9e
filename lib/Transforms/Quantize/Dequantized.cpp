#include "Dequantized.h"

#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

using namespace mlir;
using namespace gantry;

static bool isBytes(Value value) { return elementOf(value).isInteger(8); }
static bool isI32(Value value) { return elementOf(value).isSignlessInteger(32); }
static bool isF32(Value value) { return elementOf(value).isF32(); }

std::optional<Centred> Centred::match(Value value) {
  Centred found;
  if (auto toFloat = value.getDefiningOp<CastOp>(); toFloat && isF32(value)) {
    found.ops.push_back(toFloat);
    value = toFloat.getInput();
    if (isBytes(value)) {
      found.bytes = value;
      return found;
    }
  }
  if (!isI32(value))
    return std::nullopt;
  if (value.getDefiningOp<ConstantOp>()) {
    found.bytes = value;
    return found;
  }
  if (auto sub = value.getDefiningOp<SubOp>(); sub && sub.getLhs().getType() == sub.getType()) {
    found.ops.push_back(sub);
    found.zero = sub.getRhs();
    value = sub.getLhs();
  }
  auto widened = value.getDefiningOp<CastOp>();
  if (!widened || !isBytes(widened.getInput()))
    return std::nullopt;
  found.ops.push_back(widened);
  found.bytes = widened.getInput();
  return found;
}

std::optional<ScaledInteger> ScaledInteger::match(Value value) {
  auto mul = value.getDefiningOp<MulOp>();
  if (!mul || !isF32(value))
    return std::nullopt;
  for (auto [number, scale] :
       {std::pair(mul.getLhs(), mul.getRhs()), std::pair(mul.getRhs(), mul.getLhs())}) {
    auto cast = number.getDefiningOp<CastOp>();
    if (cast && isa<IntegerType>(elementOf(cast.getInput())) &&
        number.getType() == value.getType() && evaluateValue(scale))
      return ScaledInteger{cast, scale};
  }
  return std::nullopt;
}

std::optional<Scaled> Scaled::match(Value value) {
  auto scaled = ScaledInteger::match(value);
  auto centred = scaled ? Centred::match(scaled->number) : std::nullopt;
  if (!centred)
    return std::nullopt;
  centred->ops.push_back(value.getDefiningOp());
  return Scaled{*centred, scaled->scale};
}

std::optional<KnownElements> gantry::elementsAlong(Value value, ArrayRef<int64_t> shape,
                                                   int64_t dim) {
  ArrayRef<int64_t> own = shapeOf(value);
  const int64_t skipped = shape.size() - own.size();
  if (skipped < 0)
    return std::nullopt;
  for (auto [i, size] : llvm::enumerate(own))
    if (size != 1 && (int64_t(i) + skipped != dim || size != shape[dim]))
      return std::nullopt;
  return evaluateValue(value);
}
