// Makes the table of ops from their definitions: rows for the graph builder, and JSON for those who
// generate functions from it (gantry_op_table_json). Runs while building, as mlir-tblgen does.
//
// A table that says nothing wrong needs no list of its own but one: which ops passes make, that no
// graph holds. What the maker does not know (a kind of attribute, a type of elements) is told as
// "text" or ends the build.

#include "llvm/TableGen/Main.h"
#include "mlir/TableGen/EnumInfo.h"
#include "mlir/TableGen/Operator.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TableGen/Error.h"
#include "llvm/TableGen/Record.h"

#include <map>

using namespace llvm;
using mlir::tblgen::Attribute;
using mlir::tblgen::NamedTypeConstraint;
using mlir::tblgen::Operator;

/// Ops that passes make and graphs do not hold, and those that the builder has calls for.
static bool isOfCompiler(StringRef name) {
  return is_contained({"assert_indices", "constant", "first_bad_index", "kernel", "launch", "on",
                       "update", "update_add", "variable", "yield"},
                      name);
}

/// Element types in the order of the plan file, by MLIR's words for them.
static const std::pair<StringRef, StringRef> elementWords[] = {{"f32", "32-bit float"},
                                                               {"f64", "64-bit float"},
                                                               {"f16", "16-bit float"},
                                                               {"bf16", "bfloat16 type"},
                                                               {"i8", "8-bit signless integer"},
                                                               {"u8", "8-bit unsigned integer"},
                                                               {"i16", "16-bit signless integer"},
                                                               {"u16", "16-bit unsigned integer"},
                                                               {"i32", "32-bit signless integer"},
                                                               {"u32", "32-bit unsigned integer"},
                                                               {"i64", "64-bit signless integer"},
                                                               {"u64", "64-bit unsigned integer"},
                                                               {"i1", "1-bit signless integer"}};

/// The element types that a constraint names; a bit each.
static unsigned elementsOf(const NamedTypeConstraint &value, const Operator &op) {
  StringRef summary = value.constraint.getSummary();
  if (!summary.contains("ranked tensor of "))
    return (1u << std::size(elementWords)) - 1;
  summary = summary.split("ranked tensor of ").second;
  summary.consume_back(" values");
  unsigned found = 0;
  SmallVector<StringRef> words;
  summary.split(words, " or ");
  for (StringRef word : words) {
    auto known = find_if(elementWords, [&](const auto &entry) { return entry.second == word; });
    if (known == std::end(elementWords))
      PrintFatalError(op.getLoc(), "gantry-op-table: no element type is called '" + word + "'");
    found |= 1u << (known - std::begin(elementWords));
  }
  return found;
}

static StringRef arityOf(const NamedTypeConstraint &value) {
  return value.isOptional() ? "optional" : value.isVariadic() ? "variadic" : "one";
}

static const Record *enumOf(const Attribute &attribute) {
  const Record &def = attribute.getBaseAttr().getDef();
  return def.isSubClassOf("EnumAttr") ? &def : nullptr;
}

static StringRef kindOf(const Attribute &attribute) {
  if (enumOf(attribute))
    return "enum";
  return StringSwitch<StringRef>(attribute.getBaseAttr().getAttrDefName())
      .Case("UnitAttr", "unit")
      .Case("I64Attr", "int")
      .Case("F64Attr", "float")
      .Case("StrAttr", "string")
      .Case("DenseI64ArrayAttr", "ints")
      .Case("DenseF64ArrayAttr", "floats")
      .Cases({"FlatSymbolRefAttr", "SymbolNameAttr"}, "symbol")
      .Case("Gantry_DeviceAttr", "device")
      .Case("Gantry_DeviceArray", "devices")
      .Default("text");
}

/// Those that graphs say; passes set the others.
static SmallVector<mlir::tblgen::NamedAttribute> attributesOf(const Operator &op) {
  return to_vector(make_filter_range(op.getAttributes(), [](const auto &attribute) {
    return !attribute.attr.getDef().isSubClassOf("Gantry_SetByPasses");
  }));
}

static bool isOptional(const Attribute &attribute) {
  return attribute.isOptional() || attribute.hasDefaultValue() || kindOf(attribute) == "unit";
}

static std::vector<StringRef> casesOf(const Record &enumAttr) {
  std::vector<StringRef> cases;
  for (const Record *one : enumAttr.getValueAsDef("enum")->getValueAsListOfDefs("enumerants"))
    cases.push_back(one->getValueAsString("str"));
  return cases;
}

static bool infersTypes(const Operator &op) {
  return op.allResultTypesKnown() || op.getTrait("::mlir::InferTypeOpInterface::Trait");
}

/// What logs call the op; it stands in the declarations of its class.
static StringRef logNameOf(const Operator &op) {
  StringRef rest = op.getExtraClassDeclaration().split("getLogName() { return \"").second;
  return rest.split('"').first;
}

