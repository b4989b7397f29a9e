// Gives every compute op a device: the placement library decides, this pass asks and writes down.

#include "PlacementInput.h"
#include "Reasons.h"
#include "Settle.h"
#include "gantry/Support/File.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::place;

namespace gantry {
#define GEN_PASS_DEF_ASSIGNDEVICESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// Failures that are told; a typing error in a rule would repeat itself for every op.
static constexpr size_t kMaxReported = 10;

namespace {
/// Writes the outcome of one problem into the module.
class Writer {
public:
  Writer(const Input &in, const placement::Outcome &outcome)
      : in(in), decisions(outcome.decisions),
        decisionName(StringAttr::get(in.module.getContext(), kPlacementAttr)),
        deviceName(StringAttr::get(in.module.getContext(), kDeviceAttr)) {
    for (const DeviceName &device : in.problem.devices)
      deviceAttrs.push_back(DeviceAttr::get(in.module.getContext(), device));
  }

  void run() {
    for (uint32_t i = 0; i < in.nodes.size(); ++i)
      write(i);
    // Requests on control flow have gone to the ops inside; what it has are homes.
    in.module.walk([](RegionBranchOpInterface op) { op->removeAttr(kDeviceAttr); });
    Placed placed{in, decisions, deviceAttrs};
    settleHomes(placed);
    if (settleCopies())
      settleHomes(placed);
    for (auto [i, node] : llvm::enumerate(in.nodes))
      if (node.type == Node::view)
        writeView(node.owner, deviceAttrs[decisions[i].device]);
    placeGenerators(placed);
  }

private:
  void write(uint32_t index) {
    const Node &node = in.nodes[index];
    const placement::Decision &decision = decisions[index];
    if (decision.fallBack && !in.isConstantOfScope(index))
      remarkFallBack(in, index, decision);
    DeviceAttr device = deviceAttrs[decision.device];
    switch (node.type) {
    case Node::op:
      return writeOp(node.owner, describe(index, decision), device);
    case Node::view: // for now
    case Node::constant:
    case Node::variable:
      node.owner->setAttr(kDeviceAttr, device);
      return;
    case Node::copy:
      return writeCopy(cast<CopyOp>(node.owner), device);
    case Node::argument:
      return cast<func::FuncOp>(node.owner).setArgAttr(node.index, kDeviceAttr, device);
    case Node::result:
      return cast<func::FuncOp>(node.owner).setResultAttr(node.index, kDeviceAttr, device);
    }
  }

  /// Most ops have the policy's decision without any more to say: it is made once.
  DecisionAttr describe(uint32_t index, const placement::Decision &decision) {
    bool isPlain = decision.decider == placement::none && !decision.followed &&
                   !decision.fallBack && decision.rejected.empty();
    if (!isPlain)
      return describeDecision(in, index, decision);
    if (!plain)
      plain = describeDecision(in, index, decision);
    return plain;
  }

  /// Both attributes at once: every change makes a dictionary that stays in the context. What an op
  /// without properties has is discardable, so that nothing has to be told apart.
  void writeOp(Operation *op, Attribute decision, Attribute device) {
    NamedAttrList attrs(op->getRawDictionaryAttrs());
    attrs.set(decisionName, decision);
    attrs.set(deviceName, device);
    op->setDiscardableAttrs(attrs.getDictionary(op->getContext()));
  }

  void writeCopy(CopyOp copy, DeviceAttr device) {
    if (!copy.getForce())
      copies.push_back({copy, copy.getDevice()});
    copy.setDeviceAttr(device);
  }

  /// A view has the bytes of its operand: asked for elsewhere, the operand is brought there.
  void writeView(Operation *view, DeviceAttr device) {
    Value source = view->getOperand(0);
    if (DeviceAttr home = Homes(in.module).askedHomeOf(source); home && home != device) {
      OpBuilder builder(view);
      auto copy = CopyOp::create(builder, view->getLoc(), source, device, /*force=*/false,
                                 /*cause=*/StringAttr());
      view->setOperand(0, copy.getResult());
    }
    view->removeAttr(kDeviceAttr);
  }

  /// A copy to any GPU of what is on a GPU goes nowhere. Whether there was one.
  bool settleCopies() {
    Homes homes(in.module);
    SmallVector<std::pair<CopyOp, DeviceAttr>> moved;
    for (auto [copy, asked] : copies)
      if (DeviceAttr home = homes.askedHomeOf(copy.getInput());
          home && home != copy.getDevice() && asked.getName().matches(home.getName()))
        moved.push_back({copy, home});
    for (auto [copy, home] : moved)
      copy.setDeviceAttr(home);
    return !moved.empty();
  }

