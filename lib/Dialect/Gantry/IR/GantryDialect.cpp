// The dialect itself: attributes, registration, constants.

#include "Fold.h"

#include "gantry/Dialect/Gantry/IR/Accumulators.h"
#include "gantry/Dialect/Gantry/IR/Assembly.h"
#include "gantry/Dialect/Gantry/IR/BlockQuantized.h"
#include "gantry/Dialect/Gantry/IR/Borders.h"
#include "gantry/Dialect/Gantry/IR/Collectives.h"
#include "gantry/Dialect/Gantry/IR/Evaluator.h"
#include "gantry/Dialect/Gantry/IR/Layout.h"
#include "gantry/Dialect/Gantry/IR/Optimizers.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;

#include "gantry/Dialect/Gantry/IR/GantryInterfaces.cpp.inc"

#include "gantry/Dialect/Gantry/IR/GantryDialect.cpp.inc"
#include "gantry/Dialect/Gantry/IR/GantryEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "gantry/Dialect/Gantry/IR/GantryAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "gantry/Dialect/Gantry/IR/GantryOps.cpp.inc"

namespace {
/// Every op of the dialect may be inlined; calls disappear before placement.
struct InlineEverywhere : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Operation *, bool) const final { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final { return true; }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
};
} // namespace

void GantryDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "gantry/Dialect/Gantry/IR/GantryOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "gantry/Dialect/Gantry/IR/OptimizerOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "gantry/Dialect/Gantry/IR/CollectiveOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "gantry/Dialect/Gantry/IR/GantryAttrs.cpp.inc"
      >();
  addInterfaces<InlineEverywhere, ConstantFolder>();
}

Operation *GantryDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                              Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}

//===----------------------------------------------------------------------===//
// #gantry.decision<"rule", "reason", rejected = ["GPU:7: unknown device"], fall_back>
//===----------------------------------------------------------------------===//

Attribute DecisionAttr::parse(AsmParser &parser, Type) {
  std::string rule, reason;
  SmallVector<StringAttr> rejected;
  bool fallBack = false;
  if (parser.parseLess() || parser.parseString(&rule) || parser.parseComma() ||
      parser.parseString(&reason))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("fall_back"))) {
      fallBack = true;
      continue;
    }
    auto parseOne = [&]() -> ParseResult {
      std::string text;
      if (parser.parseString(&text))
        return failure();
      rejected.push_back(StringAttr::get(parser.getContext(), text));
      return success();
    };
    if (parser.parseKeyword("rejected") || parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), rule, reason, rejected, fallBack);
}

void DecisionAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printString(getRule());
  printer << ", ";
  printer.printString(getReason());
  if (!getRejected().empty()) {
    printer << ", rejected = [";
    llvm::interleaveComma(getRejected(), printer,
                          [&](StringAttr text) { printer.printString(text.getValue()); });
    printer << "]";
  }
  printer << (getFallBack() ? ", fall_back>" : ">");
}
