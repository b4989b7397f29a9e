// Ops of com.microsoft that join convolutions, products, pools and group normalisations with what
// stood before or after them: an activation, a sum, channels in the last dimension. ONNX Runtime
// writes them when it saves a model that it has optimised.

#include "Window.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;
using llvm::APFloat;

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

namespace {
/// Parameters in the order of the activation's own attributes; missing ones have its defaults.
struct FusedActivation {
  std::string name; ///< empty: none
  std::optional<double> first, second;
};
} // namespace

static Value apply(NodeContext &n, Value x, const FusedActivation &f) {
  StringRef name = f.name;
  if (!x || name.empty())
    return x;
  if (name == "Relu")
    return n.make<ReluOp>(x);
  if (name == "Sigmoid")
    return n.make<SigmoidOp>(x);
  if (name == "Tanh")
    return n.make<TanhOp>(x);
  if (name == "Softplus")
    return n.make<SoftplusOp>(x);
  if (name == "Softsign")
    return n.make<SoftsignOp>(x);
  if (name == "HardSwish")
    return n.make<HardSwishOp>(x);
  if (name == "LeakyRelu")
    return n.make<LeakyReluOp>(x, APFloat(f.first.value_or(0.01f)));
  if (name == "Elu")
    return n.make<EluOp>(x, APFloat(f.first.value_or(1)));
  if (name == "Selu")
    return n.make<SeluOp>(x, APFloat(f.first.value_or(1.67326319217681884765625)),
                          APFloat(f.second.value_or(1.05070102214813232421875)));
  if (name == "ThresholdedRelu")
    return n.make<ThresholdedReluOp>(x, APFloat(f.first.value_or(1)));
  if (name == "HardSigmoid")
    return n.make<HardSigmoidOp>(x, APFloat(f.first.value_or(0.2f)),
                                 APFloat(f.second.value_or(0.5)));
  if (name == "Clip" && f.first && f.second)
    return n.make<ClampOp>(x, n.scalar(n.elementOf(x), *f.first),
                           n.scalar(n.elementOf(x), *f.second));
  return n.fail(
      "activation '" + name +
      "' is not supported; Relu, Sigmoid, Tanh, Softplus, Softsign, HardSwish, LeakyRelu, "
      "Elu, Selu, ThresholdedRelu, HardSigmoid and Clip with both limits are");
}

/// Of convolutions: the parameters are a list.
static FusedActivation listedActivation(NodeContext &n) {
  FusedActivation f{n.stringAttr("activation", "").str(), {}, {}};
  auto values = n.floatsAttr("activation_params").value_or(std::vector<float>());
  if (!values.empty())
    f.first = values[0];
  if (values.size() > 1)
    f.second = values[1];
  return f;
}

/// Of products: each parameter is an attribute. No activation has both a beta and a gamma.
static FusedActivation namedActivation(NodeContext &n) {
  FusedActivation f{n.stringAttr("activation", "").str(), {}, {}};
  if (n.hasAttr("activation_alpha"))
    f.first = n.floatAttr("activation_alpha", 0);
  for (StringRef second : {"activation_beta", "activation_gamma"})
    if (n.hasAttr(second))
      f.second = n.floatAttr(second, 0);
  return f;
}

//===----------------------------------------------------------------------===//
// Convolutions, products, pools
//===----------------------------------------------------------------------===//

/// Operands: image, filter, a bias of the channels, and what is added before the activation.
template <bool channelsLast>
static Values fusedConv(NodeContext &n) {
  FusedActivation activation = listedActivation(n);
  Value x = n.input(0), added = n.input(3);
  if (channelsLast) {
    x = moveChannels(n, x, true);
    added = moveChannels(n, added, true);
  }
  Value y = addChannelBias(n, buildConv(n, x, n.input(1)), n.input(2));
  if (y && added && n.shapeOf(added) != n.shapeOf(y))
    return {n.fail("operand 3 (the sum) must have the shape of the convolution")};
  if (added)
    y = n.add(y, added);
  y = apply(n, y, activation);
  return {channelsLast ? moveChannels(n, y, false) : y};
}

