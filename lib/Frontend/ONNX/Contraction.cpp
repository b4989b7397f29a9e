// Matrix products and convolutions.

#include "Handlers.h"
#include "Window.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

/// A vector takes part as a matrix of one row (left) or one column (right), which then disappears.
Value gantry::onnx::buildMatmul(NodeContext &n, Value a, Value b) {
  if (!a || !b)
    return {};
  bool vectorA = n.rankOf(a) == 1, vectorB = n.rankOf(b) == 1;
  if (n.rankOf(a) == 0 || n.rankOf(b) == 0)
    return n.fail("operands need at least 1 dimension");
  if (vectorA)
    a = n.reshape(a, {1, n.shapeOf(a)[0]});
  if (vectorB)
    b = n.reshape(b, {n.shapeOf(b)[0], 1});
  Value c = n.matmul(a, b);
  if (!c)
    return {};
  Ints shape = n.shapeOf(c);
  if (vectorB)
    shape.pop_back();
  if (vectorA)
    shape.erase(shape.end() - (vectorB ? 1 : 2));
  return n.reshape(c, shape);
}

static Values matmul(NodeContext &n) { return {buildMatmul(n, n.input(0), n.input(1))}; }

Values gantry::onnx::buildGemm(NodeContext &n) {
  double alpha = n.floatAttr("alpha", 1), beta = n.floatAttr("beta", 1);
  bool transposeA = n.intAttr("transA", 0), transposeB = n.intAttr("transB", 0);
  n.ignoreAttrs({"broadcast"});
  if (n.rankOf(n.input(0)) != 2 || n.rankOf(n.input(1)) != 2)
    return {n.fail("operands 0 and 1 must be matrices")};
  Value y = n.matmul(n.input(0), n.input(1), transposeA, transposeB);
  if (alpha != 1)
    y = n.mulScalar(y, alpha);
  if (!n.input(2) || beta == 0)
    return {y};
  Value c = beta == 1 ? n.input(2) : n.mulScalar(n.input(2), beta);
  if (!y || !c)
    return {};
  auto both = broadcastShapes(n.shapeOf(y), n.shapeOf(c));
  if (!both || *both != n.shapeOf(y))
    return {n.fail("operand 2 cannot be broadcast to the product")};
  return {n.add(y, c)};
}

Value gantry::onnx::addChannelBias(NodeContext &n, Value y, Value bias) {
  if (!y || !bias)
    return y;
  return n.add(y, n.alignChannels(bias, 1, n.rankOf(y)));
}

Value gantry::onnx::moveChannels(NodeContext &n, Value v, bool toFront) {
  if (!v || n.rankOf(v) < 3)
    return v;
  int64_t rank = n.rankOf(v);
  Ints order{0};
  if (toFront)
    order.push_back(rank - 1);
  for (int64_t i = toFront ? 1 : 2; i < (toFront ? rank - 1 : rank); ++i)
    order.push_back(i);
  if (!toFront)
    order.push_back(1);
  return n.transpose(v, order);
}

static Values conv(NodeContext &n) {
  return {addChannelBias(n, buildConv(n, n.input(0), n.input(1)), n.input(2))};
}

/// A filter for each channel over what came before: the state are the last window - 1 elements.
static Values causalConv(NodeContext &n) {
  Value x = n.input(0), w = n.input(1), past = n.input(3);
  StringRef activation = n.stringAttr("activation", "none");
  if (n.rankOf(x) != 3 || n.rankOf(w) != 3 || n.shapeOf(w)[1] != 1 ||
      n.shapeOf(w)[0] != n.shapeOf(x)[1] || n.shapeOf(w)[2] < 1)
    return {n.fail("operands [batch, channels, length] and [channels, 1, window] are needed")};
  if (activation != "none" && activation != "silu" && activation != "swish")
    return {n.fail("activation '" + activation + "' is not supported; none, silu and swish are")};
  Ints shape = n.shapeOf(x);
  int64_t kept = n.shapeOf(w)[2] - 1;
  Ints state{shape[0], shape[1], kept};
  if (!past)
    past = n.full(state, n.elementOf(x), 0);
  else if (n.shapeOf(past) != state)
    return {n.fail("operand 3 (past_state) must be [batch, channels, window - 1]")};
  Value all = n.concat({past, x}, 2);
  Value y = n.make<ConvOp>(all, w, IntsRef({1}), IntsRef({0}), IntsRef({0}), IntsRef({1}),
                           uint64_t(shape[1]));
  y = addChannelBias(n, y, n.input(2));
  if (activation != "none")
    y = n.make<SiluOp>(y);
  return {y, n.sliceAxis(all, 2, shape[2], kept)};
}

