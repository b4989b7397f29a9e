// Losses, composed of a softmax, a gather and reductions.

#include "Handlers.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

/// The negative log likelihood of `target` under `logProb` [n, c, ...], weighted per class, reduced
/// as the node says. Targets equal to ignore_index count nothing.
static Value negativeLogLikelihood(NodeContext &n, Value logProb, Value target, Value weight) {
  StringRef reduction = n.stringAttr("reduction", "mean");
  bool ignores = n.hasAttr("ignore_index");
  int64_t ignored = n.intAttr("ignore_index", -1);
  if (!logProb)
    return {};
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return n.fail("reduction '" + reduction + "' is not supported; none, sum and mean are");
  Ints shape = n.shapeOf(target), picked = shape;
  if (n.rankOf(logProb) < 2 || shape.size() + 1 != size_t(n.rankOf(logProb)) || shape.empty())
    return n.fail("the target needs one dimension less than the scores");
  picked.insert(picked.begin() + 1, 1);

  mlir::Type element = n.elementOf(logProb);
  Value zero = n.scalar(element, 0), counts, safe = target;
  if (ignores) {
    counts = n.compare(CompareDirection::NE, target, n.scalarInt(n.elementOf(target), ignored));
    safe = n.select(counts, target, n.scalarInt(n.elementOf(target), 0));
  }
  Value loss =
      n.make<NegOp>(n.make<GatherElementsOp>(logProb, n.reshape(safe, picked), uint64_t(1)));
  loss = n.reshape(loss, shape);
  Value share;
  if (weight)
    share = n.make<GatherOp>(weight, safe, uint64_t(0));
  else if (ignores)
    share = n.cast(counts, element);
  if (weight && ignores)
    share = n.select(counts, share, zero);
  if (weight)
    loss = n.mul(loss, share);
  if (ignores)
    loss = n.select(counts, loss, zero);

  Ints all = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(shape.size())));
  if (reduction == "none")
    return loss;
  if (reduction == "mean" && !share)
    return n.reduce<ReduceMeanOp>(loss, all, false);
  Value sum = n.reduce<ReduceSumOp>(loss, all, false);
  return reduction == "sum" ? sum : n.div(sum, n.reduce<ReduceSumOp>(share, all, false));
}

static Values nllLoss(NodeContext &n) {
  return {negativeLogLikelihood(n, n.input(0), n.input(1), n.input(2))};
}

static Values softmaxCrossEntropy(NodeContext &n) {
  if (n.rankOf(n.input(0)) < 2)
    return {n.fail("the scores need batch and class dimensions")};
  Value logProb = n.make<LogSoftmaxOp>(n.input(0), uint64_t(1));
  return {negativeLogLikelihood(n, logProb, n.input(1), n.input(2)), logProb};
}

void gantry::onnx::addLossOps(OpTable &table) {
  table.add("NegativeLogLikelihoodLoss", nllLoss, {2, 3, 1});
  table.add("SoftmaxCrossEntropyLoss", softmaxCrossEntropy, {2, 3, 2});
}
