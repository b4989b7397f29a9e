// Walks a model: inputs and initialisers first, then the nodes in the order of their use, each
// through its handler. Names live in scopes; bodies of If and Loop see the scopes around them,
// functions do not.

#include "Importer.h"
#include "MachineLearning.h"
#include "NodeOrder.h"

#include "gantry/Device/DeviceName.h"
#include "gantry/Dialect/Gantry/IR/Ports.h"
#include "gantry/Dialect/Gantry/IR/Requests.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

/// Functions that call functions, bodies inside bodies.
static constexpr int kMaxDepth = 64;
/// Ops of one module; unrolled loops of hostile files end here.
static constexpr size_t kMaxNodes = 500'000, kMaxOps = 5'000'000;
static constexpr int64_t kMaxTableElements = int64_t(1) << 25;

namespace gantry::onnx {

/// The names that nodes of one graph, body or function see.
struct Scope {
  Scope *parent = nullptr;
  const Opsets *opsets = nullptr;
  /// Attributes of the call when this is a function's body.
  const llvm::StringMap<const onnx::Attribute *> *callAttributes = nullptr;
  int depth = 0;
  /// Null for outputs of nodes that failed.
  llvm::StringMap<Value> values = {};
  /// The nodes of the graph or function, for messages.
  ArrayRef<Node> nodes = {};

  /// The entry for `name`, or null when no scope has it.
  const Value *find(StringRef name) const {
    for (const Scope *scope = this; scope; scope = scope->parent)
      if (auto it = scope->values.find(name); it != scope->values.end())
        return &it->second;
    return nullptr;
  }
};

class Importer {
public:
  Importer(const ImportRequest &request, MLIRContext *context)
      : model(*request.model), options(*request.options), tensors(*request.tensors),
        report(request.report), context(context), builder(context),
        file(FileLineColLoc::get(context, request.file, 0, 0)) {}

  OwningOpRef<ModuleOp> run();

  std::optional<Values> importBody(Scope &around, const Graph &graph, ArrayRef<Value> arguments);
  /// A tensor of the file as a constant; null after a diagnostic.
  Value makeConstant(const Tensor &tensor, Location loc);
  TensorReader &getTensors() { return tensors; }
  bool isNarrow(Value value) const { return narrow.contains(value); }
  Location locationOf(StringRef name) {
    return NameLoc::get(StringAttr::get(context, name.empty() ? "?" : name), file);
  }

  OpBuilder &getBuilder() { return builder; }
  /// See NodeContext.
  std::string whyFails(function_ref<bool()> build);
  bool attempt(function_ref<bool()> build, std::string &why);
  void askFor(Location loc, ArrayRef<std::string> inputs, StringRef why, size_t issues);
  size_t issueCount() const { return report ? report->issues.size() : 0; }
  /// Whether one more op may be made.
  bool countOp() { return ++opsMade <= kMaxOps; }
  /// Whether that many more elements may be computed.
  bool countTable(int64_t elements) { return (tableElements += elements) <= kMaxTableElements; }

private:
  LogicalResult checkModel();
  std::optional<int64_t> sizeOf(const ValueInfo &input, size_t axis) const;
  LogicalResult checkOpenDims(ArrayRef<const ValueInfo *> inputs);
  /// All attributes of an input or output of the function; those of all are set at once, since one
  /// at a time would copy all of them each time.
  DictionaryAttr nameAttribute(StringRef name) {
    return builder.getDictionaryAttr(builder.getNamedAttr(kNameAttr, builder.getStringAttr(name)));
  }
  LogicalResult checkOutput(const ValueInfo &output, Value value);
  void warn(const Twine &about);
  LogicalResult resolveDims();
  FailureOr<RankedTensorType> typeOfInput(const ValueInfo &input);
  FailureOr<Value> bindValue(const ValueInfo &input, const InputValue &value);
  LogicalResult importInputs(func::FuncOp function, Scope &scope);
  LogicalResult importInitializers(const Graph &graph, Scope &scope);
  LogicalResult importNodes(ArrayRef<Node> nodes, Scope &scope);
  LogicalResult importNode(const Node &node, Scope &scope);
  DeviceAttr readRequest(const Node &node, std::string &wrong) const;
  Values dispatch(const Node &node, Scope &scope, int64_t opset, Location loc, DeviceAttr request);
  Values callFunction(const Function &callee, NodeContext &call, const Node &node, Scope &scope);
  const Function *findFunction(const Node &node) const;
  /// Says what is wrong with a node, or notes it in the report. Success means: go on.
  LogicalResult reportNode(const Node &node, int64_t opset, StringRef message);

  const Model &model;
  const ImportOptions &options;
  TensorReader &tensors;
  GraphReport *report;
  MLIRContext *context;
  OpBuilder builder;
  Location file;
  llvm::StringMap<int64_t> dims;
  llvm::StringMap<const Function *> functions;
  /// Values whose elements have less than the 8 bits that they are held in.
  llvm::DenseSet<Value> narrow;
  size_t nodesImported = 0, opsMade = 0;
  int64_t tableElements = 0;
  /// Nodes left out because one that they need failed and was reported.
  size_t nodesLeftOut = 0;
};

} // namespace gantry::onnx

