#include "NamedLosses.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace gantry;

ArrayRef<StringRef> gantry::namedLosses() {
  static constexpr StringRef names[] = {"bce", "cce", "huber", "mae", "mse", "scce"};
  return names;
}

RankedTensorType gantry::labelsFor(StringRef loss, RankedTensorType output, std::string &why) {
  if (!isa<FloatType>(output.getElementType()))
    why = "it takes an output of floats";
  else if (!output.hasStaticShape())
    why = "it takes an output whose sizes are known; give them in the graph, or let the graph "
          "compute its loss";
  else if ((loss == "cce" || loss == "scce") && output.getRank() < 2)
    why = "it takes an output with rows and classes, [n, ..., k]";
  if (!why.empty())
    return {};
  if (loss != "scce")
    return output;
  return RankedTensorType::get(output.getShape().drop_back(),
                               IntegerType::get(output.getContext(), 64));
}

namespace {
struct LossBuilder {
  OpBuilder &builder;
  Location location;
  Value output, labels;

  template <typename Op, typename... Args>
  Value make(Args &&...args) {
    auto op = Op::create(builder, location, std::forward<Args>(args)...);
    op->setAttr(kNameAttr, builder.getStringAttr("loss"));
    return op;
  }
  Value number(double value) {
    Type element = typeOf(output).getElementType();
    auto attr = Attribute(builder.getFloatAttr(element, value));
    return ConstantOp::create(builder, location,
                              DenseElementsAttr::get(RankedTensorType::get({}, element), attr));
  }
  /// Narrow floats as f32, since a mean over many rows has not enough digits there.
  Value wide(Value value) {
    RankedTensorType type = typeOf(value);
    if (!type.getElementType().isF16() && !type.getElementType().isBF16())
      return value;
    return make<CastOp>(type.clone(builder.getF32Type()), value);
  }
  /// The operand of what squashes the output, or the output itself.
  template <typename Squash>
  Value logits() {
    auto made = output.getDefiningOp<Squash>();
    if constexpr (std::is_same_v<Squash, SoftmaxOp>)
      if (made && int64_t(made.getAxis()) != typeOf(output).getRank() - 1)
        made = {};
    return made ? made.getOperand() : output;
  }
  Value logProbabilities() {
    const int64_t last = typeOf(output).getRank() - 1;
    if (auto made = output.getDefiningOp<LogSoftmaxOp>(); made && int64_t(made.getAxis()) == last)
      return wide(output);
    return make<LogSoftmaxOp>(wide(logits<SoftmaxOp>()), last);
  }
  Value mean(Value value) {
    auto axes = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank()));
    return axes.empty() ? value : make<ReduceMeanOp>(value, axes, /*keep_dims=*/false);
  }
  Value difference() {
    output = wide(output);
    return make<SubOp>(output, wide(labels));
  }

  /// -log p of the label, p being the softmax.
  Value scce() {
    Value logs = logProbabilities();
    SmallVector<int64_t> shape(typeOf(labels).getShape());
    shape.push_back(1);
    Value ids = make<ReshapeOp>(typeOf(labels).clone(shape), labels);
    return mean(make<NegOp>(make<GatherElementsOp>(logs, ids, shape.size() - 1)));
  }
  Value cce() {
    Value logs = logProbabilities();
    Value terms = make<MulOp>(wide(labels), logs);
    Value rows = make<ReduceSumOp>(terms, ArrayRef<int64_t>{typeOf(terms).getRank() - 1}, false);
    return mean(make<NegOp>(rows));
  }
  /// max(x, 0) - x y + log(1 + e^-|x|): no e^x of a large x.
  Value bce() {
    Value x = wide(logits<SigmoidOp>());
    output = x;
    Value bounded = make<SubOp>(make<ReluOp>(x), make<MulOp>(x, wide(labels)));
    return mean(make<AddOp>(bounded, make<SoftplusOp>(make<NegOp>(make<AbsOp>(x)))));
  }
  /// e^2 / 2 of errors up to 1, |e| - 1/2 beyond.
  Value huber() {
    Value error = make<AbsOp>(difference());
    Value inside = make<MinimumOp>(error, number(1));
    Value beyond = make<SubOp>(error, make<MulOp>(inside, number(0.5)));
    return mean(make<MulOp>(inside, beyond));
  }
};
} // namespace

Value gantry::makeLoss(OpBuilder &builder, Location location, StringRef loss, Value output,
                       Value labels) {
  LossBuilder b{builder, location, output, labels};
  if (loss == "scce")
    return b.scce();
  if (loss == "cce")
    return b.cce();
  if (loss == "bce")
    return b.bce();
  if (loss == "huber")
    return b.huber();
  Value difference = b.difference();
  return b.mean(loss == "mae" ? b.make<AbsOp>(difference) : b.make<MulOp>(difference, difference));
}
