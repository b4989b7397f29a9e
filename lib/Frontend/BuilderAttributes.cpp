// Attributes of the graph builder: what callers give, as the op table says that it has to be.

#include "gantry/Frontend/GraphBuilder.h"

#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;
using namespace gantry;

namespace {
struct Maker {
  const OpRow &row;
  const AttributeRow &attribute;
  const GivenAttribute &given;
  Builder builder;
  function_ref<InFlightDiagnostic()> emitError;

  InFlightDiagnostic refuse() {
    return emitError() << "attribute '" << attribute.name << "' of " << row.name << " ";
  }

  FailureOr<Attribute> make() {
    // Anything can be written as MLIR writes it.
    if (given.kind == AttributeKind::text_)
      return parse(text());
    const bool isNumber =
        given.kind == AttributeKind::int_ && attribute.kind == AttributeKind::float_;
    const bool areNumbers =
        given.kind == AttributeKind::ints_ && attribute.kind == AttributeKind::floats_;
    if (given.kind != attribute.kind && !isNumber && !areNumbers)
      return refuse() << "is of the kind " << attributeKindName(attribute.kind) << ", got "
                      << attributeKindName(given.kind);
    return convert();
  }

  FailureOr<Attribute> convert() {
    switch (attribute.kind) {
    case AttributeKind::unit_:
      return Attribute(builder.getUnitAttr());
    case AttributeKind::int_:
      return Attribute(builder.getI64IntegerAttr(std::get<int64_t>(given.value)));
    case AttributeKind::float_:
      return Attribute(builder.getF64FloatAttr(number()));
    case AttributeKind::string_:
      return Attribute(builder.getStringAttr(text()));
    case AttributeKind::ints_:
      return Attribute(builder.getDenseI64ArrayAttr(std::get<ArrayRef<int64_t>>(given.value)));
    case AttributeKind::floats_:
      return Attribute(builder.getDenseF64ArrayAttr(numbers()));
    case AttributeKind::symbol_:
      return Attribute(FlatSymbolRefAttr::get(builder.getContext(), text()));
    case AttributeKind::device_:
      return device(text());
    case AttributeKind::devices_:
      return devices();
    case AttributeKind::enum_:
      return enumCase();
    case AttributeKind::text_:
      return refuse() << "is written as MLIR writes it; give it as a text";
    }
    llvm_unreachable("an attribute without a kind");
  }

  StringRef text() { return std::get<StringRef>(given.value); }

  double number() {
    const int64_t *whole = std::get_if<int64_t>(&given.value);
    return whole ? double(*whole) : std::get<double>(given.value);
  }

  SmallVector<double> numbers() {
    if (auto *whole = std::get_if<ArrayRef<int64_t>>(&given.value))
      return SmallVector<double>(whole->begin(), whole->end());
    return SmallVector<double>(std::get<ArrayRef<double>>(given.value));
  }

  FailureOr<Attribute> device(StringRef name) {
    gantry::Expected<DeviceName> parsed = DeviceName::parse(name);
    if (!parsed)
      return refuse() << "names no device: " << parsed.status().message();
    return Attribute(DeviceAttr::get(builder.getContext(), *parsed));
  }

  FailureOr<Attribute> devices() {
    SmallVector<Attribute> made;
    for (StringRef name : std::get<std::vector<StringRef>>(given.value)) {
      FailureOr<Attribute> one = device(name);
      if (failed(one))
        return failure();
      made.push_back(*one);
    }
    return Attribute(builder.getArrayAttr(made));
  }

  FailureOr<Attribute> enumCase() {
    if (!llvm::is_contained(attribute.cases, text()))
      return refuse() << "is '" << text() << "'; it is one of "
                      << llvm::join(attribute.cases, ", ");
    return parse(("#gantry<" + attribute.mnemonic + " " + text() + ">").str());
  }

  /// The parser speaks of a text of its own; what it says is told at the op.
  FailureOr<Attribute> parse(StringRef from) {
    std::string why;
    Attribute parsed;
    {
      ScopedDiagnosticHandler listener(builder.getContext(), [&](Diagnostic &diagnostic) {
        if (why.empty())
          why = diagnostic.str();
        return success();
      });
      parsed = parseAttribute(from, builder.getContext());
    }
    if (!parsed)
      return refuse() << "cannot be read: '" << from << "': " << why;
    return parsed;
  }
};
} // namespace

FailureOr<Attribute> gantry::makeAttribute(const OpRow &row, const AttributeRow &attribute,
                                           const GivenAttribute &given, MLIRContext *context,
                                           function_ref<InFlightDiagnostic()> emitError) {
  return Maker{row, attribute, given, Builder(context), emitError}.make();
}