static int64_t opsetOf(const Opsets &opsets, std::string_view domain) {
  for (auto &[name, version] : opsets)
    if (name == domain)
      return version;
  return 0;
}

static StringRef displayDomain(StringRef domain) { return domain.empty() ? "ai.onnx" : domain; }

static StringRef nameOfNode(const Node &node) {
  if (!node.name.empty())
    return node.name;
  for (StringRef output : node.outputs)
    if (!output.empty())
      return output;
  return node.op;
}

//===----------------------------------------------------------------------===//
// The op table
//===----------------------------------------------------------------------===//

static std::string keyOf(StringRef domain, StringRef op) { return (domain + ":" + op).str(); }

OpTable::Entry &OpTable::add(StringRef op, Handler handler, Arity arity, StringRef domain) {
  Entry &entry = entries[keyOf(domain, op)];
  entry.handler = std::move(handler);
  entry.arity = arity;
  return entry;
}

void OpTable::refuse(StringRef op, StringRef why, StringRef domain) {
  entries[keyOf(domain, op)].refusal = why.str();
}

const OpTable::Entry *OpTable::find(StringRef domain, StringRef op) const {
  auto it = entries.find(keyOf(domain, op));
  return it == entries.end() ? nullptr : &it->second;
}

std::vector<std::string> OpTable::supported() const {
  std::vector<std::string> names;
  for (const auto &entry : entries)
    if (entry.second.handler)
      names.push_back(entry.first().starts_with(":") ? entry.first().drop_front().str()
                                                     : entry.first().str());
  llvm::sort(names);
  return names;
}

const OpTable &gantry::onnx::getOpTable() {
  static const OpTable table = [] {
    OpTable made;
    for (auto add : {addElementwiseOps, addShapeOps,     addContractionOps,
                     addPoolingOps,     addReductionOps, addNormalizationOps,
                     addIndexingOps,    addEinsumOp,     addImageOps,
                     addQuantizedOps,   addPackedOps,    addRecurrentOps,
                     addLossOps,        addGeneratorOps, addControlFlowOps,
                     addTrainingOps,    addSignalOps,    addSamplingOps,
                     addAttentionOps,   addMicrosoftOps, addMachineLearningOps,
                     addRefusedOps})
      add(made);
    return made;
  }();
  return table;
}

//===----------------------------------------------------------------------===//
// Inputs and initialisers
//===----------------------------------------------------------------------===//

static std::string functionKey(StringRef domain, StringRef name, StringRef overload) {
  return (domain + ":" + name + ":" + overload).str();
}

LogicalResult Importer::checkModel() {
  ModelFindings findings = onnx::checkModel(model);
  for (const std::string &warning : findings.warnings)
    warn(warning);
  if (!findings.error.empty())
    return emitError(file) << findings.error;
  for (const Function &function : model.functions)
    functions[functionKey(function.domain, function.name, function.overload)] = &function;
  return success();
}

void Importer::warn(const Twine &about) {
  if (report)
    report->warnings.push_back(about.str());
  else
    emitWarning(file) << about;
}

/// A dimension by its place; nameless ones are given so.
static std::string placeOf(const ValueInfo &input, size_t axis) {
  return std::string(input.name) + ":" + std::to_string(axis);
}

/// The name under which --dim gives a dimension.
static std::string dimKey(const ValueInfo &input, size_t axis) {
  std::string_view param = input.type.dims[axis].param;
  return param.empty() ? placeOf(input, axis) : std::string(param);
}

LogicalResult Importer::resolveDims() {
  llvm::StringSet<> open, places;
  for (const ValueInfo &input : model.graph.inputs)
    for (size_t i = 0; i < input.type.dims.size(); ++i) {
      std::string byPlace = placeOf(input, i);
      const Dim &dim = input.type.dims[i];
      places.insert(byPlace);
      if (!dim.isKnown())
        open.insert(dimKey(input, i));
      for (auto &[name, size] : options.dims)
        if (dim.isKnown() && name == byPlace && dim.size != size)
          return emitError(file) << "dimension '" << name << "' is fixed to " << dim.size
                                 << " in the file and cannot be " << size;
    }
  for (auto &[name, size] : options.dims) {
    if (size < 0)
      return emitError(file) << "dimension '" << name << "' cannot have size " << size;
    auto [it, fresh] = dims.try_emplace(name, size);
    if (!fresh && it->second != size)
      return emitError(file) << "dimension '" << name << "' is given twice, as " << it->second
                             << " and " << size;
    if (!open.contains(name) && !places.contains(name)) {
      auto error = emitError(file) << "no open dimension is named '" << name << "'; ";
      if (open.empty())
        return error << "the file leaves none open";
      SmallVector<StringRef> names(open.keys());
      llvm::sort(names);
      return error << "open are " << llvm::join(names, ", ");
    }
  }
  return success();
}