  const Input &in;
  ArrayRef<placement::Decision> decisions;
  SmallVector<DeviceAttr> deviceAttrs;
  SmallVector<std::pair<CopyOp, DeviceAttr>> copies; ///< with what they asked for
  DecisionAttr plain;
  StringAttr decisionName, deviceName;
};

struct AssignDevices : gantry::impl::AssignDevicesPassBase<AssignDevices> {
  using AssignDevicesPassBase::AssignDevicesPassBase;

  void runOnOperation() override {
    if (failed(place()))
      signalPassFailure();
  }

  LogicalResult place() {
    ModuleOp module = getOperation();
    auto attr = module->getAttrOfType<TopologyAttr>(kTopologyAttr);
    if (!attr || attr.getDevices().empty())
      return module.emitError("the module has no topology to place ops on");
    Topology topology = getTopology(module);
    place::Options options{follow, soft, {rules.begin(), rules.end()}, lock};
    Input in(module, topology, options);
    if (failed(in.build()))
      return failure();
    placement::Outcome outcome = placement::solve(in.problem);
    if (!whyNot.empty())
      return answerWhyNot(in, outcome);
    if (!outcome.ok())
      return report(in, outcome);
    if (Status judged = placement::validate(in.problem, outcome.decisions); !judged.ok())
      return module.emitError() << "internal error: " << judged.message();
    Writer(in, outcome).run();
    return writeLock.empty() ? success() : writeLockFile();
  }

  /// Tells the first failures. Constants of a scope fail with the ops around them, and are told
  /// only where there are none.
  static LogicalResult report(const Input &in, const placement::Outcome &outcome) {
    std::vector<const placement::Failure *> told;
    for (bool scopes : {false, true})
      for (const placement::Failure &f : outcome.failures)
        if (in.isConstantOfScope(f.op()) == scopes && (!scopes || told.empty()))
          told.push_back(&f);
    for (const placement::Failure *f : ArrayRef(told).take_front(kMaxReported))
      reportFailure(in, *f);
    if (told.size() > kMaxReported)
      emitError(in.module.getLoc()) << told.size() - kMaxReported << " more ops cannot be placed";
    return failure();
  }

  /// Leaves the answer on the module, for whoever runs the pipeline to print.
  LogicalResult answerWhyNot(const Input &in, const placement::Outcome &outcome) {
    auto [op, deviceText] = StringRef(whyNot).rsplit('=');
    Location loc = UnknownLoc::get(&getContext());
    Expected<DeviceName> wanted = DeviceName::parse(deviceText.str());
    if (op.empty() || !wanted)
      return emitError(loc) << "--why-not '" << whyNot << "' is not OP=DEVICE"
                            << (wanted ? "" : ": " + wanted.status().message());
    uint32_t device = placement::none;
    for (uint32_t d : placement::preference(in.problem))
      if (device == placement::none && wanted->matches(in.problem.devices[d]))
        device = d;
    if (device == placement::none)
      return emitError(loc) << "--why-not: '" << wanted->withDefaultTask().str()
                            << "': unknown device; the devices are " << topologyList(in);
    SmallVector<uint32_t> found = findOps(in, op);
    std::string text = describeGenerators(in, op, in.shortName(in.problem.devices[device]));
    if (found.empty() && text.empty())
      return reportNoSuchOp(in, op);
    for (uint32_t node : found)
      text += describeWhyNot(in, node, device, placement::whyNot(in.problem, node, device),
                             &outcome.decisions[node]);
    getOperation()->setAttr(kWhyNotAttr, StringAttr::get(&getContext(), text));
    return success();
  }

  static std::string topologyList(const Input &in) { return in.topology.deviceList(); }

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
      if (listed == kMaxReported)
        return error << ", ...";
      error << (listed++ ? ", " : "") << "'" << node.name() << "'";
    }
    return error << (listed ? "" : "unnamed");
  }

  LogicalResult writeLockFile() {
    std::vector<placement::LockEntry> entries;
    getOperation().walk([&](KernelOpInterface op) {
      auto decision = op->getAttrOfType<DecisionAttr>(kPlacementAttr);
      auto device = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
      auto name = op->getAttrOfType<StringAttr>(kNameAttr);
      auto func = op->getParentOfType<func::FuncOp>();
      // What goes with its uses would not be cloned for them any more.
      if (!decision || !device || !name || !func || isGeneratorOf(op))
        return;
      entries.push_back({func.getSymName().str(), name.str(), device.getName(), 0});
    });
    std::string text = placement::formatLock(std::move(entries));
    Status written = writeFileAtomically(
        writeLock, {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
    if (!written.ok())
      return emitError(UnknownLoc::get(&getContext()))
             << "--write-placement-lock: " << written.message();
    return success();
  }

  static bool isGeneratorOf(KernelOpInterface op) {
    return op.getFusionKind() == FusionKind::Generator && op->getNumOperands() == 0 &&
           op->getAttrOfType<DecisionAttr>(kPlacementAttr).getRule() == "inferred";
  }
};
} // namespace
