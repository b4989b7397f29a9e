// What a model says about itself: ports, ops, what is still open. Nothing is imported here.

#include "DimNames.h"
#include "Handlers.h"
#include "ImportModel.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace gantry;
using namespace gantry::onnx;
using llvm::StringRef;
using llvm::Twine;

namespace {

/// Goes through a model once and collects.
class Describer {
public:
  Describer(const Model &model, const ImportOptions &options, GraphReport &report)
      : model(model), options(options), report(report) {
    for (const Tensor &tensor : model.graph.initializers)
      initializers.insert(tensor.name);
    for (const Function &function : model.functions)
      functions.insert(functionKey(function.domain, function.name));
  }

  void run() {
    report.producer = (Twine(model.producer) + " " + model.producerVersion).str();
    report.producer = StringRef(report.producer).trim().str();
    for (auto &[domain, version] : model.opsets)
      report.opsets.push_back({display(domain).str(), version});
    describePorts();
    countOps(model.graph.nodes, model.opsets);
    for (auto &[op, count] : counts)
      report.ops.push_back({op, count.first, count.second});
    findShapeInputs(model.graph);
  }

  bool hasOpenBranch() {
    llvm::SmallVector<StringRef> conditions;
    for (const Node &node : model.graph.nodes)
      if (node.op == "If" && node.domain.empty() && !node.inputs.empty())
        conditions.push_back(node.inputs.front());
    return !inputsBehind(model.graph, std::move(conditions)).empty();
  }

private:
  static std::string functionKey(std::string_view domain, std::string_view name) {
    return (Twine(domain) + ":" + name).str();
  }
  static StringRef display(StringRef domain) { return domain.empty() ? "ai.onnx" : domain; }

  bool isInitializer(StringRef name) const { return initializers.contains(name); }
  bool hasValue(StringRef name) const {
    return llvm::any_of(options.values, [&](const InputValue &v) { return v.name == name; });
  }

  static StringRef kindOf(const Type &type) {
    switch (type.kind) {
    case Type::TensorType:
      return nameOf(type.element);
    case Type::SequenceType:
      return "sequence";
    case Type::MapType:
      return "map";
    case Type::OptionalType:
      return "optional";
    case Type::SparseTensorType:
      return "sparse tensor";
    default:
      return kUndeclared;
    }
  }

  static GraphPort makePort(const ValueInfo &value) {
    GraphPort port;
    port.name = value.name;
    port.kind = kindOf(value.type).str();
    port.isTensor = value.type.kind == Type::TensorType;
    if (port.isTensor)
      port.element = elementTypeNamed(port.kind);
    if (!port.isTensor || !value.type.hasShape)
      return port;
    auto &dims = port.dims.emplace();
    for (const Dim &dim : value.type.dims)
      dims.push_back(
          {dim.isKnown() ? std::optional(dim.size) : std::nullopt, std::string(dim.param)});
    return port;
  }

  void describePorts() {
    llvm::StringMap<int64_t> given;
    for (auto &[name, size] : options.dims)
      given.try_emplace(name, size);
    DimNames names(model);
    for (const ValueInfo &input : model.graph.inputs) {
      if (isInitializer(input.name))
        continue;
      report.inputs.push_back(makePort(input));
      if (!hasValue(input.name))
        findOpenDims(input, names, given);
    }
    for (const ValueInfo *output : outputsOf(model))
      report.outputs.push_back(makePort(*output));
  }

  void findOpenDims(const ValueInfo &input, const DimNames &names,
                    const llvm::StringMap<int64_t> &given) {
    auto sizeOf = [&](StringRef name) -> std::optional<int64_t> {
      auto it = given.find(name);
      return it == given.end() ? std::nullopt : std::optional(it->second);
    };
    auto ask = [&](const std::string &name) {
      if (!llvm::is_contained(report.openDims, name))
        report.openDims.push_back(name);
    };
    // How many there are nobody knows, but there is a first one.
    if (input.type.kind == Type::TensorType && !input.type.hasShape && !sizeOf(placeOf(input, 0)))
      ask(placeOf(input, 0));
    for (auto [i, dim] : llvm::enumerate(input.type.dims)) {
      std::string key = dimKey(input, i);
      if (!dim.isKnown() && !sizeOf(placeOf(input, i)) && !sizeOf(key) &&
          !computeDim(dim.param, sizeOf))
        llvm::for_each(names.toGive(key, given), ask);
    }
  }

  bool isFunction(const Node &node) const {
    return !functions.empty() && functions.contains(functionKey(node.domain, node.op));
  }