/// Null after an error.
static mlir::Type elementOfInput(const ValueInfo &input, Location file) {
  mlir::Type element = makeElementType(input.type.element, file.getContext());
  if (!element)
    emitError(file) << "input '" << input.name << "' has the element type "
                    << nameOf(input.type.element) << ", which is not supported; "
                    << supportedElementTypes() << " are";
  return element;
}

std::optional<int64_t> Importer::sizeOf(const ValueInfo &input, size_t axis) const {
  for (const std::string &name : {placeOf(input, axis), dimKey(input, axis)})
    if (auto it = dims.find(name); it != dims.end())
      return it->second;
  return std::nullopt;
}

/// "f32[batch,3]", as the file declares it.
static std::string declaredType(const ValueInfo &value) {
  if (!value.type.hasShape)
    return std::string(nameOf(value.type.element)) + "[...]";
  std::string text = std::string(nameOf(value.type.element)) + "[";
  for (auto [i, dim] : llvm::enumerate(value.type.dims))
    text += (i ? "," : "") + (dim.isKnown()       ? std::to_string(dim.size)
                              : dim.param.empty() ? "?"
                                                  : std::string(dim.param));
  return text + "]";
}

/// Asks for the sizes of all open dimensions at once, with the flags to paste.
LogicalResult Importer::checkOpenDims(ArrayRef<const ValueInfo *> inputs) {
  std::vector<std::string> missing, types;
  for (const ValueInfo *input : inputs) {
    bool isOpen = false;
    for (size_t i = 0; i < input->type.dims.size(); ++i)
      if (!input->type.dims[i].isKnown() && !sizeOf(*input, i)) {
        isOpen = true;
        if (std::string name = dimKey(*input, i); !llvm::is_contained(missing, name))
          missing.push_back(name);
      }
    if (isOpen)
      types.push_back("'" + std::string(input->name) + "': " + declaredType(*input));
  }
  if (missing.empty())
    return success();
  return emitError(file) << "the inputs have open dimensions (" << llvm::join(types, ", ")
                         << "); give their sizes with " << dimFlags(missing);
}

static LogicalResult checkKind(const ValueInfo &input, Location file) {
  if (input.type.kind == onnx::Type::TensorType)
    return success();
  return emitError(file) << "input '" << input.name
                         << "' is not a tensor; sequences, maps, optional and "
                         << "sparse values are not supported";
}

FailureOr<RankedTensorType> Importer::typeOfInput(const ValueInfo &input) {
  mlir::Type element = elementOfInput(input, file);
  if (!element)
    return failure();
  if (!input.type.hasShape)
    return emitError(file) << "input '" << input.name
                           << "' has no declared shape, which is not supported; "
                           << "declare its dimensions in the model (they may be open)";
  Ints shape;
  for (auto [i, dim] : llvm::enumerate(input.type.dims)) {
    if (dim.isKnown()) {
      shape.push_back(dim.size);
      continue;
    }
    shape.push_back(*sizeOf(input, i)); // checkOpenDims has asked for those that are missing
  }
  auto type = makeTensorType(shape, element);
  if (!type)
    return emitError(file) << "input '" << input.name << "': " << type.status().message();
  return *type;
}

/// An input given by value: its sizes may also settle open dimensions.
FailureOr<Value> Importer::bindValue(const ValueInfo &input, const InputValue &value) {
  if (failed(checkKind(input, file)))
    return failure();
  if (input.type.hasShape) {
    bool fits = input.type.dims.size() == value.shape.size();
    for (size_t i = 0; fits && i < value.shape.size(); ++i)
      if (input.type.dims[i].isKnown())
        fits = input.type.dims[i].size == value.shape[i];
      else
        fits = dims.try_emplace(dimKey(input, i), value.shape[i]).first->second == value.shape[i];
    if (!fits) {
      auto error = emitError(file) << "the value for input '" << input.name << "' has the shape [";
      llvm::interleaveComma(value.shape, error);
      error << "], the input has [";
      llvm::interleaveComma(llvm::seq(input.type.dims.size()), error, [&](size_t i) {
        const Dim &dim = input.type.dims[i];
        dim.isKnown() ? error << dim.size : error << dimKey(input, i);
      });
      return error << "]";
    }
  }
  mlir::Type element = elementOfInput(input, file);
  if (!element)
    return failure();
  auto type = makeTensorType(value.shape, element);
  if (!type)
    return emitError(file) << "the value for input '" << input.name
                           << "': " << type.status().message();
  Elements elements;
  elements.isFloat = std::holds_alternative<std::vector<double>>(value.elements);
  if (elements.isFloat)
    elements.floats = std::get<std::vector<double>>(value.elements);
  else
    elements.ints = std::get<std::vector<int64_t>>(value.elements);
  if (elements.isFloat && isa<IntegerType>(element))
    return emitError(file) << "the value for input '" << input.name
                           << "' holds floating-point numbers, the input is of type "
                           << nameOf(input.type.element);
  if (int64_t(elements.size()) != type->getNumElements())
    return emitError(file) << "the value for input '" << input.name << "' has " << elements.size()
                           << " elements, its shape " << type->getNumElements();
  return Value(ConstantOp::create(builder, locationOf(input.name),
                                  ElementsAttr(makeElements(*type, elements))));
}

