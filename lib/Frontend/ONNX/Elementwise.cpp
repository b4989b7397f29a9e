// Ops that compute each element by itself: arithmetic, activations, comparisons, logic, casts.

#include "Handlers.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;
using llvm::APFloat;

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

/// Before opset 7 broadcasting had to be asked for, and `axis` said where the second operand
/// starts.
static Value alignLegacy(NodeContext &n, Value a, Value b) {
  n.ignoreAttrs({"consumed_inputs"});
  int64_t broadcast = n.intAttr("broadcast", 0);
  if (!n.hasAttr("axis") || !broadcast)
    return b;
  auto axis = n.axis(n.intAttr("axis", 0), n.rankOf(a));
  if (!axis)
    return {};
  Ints shape = n.shapeOf(b);
  if (*axis + int64_t(shape.size()) > n.rankOf(a))
    return n.fail("the second operand does not fit at axis " + Twine(*axis));
  shape.append(n.rankOf(a) - *axis - shape.size(), 1);
  return n.reshape(b, shape);
}

static Value secondOperand(NodeContext &n) {
  return n.opset() < 7 ? alignLegacy(n, n.input(0), n.input(1)) : n.input(1);
}

template <typename Op>
static Values binary(NodeContext &n) {
  return {n.make<Op>(n.input(0), secondOperand(n))};
}

template <CompareDirection direction>
static Values compare(NodeContext &n) {
  return {n.compare(direction, n.input(0), secondOperand(n))};
}

/// The exponent may have another type; the result has that of the base.
static Values power(NodeContext &n) {
  Value base = n.input(0), exponent = secondOperand(n);
  if (!exponent)
    return {};
  mlir::Type element = n.elementOf(base);
  // An integer to a fractional power is computed in floating point.
  if (!n.isFloat(base) && n.isFloat(exponent)) {
    Value y = n.make<PowOp>(n.cast(base, n.elementOf(exponent)), exponent);
    return {n.cast(y, element)};
  }
  return {n.make<PowOp>(base, n.cast(exponent, element))};
}

static Values mod(NodeContext &n) {
  bool truncated = n.intAttr("fmod", 0) != 0;
  if (!truncated && n.isFloat(n.input(0)))
    return {n.fail("floating-point operands are supported with fmod=1 only")};
  return {truncated ? n.make<RemOp>(n.input(0), n.input(1))
                    : n.make<ModOp>(n.input(0), n.input(1))};
}

static Values bitShift(NodeContext &n) {
  StringRef direction = n.stringAttr("direction", "");
  if (direction == "LEFT")
    return {n.make<ShiftLeftOp>(n.input(0), n.input(1))};
  if (direction == "RIGHT")
    return {n.make<ShiftRightOp>(n.input(0), n.input(1))};
  return {n.fail("attribute 'direction' is '" + direction + "'; supported are LEFT and RIGHT")};
}

/// The slope broadcasts to the input alone; older files give it per channel, as [c] for [n, c,
/// ...].
static Values prelu(NodeContext &n) {
  Value x = n.input(0), slope = n.input(1);
  n.ignoreAttrs({"consumed_inputs"});
  Ints shape = n.shapeOf(slope);
  if (n.opset() < 9 && shape.size() == 1 && n.rankOf(x) > 2 && shape[0] != 1 &&
      shape[0] != n.shapeOf(x).back())
    slope = n.alignChannels(slope, 1, n.rankOf(x));
  auto both = broadcastShapes(n.shapeOf(x), n.shapeOf(slope));
  if (!both || *both != n.shapeOf(x))
    return {n.fail("the slope cannot be broadcast to the input")};
  return {n.make<PreluOp>(x, slope)};
}

//===----------------------------------------------------------------------===//
// Any number of operands
//===----------------------------------------------------------------------===//

template <typename Op>
static Value foldLeft(NodeContext &n) {
  n.ignoreAttrs({"consumed_inputs"});
  Value result = n.input(0);
  for (Value operand : n.allInputs().drop_front())
    result = n.make<Op>(result, operand);
  return result;
}

static Values mean(NodeContext &n) {
  return {n.mulScalar(foldLeft<AddOp>(n), 1.0 / double(n.numInputs()))};
}