  void countOps(const std::vector<Node> &nodes, const Opsets &opsets) {
    for (const Node &node : nodes) {
      const OpTable::Entry *entry = getOpTable().find(node.domain, node.op);
      const std::string dataDecide = whyDataDecide(node, entry);
      bool supported = (entry && entry->handler && dataDecide.empty()) || isFunction(node);
      std::string name = node.domain.empty() ? "" : std::string(node.domain) + ".";
      name += node.op;
      auto &count = counts.try_emplace(name, 0, supported).first->second;
      ++count.first;
      if (!supported) {
        int64_t opset = 0;
        for (auto &[domain, version] : opsets)
          if (domain == node.domain)
            opset = version;
        std::string why = !dataDecide.empty() ? dataDecide
                          : entry             ? "the op is not supported: " + entry->refusal
                                              : "the op is not supported";
        StringRef first = node.outputs.empty() ? StringRef() : StringRef(node.outputs.front());
        report.issues.push_back({(node.name.empty() ? first : StringRef(node.name)).str(),
                                 std::string(node.op), display(node.domain).str(), opset, why});
      }
      for (const Attribute &attribute : node.attributes)
        if (attribute.graph)
          countOps(attribute.graph->nodes, opsets);
    }
  }

  /// Why data decide the shape of what a node of the graph gives; empty where they do not.
  std::string whyDataDecide(const Node &node, const OpTable::Entry *entry) {
    llvm::SmallVector<StringRef> deciding;
    for (unsigned operand : entry ? entry->decidingOperands : llvm::SmallVector<unsigned, 1>())
      if (operand < node.inputs.size())
        deciding.push_back(node.inputs[operand]);
    if (inputsBehind(model.graph, std::move(deciding)).empty())
      return {};
    std::vector<std::string_view> before;
    for (std::string_view name : node.inputs)
      if (!name.empty() && !isInitializer(name) &&
          llvm::none_of(model.graph.inputs, [&](const ValueInfo &i) { return i.name == name; }))
        before.push_back(name);
    return describeDataShape(before);
  }

  void findShapeInputs(const Graph &graph) {
    llvm::SmallVector<StringRef> operands;
    for (const Node &node : graph.nodes)
      if (const OpTable::Entry *entry = getOpTable().find(node.domain, node.op))
        for (unsigned operand : entry->shapeOperands)
          if (!entry->decidesShapes || entry->decidesShapes(node))
            if (operand < node.inputs.size() && !node.inputs[operand].empty())
              operands.push_back(node.inputs[operand]);
    report.shapeInputs = inputsBehind(graph, std::move(operands));
  }

  /// Follows values back to inputs of the graph. Shape and Size end the way: what they say is known
  /// from the types alone.
  std::vector<std::string> inputsBehind(const Graph &graph, llvm::SmallVector<StringRef> pending) {
    llvm::StringMap<const Node *> makers;
    for (const Node &node : graph.nodes)
      for (StringRef output : node.outputs)
        makers[output] = &node;
    llvm::StringSet<> seen;
    std::vector<std::string> found;
    while (!pending.empty()) {
      StringRef name = pending.pop_back_val();
      if (!seen.insert(name).second || isInitializer(name) || hasValue(name))
        continue;
      if (const Node *maker = makers.lookup(name)) {
        if (maker->op != "Shape" && maker->op != "Size")
          llvm::append_range(pending, maker->inputs);
        continue;
      }
      if (llvm::any_of(graph.inputs,
                       [&](const ValueInfo &input) { return StringRef(input.name) == name; }))
        found.push_back(name.str());
    }
    llvm::sort(found);
    return found;
  }

  const Model &model;
  const ImportOptions &options;
  GraphReport &report;
  llvm::StringSet<> initializers, functions;
  std::map<std::string, std::pair<int64_t, bool>> counts;
};

} // namespace

void gantry::onnx::describeModel(const Model &model, const ImportOptions &options,
                                 GraphReport &report) {
  Describer(model, options, report).run();
}

bool gantry::onnx::hasOpenBranch(const Model &model, const ImportOptions &options) {
  GraphReport unused;
  return Describer(model, options, unused).hasOpenBranch();
}

std::string gantry::onnx::nameOfInput(const Model &model, StringRef name) {
  const auto called = [&](const auto &value) { return StringRef(value.name) == name; };
  StringRef number = name;
  size_t index;
  if (!number.consume_front("arg") || number.getAsInteger(10, index) ||
      llvm::any_of(model.graph.inputs, called))
    return name.str();
  for (const ValueInfo &input : model.graph.inputs) {
    bool isInput = llvm::none_of(model.graph.initializers,
                                 [&](const Tensor &tensor) { return tensor.name == input.name; });
    if (isInput && index-- == 0)
      return std::string(input.name);
  }
  return name.str();
}