LogicalResult Importer::importInputs(func::FuncOp function, Scope &scope) {
  for (const InputValue &value : options.values)
    if (llvm::none_of(model.graph.inputs, [&](const ValueInfo &i) { return i.name == value.name; }))
      return emitError(file) << "a value is given for '" << value.name
                             << "', which is no input of the graph";
  SmallVector<mlir::Type> types;
  SmallVector<const ValueInfo *> arguments;
  // Values first: their shapes may settle open dimensions of the others.
  for (const InputValue &value : options.values)
    for (const ValueInfo &input : model.graph.inputs)
      if (input.name == value.name) {
        FailureOr<Value> constant = bindValue(input, value);
        if (failed(constant))
          return failure();
        scope.values[input.name] = *constant;
      }
  llvm::StringSet<> initializers;
  for (const Tensor &tensor : model.graph.initializers)
    initializers.insert(tensor.name);
  for (const ValueInfo &input : model.graph.inputs) {
    // Before IR version 4 every initialiser is listed among the inputs, too.
    if (initializers.contains(input.name) || scope.values.contains(input.name))
      continue;
    arguments.push_back(&input);
  }
  for (const ValueInfo *input : arguments)
    if (failed(checkKind(*input, file)))
      return failure();
  if (failed(checkOpenDims(arguments)))
    return failure();
  for (const ValueInfo *input : arguments) {
    FailureOr<RankedTensorType> type = typeOfInput(*input);
    if (failed(type))
      return failure();
    types.push_back(*type);
  }
  Block &entry = function.getBody().front();
  for (auto [type, input] : llvm::zip(types, arguments))
    scope.values[input->name] = entry.addArgument(type, locationOf(input->name));
  function.setFunctionType(builder.getFunctionType(types, {}));
  function.setAllArgAttrs(llvm::map_to_vector(
      arguments, [&](const ValueInfo *input) { return nameAttribute(input->name); }));
  return success();
}

Value Importer::makeConstant(const Tensor &tensor, Location loc) {
  auto attr = tensors.read(tensor);
  if (!attr) {
    emitError(file) << "tensor '" << tensor.name << "': " << attr.status().message();
    return {};
  }
  auto op = ConstantOp::create(builder, loc, *attr);
  if (!tensor.name.empty())
    op->setAttr(kNameAttr, builder.getStringAttr(tensor.name));
  if (narrowBits(tensor.type))
    narrow.insert(op);
  return op;
}

