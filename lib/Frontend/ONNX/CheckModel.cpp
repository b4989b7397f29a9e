// What is wrong with a model as a whole, before its nodes are looked at: versions that do not
// exist, names that are given twice. What common exporters write all the same is a warning.

#include "ImportModel.h"

#include <map>
#include <set>

using namespace gantry;
using namespace gantry::onnx;
using std::string_view;

/// IR versions whose changes have been looked at; before 3, files did not list their opsets.
static constexpr int64_t kNewestIrVersion = 13, kFirstWithOpsets = 3;
/// Newest opset of ai.onnx whose changes have been looked at.
static constexpr int64_t kNewestOpset = 27;

static std::string display(string_view domain) {
  return std::string(domain.empty() ? "ai.onnx" : domain);
}

namespace {

/// Goes through the model once; the first error is the one that counts.
class ModelCheck {
public:
  explicit ModelCheck(const Model &model) : model(model) {}

  ModelFindings run() {
    if (!model.hasGraph)
      refuse("the model holds no graph");
    checkIrVersion();
    checkOpsets(model.opsets, "");
    for (const Function &function : model.functions)
      checkFunction(function);
    checkPorts();
    checkDomains();
    return std::move(findings);
  }

private:
  void refuse(std::string why) {
    if (findings.error.empty())
      findings.error = std::move(why);
  }
  void warn(std::string about) { findings.warnings.push_back(std::move(about)); }

  void checkIrVersion() {
    if (model.irVersion == 0)
      refuse("the model gives no IR version; versions 1 to " + std::to_string(kNewestIrVersion) +
             " are known");
    else if (model.irVersion < 0 || model.irVersion > kNewestIrVersion)
      refuse("IR version " + std::to_string(model.irVersion) + " is not known; versions 1 to " +
             std::to_string(kNewestIrVersion) + " are");
  }

  /// `whose` stands in front of what is said about a function.
  void checkOpsets(const Opsets &opsets, const std::string &whose) {
    std::map<string_view, int64_t> seen;
    for (auto [domain, version] : opsets) {
      std::string name = std::to_string(version) + " of " + display(domain);
      if (version < 1)
        refuse(whose + "opset " + name + " does not exist; opsets count from 1");
      else if (domain.empty() && version > kNewestOpset)
        refuse(whose + "opset " + name + " is not supported; opsets up to " +
               std::to_string(kNewestOpset) + " are");
      auto [before, fresh] = seen.try_emplace(domain, version);
      if (!fresh && before->second == version)
        warn(whose + "opset " + name + " is listed twice");
      else if (!fresh)
        refuse(whose + "opsets " + std::to_string(before->second) + " and " + name +
               " are both listed; nodes mean different things in each, so list one");
    }
  }

  void checkFunction(const Function &function) {
    std::string name = display(function.domain) + "." + std::string(function.name);
    checkOpsets(function.opsets, "function " + name + ": ");
    if (!functions.insert({function.domain, function.name, function.overload}).second)
      refuse("function " + name + " is defined twice");
    std::set<string_view> used;
    for (const Node &node : function.nodes)
      collectDomains(node, used);
    if (used.contains("") && !lists(function.opsets, ""))
      refuse("function " + name + " has nodes of ai.onnx and lists no opset of it; which one " +
             "holds decides what they mean");
  }

  /// What a value is called in the graph's interface has to mean one value.
  void checkPorts() {
    const auto once = [&](const auto &values, const char *what) {
      std::set<string_view> seen;
      for (const auto &value : values)
        if (!seen.insert(value.name).second)
          refuse(std::string(what) + " '" + std::string(value.name) +
                 "' is listed twice; each name may stand there once");
    };
    once(model.graph.inputs, "graph input");
    once(model.graph.initializers, "initializer");
    std::set<string_view> seen;
    for (const ValueInfo &output : model.graph.outputs)
      if (!seen.insert(output.name).second)
        warn("graph output '" + std::string(output.name) + "' is listed twice; it is one output");
  }

  /// Domains that nodes are of have to be listed with an opset; only for ONNX's own does it change
  /// what ops mean.
  void checkDomains() {
    std::set<string_view> used;
    for (const Node &node : model.graph.nodes)
      collectDomains(node, used);
    for (string_view domain : used) {
      if (lists(model.opsets, domain) || definesDomain(domain))
        continue;
      if (!domain.empty())
        warn("nodes are of " + display(domain) +
             ", and the model lists no opset of it; 1 is taken");
      else if (model.irVersion >= kFirstWithOpsets)
        refuse("the model lists no opset of ai.onnx, which its nodes are of; which one holds " +
               std::string("decides what they mean"));
    }
  }

  static void collectDomains(const Node &node, std::set<string_view> &into) {
    into.insert(node.domain);
    for (const Attribute &attribute : node.attributes)
      if (attribute.graph)
        for (const Node &inner : attribute.graph->nodes)
          collectDomains(inner, into);
  }

  static bool lists(const Opsets &opsets, string_view domain) {
    return llvm::any_of(opsets, [&](const auto &opset) { return opset.first == domain; });
  }

  bool definesDomain(string_view domain) const {
    return !domain.empty() && llvm::any_of(model.functions, [&](const Function &function) {
      return function.domain == domain;
    });
  }

  const Model &model;
  ModelFindings findings;
  std::set<std::tuple<string_view, string_view, string_view>> functions;
};

} // namespace

llvm::SmallVector<const ValueInfo *> gantry::onnx::outputsOf(const Model &model) {
  llvm::SmallVector<const ValueInfo *> outputs;
  std::set<string_view> seen;
  for (const ValueInfo &output : model.graph.outputs)
    if (seen.insert(output.name).second)
      outputs.push_back(&output);
  return outputs;
}

ModelFindings gantry::onnx::checkModel(const Model &model) { return ModelCheck(model).run(); }
