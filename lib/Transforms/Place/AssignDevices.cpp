// Gives every compute op a device: the placement library decides, this pass asks and writes down.

#include "PlacementInput.h"
#include "Reasons.h"
#include "Settle.h"
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
      : in(in), decisions(outcome.decisions), homes(in, decisions),
        decisionName(StringAttr::get(in.module.getContext(), kPlacementAttr)),
        deviceName(StringAttr::get(in.module.getContext(), kDeviceAttr)) {
    for (const DeviceName &device : in.problem.devices)
      deviceAttrs.push_back(DeviceAttr::get(in.module.getContext(), device.str()));
  }

  void run() {
    settleCopies();
    homes.run();
    for (uint32_t i = 0; i < in.nodes.size(); ++i)
      write(i);
    placeGenerators(in, homes, deviceAttrs);
    // Requests on control flow have gone to the ops inside; what it has are homes.
    in.module.walk([](Operation *op) {
      if (isa<IfOp, WhileOp>(op))
        op->removeAttr(kDeviceAttr);
    });
  }

private:
  void write(uint32_t index) {
    const Node &node = in.nodes[index];
    const placement::Decision &decision = decisions[index];
    if (decision.fallBack && !in.isConstantOfScope(index))
      remarkFallBack(in, index, decision);
    Attribute device = deviceAttrs[decision.device];
    switch (node.type) {
    case Node::op:
      return writeOp(node.owner, describe(index, decision), device);
    case Node::constant:
    case Node::variable:
      node.owner->setAttr(kDeviceAttr, device);
      return;
    case Node::view:
      return writeView(node.owner, decision.device);
    case Node::copy:
      return cast<CopyOp>(node.owner).setDevice(cast<DeviceAttr>(device).getSpelling());
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

  /// A view has the bytes of its operand: asked for elsewhere, the operand is brought there.
  void writeView(Operation *view, uint32_t device) {
    Value source = view->getOperand(0);
    if (std::optional<uint32_t> home = homes.of(source); home && *home != device) {
      OpBuilder builder(view);
      StringRef there = cast<DeviceAttr>(deviceAttrs[device]).getSpelling();
      auto copy = CopyOp::create(builder, view->getLoc(), source, there, /*force=*/false,
                                 /*cause=*/StringAttr());
      view->setOperand(0, copy.getResult());
    }
    view->removeAttr(kDeviceAttr);
  }

  /// A copy to any GPU of what is on a GPU goes nowhere.
  void settleCopies() {
    Homes before(in, decisions);
    before.run();
    for (auto [i, node] : llvm::enumerate(in.nodes)) {
      auto copy = node.type == Node::copy ? dyn_cast<CopyOp>(node.owner) : CopyOp();
      if (!copy || copy.getForce())
        continue;
      std::optional<uint32_t> home = before.of(copy.getInput());
      if (home && DeviceName::parse(copy.getDevice().str())->matches(in.problem.devices[*home]))
        decisions[i].device = *home;
    }
  }

  const Input &in;
  std::vector<placement::Decision> decisions;
  Homes homes;
  SmallVector<Attribute> deviceAttrs;
  DecisionAttr plain;
  StringAttr decisionName, deviceName;
};

struct AssignDevices : gantry::impl::AssignDevicesPassBase<AssignDevices> {
  AssignDevices() = default;
  explicit AssignDevices(PlacementRequests requests) : requests(std::move(requests)) {}

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
    Input in(module, topology, requests);
    if (failed(in.build()))
      return failure();
    placement::Outcome outcome = placement::solve(in.problem);
    if (!outcome.ok())
      return report(in, outcome);
    if (Status judged = placement::validate(in.problem, outcome.decisions); !judged.ok())
      return module.emitError() << "internal error: " << judged.message();
    Writer(in, outcome).run();
    return success();
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

  PlacementRequests requests;
};
} // namespace

std::unique_ptr<Pass> gantry::createAssignDevicesPass(PlacementRequests requests) {
  return std::make_unique<AssignDevices>(std::move(requests));
}
