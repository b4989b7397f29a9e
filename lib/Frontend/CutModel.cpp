// See CutModel.h. The cut is made before anything is imported or judged: what lies behind it may be
// unsupported, lack its weights, or have open sizes.

#include "CutModel.h"

#include "ONNX/NodeOrder.h"
#include "WantedNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace gantry;
using namespace gantry::onnx;
using llvm::StringRef;

namespace {
struct Cut {
  Model &model;
  llvm::StringMap<const Node *> makers, named;
  llvm::StringMap<std::string_view> given; ///< inputs and weights

  explicit Cut(Model &model) : model(model) {
    for (const Node &node : model.graph.nodes) {
      for (StringRef output : node.outputs)
        if (!output.empty())
          makers.try_emplace(output, &node);
      if (!node.name.empty())
        named.try_emplace(node.name, &node);
    }
    for (const ValueInfo &input : model.graph.inputs)
      given.try_emplace(input.name, input.name);
    for (const Tensor &tensor : model.graph.initializers)
      given.try_emplace(tensor.name, tensor.name);
  }

  /// The value that `name` means: itself, or what the node of this name makes.
  std::string_view valueOf(StringRef name, std::string &error) const {
    if (auto maker = makers.find(name); maker != makers.end())
      return outputOf(*maker->second, name);
    if (auto known = given.find(name); known != given.end())
      return known->second;
    const Node *node = named.lookup(name);
    if (!node)
      return {};
    llvm::SmallVector<StringRef> outputs;
    for (StringRef output : node->outputs)
      if (!output.empty())
        outputs.push_back(output);
    if (outputs.size() == 1)
      return outputs.front();
    error = "--outputs: node '" + name.str() + "' has " + std::to_string(outputs.size()) +
            " outputs: '" + llvm::join(outputs, "', '") + "'; name one of them";
    return {};
  }

  /// The model's own text of the name, which lives as long as the model.
  static std::string_view outputOf(const Node &node, StringRef name) {
    return *llvm::find(node.outputs, std::string_view(name));
  }

  std::vector<std::string> knownNames() const {
    std::vector<std::string> names;
    for (const Node &node : model.graph.nodes) {
      names.insert(names.end(), node.outputs.begin(), node.outputs.end());
      names.emplace_back(node.name);
    }
    for (const auto &value : given)
      names.push_back(value.first().str());
    return names;
  }

  std::vector<std::string> ownOutputs() const {
    std::vector<std::string> names;
    for (const ValueInfo &output : model.graph.outputs)
      names.emplace_back(output.name);
    return names;
  }

  /// As the model declares it, if it is an output of its own or an input.
  ValueInfo describe(std::string_view name) const {
    for (const auto *values : {&model.graph.outputs, &model.graph.inputs})
      for (const ValueInfo &value : *values)
        if (value.name == name)
          return value;
    return {name, {}};
  }

  /// Leaves what the values need.
  void keepOnly(llvm::ArrayRef<std::string_view> values) {
    llvm::StringSet<> read;
    llvm::DenseSet<const Node *> needed;
    llvm::SmallVector<std::string_view> pending(values);
    while (!pending.empty()) {
      const std::string_view name = pending.pop_back_val();
      if (!read.insert(name).second)
        continue;
      if (const Node *maker = makers.lookup(name); maker && needed.insert(maker).second)
        forNamesRead(*maker, [&](std::string_view operand) { pending.push_back(operand); });
    }
    const auto isUnread = [&](const auto &value) { return !read.contains(value.name); };
    llvm::erase_if(model.graph.inputs, isUnread);
    llvm::erase_if(model.graph.initializers, isUnread);
    std::vector<Node> nodes;
    for (Node &node : model.graph.nodes)
      if (needed.contains(&node))
        nodes.push_back(std::move(node));
    model.graph.nodes = std::move(nodes);
  }
};
} // namespace

bool gantry::onnx::cutModel(Model &model, llvm::ArrayRef<std::string> outputs, std::string &error) {
  Cut cut(model);
  std::vector<std::string_view> values;
  const auto find = [&](StringRef name) {
    const std::string_view value = cut.valueOf(name, error);
    if (value.data())
      values.push_back(value);
    return value.data() != nullptr;
  };
  if (!forWantedNames(outputs, find, error,
                      [&] { return std::pair(cut.knownNames(), cut.ownOutputs()); }))
    return false;
  for (auto [i, value] : llvm::enumerate(values))
    if (llvm::is_contained(llvm::ArrayRef(values).take_front(i), value)) {
      error = "--outputs names '" + std::string(value) + "' twice";
      return false;
    }
  std::vector<ValueInfo> ends;
  for (std::string_view value : values)
    ends.push_back(cut.describe(value));
  cut.keepOnly(values);
  model.graph.outputs = std::move(ends);
  return true;
}
