// Optimiser steps of ai.onnx.preview.training: learning rate, step count, then for each of several
// tensors its value, gradient and moments. The results are the new values, then the new moments.

#include "Handlers.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

/// Splits the operands after the first two into `groups` equal lists, one for each kind.
static std::optional<SmallVector<ArrayRef<Value>>> operandGroups(NodeContext &n, size_t groups) {
  ArrayRef<Value> rest = n.allInputs().drop_front(2);
  if (rest.empty() || rest.size() % groups) {
    n.fail("operands after the first two must come in groups of " + Twine(groups));
    return std::nullopt;
  }
  SmallVector<ArrayRef<Value>> out;
  for (size_t i = 0; i < groups; ++i)
    out.push_back(rest.slice(i * (rest.size() / groups), rest.size() / groups));
  return out;
}

/// The gradient with the regularisation's part.
static Value regularized(NodeContext &n, double coefficient, Value x, Value gradient) {
  return coefficient == 0 ? gradient : n.add(n.mulScalar(x, coefficient), gradient);
}

static Values adagrad(NodeContext &n) {
  double decay = n.floatAttr("decay_factor", 0), epsilon = n.floatAttr("epsilon", 0),
         norm = n.floatAttr("norm_coefficient", 0);
  auto groups = operandGroups(n, 3);
  if (!groups)
    return {};
  Value rate = n.input(0), count = n.cast(n.input(1), n.elementOf(rate));
  rate = n.div(rate, n.addScalar(n.mulScalar(count, decay), 1));
  Values values, sums;
  for (auto [x, g, h] : llvm::zip((*groups)[0], (*groups)[1], (*groups)[2])) {
    Value gradient = regularized(n, norm, x, g);
    Value sum = n.add(h, n.mul(gradient, gradient));
    sums.push_back(sum);
    values.push_back(
        n.sub(x, n.div(n.mul(rate, gradient), n.addScalar(n.make<SqrtOp>(sum), epsilon))));
  }
  values.append(sums);
  return values;
}

static Values adam(NodeContext &n) {
  double alpha = n.floatAttr("alpha", 0.9f), beta = n.floatAttr("beta", 0.999f),
         epsilon = n.floatAttr("epsilon", 0);
  double norm = n.floatAttr("norm_coefficient", 0), post = n.floatAttr("norm_coefficient_post", 0);
  auto groups = operandGroups(n, 4);
  if (!groups)
    return {};
  Value rate = n.input(0);
  mlir::Type element = n.elementOf(rate);
  Value count = n.cast(n.input(1), element), one = n.scalar(element, 1);
  auto complement = [&](double b) {
    return n.sub(one, n.make<PowOp>(n.scalar(element, b), count));
  };
  // The moments start at 0 and are scaled up for it, but not before the first step.
  Value corrected = n.div(n.mul(rate, n.make<SqrtOp>(complement(beta))), complement(alpha));
  rate = n.select(n.compare(CompareDirection::GT, count, n.scalar(element, 0)), corrected, rate);
  Values values, firsts, seconds;
  for (auto [x, g, v, h] : llvm::zip((*groups)[0], (*groups)[1], (*groups)[2], (*groups)[3])) {
    Value gradient = regularized(n, norm, x, g);
    Value first = n.add(n.mulScalar(v, alpha), n.mulScalar(gradient, 1 - alpha));
    Value second = n.add(n.mulScalar(h, beta), n.mulScalar(n.mul(gradient, gradient), 1 - beta));
    Value step = n.div(n.mul(rate, first), n.addScalar(n.make<SqrtOp>(second), epsilon));
    Value next = n.sub(x, step);
    values.push_back(post == 0 ? next : n.mulScalar(next, 1 - post));
    firsts.push_back(first);
    seconds.push_back(second);
  }
  values.append(firsts);
  values.append(seconds);
  return values;
}

static Values momentum(NodeContext &n) {
  double alpha = n.floatAttr("alpha", 0), beta = n.floatAttr("beta", 0),
         norm = n.floatAttr("norm_coefficient", 0);
  StringRef mode = n.stringAttr("mode", "standard");
  auto groups = operandGroups(n, 3);
  if (!groups)
    return {};
  if (mode != "standard" && mode != "nesterov")
    return {n.fail("mode '" + mode + "' is not supported; standard and nesterov are")};
  Value rate = n.input(0), count = n.input(1);
  mlir::Type element = n.elementOf(rate);
  Value started = n.compare(CompareDirection::GT, count, n.scalarInt(n.elementOf(count), 0));
  Value weight = n.select(started, n.scalar(element, beta), n.scalar(element, 1));
  Values values, moments;
  for (auto [x, g, v] : llvm::zip((*groups)[0], (*groups)[1], (*groups)[2])) {
    Value gradient = regularized(n, norm, x, g);
    Value moment = n.add(n.mulScalar(v, alpha), n.mul(weight, gradient));
    Value direction = mode == "standard" ? moment : n.add(gradient, n.mulScalar(moment, alpha));
    values.push_back(n.sub(x, n.mul(rate, direction)));
    moments.push_back(moment);
  }
  values.append(moments);
  return values;
}

void gantry::onnx::addTrainingOps(OpTable &table) {
  const Arity many{5, kAny, kAny};
  table.add("Adagrad", adagrad, many, kTraining);
  table.add("Adam", adam, {6, kAny, kAny}, kTraining);
  table.add("Momentum", momentum, many, kTraining);
}