static Values fusedGemm(NodeContext &n) {
  FusedActivation activation = namedActivation(n);
  Values y = buildGemm(n);
  return y.empty() ? y : Values{apply(n, y.front(), activation)};
}

static Values channelsLastMaxPool(NodeContext &n) {
  Values y = buildMaxPool(n, moveChannels(n, n.input(0), true));
  return y.empty() ? y : Values{moveChannels(n, y.front(), false)};
}

//===----------------------------------------------------------------------===//
// Group normalisation of images
//===----------------------------------------------------------------------===//

static Value normaliseGroups(NodeContext &n, Value x) {
  int64_t groups = n.intAttr("groups", 0);
  double epsilon = n.floatAttr("epsilon", 1e-5f);
  bool channelsLast = n.intAttr("channels_last", 1) != 0,
       activates = n.intAttr("activation", 0) != 0;
  Value image = channelsLast ? moveChannels(n, x, true) : x;
  if (!image || n.rankOf(image) < 3 || groups < 1 || n.shapeOf(image)[1] % groups)
    return n.fail("groups " + Twine(groups) + " must divide the channels of an image");
  mlir::Type element = n.elementOf(image);
  Value y = n.make<GroupNormOp>(image, n.cast(n.input(1), element), n.cast(n.input(2), element),
                                uint64_t(groups), APFloat(epsilon));
  if (activates)
    y = n.make<SiluOp>(y);
  return channelsLast ? moveChannels(n, y, false) : y;
}

static Values groupNorm(NodeContext &n) { return {normaliseGroups(n, n.input(0))}; }

/// Of the sum with what skipped a layer, [batch, ..., channels] or [batch, channels], and a bias.
static Values skipGroupNorm(NodeContext &n) {
  Value x = n.input(0), skip = n.input(3), bias = n.input(4);
  if (n.intAttr("channels_last", 1) == 0)
    return {n.fail("channels_last=0 is not supported, 1 is")};
  if (n.rankOf(x) == 4 && n.rankOf(skip) == 2)
    skip = n.reshape(skip, {n.shapeOf(skip)[0], 1, 1, n.shapeOf(skip)[1]});
  Value sum = n.add(x, skip);
  if (bias)
    sum = n.add(sum, bias);
  if (!sum || n.shapeOf(sum) != n.shapeOf(x))
    return {n.fail("skip and bias cannot be broadcast to the input")};
  return {normaliseGroups(n, sum), sum};
}

static Values biasAdd(NodeContext &n) { return {n.add(n.add(n.input(0), n.input(1)), n.input(2))}; }

/// The left half times the activated right half.
static Values biasSplitGelu(NodeContext &n) {
  Value x = n.add(n.input(0), n.input(1));
  if (!x || n.rankOf(x) < 1 || n.shapeOf(x).back() % 2)
    return {n.fail("the last dimension must have two halves")};
  int64_t axis = n.rankOf(x) - 1, half = n.shapeOf(x).back() / 2;
  Value gate = n.make<GeluOp>(n.sliceAxis(x, axis, half, half), /*approximate=*/false);
  return {n.mul(n.sliceAxis(x, axis, 0, half), gate)};
}

void gantry::onnx::addFusedOps(OpTable &table) {
  table.add("FusedConv", fusedConv<false>, {2, 4, 1}, kMicrosoft);
  table.add("NhwcConv", fusedConv<true>, {2, 3, 1}, kMicrosoft);
  table.add("NhwcFusedConv", fusedConv<true>, {2, 4, 1}, kMicrosoft);
  table.add("FusedGemm", fusedGemm, {2, 3, 1}, kMicrosoft);
  table.add("NhwcMaxPool", channelsLastMaxPool, {1, 1, 1}, kMicrosoft);
  table.add("GroupNorm", groupNorm, {3, 3, 1}, kMicrosoft);
  table.add("SkipGroupNorm", skipGroupNorm, {4, 5, 2}, kMicrosoft);
  table.add("BiasAdd", biasAdd, {3, 3, 1}, kMicrosoft);
  table.add("BiasSplitGelu", biasSplitGelu, {2, 2, 1}, kMicrosoft);
}
