// The question why an op is not on a device (spec P10), asked of a module before Place.

#include "PlacementInput.h"
#include "Reasons.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::place;

/// Names that an error lists.
static constexpr unsigned kListed = 10;

/// Ops of that name, else those of that log name.
static SmallVector<uint32_t> findOps(const Input &in, StringRef text) {
  SmallVector<uint32_t> byName, byLogName;
  for (auto [i, node] : llvm::enumerate(in.nodes)) {
    if (node.type != Node::op)
      continue;
    if (node.name() == text)
      byName.push_back(uint32_t(i));
    if (cast<KernelOpInterface>(node.owner).getLogName() == text)
      byLogName.push_back(uint32_t(i));
  }
  return byName.empty() ? byLogName : byName;
}

/// The device that a placement would take for that name; none when there is no such one.
static uint32_t findDevice(const Input &in, const DeviceName &wanted) {
  for (uint32_t d : placement::preference(in.problem))
    if (wanted.matches(in.problem.devices[d]))
      return d;
  return placement::none;
}

/// Generators have no node unless they ask for a device; then asking is all there is to do.
static std::string describeGenerators(const Input &in, StringRef text, StringRef device) {
  std::string answer;
  for (Operation *op : in.generators) {
    StringRef logName = cast<KernelOpInterface>(op).getLogName();
    auto name = op->getAttrOfType<StringAttr>(kNameAttr);
    if (logName == text || (name && name == text))
      answer += "'" + logName.str() + "'" + (name ? " ('" + name.str() + "')" : "") +
                " goes with what uses it; for " + device.str() + ":\n- ask for " + device.str() +
                ": gantry.device = #gantry.device<\"" + device.str() + "\">\n";
  }
  return answer;
}

static LogicalResult reportNoSuchOp(const Input &in, StringRef text) {
  auto error = emitError(UnknownLoc::get(in.module.getContext()))
               << "--why-not: no op is named '" << text << "'; the ops are ";
  unsigned listed = 0;
  for (const Node &node : in.nodes) {
    if (node.type != Node::op || node.name().empty())
      continue;
    if (listed == kListed)
      return error << ", ...";
    error << (listed++ ? ", " : "") << "'" << node.name() << "'";
  }
  return error << (listed ? "" : "unnamed");
}

FailureOr<std::string> gantry::explainWhyNot(ModuleOp module, const PlacementRequests &requests,
                                             StringRef op, const DeviceName &device) {
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
  std::string text = describeGenerators(in, op, in.shortName(in.problem.devices[at]));
  SmallVector<uint32_t> found = findOps(in, op);
  if (found.empty() && text.empty())
    return reportNoSuchOp(in, op);
  for (uint32_t node : found)
    text += describeWhyNot(in, node, at, placement::whyNot(in.problem, node, at),
                           &outcome.decisions[node]);
  return text;
}
