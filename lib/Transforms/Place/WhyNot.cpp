// The question why an op is not on a device (spec P10), asked of a module before Place.

#include "PlacementInput.h"
#include "Reasons.h"

#include "gantry/Placement/FoldNames.h"

#include <map>
#include <set>

using namespace mlir;
using namespace gantry;
using namespace gantry::place;

/// Names that an error lists.
static constexpr unsigned kListed = 10;

static SmallVector<uint32_t> findOps(const Input &in, const placement::OpPattern &pattern) {
  SmallVector<uint32_t> found;
  for (auto [i, node] : llvm::enumerate(in.nodes)) {
    if (node.type != Node::op)
      continue;
    auto kernel = cast<KernelOpInterface>(node.owner);
    if (pattern.matches(OpTexts(kernel, fusionKindName(kernel.getFusionKind())).subject()))
      found.push_back(uint32_t(i));
  }
  return found;
}

/// The device that a placement would take for that name; none when there is no such one.
static uint32_t findDevice(const Input &in, const DeviceName &wanted) {
  for (uint32_t d : placement::preference(in.problem))
    if (wanted.matches(in.problem.devices[d]))
      return d;
  return placement::none;
}

/// Generators have no node unless they ask for a device; then asking is all there is to do.
static std::string describeGenerators(const Input &in, const placement::OpPattern &pattern,
                                      StringRef device) {
  std::string answer;
  for (Operation *op : in.generators) {
    if (!pattern.matches(OpTexts(op, fusionKindName(FusionKind::Generator)).subject()))
      continue;
    auto name = op->getAttrOfType<StringAttr>(kNameAttr);
    answer += "'" + cast<KernelOpInterface>(op).getLogName().str() + "'" +
              (name ? " ('" + name.str() + "')" : "") + " goes with what uses it; for " +
              device.str() + ":\n- ask for " + device.str() +
              ": gantry.device = #gantry.device<\"" + device.str() + "\">\n";
  }
  return answer;
}

static LogicalResult reportNoSuchOp(const Input &in, const placement::OpPattern &pattern) {
  auto error = emitError(UnknownLoc::get(in.module.getContext()))
               << "--why-not: no op is named '" << pattern.text << "'; the ops are ";
  SmallVector<std::string_view> names;
  for (const Node &node : in.nodes)
    if (node.type == Node::op && !node.name().empty())
      names.push_back(node.name());
  std::vector<placement::FoldedName> folded = placement::foldNames(names);
  for (auto [i, name] : llvm::enumerate(ArrayRef(folded).take_front(kListed)))
    error << (i ? ", '" : "'") << name.text() << "'";
  return error << (folded.empty() ? "unnamed" : folded.size() > kListed ? ", ..." : "");
}

namespace {
/// Ops of which the same is to be said.
struct Alike {
  std::string state;
  std::vector<std::string> advice;
  bool askFor = false;

  auto operator<=>(const Alike &) const = default;
};
} // namespace

static std::string replaceSelf(StringRef text, StringRef self) {
  auto [before, after] = text.split('\1');
  return (before.size() == text.size() ? text : before + self + after).str();
}

/// A paragraph about ops that are alike: one by its name, several by their folded names.
static std::string describeAlike(const Input &in, const Alike &alike, ArrayRef<uint32_t> nodes,
                                 const placement::OpPattern &pattern, StringRef device) {
  std::string text, self, rule;
  llvm::raw_string_ostream os(text);
  StringRef name = in.nodes[nodes.front()].name();
  if (nodes.size() == 1) {
    self = whatIs(in, nodes.front());
    os << self << alike.state << "\n";
    rule = ("name:" + name).str();
  } else {
    SmallVector<std::string_view> names;
    for (uint32_t node : nodes)
      names.push_back(in.nodes[node].name());
    bool sameKind = llvm::all_of(nodes, [&](uint32_t node) {
      return in.nodes[node].what() == in.nodes[nodes.front()].what();
    });
    self = "each";
    os << nodes.size() << " " << (sameKind ? in.nodes[nodes.front()].what() : "ops")
       << ", each of which" << alike.state << "\n";
    std::vector<placement::FoldedName> folded = placement::foldNames(names);
    for (const placement::FoldedName &one : ArrayRef(folded).take_front(kListed))
      os << "  " << one.text() << "\n";
    if (folded.size() > kListed)
      os << "  ... and " << folded.size() - kListed << " more\n";
    rule = folded.size() == 1 ? "name:" + folded.front().text() : pattern.given();
  }
  for (const std::string &line : alike.advice)
    os << "- " << replaceSelf(line, self) << "\n";
  if (alike.askFor) {
    os << "- ask for " << device << ": ";
    if (nodes.size() == 1)
      os << "gantry.device = #gantry.device<\"" << device << "\">, or ";
    os << "--place '" << rule << "=" << device << "'\n";
  }
  return text;
}

FailureOr<WhyNotAnswer> gantry::explainWhyNot(ModuleOp module, const PlacementRequests &requests,
                                              const placement::OpPattern &ops,
                                              const DeviceName &device) {
  Topology topology = getTopology(module);
  Input in(module, topology, requests);
  if (failed(in.build()))
    return failure();
  uint32_t at = findDevice(in, device);
  if (at == placement::none)
    return emitError(UnknownLoc::get(module.getContext()))
           << "--why-not: '" << device.withDefaultTask().str()
           << "': unknown device; the devices are " << topology.deviceList();
  placement::Outcome outcome = placement::solve(in.problem);
  std::string there = in.shortName(in.problem.devices[at]);
  WhyNotAnswer answer{describeGenerators(in, ops, there), {}};
  SmallVector<uint32_t> found = findOps(in, ops);
  if (found.empty() && answer.text.empty())
    return reportNoSuchOp(in, ops);
  std::map<Alike, SmallVector<uint32_t>> nodesOf;
  std::vector<decltype(nodesOf)::iterator> inOrder;
  std::set<placement::Member> dropped;
  std::vector<placement::WhyNot> whys = placement::whyNot(in.problem, found, at);
  for (auto [node, why] : llvm::zip_equal(found, whys)) {
    WhyNotWords words = describeWhyNot(in, node, at, why, outcome.decisions[node]);
    for (const placement::Member &member : why.drop)
      if (dropped.insert(member).second)
        answer.changes.drop.push_back(member);
    if (why.askFor)
      answer.changes.ask.push_back({node, at});
    auto [place, isNew] = nodesOf.try_emplace({words.state, words.advice, why.askFor});
    if (isNew)
      inOrder.push_back(place);
    place->second.push_back(node);
  }
  for (const auto &place : inOrder)
    answer.text += describeAlike(in, place->first, place->second, ops, there);
  return answer;
}