LogicalResult Importer::importInitializers(const Graph &graph, Scope &scope) {
  for (StringRef name : graph.sparseInitializers)
    return emitError(file) << "initializer '" << name
                           << "' is sparse, which is not supported; dense ones are";
  for (const Tensor &tensor : graph.initializers) {
    if (scope.values.contains(tensor.name))
      continue;
    Value value = makeConstant(tensor, locationOf(tensor.name));
    if (!value)
      return failure();
    scope.values[tensor.name] = value;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

const Function *Importer::findFunction(const Node &node) const {
  return functions.empty() ? nullptr
                           : functions.lookup(functionKey(node.domain, node.op, node.overload));
}

LogicalResult Importer::reportNode(const Node &node, int64_t opset, StringRef message) {
  if (report) {
    report->issues.push_back({nameOfNode(node).str(), std::string(node.op),
                              displayDomain(node.domain).str(), opset, message.str()});
    return success();
  }
  // At the file: the text names the node itself.
  return emitError(file) << "node '" << nameOfNode(node) << "' (" << node.op << " of "
                         << displayDomain(node.domain) << ", "
                         << (opset > 0 ? "opset " + std::to_string(opset) : "of no declared opset")
                         << "): " << message;
}

/// What is wrong with the number of operands or outputs, or nothing.
static std::string checkArity(const Node &node, const Arity &arity, ArrayRef<Value> inputs) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (unsigned i = 0; i < arity.minInputs; ++i)
    if (i >= inputs.size() || !inputs[i]) {
      os << "operand " << i << " is missing; it has " << inputs.size() << ", needs "
         << arity.minInputs;
      return text;
    }
  if (inputs.size() > arity.maxInputs)
    os << "it has " << inputs.size() << " operands; at most " << arity.maxInputs
       << " are supported";
  else
    for (size_t i = arity.maxOutputs; i < node.outputs.size(); ++i)
      if (!node.outputs[i].empty()) {
        os << "output " << i << " ('" << node.outputs[i] << "') is not supported; the first "
           << arity.maxOutputs << (arity.maxOutputs == 1 ? " is" : " are");
        return text;
      }
  return text;
}

/// An attribute that the handler never asked for changes what the node means, or is a typing error.
static std::string checkAttributes(const NodeContext &context) {
  for (const auto &attr : context.attributes()) {
    if (context.readAttrs().contains(attr.first()))
      continue;
    SmallVector<StringRef> known(context.readAttrs().keys());
    llvm::sort(known);
    std::string supported =
        known.empty() ? "it has none that are" : "supported are " + llvm::join(known, ", ");
    return ("attribute '" + attr.first() + "' is not supported in this opset; " + supported).str();
  }
  return {};
}

/// The device that the node's configuration names, or null; `wrong` says why it cannot be told.
/// One of several devices is chosen by the pipeline stage (spec P15).
DeviceAttr Importer::readRequest(const Node &node, std::string &wrong) const {
  if (node.configurations.empty())
    return {};
  auto refuse = [&](const Twine &what) {
    wrong = what.str();
    return DeviceAttr();
  };
  const NodeConfiguration &asked = node.configurations.front();
  if (node.configurations.size() > 1)
    return refuse("it has " + Twine(node.configurations.size()) +
                  " device configurations; one is supported");
  if (!asked.shardedTensors.empty())
    return refuse(Twine("its device configuration '") + asked.id + "' shards '" +
                  asked.shardedTensors.front() +
                  "'; sharding specs are not supported, devices for whole nodes are");
  auto found = llvm::find_if(model.configurations,
                             [&](const DeviceConfiguration &c) { return c.name == asked.id; });
  if (found == model.configurations.end())
    return refuse(Twine("its device configuration '") + asked.id + "' is not among the model's");
  if (asked.stage >= 0 ? size_t(asked.stage) >= found->devices.size() : found->devices.size() != 1)
    return refuse(Twine("its device configuration '") + asked.id + "' names " +
                  Twine(found->devices.size()) + " devices, and " +
                  (asked.stage >= 0 ? "the node's pipeline stage is " + Twine(asked.stage)
                                    : Twine("no pipeline stage says which one is meant")));
  StringRef device = found->devices[asked.stage >= 0 ? size_t(asked.stage) : 0];
  Expected<DeviceName> name = DeviceName::parse(device);
  if (!name)
    return refuse(Twine("its device configuration '") + asked.id + "' names the device '" + device +
                  "': " + name.status().message());
  return DeviceAttr::get(context, *name);
}

/// What shape arithmetic is made of: it is folded wherever it was to run (spec P7).
static bool isShapeConstant(Value value) {
  return getConstantIntegers(getConstantElements(value)).has_value();
}

Values Importer::dispatch(const Node &node, Scope &scope, int64_t opset, Location loc,
                          DeviceAttr request) {
  auto refuse = [&](const Twine &message) {
    emitError(loc) << message;
    return Values();
  };
  SmallVector<Value> inputs;
  for (StringRef name : node.inputs) {
    const Value *value = name.empty() ? nullptr : scope.find(name);
    if (!name.empty() && !value)
      return refuse("operand '" + name +
                    "' is made by no node, input or initializer before this node");
    inputs.push_back(value ? *value : Value());
  }
  NodeContext context(*this, scope, node, opset, loc, inputs);
  context.request = request;
  if (const Function *callee = findFunction(node))
    return callFunction(*callee, context, node, scope);
  const OpTable::Entry *entry = getOpTable().find(node.domain, node.op);
  if (std::string wrong = checkArity(node, entry->arity, inputs); !wrong.empty())
    return refuse(wrong);
  auto isNarrow = [&](Value value) { return this->isNarrow(value); };
  bool anyNarrow = llvm::any_of(inputs, isNarrow);
  if (anyNarrow && entry->narrow == Narrow::refuses)
    return refuse("an operand of less than 8 bits is not supported; DequantizeLinear, Cast and ops "
                  "that only move elements take it");
  Values results = entry->handler(context);
  if (context.hasFailed())
    return {};
  if (std::string wrong = checkAttributes(context); !wrong.empty())
    return refuse(wrong);
  // A node that gives back what it took has no op that could be somewhere; its value has (P1).
  for (Value &value : results)
    if (request && value && llvm::is_contained(inputs, value) && !isShapeConstant(value))
      value = CopyOp::create(builder, loc, value, request, /*force=*/false, StringAttr());
  if (anyNarrow && entry->narrow == Narrow::moves)
    narrow.insert_range(results);
  return results;
}

/// The name that has a value before this node gives it one; empty when there is none. Bodies may
/// use a name of the graph around them again.
static StringRef findRedefinition(const Node &node, const Scope &scope) {
  llvm::StringSet<> own;
  for (StringRef name : node.outputs)
    if (!name.empty() && (scope.values.contains(name) || !own.insert(name).second))
      return name;
  return {};
}

/// Says who gave the value first.
static std::string describeRedefinition(const Node &node, const Scope &scope, StringRef name) {
  std::string text = ("output '" + name + "' is defined twice: ").str();
  for (const Node &other : scope.nodes) {
    if (&other == &node)
      break;
    if (llvm::is_contained(other.outputs, std::string_view(name)))
      return text + "by this node and by node '" + nameOfNode(other).str() + "' (" +
             std::string(other.op) + ") before it";
  }
  return text + (scope.values.contains(name) ? "it is an input or initializer, too"
                                             : "the node lists it twice");
}

LogicalResult Importer::importNode(const Node &node, Scope &scope) {
  Location loc = locationOf(nameOfNode(node));
  int64_t opset = opsetOf(*scope.opsets, node.domain);
  if (++nodesImported > kMaxNodes)
    return emitError(loc) << "the graph unrolls to more than " << kMaxNodes << " nodes";

  // Poisoned: a node before has failed and was reported already.
  bool poisoned = llvm::any_of(node.inputs, [&](StringRef name) {
    const Value *value = name.empty() ? nullptr : scope.find(name);
    return value && !*value;
  });
  std::string message;
  const OpTable::Entry *entry = getOpTable().find(node.domain, node.op);
  DeviceAttr request = readRequest(node, message);
  const Function *callee = findFunction(node);
  if (message.empty() && !entry && !callee)
    message = "the op is not supported; " + std::to_string(getOpTable().supported().size()) +
              " ops are, see docs/generated/OnnxOps.md";
  else if (message.empty() && entry && !entry->handler && !callee)
    message = "the op is not supported: " + entry->refusal;

  StringRef again = findRedefinition(node, scope);
  if (message.empty() && !again.empty())
    message = describeRedefinition(node, scope, again);

  Values results;
  size_t issuesBefore = report ? report->issues.size() : 0, leftOutBefore = nodesLeftOut;
  if (message.empty() && !poisoned) {
    ScopedDiagnosticHandler collect(context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error && message.empty())
        message = diagnostic.str();
      return success();
    });
    results = dispatch(node, scope, opset, loc, request);
  }
  // Inside the node, too, something may have been left out for a reason told before.
  poisoned |= message.empty() && nodesLeftOut > leftOutBefore;
  bool complete = message.empty() && !poisoned;
  for (auto [i, name] : llvm::enumerate(node.outputs))
    complete &= name.empty() || (i < results.size() && results[i]);
  bool reportedInside = report && report->issues.size() > issuesBefore;
  if (!complete && !poisoned && !reportedInside) {
    bool lacksOperand = llvm::is_contained(node.inputs, std::string_view());
    bool lacksOutput = !results.empty() && results.size() < node.outputs.size() &&
                       !llvm::is_contained(results, Value());
    if (message.empty())
      message = lacksOutput    ? "it has " + std::to_string(node.outputs.size()) + " outputs, " +
                                     std::to_string(results.size()) + " are computed"
                : lacksOperand ? "an operand that it needs is left out"
                               : "the import failed without a reason; this is a defect of Gantry";
    if (failed(reportNode(node, opset, message)))
      return failure();
  }
  nodesLeftOut += poisoned;
  for (auto [i, name] : llvm::enumerate(node.outputs))
    if (!name.empty() && (again.empty() || !scope.values.contains(name)))
      scope.values[name] = complete ? results[i] : Value();
  return success(complete || report);
}