static Values sum(NodeContext &n) {
  bool same = llvm::all_of(n.allInputs(),
                           [&](Value v) { return v && v.getType() == n.input(0).getType(); });
  if (same && n.numInputs() > 2) {
    n.ignoreAttrs({"consumed_inputs"});
    return {n.make<AddNOp>(ValueRange(n.allInputs()))};
  }
  return {foldLeft<AddOp>(n)};
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

template <typename Op>
static Values plain(NodeContext &n) {
  n.ignoreAttrs({"consumed_inputs"});
  return {n.make<Op>(n.input(0))};
}

template <typename Op>
static Values withAlpha(NodeContext &n, double alpha) {
  n.ignoreAttrs({"consumed_inputs"});
  return {n.make<Op>(n.input(0), APFloat(n.floatAttr("alpha", alpha)))};
}

static Values elu(NodeContext &n) { return withAlpha<EluOp>(n, 1.0); }
static Values celu(NodeContext &n) { return withAlpha<CeluOp>(n, 1.0); }
static Values leakyRelu(NodeContext &n) { return withAlpha<LeakyReluOp>(n, 0.01f); }
static Values thresholdedRelu(NodeContext &n) { return withAlpha<ThresholdedReluOp>(n, 1.0); }

static Values selu(NodeContext &n) {
  n.ignoreAttrs({"consumed_inputs"});
  // The defaults changed with opset 6.
  double alpha = n.floatAttr("alpha", n.opset() < 6 ? 1.6732f : 1.67326319217681884765625);
  double gamma = n.floatAttr("gamma", n.opset() < 6 ? 1.0507f : 1.05070102214813232421875);
  return {n.make<SeluOp>(n.input(0), APFloat(alpha), APFloat(gamma))};
}

static Values hardSigmoid(NodeContext &n) {
  n.ignoreAttrs({"consumed_inputs"});
  double alpha = n.floatAttr("alpha", 0.2f), beta = n.floatAttr("beta", 0.5);
  return {n.make<HardSigmoidOp>(n.input(0), APFloat(alpha), APFloat(beta))};
}

static Values shrink(NodeContext &n) {
  double bias = n.floatAttr("bias", 0.0), lambda = n.floatAttr("lambd", 0.5);
  return {n.make<ShrinkOp>(n.input(0), APFloat(bias), APFloat(lambda))};
}

static Values gelu(NodeContext &n) {
  StringRef approximate = n.stringAttr("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return {
        n.fail("attribute 'approximate' is '" + approximate + "'; supported are none and tanh")};
  return {n.make<GeluOp>(n.input(0), approximate == "tanh")};
}

static Values swish(NodeContext &n) {
  double alpha = n.floatAttr("alpha", 1);
  if (alpha == 1)
    return {n.make<SiluOp>(n.input(0))};
  return {n.mul(n.input(0), n.make<SigmoidOp>(n.mulScalar(n.input(0), alpha)))};
}

/// The largest number of floating point that Clip without bounds leaves: infinities are none. Where
/// bounds are attributes, their default is that of f32.
static double largestOfClip(NodeContext &n, FloatType element) {
  const llvm::fltSemantics &numbers =
      n.opset() < 11 ? APFloat::IEEEsingle() : element.getFloatSemantics();
  APFloat largest = APFloat::getLargest(numbers);
  bool losesBits = false;
  largest.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesBits);
  return largest.convertToDouble();
}

static Values clip(NodeContext &n) {
  n.ignoreAttrs({"consumed_inputs"});
  Value x = n.input(0), low = n.input(1), high = n.input(2);
  mlir::Type element = n.elementOf(x);
  if (n.opset() < 11) {
    if (n.hasAttr("min"))
      low = n.scalar(element, n.floatAttr("min", 0));
    if (n.hasAttr("max"))
      high = n.scalar(element, n.floatAttr("max", 0));
  }
  if (auto type = dyn_cast<FloatType>(element)) {
    double largest = largestOfClip(n, type);
    low = low ? low : n.scalar(element, -largest);
    high = high ? high : n.scalar(element, largest);
  }
  if (low && high)
    return {n.make<ClampOp>(x, low, high)};
  if (low)
    return {n.make<MaximumOp>(x, low)};
  return {high ? n.make<MinimumOp>(x, high) : x};
}

