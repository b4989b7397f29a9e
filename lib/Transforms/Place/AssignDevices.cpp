// Gives every compute op a device: the placement library decides, this pass asks and writes down.

#include "PlacementInput.h"
#include "Reasons.h"
#include "Settle.h"
#include "gantry/Dialect/Gantry/IR/Collectives.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::place;

namespace gantry {
#define GEN_PASS_DEF_ASSIGNDEVICESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// Failures that are told of requests and locks.
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
    writeSignatures();
    // Requests on control flow have gone to the ops inside; what it has are homes.
    in.module.walk([](RegionBranchOpInterface op) { op->removeAttr(kDeviceAttr); });
    Placed placed{in, decisions, deviceAttrs};
    settleMembers();
    settleHomes(placed);
    if (settleCopies()) {
      settleMembers();
      settleHomes(placed);
    }
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
      arguments[node.owner].emplace_back(node.index, device);
      return;
    case Node::result:
      results[node.owner].emplace_back(node.index, device);
      return;
    }
  }

  using Devices = SmallVector<std::pair<uint32_t, Attribute>>; ///< by argument or result

  /// All of a function at once: setting one builds the array of all of them.
  void writeSignatures() {
    auto add = [&](ArrayAttr known, size_t count, const Devices &devices) {
      SmallVector<NamedAttrList> lists(count);
      if (known)
        for (auto [list, attrs] : llvm::zip(lists, known.getAsRange<DictionaryAttr>()))
          list = NamedAttrList(attrs);
      for (auto [index, device] : devices)
        lists[index].set(deviceName, device);
      return llvm::map_to_vector(
          lists, [&](NamedAttrList &list) { return list.getDictionary(deviceName.getContext()); });
    };
    for (auto &[owner, devices] : arguments) {
      auto func = cast<func::FuncOp>(owner);
      func.setAllArgAttrs(add(func.getArgAttrsAttr(), func.getNumArguments(), devices));
    }
    for (auto &[owner, devices] : results) {
      auto func = cast<func::FuncOp>(owner);
      func.setAllResultAttrs(add(func.getResAttrsAttr(), func.getNumResults(), devices));
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

  /// What members bring is on their devices: Replicate asks for it by a copy.
  void settleMembers() {
    in.module.walk([&](SeveralDevicesOpInterface op) {
      SmallVector<Attribute> devices(op.getMemberDevices().getValue());
      for (OpOperand &operand : op->getOpOperands())
        if (auto copy = operand.get().getDefiningOp<CopyOp>())
          devices[op.getMemberOfOperand(operand.getOperandNumber())] = copy.getDevice();
      op.setMemberDevices(ArrayAttr::get(op->getContext(), devices));
    });
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
  llvm::MapVector<Operation *, Devices> arguments, results; ///< of functions
  SmallVector<std::pair<CopyOp, DeviceAttr>> copies;        ///< with what they asked for
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
    warnOfOverruledRules(in, outcome.decisions);
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
    reportRules(in, told);
    for (const placement::Failure *f : ArrayRef(told).take_front(kMaxReported))
      reportFailure(in, *f);
    if (told.size() > kMaxReported)
      emitError(in.module.getLoc()) << told.size() - kMaxReported << " more ops cannot be placed";
    return failure();
  }

  /// A typing error in a rule is one error, not one for every op: takes those out of `told`.
  static void reportRules(const Input &in, std::vector<const placement::Failure *> &told) {
    llvm::MapVector<StringRef, SmallVector<const placement::Failure *>> byRule;
    std::erase_if(told, [&](const placement::Failure *f) {
      if (f->type != placement::Failure::Type::unknownDevice)
        return false;
      const placement::Member &member = f->members.front();
      const placement::Constraint &c = in.problem.ops[member.op].constraints[member.index];
      if (c.kind != placement::Kind::rule)
        return false;
      byRule[in.origins[c.origin].text].push_back(f);
      return true;
    });
    for (const auto &[rule, failures] : byRule)
      reportUnknownOfRule(in, failures);
  }

  PlacementRequests requests;
};
} // namespace

std::unique_ptr<Pass> gantry::createAssignDevicesPass(PlacementRequests requests) {
  return std::make_unique<AssignDevices>(std::move(requests));
}
