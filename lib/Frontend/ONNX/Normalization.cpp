// Normalisations.

#include "Handlers.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;
using llvm::APFloat;

/// All dimensions but the channels.
static Ints axesAroundChannels(int64_t rank) {
  Ints axes{0};
  for (int64_t i = 2; i < rank; ++i)
    axes.push_back(i);
  return axes;
}

static Value variance(NodeContext &n, Value x, Value mean, IntsRef axes) {
  Value centred = n.sub(x, mean);
  return n.reduce<ReduceMeanOp>(n.mul(centred, centred), axes, true);
}

/// With the batch's own statistics; the running ones move toward them by 1 - momentum.
static Values batchNormTraining(NodeContext &n, double epsilon, double momentum) {
  Value x = n.input(0);
  int64_t rank = n.rankOf(x);
  if (rank < 2)
    return {n.fail("the input needs batch and channel dimensions")};
  Ints axes = axesAroundChannels(rank);
  Value mean = n.reduce<ReduceMeanOp>(x, axes, true), var = variance(n, x, mean, axes);
  Value scaled = n.div(n.sub(x, mean), n.make<SqrtOp>(n.addScalar(var, epsilon)));
  Value y = n.add(n.mul(scaled, n.alignChannels(n.input(1), 1, rank)),
                  n.alignChannels(n.input(2), 1, rank));
  auto running = [&](Value old, Value now) {
    return n.add(
        n.mulScalar(old, momentum),
        n.mulScalar(n.cast(n.reshape(now, n.shapeOf(old)), n.elementOf(old)), 1 - momentum));
  };
  Value nextMean = running(n.input(3), mean), nextVar = running(n.input(4), var);
  if (n.getUse() == ModelUse::step) {
    n.updateInitializer(3, nextMean);
    n.updateInitializer(4, nextVar);
  }
  return {y, nextMean, nextVar};
}

static Values batchNorm(NodeContext &n) {
  Value x = n.input(0);
  double epsilon = n.floatAttr("epsilon", 1e-5f), momentum = n.floatAttr("momentum", 0.9f);
  n.ignoreAttrs({"is_test", "consumed_inputs"});
  if (n.opset() < 9 && n.intAttr("spatial", 1) != 1)
    return {n.fail("spatial=0 is not supported, spatial=1 is")};
  const bool trains = n.opset() >= 14 && n.intAttr("training_mode", 0) != 0;
  if (trains && n.getUse() != ModelUse::evaluation)
    return batchNormTraining(n, epsilon, momentum);
  for (size_t i = 1; i < n.numOutputs(); ++i)
    if (!trains && n.wantsOutput(i))
      return {n.fail("outputs of training are supported with training_mode=1 only")};
  mlir::Type element = n.elementOf(x);
  auto operand = [&](size_t i) { return n.cast(n.input(i), element); };
  Value y =
      n.make<BatchNormOp>(x, operand(1), operand(2), operand(3), operand(4), APFloat(epsilon));
  return trains ? Values{y, n.input(3), n.input(4)} : Values{y};
}

static Values instanceNorm(NodeContext &n) {
  n.ignoreAttrs({"consumed_inputs"});
  double epsilon = n.floatAttr("epsilon", 1e-5f);
  if (n.rankOf(n.input(0)) < 2)
    return {n.fail("the input needs batch and channel dimensions")};
  // A group for each channel; there is always one.
  uint64_t channels = std::max<int64_t>(n.shapeOf(n.input(0))[1], 1);
  return {n.make<GroupNormOp>(n.input(0), n.input(1), n.input(2), channels, APFloat(epsilon))};
}

/// Scale and bias are per group in opset 18 and per channel from 21 on.
static Values groupNorm(NodeContext &n) {
  Value x = n.input(0), scale = n.input(1), bias = n.input(2);
  double epsilon = n.floatAttr("epsilon", 1e-5f);
  int64_t groups = n.intAttr("num_groups", 0);
  n.ignoreAttrs({"stash_type"});
  if (n.rankOf(x) < 2 || groups < 1 || n.shapeOf(x)[1] % groups)
    return {n.fail("num_groups " + Twine(groups) + " does not divide the channels")};
  int64_t channels = n.shapeOf(x)[1];
  auto perChannel = [&](Value v) -> Value {
    if (n.rankOf(v) != 1 || n.shapeOf(v)[0] == channels || n.shapeOf(v)[0] != groups)
      return v;
    return n.reshape(n.broadcast(n.reshape(v, {groups, 1}), {groups, channels / groups}),
                     {channels});
  };
  return {n.make<GroupNormOp>(x, perChannel(scale), perChannel(bias), uint64_t(groups),
                              APFloat(epsilon))};
}