/// Whether the node drops anything: it must be in training mode, which has to be known.
static std::optional<bool> dropsElements(NodeContext &n) {
  if (n.opset() < 12 || !n.input(2) || n.getUse() == ModelUse::evaluation)
    return false;
  auto training = n.knownOperand(2, "training_mode");
  if (!training || training->isFloat || training->size() != 1)
    return std::nullopt;
  auto ratio = n.input(1) ? n.known(n.input(1)) : std::nullopt;
  bool keepsAll = ratio && ratio->isFloat && ratio->size() == 1 && ratio->floats[0] == 0;
  return training->ints[0] != 0 && !keepsAll;
}

static Values dropout(NodeContext &n) {
  // Before opset 7 the flag says training by default, and files of trained models carry it so.
  n.ignoreAttrs({"ratio", "consumed_inputs", "is_test"});
  auto drops = dropsElements(n);
  Value x = n.input(0);
  uint64_t seed = n.hasAttr("seed") ? uint64_t(n.intAttr("seed", 0)) : n.ownSeed();
  if (!drops)
    return {n.fail("operand 2 (training_mode) must be one truth value")};
  if (!*drops) {
    Values results{n.make<DropoutOp>(x, APFloat(0.0))};
    if (n.wantsOutput(1))
      results.push_back(n.full(n.shapeOf(x), n.opset() < 10 ? n.elementOf(x) : n.i1(), 1));
    return results;
  }
  // What is kept is scaled up, so that sums keep their expectation.
  mlir::Type element = n.elementOf(x);
  Value ratio = n.input(1) ? n.cast(n.reshape(n.input(1), {}), element) : n.scalar(element, 0.5);
  Value drawn =
      n.makeTyped<RandomUniformOp>(n.shapeOf(x), element, seed, APFloat(0.0), APFloat(1.0));
  Value kept = n.compare(CompareDirection::GE, drawn, ratio);
  Value scaled = n.div(x, n.sub(n.scalar(element, 1), ratio));
  return {n.select(kept, scaled, n.scalar(element, 0)), kept};
}

//===----------------------------------------------------------------------===//
// Types and tests
//===----------------------------------------------------------------------===//

/// Exporters compute sizes in floating point, too; back in integers they are shape arithmetic,
/// which is folded.
static Value convert(NodeContext &n, Value x, mlir::Type element) {
  if (!element || !n.isFloat(x) || isa<FloatType>(element) || n.typeOf(x).getNumElements() > 64)
    return n.cast(x, element);
  auto elements = evaluateValue(x);
  return elements
             ? n.constant(makeElements(RankedTensorType::get(n.shapeOf(x), element), *elements))
             : n.cast(x, element);
}

static Values castTo(NodeContext &n) {
  n.ignoreAttrs({"saturate", "round_mode"}); // of 8-bit floats
  // Opset 1 names the type in words.
  if (n.opset() < 6)
    return {n.fail("opset 6 or newer is supported")};
  return {convert(n, n.input(0), n.elementType(n.intAttr("to", 0)))};
}

static Values castLike(NodeContext &n) {
  n.ignoreAttrs({"saturate", "round_mode"});
  return {convert(n, n.input(0), n.elementOf(n.input(1)))};
}

static Values isInf(NodeContext &n) {
  bool positive = n.intAttr("detect_positive", 1), negative = n.intAttr("detect_negative", 1);
  return {n.make<IsInfOp>(n.input(0), !positive, !negative)};
}

static Values identity(NodeContext &n) { return {n.input(0)}; }

static Values sign(NodeContext &n) { return {n.make<SignOp>(n.input(0))}; }

static constexpr Arity one{1, 1, 1}, two{2, 2, 1}, many{1, kAny, 1};

