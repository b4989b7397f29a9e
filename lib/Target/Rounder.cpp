#include "gantry/Target/Rounder.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

#include "gantry/Dialect/Gantry/IR/Accumulators.h"
#include "gantry/Dialect/Gantry/IR/Requests.h"
#include "gantry/Dialect/Gantry/IR/RoundElements.h"
#include "gantry/Dialect/Gantry/IR/Views.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace gantry;

/// Ops that only move elements of their first operand.
static bool isMove(Operation *op) { return op && (isa<TransposeOp, SliceOp>(op) || isView(op)); }

Value Rounder::moveAgain(Operation *move, Value source) {
  builder.setInsertionPoint(move);
  IRMapping mapping;
  mapping.map(move->getOperand(0), source);
  Operation *again = builder.clone(*move, mapping);
  Value result = again->getResult(0);
  result.setType(typeOf(result).clone(element));
  return result;
}

Value Rounder::roundConstant(Value value) {
  if (Value known = rounded.lookup(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<ConstantOp>(op)) {
    ElementsAttr narrow = roundElements(constant.getValue(), element);
    if (!narrow)
      return {};
    builder.setInsertionPoint(constant);
    auto made = ConstantOp::create(builder, constant.getLoc(), narrow);
    made->setDiscardableAttrs(constant->getDiscardableAttrDictionary());
    return rounded[value] = made;
  }
  Value source = isMove(op) ? roundConstant(op->getOperand(0)) : Value();
  return source ? rounded[value] = moveAgain(op, source) : Value();
}

Value Rounder::round(Value value, Operation *user, StringRef suffix) {
  if (Value constant = roundConstant(value))
    return constant;
  builder.setInsertionPointAfterValue(value);
  auto cast = CastOp::create(builder, user->getLoc(), typeOf(value).clone(element), value);
  placeLike(user, cast, suffix);
  return rounded[value] = cast;
}

Value Rounder::roundBeforeMoves(Value value, Operation *user, StringRef suffix) {
  Operation *op = value.getDefiningOp();
  if (!isMove(op) || !value.hasOneUse() || rounded.contains(value))
    return round(value, user, suffix);
  return moveAgain(op, roundBeforeMoves(op->getOperand(0), user, suffix));
}

void Rounder::narrow(MatmulOp product) {
  constexpr StringLiteral suffixes[] = {"/left", "/right"};
  for (OpOperand &operand : product->getOpOperands())
    operand.set(roundBeforeMoves(operand.get(), product, suffixes[operand.getOperandNumber()]));
  giveAccumulators(product);
}

void Rounder::eraseUnused(func::FuncOp func) {
  SmallVector<Operation *> moves;
  func.walk([&](Operation *op) {
    if (isMove(op) || isa<PadOp>(op))
      moves.push_back(op);
  });
  for (Operation *op : llvm::reverse(moves))
    if (op->use_empty())
      op->erase();
}
