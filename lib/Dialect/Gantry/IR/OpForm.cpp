#include "gantry/Dialect/Gantry/IR/OpForm.h"

#include "gantry/Dialect/Gantry/IR/Elements.h"
#include "gantry/Dialect/Gantry/IR/Ports.h"
#include "gantry/Dialect/Gantry/IR/StepParts.h"
#include "gantry/Dialect/Gantry/IR/Views.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace gantry;

namespace {
constexpr llvm::StringLiteral kOperands = "operands", kResults = "results",
                              kAttributes = "attributes", kName = "name", kType = "type",
                              kConstant = "constant", kValue = "value", kPart = "part",
                              kAgain = "again";
} // namespace

/// Before views and copies, which have no names of their own.
static Value sourceOf(Value value) {
  value = skipViews(value);
  while (auto copy = value.getDefiningOp<CopyOp>())
    value = skipViews(copy.getInput());
  return value;
}

/// The node that gives a value, or the value's own name where the model has no nodes; empty of what
/// goes around in a loop.
static std::string nameOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return func ? inputName(func, argument.getArgNumber()) : "";
  }
  Operation *op = value.getDefiningOp();
  auto name = op->getAttrOfType<StringAttr>(kNameAttr);
  StringRef node = isa<ConstantOp>(op) ? StringRef() : nodeNameOf(op->getLoc());
  return !node.empty() ? node.str() : name ? name.str() : "";
}

static std::string textOf(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

/// The number that a constant is; empty of several.
static std::string numberOf(ConstantOp constant) {
  std::optional<KnownElements> known = readElements(constant.getValue(), 1);
  if (!known || known->size() != 1)
    return "";
  return known->isFloat ? textOf(known->floats[0]) : std::to_string(known->ints[0]);
}

static Attribute describe(Value operand) {
  Builder b(operand.getContext());
  Value source = sourceOf(operand);
  SmallVector<NamedAttribute> members = {b.getNamedAttr(kType, TypeAttr::get(operand.getType()))};
  auto add = [&](StringRef key, const std::string &text) {
    if (!text.empty())
      members.push_back(b.getNamedAttr(key, b.getStringAttr(text)));
  };
  add(kName, nameOf(source));
  if (auto constant = source.getDefiningOp<ConstantOp>()) {
    members.push_back(b.getNamedAttr(kConstant, b.getUnitAttr()));
    add(kValue, numberOf(constant));
  }
  return b.getDictionaryAttr(members);
}

/// Numbers without their types, texts without quotes.
static std::string textOf(Attribute value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto number = dyn_cast<FloatAttr>(value))
    os << textOf(number.getValueAsDouble());
  else if (auto numbers = dyn_cast<DenseI64ArrayAttr>(value))
    os << llvm::interleaved_array(numbers.asArrayRef());
  else if (auto word = dyn_cast<StringAttr>(value))
    os << word.getValue();
  else
    value.print(os, /*elideType=*/true);
  return text;
}

/// What the op's definition lists, without long values and without what passes note.
static SmallVector<Attribute> attributesOf(Operation *op) {
  constexpr size_t longest = 120;
  SmallVector<Attribute> words;
  for (StringAttr name : op->getName().getAttributeNames()) {
    Attribute value = op->getAttr(name);
    if (!value || isa<ElementsAttr, SymbolRefAttr>(value))
      continue;
    const std::string text = isa<UnitAttr>(value) ? "" : " = " + textOf(value);
    if (text.size() <= longest)
      words.push_back(StringAttr::get(op->getContext(), name.getValue() + text));
  }
  return words;
}

DictionaryAttr gantry::formOf(Operation *op) {
  Builder b(op->getContext());
  SmallVector<Attribute> operands(llvm::map_range(op->getOperands(), describe));
  SmallVector<NamedAttribute> members = {
      b.getNamedAttr(kOperands, b.getArrayAttr(operands)),
      b.getNamedAttr(kResults, b.getTypeArrayAttr(op->getResultTypes())),
      b.getNamedAttr(kAttributes, b.getArrayAttr(attributesOf(op)))};
  if (StepPart part = stepPartOf(op->getLoc()); part != StepPart::forward)
    members.push_back(b.getNamedAttr(kPart, b.getI64IntegerAttr(int64_t(part))));
  if (isComputedAgain(op))
    members.push_back(b.getNamedAttr(kAgain, b.getUnitAttr()));
  return b.getDictionaryAttr(members);
}

static OperandForm readOperand(DictionaryAttr operand, RankedTensorType type) {
  auto textOf = [&](StringRef key) {
    auto text = operand.getAs<StringAttr>(key);
    return text ? text.getValue() : StringRef();
  };
  return {textOf(kName), type, operand.contains(kConstant), textOf(kValue)};
}

template <typename Member>
static SmallVector<Member> membersOf(DictionaryAttr form, StringRef key) {
  SmallVector<Member> members;
  if (auto all = form ? form.getAs<ArrayAttr>(key) : ArrayAttr())
    for (Attribute member : all)
      if (auto known = dyn_cast<Member>(member))
        members.push_back(known);
  return members;
}

static RankedTensorType tensorOf(TypeAttr type) {
  return type ? dyn_cast<RankedTensorType>(type.getValue()) : RankedTensorType();
}

OpForm gantry::readForm(Attribute attr) {
  auto form = dyn_cast_if_present<DictionaryAttr>(attr);
  OpForm out;
  for (auto operand : membersOf<DictionaryAttr>(form, kOperands))
    if (RankedTensorType type = tensorOf(operand.getAs<TypeAttr>(kType)))
      out.operands.push_back(readOperand(operand, type));
  for (TypeAttr result : membersOf<TypeAttr>(form, kResults))
    if (RankedTensorType type = tensorOf(result))
      out.results.push_back(type);
  for (StringAttr word : membersOf<StringAttr>(form, kAttributes))
    out.attributes.push_back(word.getValue());
  if (auto part = form ? form.getAs<IntegerAttr>(kPart) : IntegerAttr();
      part && part.getInt() >= 0 && part.getInt() <= int64_t(StepPart::update))
    out.part = StepPart(part.getInt());
  out.isAgain = form && form.contains(kAgain);
  return out;
}