LogicalResult Importer::importNodes(ArrayRef<Node> nodes, Scope &scope) {
  scope.nodes = nodes;
  for (const Node *node : inOrderOfUse(nodes))
    if (failed(importNode(*node, scope)))
      return failure();
  return success();
}

std::optional<Values> Importer::importBody(Scope &around, const Graph &graph,
                                           ArrayRef<Value> arguments) {
  if (around.depth >= kMaxDepth) {
    emitError(file) << "bodies are nested more than " << kMaxDepth << " deep";
    return std::nullopt;
  }
  Scope scope{&around, around.opsets, around.callAttributes, around.depth + 1};
  if (graph.inputs.size() != arguments.size()) {
    emitError(file) << "body '" << graph.name << "' has " << graph.inputs.size()
                    << " inputs, expected " << arguments.size();
    return std::nullopt;
  }
  for (auto [input, value] : llvm::zip(graph.inputs, arguments))
    if (!scope.values.try_emplace(input.name, value).second) {
      emitError(file) << "input '" << input.name << "' of body '" << graph.name
                      << "' is listed twice";
      return std::nullopt;
    }
  if (failed(importInitializers(graph, scope)) || failed(importNodes(graph.nodes, scope)))
    return std::nullopt;
  Values outputs;
  for (const ValueInfo &output : graph.outputs) {
    const Value *value = scope.find(output.name);
    if (!value)
      emitError(file) << "output '" << output.name << "' of body '" << graph.name
                      << "' is made by no node";
    else if (!*value)
      ++nodesLeftOut;
    if (!value || !*value)
      return std::nullopt;
    outputs.push_back(*value);
  }
  return outputs;
}

bool Importer::attempt(function_ref<bool()> build, std::string &why) {
  size_t issuesBefore = issueCount(), leftOutBefore = nodesLeftOut;
  why = whyFails(build);
  if (why.empty())
    return true;
  if (report)
    report->issues.resize(issuesBefore);
  nodesLeftOut = leftOutBefore;
  return false;
}

