// Result types from operand types and attributes: the shape rules of ops on elements, reductions,
// constants and movement, in the order of the .td files. Those of contractions and of indexing are
// beside this file.

#include "InferTypes.h"

#include "gantry/Dialect/Gantry/IR/Layout.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::infer;

//===----------------------------------------------------------------------===//
// What all rules use
//===----------------------------------------------------------------------===//

std::string gantry::infer::text(ArrayRef<int64_t> shape) {
  std::string out;
  llvm::raw_string_ostream os(out);
  os << '[';
  llvm::interleave(shape, os, [&](int64_t d) { d == kOpen ? os << '?' : os << d; }, ",");
  os << ']';
  return out;
}

LogicalResult gantry::infer::checkAxis(int64_t axis, int64_t rank, StringRef op, Loc loc) {
  if (axis < 0 || axis >= rank)
    return fail(loc, op, "axis ", axis, " is outside the ", rank, " dimensions of the input");
  return success();
}

LogicalResult gantry::infer::checkSameElement(Type a, Type b, StringRef op, Loc loc) {
  if (a != b)
    return fail(loc, op, "operands have different element types: ", a, " and ", b);
  return success();
}

//===----------------------------------------------------------------------===//
// Helpers shared with other files
//===----------------------------------------------------------------------===//

std::optional<Shape> gantry::broadcastShapes(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Shape shape(a);
  for (size_t i = 0, skip = a.size() - b.size(); i < b.size(); ++i) {
    int64_t &d = shape[skip + i];
    if (d == 1)
      d = b[i];
    else if (d == kOpen)
      d = b[i] == 1 ? kOpen : b[i];
    else if (b[i] != 1 && b[i] != kOpen && b[i] != d)
      return std::nullopt;
  }
  return shape;
}

int64_t gantry::broadcastPosition(int64_t linear, ArrayRef<int64_t> shape,
                                  ArrayRef<int64_t> operand) {
  int64_t position = 0, stride = 1;
  for (int64_t i = int64_t(shape.size()) - 1, j = int64_t(operand.size()) - 1; i >= 0; --i, --j) {
    int64_t index = linear % shape[i];
    linear /= shape[i];
    if (j < 0)
      continue;
    position += (operand[j] == 1 ? 0 : index) * stride;
    stride *= operand[j];
  }
  return position;
}