Value gantry::onnx::buildConv(NodeContext &n, Value x, Value w) {
  if (!x || !w)
    return {};
  if (n.rankOf(w) < 3 || n.rankOf(w) != n.rankOf(x))
    return n.fail("input and filter need batch, channel and the same number of spatial dimensions");
  IntsRef kernel = n.typeOf(w).getShape().drop_front(2);
  auto window = readWindow(n, n.typeOf(x).getShape().drop_front(2), kernel);
  int64_t groups = n.intAttr("group", 1);
  if (!window)
    return {};
  return n.make<ConvOp>(x, w, IntsRef(window->strides), IntsRef(window->low), IntsRef(window->high),
                        IntsRef(window->dilations), uint64_t(groups));
}

/// Pads follow from output_shape when it is given: total = stride (in - 1) + output_pad + window -
/// out.
static bool padsForOutput(NodeContext &n, Window &window, IntsRef input, IntsRef kernel,
                          IntsRef outputPads, IntsRef output, StringRef autoPad) {
  for (size_t i = 0; i < input.size(); ++i) {
    int64_t span = window.strides[i] * (input[i] - 1) + outputPads[i] +
                   (kernel[i] - 1) * window.dilations[i] + 1;
    int64_t total = std::max<int64_t>(span - output[i], 0), half = total / 2;
    bool moreLow = autoPad != "SAME_UPPER";
    window.low[i] = moreLow ? total - half : half;
    window.high[i] = total - window.low[i];
  }
  return true;
}

static Values convTranspose(NodeContext &n) {
  Value x = n.input(0), w = n.input(1);
  if (n.rankOf(w) < 3 || n.rankOf(w) != n.rankOf(x))
    return {
        n.fail("input and filter need batch, channel and the same number of spatial dimensions")};
  IntsRef spatial = n.typeOf(x).getShape().drop_front(2),
          kernel = n.typeOf(w).getShape().drop_front(2);
  StringRef autoPad = n.stringAttr("auto_pad", "NOTSET");
  auto window = readWindow(n, spatial, kernel, /*transposed=*/true);
  int64_t groups = n.intAttr("group", 1);
  auto outputPads = n.intsAttr("output_padding").value_or(Ints(spatial.size(), 0));
  auto output = n.intsAttr("output_shape");
  if (!window)
    return {};
  // Some exporters list batch and channels as well.
  if (output && output->size() == spatial.size() + 2)
    output->erase(output->begin(), output->begin() + 2);
  if (outputPads.size() != spatial.size() || (output && output->size() != spatial.size()))
    return {n.fail("output_padding and output_shape need " + Twine(spatial.size()) + " entries")};
  for (int64_t size : outputPads)
    if (size < 0 || size > kMaxBytes)
      return {n.fail("output_padding " + Twine(size) + " is out of range")};
  if (!output && (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER")) {
    output.emplace();
    for (size_t i = 0; i < spatial.size(); ++i)
      output->push_back(spatial[i] * window->strides[i]);
  }
  if (output)
    for (size_t i = 0; i < spatial.size(); ++i) {
      int64_t span = window->strides[i] * (spatial[i] - 1) +
                     (kernel[i] - 1) * window->dilations[i] + 1 + outputPads[i];
      // An output larger than what the windows reach is filled from beyond the border.
      if ((*output)[i] > span)
        outputPads[i] += (*output)[i] - span;
    }
  if (output)
    padsForOutput(n, *window, spatial, kernel, outputPads, *output, autoPad);
  Value y = n.make<ConvTransposeOp>(x, w, IntsRef(window->strides), IntsRef(window->low),
                                    IntsRef(window->high), IntsRef(window->dilations),
                                    IntsRef(outputPads), uint64_t(groups));
  return {addChannelBias(n, y, n.input(2))};
}

void gantry::onnx::addContractionOps(OpTable &table) {
  table.add("MatMul", matmul, {2, 2, 1});
  table.add("Gemm", buildGemm, {2, 3, 1});
  table.add("CausalConvWithState", causalConv, {2, 4, 2});
  table.add("Conv", conv, {2, 3, 1});
  table.add("ConvTranspose", convTranspose, {2, 3, 1});
}
