// Rounds what products of f32 multiply to a narrower type; their sums stay f32 (--math).
//
// Rounding is an op of its own, so that what several products read is rounded once, where it is
// made, and travels in half the bytes. Constants are rounded here: a plan has them in the narrow
// type alone, unless something else reads them as they are. Attention is left in f32, whoever
// computes it: its weights are sharper than what they are made of.

#include "gantry/Analysis/AttentionProducts.h"
#include "gantry/Dialect/Gantry/IR/Accumulators.h"
#include "gantry/Dialect/Gantry/IR/Requests.h"
#include "gantry/Dialect/Gantry/IR/RoundElements.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_NARROWFACTORSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct NarrowFactors : gantry::impl::NarrowFactorsPassBase<NarrowFactors> {
  using NarrowFactorsPassBase::NarrowFactorsPassBase;

  FloatType element;
  DenseMap<Value, Value> constants; ///< by the constant, or the move of one, that they are made of

  void runOnOperation() override {
    element = TargetsAttr::of(getOperation()).getFactorType();
    if (!element)
      return;
    constants.clear();
    llvm::SetVector<MatmulOp> attention = productsOfAttention(getOperation());
    SmallVector<MatmulOp> products;
    getOperation().walk([&](MatmulOp op) {
      if (getElementTypeOrSelf(op.getType()).isF32() && !attention.contains(op))
        products.push_back(op);
    });
    for (MatmulOp op : products) {
      for (OpOperand &operand : op->getOpOperands())
        operand.set(narrow(operand.get(), op));
      giveAccumulators(op);
    }
  }

  /// `value`, rounded, for an operand of `user`.
  Value narrow(Value value, Operation *user) {
    if (Value constant = narrowConstant(value))
      return constant;
    OpBuilder b(user);
    auto cast = CastOp::create(b, user->getLoc(), narrowed(value), value);
    inheritRequest(user, cast);
    return cast;
  }

  RankedTensorType narrowed(Value value) {
    return mlir::cast<RankedTensorType>(value.getType()).clone(element);
  }

  /// A constant, and what only moves its elements; null for others.
  Value narrowConstant(Value value) {
    if (Value known = constants.lookup(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op)
      return {};
    OpBuilder b(op);
    Operation *made = nullptr;
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      if (ElementsAttr rounded = roundElements(constant.getValue(), element)) {
        made = ConstantOp::create(b, constant.getLoc(), rounded);
        for (NamedAttribute attribute : constant->getDiscardableAttrs())
          made->setDiscardableAttr(attribute.getName(), attribute.getValue());
      }
    } else if (isa<TransposeOp>(op) || isView(op)) {
      if (Value source = narrowConstant(op->getOperand(0))) {
        IRMapping mapping;
        mapping.map(op->getOperand(0), source);
        made = b.clone(*op, mapping);
        made->getResult(0).setType(narrowed(value));
      }
    }
    return made ? constants[value] = made->getResult(0) : Value();
  }
};
} // namespace
