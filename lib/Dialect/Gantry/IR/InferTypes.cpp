// Result types from operand types and attributes: the shape rules of all ops, in the order of the
// .td files. A rule that does not hold is reported with the op's name and the numbers.

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Gantry/IR/Layout.h"
#include "gantry/Dialect/Gantry/IR/Wide.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace gantry;

using Loc = std::optional<Location>;
using Types = SmallVectorImpl<Type>;
using Shape = SmallVector<int64_t>;
static constexpr int64_t kOpen = ShapedType::kDynamic;

/// Binds the member that the interface wants to a static function over the op's adaptor.
#define GANTRY_INFER(Op, rule)                                                                     \
  LogicalResult Op::inferReturnTypes(MLIRContext *context, Loc loc, ValueRange operands,           \
                                     DictionaryAttr attributes, OpaqueProperties properties,       \
                                     RegionRange regions, Types &types) {                          \
    return rule(Op::Adaptor(operands, attributes, properties, regions), Op::getOperationName(),    \
                loc, types);                                                                       \
  }

static RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static LogicalResult push(Types &types, ArrayRef<int64_t> shape, Type element) {
  types.push_back(RankedTensorType::get(shape, element));
  return success();
}

static std::string text(ArrayRef<int64_t> shape) {
  std::string out;
  llvm::raw_string_ostream os(out);
  os << '[';
  llvm::interleave(shape, os, [&](int64_t d) { d == kOpen ? os << '?' : os << d; }, ",");
  os << ']';
  return out;
}

template <typename... Args>
static LogicalResult fail(Loc loc, StringRef op, Args &&...args) {
  return emitOptionalError(loc, "'", op, "' op ", std::forward<Args>(args)...);
}

static bool differ(int64_t a, int64_t b) { return a != kOpen && b != kOpen && a != b; }

/// Brings a possibly negative axis into [0, rank), or says what is wrong.
static LogicalResult checkAxis(int64_t axis, int64_t rank, StringRef op, Loc loc) {
  if (axis < 0 || axis >= rank)
    return fail(loc, op, "axis ", axis, " is outside the ", rank, " dimensions of the input");
  return success();
}

static LogicalResult checkSameElement(Type a, Type b, StringRef op, Loc loc) {
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
  Shape shape(tensorOf(operands[0]).getShape());
  for (Value operand : operands.drop_front()) {
    auto next = broadcastShapes(shape, tensorOf(operand).getShape());
    if (!next)
      return fail(loc, op, "operands cannot be broadcast to each other: ", text(shape), " and ",
                  text(tensorOf(operand).getShape()));
    shape = *next;
  }
  return push(types, shape, element);
}