bool gantry::detail::areCompatibleTypes(TypeRange lhs, TypeRange rhs) {
  return lhs.size() == rhs.size() && llvm::all_of(llvm::zip(lhs, rhs), [](auto pair) {
           auto [a, b] = pair;
           return getElementTypeOrSelf(a) == getElementTypeOrSelf(b) &&
                  succeeded(verifyCompatibleShape(a, b));
         });
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

static LogicalResult broadcastAll(ValueRange operands, Type element, StringRef op, Loc loc,
                                  Types &types) {
  if (operands.empty())
    return fail(loc, op, "needs at least one operand");
  Shape shape(shapeOf(operands[0]));
  for (Value operand : operands.drop_front()) {
    auto next = broadcastShapes(shape, shapeOf(operand));
    if (!next)
      return fail(loc, op, "operands cannot be broadcast to each other: ", text(shape), " and ",
                  text(shapeOf(operand)));
    shape = *next;
  }
  return push(types, shape, element);
}

template <typename Adaptor>
static LogicalResult inferElementwise(Adaptor op, StringRef name, Loc loc, Types &types) {
  if (op.getOperands().empty())
    return fail(loc, name, "needs at least one operand");
  Type element = elementOf(op.getOperands()[0]);
  for (Value operand : op.getOperands())
    if (failed(checkSameElement(element, elementOf(operand), name, loc)))
      return failure();
  return broadcastAll(op.getOperands(), element, name, loc, types);
}

template <typename Adaptor>
static LogicalResult inferTest(Adaptor op, StringRef name, Loc loc, Types &types) {
  if (failed(inferElementwise(op, name, loc, types)))
    return failure();
  auto type = cast<RankedTensorType>(types.back());
  types.back() = type.clone(IntegerType::get(type.getContext(), 1));
  return success();
}

static LogicalResult inferSelect(SelectOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  Type a = elementOf(op.getOnTrue()), b = elementOf(op.getOnFalse());
  if (failed(checkSameElement(a, b, name, loc)))
    return failure();
  return broadcastAll(op.getOperands(), a, name, loc, types);
}

// clang-format off
#define ELEMENTWISE(Op) GANTRY_INFER(Op, inferElementwise)
ELEMENTWISE(AbsOp) ELEMENTWISE(NegOp) ELEMENTWISE(SignOp) ELEMENTWISE(ExpOp) ELEMENTWISE(Expm1Op)
ELEMENTWISE(LogOp) ELEMENTWISE(Log1pOp) ELEMENTWISE(SqrtOp) ELEMENTWISE(RsqrtOp) ELEMENTWISE(ReciprocalOp)
ELEMENTWISE(FloorOp) ELEMENTWISE(CeilOp) ELEMENTWISE(RoundOp) ELEMENTWISE(TruncOp) ELEMENTWISE(SinOp)
ELEMENTWISE(CosOp) ELEMENTWISE(TanOp) ELEMENTWISE(AsinOp) ELEMENTWISE(AcosOp) ELEMENTWISE(AtanOp)
ELEMENTWISE(SinhOp) ELEMENTWISE(CoshOp) ELEMENTWISE(TanhOp) ELEMENTWISE(AsinhOp) ELEMENTWISE(AcoshOp)
ELEMENTWISE(AtanhOp) ELEMENTWISE(ErfOp) ELEMENTWISE(ReluOp) ELEMENTWISE(SigmoidOp) ELEMENTWISE(SiluOp)
ELEMENTWISE(SoftplusOp) ELEMENTWISE(SoftsignOp) ELEMENTWISE(MishOp) ELEMENTWISE(HardSwishOp)
ELEMENTWISE(GeluOp) ELEMENTWISE(EluOp) ELEMENTWISE(CeluOp) ELEMENTWISE(SeluOp) ELEMENTWISE(LeakyReluOp)
ELEMENTWISE(ThresholdedReluOp) ELEMENTWISE(HardSigmoidOp) ELEMENTWISE(ShrinkOp) ELEMENTWISE(LogicalNotOp)
ELEMENTWISE(BitwiseNotOp) ELEMENTWISE(AddOp) ELEMENTWISE(SubOp) ELEMENTWISE(MulOp) ELEMENTWISE(DivOp)
ELEMENTWISE(RemOp) ELEMENTWISE(ModOp) ELEMENTWISE(PowOp) ELEMENTWISE(MaximumOp) ELEMENTWISE(MinimumOp)
ELEMENTWISE(PreluOp) ELEMENTWISE(LogicalAndOp) ELEMENTWISE(LogicalOrOp) ELEMENTWISE(LogicalXorOp)
ELEMENTWISE(BitwiseAndOp) ELEMENTWISE(BitwiseOrOp) ELEMENTWISE(BitwiseXorOp) ELEMENTWISE(ShiftLeftOp)
ELEMENTWISE(ShiftRightOp) ELEMENTWISE(ClampOp) ELEMENTWISE(AddNOp) ELEMENTWISE(DropoutOp)
ELEMENTWISE(UpdateOp) ELEMENTWISE(UpdateAddOp)
GANTRY_INFER(CompareOp, inferTest) GANTRY_INFER(IsNanOp, inferTest) GANTRY_INFER(IsInfOp, inferTest)
GANTRY_INFER(SelectOp, inferSelect)
    // clang-format on

    //===----------------------------------------------------------------------===//
    // Reductions
    //===----------------------------------------------------------------------===//

    template <typename Adaptor>
    static LogicalResult inferReduce(Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = typeOf(op.getInput());
  llvm::SmallBitVector reduced(x.getRank());
  for (int64_t axis : op.getAxes()) {
    if (failed(checkAxis(axis, x.getRank(), name, loc)))
      return failure();
    if (reduced[axis])
      return fail(loc, name, "axis ", axis, " is given twice");
    reduced.set(axis);
  }
  Shape shape;
  for (int64_t i = 0; i < x.getRank(); ++i)
    if (!reduced[i])
      shape.push_back(x.getDimSize(i));
    else if (op.getKeepDims())
      shape.push_back(1);
  return push(types, shape, x.getElementType());
}
GANTRY_INFER(ReduceSumOp, inferReduce)
GANTRY_INFER(ReduceMeanOp, inferReduce)
GANTRY_INFER(ReduceMaxOp, inferReduce)
GANTRY_INFER(ReduceMinOp, inferReduce)
GANTRY_INFER(ReduceProdOp, inferReduce)

template <typename Adaptor>
static LogicalResult inferArg(Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = typeOf(op.getInput());
  int64_t axis = op.getAxis();
  if (failed(checkAxis(axis, x.getRank(), name, loc)))
    return failure();
  if (x.getDimSize(axis) == 0)
    return fail(loc, name, "axis ", axis, " of ", text(x.getShape()), " is empty");
  Shape shape(x.getShape());
  if (op.getKeepDims())
    shape[axis] = 1;
  else
    shape.erase(shape.begin() + axis);
  return push(types, shape, IntegerType::get(x.getContext(), 64));
}
GANTRY_INFER(ArgmaxOp, inferArg)
GANTRY_INFER(ArgminOp, inferArg)

/// Same type as the input; where there is an axis, it must exist.
template <typename Adaptor>
static LogicalResult inferAlongAxis(Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = typeOf(op.getInput());
  if (failed(checkAxis(op.getAxis(), x.getRank(), name, loc)))
    return failure();
  types.push_back(x);
  return success();
}
GANTRY_INFER(SoftmaxOp, inferAlongAxis)
GANTRY_INFER(LogSoftmaxOp, inferAlongAxis)
GANTRY_INFER(CumsumOp, inferAlongAxis)

/// Scale and bias of a normalisation must broadcast to the input.
template <typename Adaptor>
static LogicalResult inferNorm(Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = typeOf(op.getInput());
  for (Value operand : op.getOperands().drop_front()) {
    auto shape = broadcastShapes(x.getShape(), shapeOf(operand));
    if (!shape || ArrayRef<int64_t>(*shape) != x.getShape())
      return fail(loc, name, "operand ", text(shapeOf(operand)),
                  " cannot be broadcast to the input ", text(x.getShape()));
  }
  return inferAlongAxis(op, name, loc, types);
}
GANTRY_INFER(LayerNormOp, inferNorm)
GANTRY_INFER(RmsNormOp, inferNorm)

/// Operands after the input hold one element per channel.
template <typename Adaptor>
static LogicalResult inferPerChannel(Adaptor op, StringRef name, Loc loc, Types &types,
                                     bool last = false) {
  auto x = typeOf(op.getInput());
  if (x.getRank() < 2)
    return fail(loc, name, "input needs batch and channel dimensions, got ", text(x.getShape()));
  int64_t channels = x.getDimSize(last ? x.getRank() - 1 : 1);
  for (Value operand : op.getOperands().drop_front()) {
    auto type = typeOf(operand);
    if (type.getRank() != 1 || differ(type.getDimSize(0), channels))
      return fail(loc, name, "expected one element for each of the ", channels, " channels, got ",
                  text(type.getShape()));
  }
  types.push_back(x);
  return success();
}

static LogicalResult inferBatchNorm(BatchNormOp::Adaptor op, StringRef name, Loc loc,
                                    Types &types) {
  return inferPerChannel(op, name, loc, types, op.getLayout() == ImageLayout::NHWC);
}
GANTRY_INFER(BatchNormOp, inferBatchNorm)

static LogicalResult inferGroupNorm(GroupNormOp::Adaptor op, StringRef name, Loc loc,
                                    Types &types) {
  if (failed(inferPerChannel(op, name, loc, types)))
    return failure();
  int64_t channels = typeOf(op.getInput()).getDimSize(1), groups = op.getGroups();
  if (groups < 1 || (channels != kOpen && channels % groups))
    return fail(loc, name, channels, " channels cannot be divided into ", groups, " groups");
  return success();
}
GANTRY_INFER(GroupNormOp, inferGroupNorm)

static LogicalResult inferLrn(LrnOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = typeOf(op.getInput());
  if (x.getRank() < 2 || op.getSize() < 1)
    return fail(loc, name, "needs a channel dimension and a positive size, got ",
                text(x.getShape()), " and ", op.getSize());
  types.push_back(x);
  return success();
}
GANTRY_INFER(LrnOp, inferLrn)

static LogicalResult inferTopK(TopKOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = typeOf(op.getInput());
  int64_t axis = op.getAxis(), k = op.getK();
  if (failed(checkAxis(axis, x.getRank(), name, loc)))
    return failure();
  if (k < 0 || (x.getDimSize(axis) != kOpen && k > x.getDimSize(axis)))
    return fail(loc, name, "k is ", k, ", axis ", axis, " has ", x.getDimSize(axis), " elements");
  Shape shape(x.getShape());
  shape[axis] = k;
  (void)push(types, shape, x.getElementType());
  return push(types, shape, IntegerType::get(x.getContext(), 64));
}
GANTRY_INFER(TopKOp, inferTopK)

//===----------------------------------------------------------------------===//
// Constants and movement
//===----------------------------------------------------------------------===//

static LogicalResult inferConstant(ConstantOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  types.push_back(op.getValue().getType());
  return success();
}
GANTRY_INFER(ConstantOp, inferConstant)

static LogicalResult inferTranspose(TransposeOp::Adaptor op, StringRef name, Loc loc,
                                    Types &types) {
  auto x = typeOf(op.getInput());
  auto permutation = op.getPermutation();
  llvm::SmallBitVector seen(x.getRank());
  Shape shape;
  for (int64_t p : permutation) {
    if (p < 0 || p >= x.getRank() || seen[p])
      break;
    seen.set(p);
    shape.push_back(x.getDimSize(p));
  }
  if (shape.size() != permutation.size() || int64_t(shape.size()) != x.getRank())
    return fail(loc, name, text(permutation), " is not a permutation of ", x.getRank(),
                " dimensions");
  return push(types, shape, x.getElementType());
}
GANTRY_INFER(TransposeOp, inferTranspose)

static LogicalResult inferConcat(ConcatOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  if (op.getInputs().empty())
    return fail(loc, name, "needs at least one operand");
  auto first = typeOf(op.getInputs()[0]);
  int64_t axis = op.getAxis();
  if (failed(checkAxis(axis, first.getRank(), name, loc)))
    return failure();
  Shape shape(first.getShape());
  for (Value input : op.getInputs().drop_front()) {
    auto next = typeOf(input);
    bool same =
        next.getRank() == first.getRank() && next.getElementType() == first.getElementType();
    for (int64_t i = 0; same && i < first.getRank(); ++i)
      same = i == axis || !differ(shape[i], next.getDimSize(i));
    if (!same)
      return fail(loc, name, "operands ", first, " and ", next, " differ outside axis ", axis);
    for (int64_t i = 0; i < first.getRank(); ++i)
      if (i != axis && shape[i] == kOpen)
        shape[i] = next.getDimSize(i);
    shape[axis] = shape[axis] == kOpen || next.getDimSize(axis) == kOpen
                      ? kOpen
                      : shape[axis] + next.getDimSize(axis);
  }
  return push(types, shape, first.getElementType());
}
GANTRY_INFER(ConcatOp, inferConcat)

static LogicalResult inferSlice(SliceOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = typeOf(op.getInput());
  size_t rank = x.getRank();
  if (op.getStarts().size() != rank || op.getSizes().size() != rank || op.getSteps().size() != rank)
    return fail(loc, name, "starts, sizes and steps need ", rank, " entries each");
  for (size_t i = 0; i < rank; ++i) {
    int64_t start = op.getStarts()[i], size = op.getSizes()[i], step = op.getSteps()[i];
    int64_t in = x.getDimSize(i);
    if (size < 0 || step == 0)
      return fail(loc, name, "dimension ", i, " has size ", size, " and step ", step);
    __int128 last = __int128(start) + __int128(size - 1) * step;
    if (size > 0 && (start < 0 || last < 0 || (in != kOpen && (start >= in || last >= in))))
      return fail(loc, name, "dimension ", i, " reaches from ", start, " to ", int64_t(last),
                  ", the input has ", in, " elements there");
  }
  return push(types, op.getSizes(), x.getElementType());
}
GANTRY_INFER(SliceOp, inferSlice)

static LogicalResult inferSplit(SplitOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = typeOf(op.getInput());
  int64_t axis = op.getAxis(), sum = 0;
  if (failed(checkAxis(axis, x.getRank(), name, loc)))
    return failure();
  Shape shape(x.getShape());
  for (int64_t size : op.getSizes()) {
    if (size < 0)
      return fail(loc, name, "sizes has the entry ", size, ", expected at least 0");
    shape[axis] = size;
    sum += size;
    (void)push(types, shape, x.getElementType());
  }
  if (differ(sum, x.getDimSize(axis)))
    return fail(loc, name, "sizes add up to ", sum, ", axis ", axis, " has ", x.getDimSize(axis));
  return success();
}
GANTRY_INFER(SplitOp, inferSplit)

static LogicalResult inferPad(PadOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = typeOf(op.getInput());
  if (int64_t(op.getLow().size()) != x.getRank() || int64_t(op.getHigh().size()) != x.getRank())
    return fail(loc, name, "low and high need ", x.getRank(), " entries each");
  if (rankOf(op.getValue()) != 0 || elementOf(op.getValue()) != x.getElementType())
    return fail(loc, name, "value must be a scalar of the input's element type, got ",
                op.getValue().getType());
  Shape shape;
  for (int64_t i = 0; i < x.getRank(); ++i) {
    int64_t low = op.getLow()[i], high = op.getHigh()[i], in = x.getDimSize(i);
    if (low < 0 || high < 0)
      return fail(loc, name, "dimension ", i, " has a negative border; use gantry.slice to cut");
    bool reads = op.getMode() != PadMode::Constant && in != kOpen && (low || high);
    if (reads && (in == 0 || (op.getMode() == PadMode::Reflect && (low >= in || high >= in)) ||
                  (op.getMode() == PadMode::Wrap && (low > in || high > in))))
      return fail(loc, name, "dimension ", i, " has ", in, " elements, too few for a border of ",
                  std::max(low, high));
    shape.push_back(in == kOpen ? kOpen : in + low + high);
  }
  return push(types, shape, x.getElementType());
}
GANTRY_INFER(PadOp, inferPad)
