// Device names in modules: the attribute, and the short form that ops write. Here, and nowhere else
// in the IR, text becomes a name. So do the words that stand beside them.

#include "gantry/Dialect/Gantry/IR/Assembly.h"

#include "gantry/Device/NameRanges.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace gantry;

llvm::hash_code gantry::hash_value(const DeviceName &name) {
  auto part = [](const auto &optional) {
    return optional ? llvm::hash_combine(true, *optional) : llvm::hash_code(0);
  };
  return llvm::hash_combine(part(name.job), part(name.replica), part(name.task), part(name.type),
                            part(name.id), name.physical);
}

FailureOr<DeviceName> gantry::readDeviceName(StringRef text,
                                             function_ref<InFlightDiagnostic()> emitError) {
  Expected<DeviceName> name = DeviceName::parse(text.str());
  if (!name)
    return emitError() << name.status().message();
  return name.take();
}

std::string DeviceAttr::getSpelling() const {
  const DeviceName &name = getName();
  bool isDeviceAlone = name.type && !name.physical && !name.job && !name.replica && !name.task;
  return isDeviceAlone ? name.shortStr() : name.str();
}

static ParseResult parseQuoted(AsmParser &parser, DeviceAttr &device) {
  std::string text;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseString(&text))
    return failure();
  FailureOr<DeviceName> name = readDeviceName(text, [&] { return parser.emitError(loc); });
  if (failed(name))
    return failure();
  device = DeviceAttr::get(parser.getContext(), *name);
  return success();
}

static void printQuoted(AsmPrinter &printer, DeviceAttr device) {
  printer.printString(device.getSpelling());
}

Attribute DeviceAttr::parse(AsmParser &parser, Type) {
  DeviceAttr device;
  if (parser.parseLess() || parseQuoted(parser, device) || parser.parseGreater())
    return {};
  return device;
}

void DeviceAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printQuoted(printer, *this);
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Words: what an op may do about a device, how it combines
//===----------------------------------------------------------------------===//

/// One of the words of an enum.
template <typename EnumAttr, typename Symbolize>
static ParseResult parseWord(AsmParser &parser, StringRef what, StringRef known,
                             Symbolize symbolize, EnumAttr &attr) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  auto value = symbolize(word);
  if (!value)
    return parser.emitError(loc) << what << " '" << word << "' is not known; known are " << known;
  attr = EnumAttr::get(parser.getContext(), *value);
  return success();
}

ParseResult gantry::parseSoftMode(OpAsmParser &parser, SoftModeAttr &mode) {
  auto symbolize = [](StringRef word) { return symbolizeSoftMode(word); };
  return parseWord(parser, "soft", "strict, prefer, any", symbolize, mode);
}

void gantry::printSoftMode(OpAsmPrinter &printer, Operation *, SoftModeAttr mode) {
  printer << stringifySoftMode(mode.getValue());
}

ParseResult gantry::parseCombineKind(OpAsmParser &parser, CombineKindAttr &kind) {
  auto symbolize = [](StringRef word) { return symbolizeCombineKind(word); };
  return parseWord(parser, "kind", "sum, mean", symbolize, kind);
}

void gantry::printCombineKind(OpAsmPrinter &printer, Operation *, CombineKindAttr kind) {
  printer << stringifyCombineKind(kind.getValue());
}

//===----------------------------------------------------------------------===//
// In the syntax of ops: "GPU:1", ["GPU:0", "GPU:1"], which is ["GPU:{0..1}"]
//===----------------------------------------------------------------------===//

ParseResult gantry::parseDevice(OpAsmParser &parser, DeviceAttr &device) {
  return parseQuoted(parser, device);
}

void gantry::printDevice(OpAsmPrinter &printer, Operation *, DeviceAttr device) {
  printQuoted(printer, device);
}

ParseResult gantry::parseDevices(OpAsmParser &parser, ArrayAttr &devices) {
  SmallVector<Attribute> list;
  auto parseOne = [&]() -> ParseResult {
    std::string text;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseString(&text))
      return failure();
    Expected<std::vector<DeviceName>> names = expandDevices(text);
    if (!names)
      return parser.emitError(loc) << names.status().message();
    for (const DeviceName &name : *names)
      list.push_back(DeviceAttr::get(parser.getContext(), name));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  devices = parser.getBuilder().getArrayAttr(list);
  return success();
}

void gantry::printDevices(OpAsmPrinter &printer, Operation *, ArrayAttr devices) {
  printer << "[";
  llvm::interleaveComma(devices.getAsRange<DeviceAttr>(), printer,
                        [&](DeviceAttr device) { printQuoted(printer, device); });
  printer << "]";
}