static Values layerNorm(NodeContext &n) {
  Value x = n.input(0);
  double epsilon = n.floatAttr("epsilon", 1e-5f);
  auto axis = n.axis(n.intAttr("axis", -1), n.rankOf(x));
  n.ignoreAttrs({"stash_type"}); // statistics of 16-bit inputs are taken in f32 anyway
  if (!axis)
    return {};
  Values results{
      n.make<LayerNormOp>(x, n.input(1), Maybe{n.input(2)}, uint64_t(*axis), APFloat(epsilon))};
  if (n.wantsOutput(1) || n.wantsOutput(2)) {
    Ints axes = llvm::to_vector(llvm::seq<int64_t>(*axis, n.rankOf(x)));
    Value wide = n.cast(x, n.f32());
    Value mean = n.reduce<ReduceMeanOp>(wide, axes, true);
    Value deviation = n.make<SqrtOp>(n.addScalar(variance(n, wide, mean, axes), epsilon));
    results.append({mean, n.make<ReciprocalOp>(deviation)});
  }
  return results;
}

static Values rmsNorm(NodeContext &n) {
  double epsilon = n.floatAttr("epsilon", 1e-5f);
  auto axis = n.axis(n.intAttr("axis", -1), n.rankOf(n.input(0)));
  n.ignoreAttrs({"stash_type"});
  return axis ? Values{n.make<RmsNormOp>(n.input(0), n.input(1), uint64_t(*axis), APFloat(epsilon))}
              : Values{};
}

static Values lrn(NodeContext &n) {
  double alpha = n.floatAttr("alpha", 1e-4f), beta = n.floatAttr("beta", 0.75),
         bias = n.floatAttr("bias", 1.0);
  int64_t size = n.intAttr("size", 0);
  return {n.make<LrnOp>(n.input(0), uint64_t(size), APFloat(alpha), APFloat(beta), APFloat(bias))};
}

static Values lpNorm(NodeContext &n) {
  Value x = n.input(0);
  auto axis = n.axis(n.intAttr("axis", -1), n.rankOf(x));
  int64_t p = n.intAttr("p", 2);
  if (!axis)
    return {};
  if (p != 1 && p != 2)
    return {n.fail("p is " + Twine(p) + "; supported are 1 and 2")};
  Value norm = p == 1 ? n.reduce<ReduceSumOp>(n.make<AbsOp>(x), {*axis}, true)
                      : n.make<SqrtOp>(n.reduce<ReduceSumOp>(n.mul(x, x), {*axis}, true));
  if (!norm)
    return {};
  // Zeros have no direction: they stay.
  Value one = n.scalar(n.elementOf(x), 1), zero = n.scalar(n.elementOf(x), 0);
  return {n.div(x, n.select(n.compare(CompareDirection::EQ, norm, zero), one, norm))};
}

/// (x - mean) / (deviation + 1e-9), as the op's definition in ONNX has it.
static Values meanVarianceNorm(NodeContext &n) {
  Value x = n.input(0);
  auto axes = n.axes(n.intsAttr("axes").value_or(Ints{0, 2, 3}), n.rankOf(x));
  if (!axes)
    return {};
  Value mean = n.reduce<ReduceMeanOp>(x, *axes, true);
  Value deviation = n.make<SqrtOp>(variance(n, x, mean, *axes));
  return {n.div(n.sub(x, mean), n.addScalar(deviation, 1e-9))};
}

void gantry::onnx::addNormalizationOps(OpTable &table) {
  table.add("BatchNormalization", batchNorm, {5, 5, 5});
  table.add("InstanceNormalization", instanceNorm, {3, 3, 1});
  table.add("GroupNormalization", groupNorm, {3, 3, 1});
  table.add("LayerNormalization", layerNorm, {2, 3, 3});
  table.add("RMSNormalization", rmsNorm, {2, 2, 1});
  table.add("SimplifiedLayerNormalization", rmsNorm, {2, 2, 1});
  table.add("LRN", lrn);
  table.add("LpNormalization", lpNorm);
  table.add("MeanVarianceNormalization", meanVarianceNorm);
}