Values Importer::callFunction(const Function &callee, NodeContext &call, const Node &node,
                              Scope &around) {
  if (around.depth >= kMaxDepth) {
    emitError(file) << "functions call each other more than " << kMaxDepth << " deep";
    return {};
  }
  llvm::StringMap<const onnx::Attribute *> attributes = call.attributes();
  for (const onnx::Attribute &attr : callee.defaults)
    attributes.try_emplace(attr.name, &attr);
  Scope scope{nullptr, &callee.opsets, &attributes, around.depth + 1};
  if (node.inputs.size() > callee.inputs.size()) {
    emitError(file) << "function " << callee.name << " takes " << callee.inputs.size()
                    << " operands, got " << node.inputs.size();
    return {};
  }
  // An operand left out stays absent inside; it must not look like the output of a failed node.
  for (auto [i, name] : llvm::enumerate(callee.inputs))
    if (call.input(i))
      scope.values[name] = call.input(i);
  std::vector<Node> nodes = callee.nodes;
  for (Node &inner : nodes) {
    // What a call asks for is asked for by all nodes inside that do not ask themselves.
    if (inner.configurations.empty())
      inner.configurations = node.configurations;
    for (std::string_view &operand : inner.inputs)
      if (llvm::is_contained(callee.inputs, operand) && !scope.values.contains(operand))
        operand = "";
  }
  if (failed(importNodes(nodes, scope)))
    return {};
  Values results;
  for (StringRef name : callee.outputs) {
    const Value *value = scope.find(name);
    if (!value) {
      emitError(file) << "output '" << name << "' of function " << callee.name
                      << " is made by no node";
      return {};
    }
    results.push_back(*value);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

/// A symbol name made of the graph's name.
static std::string symbolFor(StringRef name) {
  std::string symbol;
  for (char c : name.take_front(200))
    symbol.push_back(llvm::isAlnum(c) || c == '_' || c == '.' || c == '$' ? c : '_');
  if (symbol.empty())
    return "main";
  if (llvm::isDigit(symbol.front()))
    symbol.insert(symbol.begin(), '_');
  return symbol;
}

/// Shape arithmetic and unused weights leave dead ops behind.
static void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isOpTriviallyDead(&op)) {
      op.erase();
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        eraseDeadOps(inner);
  }
}

static std::string typeText(RankedTensorType type) {
  std::string element;
  llvm::raw_string_ostream(element) << type.getElementType();
  std::string text =
      (StringRef(element).starts_with("ui") ? "u" + element.substr(2) : element) + "[";
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    text += (i ? "," : "") + std::to_string(size);
  return text + "]";
}

/// What the file declares against what its nodes compute. Another element type means that the file
/// is wrong somewhere; sizes are often left over from an earlier state of a model.
LogicalResult Importer::checkOutput(const ValueInfo &output, Value value) {
  auto type = llvm::cast<RankedTensorType>(value.getType());
  const onnx::Type &declared = output.type;
  if (declared.kind == onnx::Type::None || declared.element == DataType::Undefined)
    return success();
  if (declared.kind != onnx::Type::TensorType ||
      makeElementType(declared.element, context) != type.getElementType())
    return emitError(file) << "output '" << output.name << "' is declared as "
                           << (declared.kind == onnx::Type::TensorType ? declaredType(output)
                                                                       : "something but a tensor")
                           << ", and the graph computes " << typeText(type);
  bool fits = !declared.hasShape || int64_t(declared.dims.size()) == type.getRank();
  for (size_t i = 0; fits && declared.hasShape && i < declared.dims.size(); ++i)
    fits = !declared.dims[i].isKnown() || declared.dims[i].size == type.getDimSize(i);
  if (!fits)
    warn("output '" + Twine(output.name) + "' is declared as " + declaredType(output) +
         ", and the graph computes " + typeText(type) + "; the declaration is ignored");
  return success();
}

OwningOpRef<ModuleOp> Importer::run() {
  if (failed(checkModel()) || failed(resolveDims()))
    return {};
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, file);
  builder.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(builder, file, symbolFor(model.graph.name),
                                       builder.getFunctionType({}, {}));
  Block *entry = builder.createBlock(&function.getBody());
  builder.setInsertionPointToEnd(entry);

  Opsets defaultOpsets{{"", 1}};
  Scope scope;
  scope.opsets = model.opsets.empty() ? &defaultOpsets : &model.opsets;
  if (failed(importInputs(function, scope)) || failed(importInitializers(model.graph, scope)) ||
      failed(importNodes(model.graph.nodes, scope)))
    return {};

  SmallVector<Value> results;
  for (const ValueInfo &output : model.graph.outputs) {
    const Value *value = scope.find(output.name);
    if (!value)
      emitError(file) << "output '" << output.name << "' is made by no node";
    if (!value || !*value || failed(checkOutput(output, *value)))
      return {};
    results.push_back(*value);
  }
  func::ReturnOp::create(builder, file, results);
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllResultAttrs(llvm::map_to_vector(
      model.graph.outputs, [&](const ValueInfo &output) { return nameAttribute(output.name); }));
  eraseDeadOps(*entry);
  if (failed(verify(*module)))
    return {};
  return module;
}

OwningOpRef<ModuleOp> gantry::onnx::importModel(const ImportRequest &request,
                                                MLIRContext *context) {
  return Importer(request, context).run();
}

