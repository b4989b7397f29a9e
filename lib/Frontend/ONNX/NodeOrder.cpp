// Puts nodes in the order of their use, where a file has them in another one.

#include "NodeOrder.h"
#include "Handlers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

using namespace gantry;
using namespace gantry::onnx;

void gantry::onnx::forNamesRead(const Node &node,
                                llvm::function_ref<void(std::string_view)> found) {
  for (std::string_view name : node.inputs)
    found(name);
  // Gradient names what is differentiated by attributes.
  const bool namesTensors = node.op == "Gradient" && llvm::StringRef(node.domain) == kTraining;
  for (const Attribute &attr : node.attributes) {
    if (namesTensors && attr.type == Attribute::String)
      found(attr.s);
    if (namesTensors)
      llvm::for_each(attr.strings, found);
    if (!attr.graph)
      continue;
    for (const Node &inner : attr.graph->nodes)
      forNamesRead(inner, found);
    for (const ValueInfo &output : attr.graph->outputs)
      found(output.name);
  }
}

namespace {
/// Depth first, without recursion: files may hold chains of any length.
struct Sorter {
  llvm::ArrayRef<Node> nodes;
  llvm::StringMap<size_t> makers;
  enum State : char { waits, isOpen, isDone };
  std::vector<State> states;
  std::vector<const Node *> order;

  explicit Sorter(llvm::ArrayRef<Node> nodes) : nodes(nodes), states(nodes.size(), waits) {
    for (auto [i, node] : llvm::enumerate(nodes))
      for (std::string_view name : node.outputs)
        makers.try_emplace(name, i);
  }

  llvm::SmallVector<size_t> makersFor(size_t node) const {
    llvm::SmallVector<size_t> found;
    forNamesRead(nodes[node], [&](std::string_view name) {
      if (auto maker = makers.find(name); !name.empty() && maker != makers.end())
        found.push_back(maker->second);
    });
    return found;
  }

  bool isSorted() const {
    for (size_t node = 0; node < nodes.size(); ++node)
      for (size_t maker : makersFor(node))
        if (maker > node)
          return false;
    return true;
  }

  void putWithMakers(size_t last) {
    struct Step {
      size_t node;
      llvm::SmallVector<size_t> makers;
      size_t next = 0;
    };
    std::vector<Step> steps;
    auto open = [&](size_t node) {
      if (states[node] != waits)
        return;
      states[node] = isOpen;
      steps.push_back({node, makersFor(node)});
    };
    open(last);
    while (!steps.empty()) {
      Step &step = steps.back();
      if (step.next < step.makers.size()) {
        open(step.makers[step.next++]);
        continue;
      }
      states[step.node] = isDone;
      order.push_back(&nodes[step.node]);
      steps.pop_back();
    }
  }
};
} // namespace

std::vector<const Node *> gantry::onnx::inOrderOfUse(llvm::ArrayRef<Node> nodes) {
  Sorter sorter(nodes);
  if (sorter.isSorted()) {
    auto asTheyAre = llvm::make_pointer_range(nodes);
    return {asTheyAre.begin(), asTheyAre.end()};
  }
  for (size_t node = 0; node < nodes.size(); ++node)
    sorter.putWithMakers(node);
  return std::move(sorter.order);
}

std::vector<const Node *> gantry::onnx::findCycle(llvm::ArrayRef<Node> nodes,
                                                  std::string_view name) {
  Sorter sorter(nodes);
  auto maker = sorter.makers.find(name);
  if (maker == sorter.makers.end())
    return {};
  const size_t first = maker->second;
  // From each node that was reached the one that reads its results, which is on the way back.
  std::vector<size_t> reader(nodes.size(), nodes.size());
  std::vector<size_t> queue{first};
  for (size_t i = 0; i < queue.size() && reader[first] == nodes.size(); ++i)
    for (size_t before : sorter.makersFor(queue[i]))
      if (reader[before] == nodes.size()) {
        reader[before] = queue[i];
        queue.push_back(before);
      }
  if (reader[first] == nodes.size())
    return {};
  std::vector<const Node *> cycle{&nodes[first]};
  for (size_t node = reader[first]; node != first; node = reader[node])
    cycle.push_back(&nodes[node]);
  return cycle;
}
