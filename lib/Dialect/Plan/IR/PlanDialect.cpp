// Registration of the plan dialect.

#include "gantry/Dialect/Plan/IR/Exchanges.h"

#include "gantry/Dialect/Gantry/IR/Assembly.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry::plan::ir;

#include "gantry/Dialect/Plan/IR/PlanDialect.cpp.inc"
#include "gantry/Dialect/Plan/IR/PlanEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "gantry/Dialect/Plan/IR/PlanAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "gantry/Dialect/Plan/IR/PlanTypes.cpp.inc"
#define GET_OP_CLASSES
#include "gantry/Dialect/Plan/IR/PlanOps.cpp.inc"
#define GET_OP_CLASSES
#include "gantry/Dialect/Plan/IR/ExchangeOps.cpp.inc"

LogicalResult CopyOp::verify() {
  if (getSources().empty())
    return emitOpError("copies nothing");
  if (getAlso().size() + 1 != getSources().size())
    return emitOpError() << "copies " << getSources().size() << " values and has the names of "
                         << getAlso().size() + 1;
  return success();
}

LogicalResult PartOp::verify() {
  if (!getSource() && !getTarget())
    return emitOpError("brings nothing and gets nothing");
  return success();
}

SmallVector<Value> gantry::plan::ir::conditionsOf(Operation *op) {
  SmallVector<Value> conditions{op->getOperand(0)};
  if (auto others = dyn_cast_if_present<ConditionsOp>(op->getPrevNode()))
    llvm::append_range(conditions, others.getOthers());
  return conditions;
}

CopyOp::Copied CopyOp::getCopied(unsigned value) {
  Value source = getSources()[value], target = getTargets()[value];
  if (value == 0)
    return {source, target, getNameAttr(), getLocationAttr(), getCauseAttr()};
  auto entry = cast<CopiedAttr>(getAlso()[value - 1]);
  Builder b(getContext());
  return {source, target, b.getStringAttr(entry.getName()), b.getStringAttr(entry.getLocation()),
          b.getStringAttr(entry.getCause())};
}

void PlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "gantry/Dialect/Plan/IR/PlanOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "gantry/Dialect/Plan/IR/ExchangeOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "gantry/Dialect/Plan/IR/PlanAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "gantry/Dialect/Plan/IR/PlanTypes.cpp.inc"
      >();
}