//===----------------------------------------------------------------------===//
// NodeContext: what needs the importer
//===----------------------------------------------------------------------===//

NodeContext::NodeContext(Importer &importer, Scope &scope, const Node &node, int64_t opset,
                         Location loc, ArrayRef<Value> inputs)
    : builder(importer.getBuilder()), importer(importer), scope(scope), node(node), version(opset),
      loc(loc), name(builder.getStringAttr(nameOfNode(node))), inputs(inputs),
      issuesBefore(importer.issueCount()) {
  for (const onnx::Attribute &attr : node.attributes) {
    const onnx::Attribute *meant = &attr;
    if (!attr.reference.empty()) {
      // Stands for an attribute of the function's caller; absent there, it is absent here.
      meant = scope.callAttributes ? scope.callAttributes->lookup(attr.reference) : nullptr;
      if (!meant)
        continue;
    }
    attrs[attr.name] = meant;
  }
}

std::string Importer::whyFails(function_ref<bool()> build) {
  size_t issuesBefore = issueCount(), leftOutBefore = nodesLeftOut;
  std::string why;
  ScopedDiagnosticHandler collect(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && why.empty())
      why = diagnostic.str();
    return success();
  });
  bool built = build();
  if (issueCount() > issuesBefore)
    return report->issues[issuesBefore].message;
  if (built && nodesLeftOut == leftOutBefore)
    return {};
  return why.empty() ? "a node before it is not supported" : why;
}

void Importer::askFor(Location loc, ArrayRef<std::string> inputs, StringRef why, size_t issues) {
  if (report) {
    // What is wrong inside may be in the branch that never runs.
    report->issues.resize(issues);
    ++nodesLeftOut;
    for (const std::string &input : inputs)
      if (!llvm::is_contained(report->shapeInputs, input))
        report->shapeInputs.push_back(input);
    return;
  }
  std::vector<std::string> flags;
  for (const std::string &input : inputs)
    flags.push_back("--value " + input + "=VALUE");
  emitError(loc) << "the value of input '" << inputs.front()
                 << "' decides which branch runs, and not both can be compiled (" << why
                 << "); give it with " << llvm::join(flags, " ");
}

std::string NodeContext::whyFails(function_ref<bool()> build) { return importer.whyFails(build); }

void NodeContext::askFor(ArrayRef<std::string> inputs, StringRef why) {
  importer.askFor(loc, inputs, why, issuesBefore);
  failed = true;
}

bool NodeContext::isNarrow(size_t i) const { return input(i) && importer.isNarrow(input(i)); }

bool NodeContext::hasReported() const { return importer.issueCount() > issuesBefore; }

std::optional<Values> NodeContext::importBody(const Graph &graph, ArrayRef<Value> arguments) {
  return importer.importBody(scope, graph, arguments);
}

bool NodeContext::attempt(llvm::function_ref<bool()> build, std::string *why) {
  std::string reason;
  bool succeeded = importer.attempt(build, reason);
  failed &= succeeded;
  if (why)
    *why = reason;
  return succeeded;
}

Value NodeContext::tensor(const Tensor &tensor) {
  auto attr = importer.getTensors().read(tensor);
  return attr ? constant(*attr) : fail("attribute tensor: " + attr.status().message());
}

bool NodeContext::countTable(int64_t elements) {
  if (importer.countTable(elements))
    return true;
  fail("windows, transforms and filters of the model have more than " + Twine(kMaxTableElements) +
       " elements, which is not supported");
  return false;
}

Value NodeContext::constant(ElementsAttr attr) {
  auto op = ConstantOp::create(builder, loc, attr);
  op->setAttr(kNameAttr, name);
  return op;
}

const onnx::Attribute *NodeContext::find(StringRef name) {
  read.insert(name);
  return attrs.lookup(name);
}

Values NodeContext::finish(OperationState &state) {
  if (!importer.countOp()) {
    fail("the graph unrolls to more than " + Twine(kMaxOps) + " ops");
    return {};
  }
  for (mlir::Type type : state.types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return failWith();
    if (!tensor.hasStaticShape()) {
      fail("the shape of the result is not known");
      return {};
    }
    if (auto checked = makeTensorType(tensor.getShape(), tensor.getElementType()); !checked) {
      fail(checked.status().message());
      return {};
    }
  }
  state.addAttribute(kNameAttr, name);
  state.addAttribute(kSourceOpAttr, builder.getStringAttr(node.op));
  Operation *op = builder.create(state);
  if (mlir::failed(op->getName().verifyInvariants(op))) {
    op->erase();
    return failWith();
  }
  // A request counts, but for shape arithmetic.
  SmallVector<Value> folded;
  bool isFolded = succeeded(builder.tryFold(op, folded)) && !folded.empty() &&
                  folded.front() != op->getResult(0);
  if (request)
    op->setAttr(kDeviceAttr, request);
  if (isFolded && (isShapeConstant(folded.front()) || mayGiveWay(op, folded.front()))) {
    op->erase();
    return Values(folded.begin(), folded.end());
  }
  return Values(op->result_begin(), op->result_end());
}