static void addUnaryOps(OpTable &table) {
  table.add("Abs", plain<AbsOp>, one);
  table.add("Neg", plain<NegOp>, one);
  table.add("Sign", sign, one);
  table.add("Exp", plain<ExpOp>, one);
  table.add("Log", plain<LogOp>, one);
  table.add("Sqrt", plain<SqrtOp>, one);
  table.add("Reciprocal", plain<ReciprocalOp>, one);
  table.add("Floor", plain<FloorOp>, one);
  table.add("Ceil", plain<CeilOp>, one);
  table.add("Round", plain<RoundOp>, one);
  table.add("Sin", plain<SinOp>, one);
  table.add("Cos", plain<CosOp>, one);
  table.add("Tan", plain<TanOp>, one);
  table.add("Asin", plain<AsinOp>, one);
  table.add("Acos", plain<AcosOp>, one);
  table.add("Atan", plain<AtanOp>, one);
  table.add("Sinh", plain<SinhOp>, one);
  table.add("Cosh", plain<CoshOp>, one);
  table.add("Tanh", plain<TanhOp>, one);
  table.add("Asinh", plain<AsinhOp>, one);
  table.add("Acosh", plain<AcoshOp>, one);
  table.add("Atanh", plain<AtanhOp>, one);
  table.add("Erf", plain<ErfOp>, one);
  table.add("Relu", plain<ReluOp>, one);
  table.add("Sigmoid", plain<SigmoidOp>, one);
  table.add("Softplus", plain<SoftplusOp>, one);
  table.add("Softsign", plain<SoftsignOp>, one);
  table.add("Mish", plain<MishOp>, one);
  table.add("HardSwish", plain<HardSwishOp>, one);
  table.add("Not", plain<LogicalNotOp>, one);
  table.add("BitwiseNot", plain<BitwiseNotOp>, one);
  table.add("IsNaN", plain<IsNanOp>, one);
  table.add("IsInf", isInf, one);
  table.add("Elu", elu, one);
  table.add("Celu", celu, one);
  table.add("Selu", selu, one);
  table.add("LeakyRelu", leakyRelu, one);
  table.add("ThresholdedRelu", thresholdedRelu, one);
  table.add("HardSigmoid", hardSigmoid, one);
  table.add("Shrink", shrink, one);
  table.add("Gelu", gelu, one);
  table.add("Swish", swish, one);
  table.add("Clip", clip, {1, 3, 1});
  table.add("Dropout", dropout, {1, 3, 2}).shapeOperands = {1, 2};
  table.add("Cast", castTo, one).narrow = Narrow::reads;
  table.add("CastLike", castLike, two);
  table.add("Identity", identity, one).narrow = Narrow::moves;
}

static void addOpsOfSeveral(OpTable &table) {
  table.add("Add", binary<AddOp>, two);
  table.add("Sub", binary<SubOp>, two);
  table.add("Mul", binary<MulOp>, two);
  table.add("Div", binary<DivOp>, two);
  table.add("Pow", power, two);
  table.add("Mod", mod, two);
  table.add("PRelu", prelu, two);
  table.add("And", binary<LogicalAndOp>, two);
  table.add("Or", binary<LogicalOrOp>, two);
  table.add("Xor", binary<LogicalXorOp>, two);
  table.add("BitwiseAnd", binary<BitwiseAndOp>, two);
  table.add("BitwiseOr", binary<BitwiseOrOp>, two);
  table.add("BitwiseXor", binary<BitwiseXorOp>, two);
  table.add("BitShift", bitShift, two);
  table.add("Equal", compare<CompareDirection::EQ>, two);
  table.add("Less", compare<CompareDirection::LT>, two);
  table.add("LessOrEqual", compare<CompareDirection::LE>, two);
  table.add("Greater", compare<CompareDirection::GT>, two);
  table.add("GreaterOrEqual", compare<CompareDirection::GE>, two);
  table.add("Where",
            [](NodeContext &n) -> Values { return {n.select(n.input(0), n.input(1), n.input(2))}; },
            {3, 3, 1});
  table.add("Sum", sum, many);
  table.add("Mean", mean, many);
  table.add("Max", [](NodeContext &n) -> Values { return {foldLeft<MaximumOp>(n)}; }, many);
  table.add("Min", [](NodeContext &n) -> Values { return {foldLeft<MinimumOp>(n)}; }, many);
}

void gantry::onnx::addElementwiseOps(OpTable &table) {
  addUnaryOps(table);
  addOpsOfSeveral(table);
  table.setRowByRow({"Abs",        "Neg",      "Sign",  "Exp",   "Log",         "Sqrt",
                     "Reciprocal", "Floor",    "Ceil",  "Round", "Sin",         "Cos",
                     "Tanh",       "Sigmoid",  "Relu",  "Clip",  "Not",         "Cast",
                     "CastLike",   "Identity", "Add",   "Sub",   "Mul",         "Div",
                     "Pow",        "Mod",      "And",   "Or",    "Xor",         "Equal",
                     "Less",       "Greater",  "IsNaN", "IsInf", "LessOrEqual", "GreaterOrEqual",
                     "Where",      "Max",      "Min"});
}