template <typename Adaptor>
static LogicalResult inferElementwise(Adaptor op, StringRef name, Loc loc, Types &types) {
  if (op.getOperands().empty())
    return fail(loc, name, "needs at least one operand");
  Type element = tensorOf(op.getOperands()[0]).getElementType();
  for (Value operand : op.getOperands())
    if (failed(checkSameElement(element, tensorOf(operand).getElementType(), name, loc)))
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
  Type a = tensorOf(op.getOnTrue()).getElementType(),
       b = tensorOf(op.getOnFalse()).getElementType();
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
    // clang-format on
    GANTRY_INFER(CompareOp, inferTest) GANTRY_INFER(IsNanOp, inferTest)
        GANTRY_INFER(IsInfOp, inferTest) GANTRY_INFER(SelectOp, inferSelect)

    //===----------------------------------------------------------------------===//
    // Contractions and windows
    //===----------------------------------------------------------------------===//

    /// What a contraction gives: 8-bit integers, of either sign each, are summed in i32.
    static Type sumElement(Type a) {
  return a.isInteger(8) ? IntegerType::get(a.getContext(), 32) : a;
}

static LogicalResult checkFactors(Type a, Type b, StringRef name, Loc loc) {
  if (a.isInteger(8) && b.isInteger(8))
    return success();
  return checkSameElement(a, b, name, loc);
}

/// The result of an op that multiplies such elements.
template <typename Adaptor>
static LogicalResult pushSums(Adaptor op, Type element, ArrayRef<int64_t> shape, StringRef name,
                              Loc loc, Types &types) {
  if (!isWide(op.getAttributes()))
    return push(types, shape, sumElement(element));
  if (!element.isF16() && !element.isBF16())
    return fail(loc, name, "with '", kWideAttr, "' multiplies f16 or bf16, got ", element);
  return push(types, shape, Float32Type::get(element.getContext()));
}

static LogicalResult inferMatmul(MatmulOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto a = tensorOf(op.getLhs()), b = tensorOf(op.getRhs());
  if (a.getRank() < 2 || b.getRank() < 2)
    return fail(loc, name, "operands need at least 2 dimensions, got ", text(a.getShape()), " and ",
                text(b.getShape()));
  if (failed(checkFactors(a.getElementType(), b.getElementType(), name, loc)))
    return failure();
  auto last = [](RankedTensorType t, bool transposed) {
    int64_t m = t.getDimSize(t.getRank() - 2), n = t.getDimSize(t.getRank() - 1);
    return transposed ? std::pair(n, m) : std::pair(m, n);
  };
  auto [m, k] = last(a, op.getTransposeA());
  auto [k2, n] = last(b, op.getTransposeB());
  if (differ(k, k2))
    return fail(loc, name, "inner dimensions differ: ", text(a.getShape()), " and ",
                text(b.getShape()), " give ", k, " against ", k2);
  auto batch = broadcastShapes(a.getShape().drop_back(2), b.getShape().drop_back(2));
  if (!batch)
    return fail(loc, name,
                "batch dimensions cannot be broadcast to each other: ", text(a.getShape()), " and ",
                text(b.getShape()));
  batch->append({m, n});
  return pushSums(op, a.getElementType(), *batch, name, loc, types);
}
GANTRY_INFER(MatmulOp, inferMatmul)

/// What conv, conv_transpose and the pools have in common: one entry per spatial dimension.
template <typename Adaptor>
static LogicalResult checkWindow(Adaptor op, RankedTensorType input, StringRef name, Loc loc) {
  int64_t spatial = input.getRank() - 2;
  if (spatial < 1 || spatial > 3)
    return fail(loc, name, "input needs 1 to 3 spatial dimensions after batch and channels, got ",
                text(input.getShape()));
  auto check = [&](StringRef what, ArrayRef<int64_t> values, int64_t least) -> LogicalResult {
    if (int64_t(values.size()) != spatial)
      return fail(loc, name, what, " has ", values.size(), " entries, expected ", spatial);
    for (int64_t v : values)
      if (v < least || v > (int64_t(1) << 31))
        return fail(loc, name, what, " has the entry ", v, ", expected at least ", least);
    return success();
  };
  return success(succeeded(check("strides", op.getStrides(), 1)) &&
                 succeeded(check("dilations", op.getDilations(), 1)) &&
                 succeeded(check("pads_low", op.getPadsLow(), 0)) &&
                 succeeded(check("pads_high", op.getPadsHigh(), 0)));
}

static int64_t windowed(int64_t in, int64_t low, int64_t high, int64_t window, int64_t dilation,
                        int64_t stride, bool ceil) {
  if (in == kOpen)
    return kOpen;
  int64_t span = in + low + high - dilation * (window - 1) - 1;
  if (span < 0)
    return -1;
  int64_t out = (ceil ? (span + stride - 1) / stride : span / stride) + 1;
  // A window must start inside the input or its low border.
  if (ceil && (out - 1) * stride >= in + low)
    --out;
  return out;
}

/// Channels of input and filter and the number of groups must agree. `inner` is the filter's
/// dimension that counts input channels of one group, `outer` the other one.
static LogicalResult checkGroups(int64_t channels, int64_t inner, int64_t outer, int64_t groups,
                                 StringRef name, Loc loc) {
  if (groups < 1)
    return fail(loc, name, "groups is ", groups, ", expected at least 1");
  if (differ(channels, inner == kOpen ? kOpen : inner * groups))
    return fail(loc, name, "input has ", channels, " channels, filter and groups expect ", inner,
                " x ", groups);
  if (outer != kOpen && outer % groups)
    return fail(loc, name, outer, " output channels cannot be divided into ", groups, " groups");
  return success();
}

static LogicalResult checkFilter(RankedTensorType input, RankedTensorType filter, StringRef name,
                                 Loc loc, bool packed = false) {
  const int64_t together = channelsTogether(filter.getElementType());
  const bool isNarrow = together > 1;
  if (packed && filter.getRank() != input.getRank() + (isNarrow ? 2 : 1))
    return fail(loc, name, "packed filter ", text(filter.getShape()), " needs ",
                isNarrow ? "two dimensions" : "one dimension", " more than the input ",
                text(input.getShape()));
  if (packed && isNarrow && filter.getShape().back() != together)
    return fail(loc, name, "packed filter ", text(filter.getShape()), " of ",
                filter.getElementType().isBF16() ? "bf16" : "bytes", " needs ", together,
                " channels side by side");
  if (!packed && filter.getRank() != input.getRank())
    return fail(loc, name, "filter ", text(filter.getShape()),
                " needs as many dimensions as the input ", text(input.getShape()));
  return checkFactors(input.getElementType(), filter.getElementType(), name, loc);
}

static LogicalResult inferConv(ConvOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = tensorOf(op.getInput()), w = tensorOf(op.getFilter());
  bool last = isChannelsLast(op.getAttributes());
  if (failed(checkWindow(op, x, name, loc)) || failed(checkFilter(x, w, name, loc, last)))
    return failure();
  // Of the packed form the first and the last dimension are the output channels.
  const int64_t together = last ? channelsTogether(w.getElementType()) : 1;
  int64_t rank = w.getRank() - (together > 1 ? 1 : 0);
  int64_t blocks = w.getDimSize(0), columns = w.getDimSize(rank - 1);
  int64_t outer = !last ? blocks : blocks == kOpen || columns == kOpen ? kOpen : blocks * columns;
  auto innerOf = [&](int64_t size) { return size == kOpen ? kOpen : size * together; };
  if (failed(checkGroups(x.getDimSize(last ? x.getRank() - 1 : 1),
                         innerOf(w.getDimSize(last ? rank - 2 : 1)), outer, op.getGroups(), name,
                         loc)))
    return failure();
  ArrayRef<int64_t> window = last ? w.getShape().slice(1, rank - 3) : w.getShape().drop_front(2);
  ArrayRef<int64_t> in = x.getShape().slice(last ? 1 : 2, window.size());
  Shape shape{x.getDimSize(0)};
  if (!last)
    shape.push_back(outer);
  for (size_t i = 0; i < window.size(); ++i) {
    if (window[i] < 1)
      return fail(loc, name, "filter ", text(w.getShape()), " has an empty or open window");
    int64_t size = windowed(in[i], op.getPadsLow()[i], op.getPadsHigh()[i], window[i],
                            op.getDilations()[i], op.getStrides()[i], false);
    if (size != kOpen && size < 0)
      return fail(loc, name, "window ", text(window), " is larger than the padded input ",
                  text(x.getShape()));
    shape.push_back(size);
  }
  if (last)
    shape.push_back(outer);
  return pushSums(op, x.getElementType(), shape, name, loc, types);
}
GANTRY_INFER(ConvOp, inferConv)

static LogicalResult inferConvTranspose(ConvTransposeOp::Adaptor op, StringRef name, Loc loc,
                                        Types &types) {
  auto x = tensorOf(op.getInput()), w = tensorOf(op.getFilter());
  if (failed(checkWindow(op, x, name, loc)) || failed(checkFilter(x, w, name, loc)))
    return failure();
  int64_t groups = op.getGroups();
  if (groups < 1 || differ(x.getDimSize(1), w.getDimSize(0)) ||
      (x.getDimSize(1) != kOpen && x.getDimSize(1) % groups))
    return fail(loc, name, "input ", text(x.getShape()), ", filter ", text(w.getShape()), " and ",
                groups, " groups do not agree on the channels");
  if (op.getOutputPads().size() != op.getStrides().size())
    return fail(loc, name, "output_pads has ", op.getOutputPads().size(), " entries, expected ",
                op.getStrides().size());
  Shape shape{x.getDimSize(0), w.getDimSize(1) == kOpen ? kOpen : w.getDimSize(1) * groups};
  for (int64_t i = 0; i < x.getRank() - 2; ++i) {
    int64_t in = x.getDimSize(i + 2), window = w.getDimSize(i + 2);
    int64_t size = in == kOpen || window == kOpen
                       ? kOpen
                       : op.getStrides()[i] * (in - 1) + op.getDilations()[i] * (window - 1) + 1 -
                             op.getPadsLow()[i] - op.getPadsHigh()[i] + op.getOutputPads()[i];
    if (size != kOpen && size < 0)
      return fail(loc, name, "pads leave nothing of the output");
    shape.push_back(size);
  }
  return push(types, shape, x.getElementType());
}
GANTRY_INFER(ConvTransposeOp, inferConvTranspose)

template <typename Adaptor>
static LogicalResult inferPool(Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = tensorOf(op.getInput());
  if (failed(checkWindow(op, x, name, loc)))
    return failure();
  if (int64_t(op.getWindow().size()) != x.getRank() - 2)
    return fail(loc, name, "window has ", op.getWindow().size(), " entries, expected ",
                x.getRank() - 2);
  Shape shape(x.getShape());
  for (auto [i, window] : llvm::enumerate(op.getWindow())) {
    if (window < 1)
      return fail(loc, name, "window has the entry ", window, ", expected at least 1");
    int64_t &size = shape[i + (isChannelsLast(op.getAttributes()) ? 1 : 2)];
    size = windowed(size, op.getPadsLow()[i], op.getPadsHigh()[i], window, op.getDilations()[i],
                    op.getStrides()[i], op.getCeilMode());
    if (size != kOpen && size < 0)
      return fail(loc, name, "window ", text(op.getWindow()), " is larger than the padded input ",
                  text(x.getShape()));
  }
  return push(types, shape, x.getElementType());
}
GANTRY_INFER(MaxPoolOp, inferPool)
GANTRY_INFER(AvgPoolOp, inferPool)
GANTRY_INFER(LpPoolOp, inferPool)

static LogicalResult inferAttention(AttentionOp::Adaptor op, StringRef name, Loc loc,
                                    Types &types) {
  auto q = tensorOf(op.getQuery()), k = tensorOf(op.getKey()), v = tensorOf(op.getValue());
  int64_t rank = q.getRank();
  if (rank < 2 || k.getRank() != rank || v.getRank() != rank)
    return fail(loc, name, "query, key and value need the same number of dimensions, at least 2");
  for (int64_t i = 0; i < rank - 2; ++i)
    if (differ(q.getDimSize(i), k.getDimSize(i)) || differ(q.getDimSize(i), v.getDimSize(i)))
      return fail(loc, name, "batch dimensions differ: query ", text(q.getShape()), ", key ",
                  text(k.getShape()), ", value ", text(v.getShape()));
  if (differ(q.getDimSize(rank - 1), k.getDimSize(rank - 1)))
    return fail(loc, name, "query ", text(q.getShape()), " and key ", text(k.getShape()),
                " differ in the last dimension");
  if (differ(k.getDimSize(rank - 2), v.getDimSize(rank - 2)))
    return fail(loc, name, "key ", text(k.getShape()), " and value ", text(v.getShape()),
                " differ in length");
  Shape shape(q.getShape());
  if (op.getMask()) {
    Shape scores(q.getShape());
    scores.back() = k.getDimSize(rank - 2);
    auto both = broadcastShapes(scores, tensorOf(op.getMask()).getShape());
    if (!both || *both != scores)
      return fail(loc, name, "mask ", text(tensorOf(op.getMask()).getShape()),
                  " cannot be broadcast to the scores ", text(scores));
  }
  shape.back() = v.getDimSize(rank - 1);
  return push(types, shape, q.getElementType());
}
GANTRY_INFER(AttentionOp, inferAttention)

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

template <typename Adaptor>
static LogicalResult inferReduce(Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = tensorOf(op.getInput());
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
  auto x = tensorOf(op.getInput());
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
  auto x = tensorOf(op.getInput());
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
  auto x = tensorOf(op.getInput());
  for (Value operand : op.getOperands().drop_front()) {
    auto shape = broadcastShapes(x.getShape(), tensorOf(operand).getShape());
    if (!shape || ArrayRef<int64_t>(*shape) != x.getShape())
      return fail(loc, name, "operand ", text(tensorOf(operand).getShape()),
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
  auto x = tensorOf(op.getInput());
  if (x.getRank() < 2)
    return fail(loc, name, "input needs batch and channel dimensions, got ", text(x.getShape()));
  int64_t channels = x.getDimSize(last ? x.getRank() - 1 : 1);
  for (Value operand : op.getOperands().drop_front()) {
    auto type = tensorOf(operand);
    if (type.getRank() != 1 || differ(type.getDimSize(0), channels))
      return fail(loc, name, "expected one element for each of the ", channels, " channels, got ",
                  text(type.getShape()));
  }
  types.push_back(x);
  return success();
}

static LogicalResult inferBatchNorm(BatchNormOp::Adaptor op, StringRef name, Loc loc,
                                    Types &types) {
  return inferPerChannel(op, name, loc, types, isChannelsLast(op.getAttributes()));
}
GANTRY_INFER(BatchNormOp, inferBatchNorm)

static LogicalResult inferGroupNorm(GroupNormOp::Adaptor op, StringRef name, Loc loc,
                                    Types &types) {
  if (failed(inferPerChannel(op, name, loc, types)))
    return failure();
  int64_t channels = tensorOf(op.getInput()).getDimSize(1), groups = op.getGroups();
  if (groups < 1 || (channels != kOpen && channels % groups))
    return fail(loc, name, channels, " channels cannot be divided into ", groups, " groups");
  return success();
}
GANTRY_INFER(GroupNormOp, inferGroupNorm)

static LogicalResult inferLrn(LrnOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = tensorOf(op.getInput());
  if (x.getRank() < 2 || op.getSize() < 1)
    return fail(loc, name, "needs a channel dimension and a positive size, got ",
                text(x.getShape()), " and ", op.getSize());
  types.push_back(x);
  return success();
}
GANTRY_INFER(LrnOp, inferLrn)

static LogicalResult inferTopK(TopKOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = tensorOf(op.getInput());
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
  auto x = tensorOf(op.getInput());
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
  auto first = tensorOf(op.getInputs()[0]);
  int64_t axis = op.getAxis();
  if (failed(checkAxis(axis, first.getRank(), name, loc)))
    return failure();
  Shape shape(first.getShape());
  for (Value input : op.getInputs().drop_front()) {
    auto next = tensorOf(input);
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
  auto x = tensorOf(op.getInput());
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
  auto x = tensorOf(op.getInput());
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
  auto x = tensorOf(op.getInput());
  if (int64_t(op.getLow().size()) != x.getRank() || int64_t(op.getHigh().size()) != x.getRank())
    return fail(loc, name, "low and high need ", x.getRank(), " entries each");
  if (tensorOf(op.getValue()).getRank() != 0 ||
      tensorOf(op.getValue()).getElementType() != x.getElementType())
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

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

static bool isEmpty(ArrayRef<int64_t> shape) { return llvm::is_contained(shape, 0); }

/// No index can be brought into an empty dimension, so what has `elements` to move finds none in
/// `x`.
static LogicalResult checkElements(ArrayRef<int64_t> x, ArrayRef<int64_t> elements, StringRef verb,
                                   StringRef name, Loc loc) {
  bool isKnown = !ShapedType::isDynamicShape(elements);
  if (isEmpty(x) && isKnown && !isEmpty(elements))
    return fail(loc, name, verb, " the empty input ", text(x), " at indices");
  return success();
}

static LogicalResult inferGather(GatherOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = tensorOf(op.getInput()), i = tensorOf(op.getIndices());
  int64_t axis = op.getAxis();
  if (failed(checkAxis(axis, x.getRank(), name, loc)))
    return failure();
  Shape shape(x.getShape().take_front(axis));
  llvm::append_range(shape, i.getShape());
  llvm::append_range(shape, x.getShape().drop_front(axis + 1));
  if (failed(checkElements(x.getShape(), shape, "reads", name, loc)))
    return failure();
  return push(types, shape, x.getElementType());
}
GANTRY_INFER(GatherOp, inferGather)

/// Outside `axis`, indices address elements of the same position, which the input must have.
static LogicalResult checkIndicesInside(RankedTensorType indices, RankedTensorType input,
                                        int64_t axis, StringRef name, Loc loc) {
  for (int64_t d = 0; d < input.getRank(); ++d)
    if (d != axis && indices.getDimSize(d) != kOpen && input.getDimSize(d) != kOpen &&
        indices.getDimSize(d) > input.getDimSize(d))
      return fail(loc, name, "indices ", text(indices.getShape()), " reach beyond the input ",
                  text(input.getShape()), " in dimension ", d);
  return success();
}

static LogicalResult inferGatherElements(GatherElementsOp::Adaptor op, StringRef name, Loc loc,
                                         Types &types) {
  auto x = tensorOf(op.getInput()), i = tensorOf(op.getIndices());
  if (failed(checkAxis(op.getAxis(), x.getRank(), name, loc)))
    return failure();
  if (i.getRank() != x.getRank())
    return fail(loc, name, "indices ", text(i.getShape()), " need as many dimensions as the input ",
                text(x.getShape()));
  if (failed(checkIndicesInside(i, x, op.getAxis(), name, loc)) ||
      failed(checkElements(x.getShape(), i.getShape(), "reads", name, loc)))
    return failure();
  return push(types, i.getShape(), x.getElementType());
}
GANTRY_INFER(GatherElementsOp, inferGatherElements)

static LogicalResult inferGatherNd(GatherNdOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = tensorOf(op.getInput()), i = tensorOf(op.getIndices());
  int64_t batch = op.getBatchDims();
  int64_t tuple = i.getRank() ? i.getShape().back() : kOpen;
  if (batch < 0 || batch >= i.getRank() || tuple == kOpen || batch + tuple > x.getRank())
    return fail(loc, name, "indices ", text(i.getShape()), " with ", batch,
                " batch dimensions do not address the input ", text(x.getShape()));
  for (int64_t d = 0; d < batch; ++d)
    if (differ(x.getDimSize(d), i.getDimSize(d)))
      return fail(loc, name, "batch dimension ", d, " differs: input ", text(x.getShape()),
                  ", indices ", text(i.getShape()));
  Shape shape(i.getShape().drop_back());
  llvm::append_range(shape, x.getShape().drop_front(batch + tuple));
  if (failed(checkElements(x.getShape(), shape, "reads", name, loc)))
    return failure();
  return push(types, shape, x.getElementType());
}
GANTRY_INFER(GatherNdOp, inferGatherNd)

static LogicalResult inferScatterElements(ScatterElementsOp::Adaptor op, StringRef name, Loc loc,
                                          Types &types) {
  auto x = tensorOf(op.getInput()), i = tensorOf(op.getIndices()), u = tensorOf(op.getUpdates());
  if (failed(checkAxis(op.getAxis(), x.getRank(), name, loc)))
    return failure();
  if (i.getShape() != u.getShape() || i.getRank() != x.getRank() ||
      u.getElementType() != x.getElementType())
    return fail(loc, name, "indices ", i, " and updates ", u, " do not fit the input ", x);
  if (failed(checkIndicesInside(i, x, op.getAxis(), name, loc)) ||
      failed(checkElements(x.getShape(), u.getShape(), "writes", name, loc)))
    return failure();
  types.push_back(x);
  return success();
}
GANTRY_INFER(ScatterElementsOp, inferScatterElements)

static LogicalResult inferScatterNd(ScatterNdOp::Adaptor op, StringRef name, Loc loc,
                                    Types &types) {
  auto x = tensorOf(op.getInput()), i = tensorOf(op.getIndices()), u = tensorOf(op.getUpdates());
  int64_t tuple = i.getRank() ? i.getShape().back() : kOpen;
  if (tuple == kOpen || tuple > x.getRank())
    return fail(loc, name, "indices ", text(i.getShape()), " do not address the input ",
                text(x.getShape()));
  Shape expected(i.getShape().drop_back());
  llvm::append_range(expected, x.getShape().drop_front(tuple));
  if (u.getElementType() != x.getElementType() ||
      failed(verifyCompatibleShape(expected, u.getShape())))
    return fail(loc, name, "updates are ", u, ", expected ",
                RankedTensorType::get(expected, x.getElementType()));
  if (failed(checkElements(x.getShape(), u.getShape(), "writes", name, loc)))
    return failure();
  types.push_back(x);
  return success();
}
GANTRY_INFER(ScatterNdOp, inferScatterNd)

static LogicalResult inferSetSlice(SetSliceOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = tensorOf(op.getInput()), u = tensorOf(op.getUpdate()), i = tensorOf(op.getIndex());
  int64_t axis = op.getAxis();
  if (failed(checkAxis(axis, x.getRank(), name, loc)))
    return failure();
  if (i.getRank() != 0)
    return fail(loc, name, "the index must be a scalar, got ", i);
  Shape expected(x.getShape());
  expected.erase(expected.begin() + axis);
  if (u.getElementType() != x.getElementType() ||
      failed(verifyCompatibleShape(expected, u.getShape())))
    return fail(loc, name, "the update is ", u, ", expected ",
                RankedTensorType::get(expected, x.getElementType()));
  if (failed(checkElements(x.getShape(), u.getShape(), "writes", name, loc)))
    return failure();
  types.push_back(x);
  return success();
}
GANTRY_INFER(SetSliceOp, inferSetSlice)

static LogicalResult inferOneHot(OneHotOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto i = tensorOf(op.getIndices()), on = tensorOf(op.getOnValue()),
       off = tensorOf(op.getOffValue());
  if (on.getRank() || off.getRank() || on.getElementType() != off.getElementType())
    return fail(loc, name, "on and off values must be scalars of one type, got ", on, " and ", off);
  int64_t axis = op.getAxis(), depth = op.getDepth();
  if (failed(checkAxis(axis, i.getRank() + 1, name, loc)))
    return failure();
  if (depth < 0)
    return fail(loc, name, "depth is ", depth, ", expected at least 0");
  Shape shape(i.getShape());
  shape.insert(shape.begin() + axis, depth);
  return push(types, shape, on.getElementType());
}
GANTRY_INFER(OneHotOp, inferOneHot)

static LogicalResult inferFirstBadIndex(FirstBadIndexOp::Adaptor op, StringRef name, Loc loc,
                                        Types &types) {
  auto i = tensorOf(op.getIndices());
  ArrayRef<int64_t> sizes = op.getSizes();
  bool areTuples = i.getRank() && !differ(i.getShape().back(), int64_t(sizes.size()));
  if (sizes.empty() || (sizes.size() > 1 && !areTuples))
    return fail(loc, name, sizes.size(), " sizes do not fit the indices ", text(i.getShape()),
                "; expected one, or one for each component of a tuple");
  return push(types, {2}, IntegerType::get(i.getContext(), 64));
}
GANTRY_INFER(FirstBadIndexOp, inferFirstBadIndex)