/// The value that kernels go by (kernelElementType); null of ops that run none, those that name a
/// variable among them: they are gone before anything is placed.
static const NamedTypeConstraint *kernelValueOf(const Operator &op) {
  auto namesVariable = [](const auto &attribute) { return kindOf(attribute.attr) == "symbol"; };
  if (!op.getTrait("::gantry::KernelOpInterface::Trait") ||
      any_of(op.getAttributes(), namesVariable))
    return nullptr;
  const bool isGenerator = op.getExtraClassDeclaration().contains("FusionKind::Generator");
  return op.getNumOperands() && !isGenerator ? &op.getOperand(0) : &op.getResult(0);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writeElements(json::OStream &json, StringRef key, const NamedTypeConstraint &value,
                          const Operator &op) {
  json.attributeArray(key, [&] {
    const unsigned elements = elementsOf(value, op);
    for (auto [i, entry] : enumerate(elementWords))
      if (elements >> i & 1)
        json.value(entry.first);
  });
}

static void writeValue(json::OStream &json, const NamedTypeConstraint &value, const Operator &op) {
  json.object([&] {
    json.attribute("name", value.name);
    json.attribute("arity", arityOf(value));
    writeElements(json, "elements", value, op);
  });
}

static void writeAttribute(json::OStream &json, StringRef name, const Attribute &attribute) {
  json.object([&] {
    json.attribute("name", name);
    json.attribute("kind", kindOf(attribute));
    json.attribute("optional", isOptional(attribute));
    if (const Record *record = enumOf(attribute))
      json.attributeObject("enum", [&] {
        json.attribute("name", record->getValueAsString("mnemonic"));
        json.attributeArray("cases", [&] {
          for (StringRef one : casesOf(*record))
            json.value(one);
        });
      });
  });
}

/// The description as it stands in documents: without the indentation of the .td file.
static std::string plainText(StringRef text) {
  std::string plain;
  SmallVector<StringRef> lines;
  text.trim("\n ").split(lines, '\n');
  for (StringRef line : lines)
    plain += (plain.empty() ? "" : "\n") +
             line.substr(std::min<size_t>(line.find_first_not_of(' '), 4)).rtrim().str();
  return plain;
}

static void writeOp(json::OStream &json, StringRef name, const Operator &op) {
  json.object([&] {
    json.attribute("name", name);
    json.attribute("summary", op.getSummary());
    json.attribute("description", plainText(op.getDescription()));
    json.attributeArray("operands", [&] {
      for (const NamedTypeConstraint &value : op.getOperands())
        writeValue(json, value, op);
    });
    json.attributeArray("attributes", [&] {
      for (const auto &attribute : attributesOf(op))
        writeAttribute(json, attribute.name, attribute.attr);
    });
    json.attributeArray("results", [&] {
      for (const NamedTypeConstraint &value : op.getResults())
        writeValue(json, value, op);
    });
    json.attributeArray("regions", [&] {
      for (const auto &region : op.getRegions())
        json.object([&] {
          json.attribute("name", region.name);
          json.attribute("variadic", region.isVariadic());
        });
    });
    if (const NamedTypeConstraint *value = kernelValueOf(op))
      writeElements(json, "kernel", *value, op);
    json.attribute("infers_types", infersTypes(op));
    json.attribute("log_name", logNameOf(op));
    json.attribute("stage", isOfCompiler(name) ? "compiler" : "graph");
  });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static void writeValues(raw_ostream &os, iterator_range<Operator::const_value_iterator> values,
                        const Operator &op) {
  os << "{";
  for (const NamedTypeConstraint &value : values)
    os << "{\"" << value.name << "\", Arity::" << arityOf(value) << ", " << elementsOf(value, op)
       << "}, ";
  os << "}";
}

static void writeRow(raw_ostream &os, StringRef name, const Operator &op) {
  os << "    {\"gantry." << name << "\", " << (isOfCompiler(name) ? "false" : "true") << ", "
     << (infersTypes(op) ? "true" : "false") << ", " << op.getNumRegions() << ", ";
  writeValues(os, op.getOperands(), op);
  os << ", ";
  writeValues(os, op.getResults(), op);
  os << ", {";
  for (const auto &attribute : attributesOf(op)) {
    os << "{\"" << attribute.name << "\", AttributeKind::" << kindOf(attribute.attr) << "_, "
       << (isOptional(attribute.attr) ? "true" : "false");
    if (const Record *record = enumOf(attribute.attr)) {
      os << ", \"" << record->getValueAsString("mnemonic") << "\", {";
      for (StringRef one : casesOf(*record))
        os << "\"" << one << "\", ";
      os << "}";
    } else {
      os << ", \"\", {}";
    }
    os << "}, ";
  }
  os << "}},\n";
}

static bool writeTable(raw_ostream &os, const RecordKeeper &records) {
  std::map<std::string, Operator> ops;
  for (const Record *def : records.getAllDerivedDefinitions("Op")) {
    Operator op(*def);
    if (op.getDialectName() == "gantry")
      ops.emplace(StringRef(op.getOperationName()).split('.').second.str(), op);
  }
  os << "// Made by gantry-op-table of GantryOps.td.\n\n#ifdef GANTRY_OP_ROWS\n";
  for (const auto &[name, op] : ops)
    writeRow(os, name, op);
  os << "#endif\n\n#ifdef GANTRY_OP_JSON\nR\"gantry(";
  json::OStream json(os);
  json.object([&] {
    json.attribute("version", 1);
    json.attributeArray("ops", [&] {
      for (const auto &[name, op] : ops)
        writeOp(json, name, op);
    });
  });
  os << ")gantry\"\n#endif\n";
  return false;
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "Makes Gantry's table of ops\n");
  return TableGenMain(argv[0], &writeTable);
}
