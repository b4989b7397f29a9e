// Attention of many keys becomes products and a softmax before kernels are formed: rows of its
// scores leave the cache, and as one kernel it would be plain loops (Products/TiledAttention.h).
//
// The ops apart compute what gantry.attention's lowering does, in the same types. Attention of few
// queries stays one kernel: nothing in it is multiplied in tiles, and launches would cost more.

#include "Products/TiledAttention.h"
#include "gantry/Dialect/Gantry/IR/Requests.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Target/CPU/CPUTarget.h"
#include "gantry/Target/CPU/Passes.h"
#include "gantry/Target/TargetMap.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_DECOMPOSEATTENTIONPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

namespace {
/// Writes the ops in front of one attention op, on its device and with its requests.
class Decomposer {
public:
  explicit Decomposer(AttentionOp op) : op(op), b(op) {}

  void run() {
    const int64_t last = shapeOf(op.getResult()).size() - 1;
    Value query = widened(op.getQuery(), "query"), key = widened(op.getKey(), "key");
    Value scores = multiply("scores", query, key, /*transposeRight=*/true);
    scores = make<MulOp>("scaled", scores, number(op.getScale().convertToDouble(), scores));
    if (Value mask = op.getMask())
      scores = make<AddOp>("masked", scores, widened(mask, "mask"));
    if (op.getCausal())
      scores = hideLaterKeys(scores);
    Value weights = make<SoftmaxOp>("weights", scores, uint64_t(last));
    Value value = widened(op.getValue(), "value");
    Value result = multiply("context", weights, value, /*transposeRight=*/false);
    if (result.getType() != op.getType())
      result = make<CastOp>("narrow", op.getType(), result);
    result.getDefiningOp()->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    op.getResult().replaceAllUsesWith(result);
    op.erase();
  }

private:
  template <typename Op, typename... Arguments>
  Value make(StringRef suffix, Arguments &&...arguments) {
    auto made = Op::create(b, op.getLoc(), std::forward<Arguments>(arguments)...);
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    if (auto name = op->getAttrOfType<StringAttr>(kNameAttr))
      made->setAttr(kNameAttr, b.getStringAttr(name.getValue() + "/" + suffix));
    return made;
  }

  Value multiply(StringRef suffix, Value left, Value right, bool transposeRight) {
    return make<MatmulOp>(suffix, left, right, /*transpose_a=*/false, transposeRight, TypeAttr(),
                          BlockQuantizedAttr(), /*by_library=*/UnitAttr());
  }

  /// f16 and bf16 in f32.
  Value widened(Value value, StringRef suffix) {
    auto type = typeOf(value);
    if (!type.getElementType().isF16() && !type.getElementType().isBF16())
      return value;
    return make<CastOp>(suffix, RankedTensorType::get(type.getShape(), b.getF32Type()), value);
  }

  Value number(double value, Value like) {
    Type element = elementOf(like);
    return ConstantOp::create(b, op.getLoc(),
                              DenseElementsAttr::get(RankedTensorType::get({}, element),
                                                     Attribute(b.getFloatAttr(element, value))));
  }

  Value hideLaterKeys(Value scores) {
    auto type = RankedTensorType::get(shapeOf(scores).take_back(2), b.getI64Type());
    Value row = make<IotaOp>("rows", type, uint64_t(0));
    Value column = make<IotaOp>("columns", type, uint64_t(1));
    Value hidden = make<CompareOp>("hidden", CompareDirection::GT, column, row);
    return make<SelectOp>("causal", hidden,
                          number(-std::numeric_limits<double>::infinity(), scores), scores);
  }

  AttentionOp op;
  OpBuilder b;
};

struct DecomposeAttention : gantry::impl::DecomposeAttentionPassBase<DecomposeAttention> {
  using DecomposeAttentionPassBase::DecomposeAttentionPassBase;

  void runOnOperation() override {
    const TargetMap targets(getOperation());
    SmallVector<AttentionOp> beyond;
    getOperation().walk([&](AttentionOp op) {
      if (llvm::all_of(targets.targetsOf(op),
                       [](const Target *target) { return target->getName() == kCPUTarget; }) &&
          isForOpsApart(op))
        beyond.push_back(op);
    });
    for (AttentionOp op : beyond)
      Decomposer(op).run();
  }

  static bool isForOpsApart(AttentionOp op) {
    ArrayRef<int64_t> query = shapeOf(op.getQuery()).take_back(2),
                      value = shapeOf(op.getValue()).take_back(2);
    return cpu::isFasterApart(query[0], value[0], query[1], value[1]);
  }
};
} // namespace
