// Nodes in the order of their use, each through its handler; bodies and functions within them; and
// the function that a model becomes. What goes in and out is in Ports.cpp.

#include "Importer.h"
#include "NodeOrder.h"

#include "gantry/Device/DeviceName.h"
#include "gantry/Support/Names.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

/// Functions that call functions, bodies inside bodies.
static constexpr int kMaxDepth = 64;
static constexpr size_t kMaxNodes = 500'000;

static int64_t opsetOf(const Opsets &opsets, std::string_view domain) {
  for (auto &[name, version] : opsets)
    if (name == domain)
      return version;
  return 0;
}

static StringRef displayDomain(StringRef domain) { return domain.empty() ? "ai.onnx" : domain; }

static std::string functionKey(StringRef domain, StringRef name, StringRef overload) {
  return (domain + ":" + name + ":" + overload).str();
}

void Importer::warn(const Twine &about) {
  if (report)
    report->warnings.push_back(about.str());
  else
    emitWarning(file) << about;
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

std::string Importer::describeMissing(const Scope &scope, StringRef name) {
  // Where everything is wrong, the first few say enough, and to look for a cycle takes its time.
  constexpr unsigned mostLookedFor = 10;
  constexpr size_t mostNamed = 8;
  std::vector<const Node *> cycle;
  for (const Scope *at = &scope; at && cycle.empty(); at = at->parent)
    if (++cyclesLookedFor <= mostLookedFor)
      cycle = findCycle(at->nodes, name);
  if (cycle.empty())
    return ("operand '" + name + "' is made by no node, input or initializer before this node")
        .str();
  std::string text = ("operand '" + name + "' is never there: the nodes form a cycle, ").str();
  for (size_t i = 0; i < cycle.size() && i < mostNamed; ++i)
    text += "'" + nameOfNode(*cycle[i]).str() + "' -> ";
  if (cycle.size() > mostNamed)
    text += std::to_string(cycle.size() - mostNamed) + " more -> ";
  return text + "'" + nameOfNode(*cycle.front()).str() + "'";
}

std::string Importer::describeUnknown(const Node &node) {
  // Looking for names that are near takes milliseconds, and a file may have any number of ops.
  constexpr size_t mostLookedFor = 20;
  const std::string prefix = node.domain.empty() ? "" : std::string(node.domain) + ":";
  const std::string op = prefix + std::string(node.op);
  const std::vector<std::string> supported = getOpTable().supported();
  std::string &meant = meantOps[op];
  if (meant.empty() && meantOps.size() <= mostLookedFor)
    meant = didYouMean(op, supported);
  return "the op is not supported" + (meant.empty() ? ";" : meant) + " " +
         std::to_string(supported.size()) + " ops are, see docs/OnnxOps.md";
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
      return refuse(describeMissing(scope, name));
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
  if (std::string wrong = checkBounds(node, *entry, scope, inputs); !wrong.empty())
    return refuse(wrong);
  Values results = entry->handler(context);
  if (context.hasFailed())
    return {};
  if (std::string wrong = checkAttributes(context); !wrong.empty())
    return refuse(wrong);
  // A node that gives back what it took has no op that could be somewhere; its value has (P1).
  for (Value &value : results)
    if (request && value && llvm::is_contained(inputs, value) && !isShapeConstant(value))
      value = copyTo(request, value, loc);
  if (anyNarrow && entry->narrow == Narrow::moves)
    narrow.insert_range(results);
  return results;
}

Value Importer::copyTo(DeviceAttr device, Value value, Location loc) {
  Value copy = CopyOp::create(builder, loc, value, device, /*force=*/false, StringAttr());
  if (auto bound = bounds.find(value); bound != bounds.end())
    bounds[copy] = Bound(bound->second);
  return copy;
}

/// Why the op does not take an operand with as many rows as data say; empty when it does.
std::string Importer::checkBounds(const Node &node, const OpTable::Entry &entry, const Scope &scope,
                                  ArrayRef<Value> inputs) const {
  if (bounds.empty() || entry.isRowByRow)
    return {};
  std::vector<std::string_view> before;
  for (auto [name, value] : llvm::zip(node.inputs, inputs))
    if (value && bounds.contains(value))
      before.push_back(name);
  if (before.empty())
    return {};
  std::string text = "operand '" + std::string(before.front()) +
                     "' has as many rows as data say; elementwise ops, gathers, slices and what "
                     "moves no row take it";
  if (scope.depth == 0)
    text += "; --outputs=" + llvm::join(before, ",") + " ends the graph before it";
  return text;
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
    message = describeUnknown(node);
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

//===----------------------------------------------------------------------===//
// Bodies and functions
//===----------------------------------------------------------------------===//

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
// What may fail
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

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

Evaluation Importer::compute(Value value) {
  if (valuesComputed >= kMaxComputed)
    return {{}, "more than " + std::to_string(kMaxComputed) + " values were computed before it"};
  const bool isNew = !getComputedElements(value) && !getConstantElements(value);
  Evaluation computed = computeValue(value);
  valuesComputed += isNew && (computed.elements || !computed.why.empty());
  return computed;
}

/// Shape arithmetic and unused weights leave dead ops behind, and what was known of others.
static void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isOpTriviallyDead(&op)) {
      op.erase();
      continue;
    }
    if (op.hasAttr(kKnownAttr))
      op.removeAttr(kKnownAttr);
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        eraseDeadOps(inner);
  }
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

  FailureOr<Outputs> outputs = importOutputs(scope);
  if (failed(outputs))
    return {};
  func::ReturnOp::create(builder, file, outputs->values);
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), ValueRange(outputs->values).getTypes()));
  function.setAllResultAttrs(llvm::map_to_vector(
      outputs->names, [&](const std::string &name) { return nameAttribute(name); }));
  eraseDeadOps(*entry);
  if (failed(verify(*module)))
    return {};
  return module;
}

OwningOpRef<ModuleOp> gantry::onnx::importGraphOf(const ImportRequest &request,
                                                  MLIRContext *context) {
  return Importer(request, context).run();
}
