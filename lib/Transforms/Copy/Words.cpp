#include "Words.h"

#include "gantry/Dialect/Gantry/IR/Views.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace gantry;

static std::string describeOp(Operation *op) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  std::string text = kernel ? kernel.getLogName().str() : op->getName().getStringRef().str();
  if (auto name = op->getAttrOfType<StringAttr>(kNameAttr))
    text += " '" + name.getValue().str() + "'";
  return text;
}

std::string copy::describeUse(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto func = dyn_cast<func::FuncOp>(op->getParentOp());
      func && op->hasTrait<OpTrait::IsTerminator>()) {
    unsigned index = use.getOperandNumber();
    auto name = func.getResultAttrOfType<StringAttr>(index, kNameAttr);
    return (name ? "result '" + name.getValue().str() + "'" : "result " + std::to_string(index)) +
           " of '@" + func.getSymName().str() + "'";
  }
  std::string place = describeLocation(op->getLoc());
  return describeOp(op) + (place.empty() ? "" : " at " + place);
}

std::string copy::describeValue(Value value) {
  value = skipViews(value);
  while (auto copy = value.getDefiningOp<CopyOp>())
    value = skipViews(copy.getInput());
  if (auto constant = value.getDefiningOp<ConstantOp>()) {
    auto name = constant->getAttrOfType<StringAttr>(kNameAttr);
    return name ? "the constant '" + name.getValue().str() + "'" : "a constant";
  }
  if (Operation *op = value.getDefiningOp())
    return "the result of " + describeOp(op);
  auto argument = cast<BlockArgument>(value);
  auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (auto name = func ? func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr)
                       : StringAttr()) {
    bool variable = func.getArgAttr(argument.getArgNumber(), kVariableAttr) != nullptr;
    return (variable ? "variable '" : "'") + name.getValue().str() + "'";
  }
  return "argument " + std::to_string(argument.getArgNumber());
}
