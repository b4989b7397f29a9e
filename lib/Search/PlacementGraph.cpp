// From IR to a problem of automatic placement.
//
// Kernels are tasks, and so is what has regions, with all that is inside. Views have the bytes of
// their source; constants and generators are at every device that reads them before the step
// begins (spec P7), so they are values without a maker.

#include "PlacementGraph.h"

#include "Probe.h"

#include "gantry/Analysis/Trips.h"
#include "gantry/Dialect/Gantry/IR/Collectives.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Support/Capped.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace gantry;
using placement::AutoTask;
using placement::AutoValue;
using placement::noIndex;
using placement::notAllowed;

MachineModel::MachineModel(ModuleOp module)
    : topology(getTopology(module)), costs(CostModel::of(topology)) {
  for (uint32_t d = numDevices(); d-- > 0;) {
    if (nameOf(d).type == DeviceType::CPU)
      host = d;
    numbers[nameOf(d)] = d;
  }
  for (uint32_t d = 0; d < numDevices(); ++d)
    all.push_back(d);
}

std::optional<uint32_t> MachineModel::find(DeviceAttr name) const {
  if (!name)
    return std::nullopt;
  auto found = numbers.find(name.getName());
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

bool gantry::hasKernelOn(const MachineModel &machine, Operation *op, uint32_t device) {
  return machine.targetOf(device).hasKernel(op, *machine.nameOf(device).type);
}

const Target &MachineModel::targetOf(uint32_t device) const {
  Driver driver = topology.physical[topology.logical[device].physical].driver;
  return *findTarget(driverName(driver)); // each driver has one
}

static FusionKind kindOf(Operation *op) {
  auto kernel = dyn_cast_if_present<KernelOpInterface>(op);
  return kernel ? kernel.getFusionKind() : FusionKind::Opaque;
}

/// What has no device of its own.
static bool isEverywhere(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() || isMadeOfNothing(op);
}

static uint64_t bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() ? getByteSize(tensor) : 0;
}

static ElementType elementOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isF64())
    return ElementType::f64;
  if (element.isF16())
    return ElementType::f16;
  if (element.isBF16())
    return ElementType::bf16;
  return ElementType::f32;
}

/// What an op is, by what its kind and its results are called in any file.
static uint64_t keyOf(uint64_t key, Operation *op) {
  std::string text = op->getName().getStringRef().str();
  llvm::raw_string_ostream os(text);
  os << op->getResultTypes();
  for (char c : text)
    key = (key ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return key;
}

namespace {
class GraphBuilder {
public:
  GraphBuilder(const MachineModel &machine, PlacementGraph &graph, func::FuncOp func,
               DevicesOf devicesOf, const Probe *probe)
      : machine(machine), graph(graph), func(func), devicesOf(devicesOf), probe(probe) {}

  void build(func::FuncOp homes, bool fuse) {
    graph.problem.setLinks(machine.topology, machine.costs);
    for (const LogicalDevice &device : machine.topology.logical)
      graph.problem.limits.push_back(machine.topology.limitOf(device));
    bound.resize(machine.numDevices());
    for (BlockArgument arg : func.getArguments())
      addArgument(arg, homes);
    Block &block = func.getBody().front();
    addTasks(block, fuse);
    for (AutoTask &task : graph.problem.tasks)
      if (task.group != noIndex)
        task.group = leaderOf(task.group);
    for (OpOperand &result : block.getTerminator()->getOpOperands())
      addEnd(result, homes);
    for (uint32_t d = 0; d < machine.numDevices(); ++d)
      if (uint64_t &limit = graph.problem.limits[d])
        limit = std::max<uint64_t>(limit - std::min(limit, bound[d]), 1);
    graph.constants.resize(graph.problem.values.size());
  }

private:
  bool mayRun(Operation *op, uint32_t device) const {
    return llvm::binary_search(devicesOf(op), device);
  }

  /// Whether one of the targets of the devices that it may run on says so; each is asked once.
  bool anyTarget(Operation *op, function_ref<bool(const Target &)> says) const {
    llvm::SmallPtrSet<const Target *, 4> asked;
    return llvm::any_of(devicesOf(op), [&](uint32_t d) {
      const Target &target = machine.targetOf(d);
      return asked.insert(&target).second && says(target);
    });
  }

  uint32_t homeOf(DeviceAttr name) const { return machine.find(name).value_or(machine.host); }

  uint32_t add(AutoValue value) {
    graph.problem.values.push_back(value);
    return static_cast<uint32_t>(graph.problem.values.size() - 1);
  }

  /// In the order of their places, makers before readers.
  void addTasks(Block &block, bool fuse) {
    auto mayJoin = [&](Operation *op, ArrayRef<Operation *> group) {
      if (!fuse || isEverywhere(op) || isMadeAtLoad(op) || isMadeAtLoad(group.front()))
        return false;
      // Where targets differ, the fewest kernels: what is predicted stays a bound of what will be.
      return devicesOf(op) == devicesOf(group.front()) && anyTarget(op, [&](const Target &target) {
               return target.mayJoin(op, group, TargetAttr());
             });
    };
    auto mayMerge = [&](ArrayRef<Operation *> a, ArrayRef<Operation *> b) {
      if (!fuse || isMadeAtLoad(a.front()) || isMadeAtLoad(b.front()))
        return false;
      return devicesOf(a.front()) == devicesOf(b.front()) &&
             anyTarget(a.front(), [&](const Target &target) { return target.mayMerge(a, b); });
    };
    DenseMap<Operation *, KernelGroup> groupAt; // by place
    llvm::DenseSet<Operation *> grouped;
    for (KernelGroup &group : groupIntoKernels(block, mayJoin, mayMerge)) {
      grouped.insert_range(group.ops);
      groupAt[group.place] = std::move(group);
    }
    for (Operation &op : block.without_terminator()) {
      if (isMadeAtLoad(&op))
        continue; // a constant, to who reads it
      if (auto several = dyn_cast<SeveralDevicesOpInterface>(op)) {
        passMembers(several);
        continue;
      }
      if (auto group = groupAt.find(&op); group != groupAt.end() && !isEverywhere(&op))
        addTask(group->second);
      else if (!grouped.contains(&op) && !isEverywhere(&op) && kindOf(&op) != FusionKind::View)
        addTask({{&op}, {&op}, &op});
    }
  }

  /// What a member gets counts as what it brings, there already: a bound without the network.
  void passMembers(SeveralDevicesOpInterface op) {
    DenseMap<unsigned, Value> brought;
    for (OpOperand &operand : op->getOpOperands())
      brought[op.getMemberOfOperand(operand.getOperandNumber())] = operand.get();
    for (OpResult result : op->getResults()) {
      Value own = brought.lookup(op.getMemberOfResult(result.getResultNumber()));
      values[result] = numberOf(skipViews(own ? own : op->getOperand(0)));
    }
  }

  using Ops = SmallVector<Operation *, 4>;

  /// The ops of a group from its roots along the operands, the last root first: an order that comes
  /// from structure alone.
  static Ops byOperands(const KernelGroup &group) {
    const Ops &ops = group.ops;
    Ops order(llvm::reverse(group.roots));
    for (size_t i = 0; i < order.size(); ++i)
      for (Value operand : order[i]->getOperands())
        if (Operation *maker = operand.getDefiningOp();
            llvm::is_contained(ops, maker) && !llvm::is_contained(order, maker))
          order.push_back(maker);
    return order;
  }

  void addTask(const KernelGroup &group) {
    llvm::SetVector<Value> operands;
    Ops ops = byOperands(group);
    for (Operation *op : ops)
      op->walk([&](Operation *nested) {
        for (Value operand : nested->getOperands())
          if (!isInside(operand, ops) && !belongsInKernel(operand))
            operands.insert(skipViews(operand));
      });
    AutoTask task;
    uint64_t outside = 0;
    for (Value operand : operands) {
      task.inputs.push_back(numberOf(operand));
      outside += bytesOf(operand.getType());
    }
    for (Operation *root : group.roots) {
      const PlannedOp *planned = plannedOf(root, likeliestDevice(group));
      for (Value result : root->getResults()) {
        values[result] =
            add({bytesOf(result.getType()), noIndex, false, planned ? planned->bytesWith : noIndex,
                 planned && planned->isPart, turningOf(root, bytesOf(result.getType()))});
        task.outputs.push_back(values[result]);
        outside += bytesOf(result.getType());
      }
    }
    task.key = 0xcbf29ce484222325;
    for (Operation *op : ops)
      task.key = keyOf(task.key, op);
    setSeconds(task, group, outside);
    task.group = groupOf(group);
    graph.tasks.emplace_back(group.ops.begin(), group.ops.end());
    graph.problem.tasks.push_back(std::move(task));
  }

  /// Of many devices an op that may run on one of them alone has no times of the others.
  void setSeconds(AutoTask &task, const KernelGroup &group, uint64_t outside) {
    if (machine.numDevices() > placement::kMostInTables) {
      if (auto copy = dyn_cast<CopyOp>(group.roots.back()); copy && machine.find(copy.getDevice()))
        task.only = *machine.find(copy.getDevice());
      else if (ArrayRef<uint32_t> list = devicesOf(group.roots.back()); !copy && list.size() == 1)
        task.only = list.front();
    }
    for (uint32_t d : task.only == noIndex ? ArrayRef(machine.all) : machine.listOf(task.only))
      task.seconds.push_back(secondsOn(group, outside, d));
  }

  /// What became of the op on devices like that one; null where nobody knows.
  const PlannedOp *plannedOf(Operation *op, uint32_t device) const {
    auto name = op->getAttrOfType<StringAttr>(kNameAttr);
    return probe && name ? probe->find(func::FuncOp(func).getSymName(), name.getValue(), device)
                         : nullptr;
  }

  /// Seconds to bring what the op makes into another layout, where devices have one of their own.
  std::vector<double> turningOf(Operation *op, uint64_t bytes) const {
    if (!probe)
      return {};
    std::vector<double> seconds(machine.numDevices());
    for (uint32_t d = 0; d < machine.numDevices(); ++d)
      if (const PlannedOp *planned = plannedOf(op, d); planned && planned->isTurned)
        seconds[d] = machine.costs.seconds(d, {0, 2 * bytes});
    if (llvm::all_of(seconds, [](double s) { return s == 0; }))
      seconds.clear();
    return seconds;
  }

  bool isMadeAtLoad(Operation *op) const {
    for (uint32_t d = 0; probe && d < machine.numDevices(); ++d)
      if (const PlannedOp *planned = plannedOf(op, d); planned && planned->isAtLoad)
        return true;
    return false;
  }

  /// The last one: GPUs come behind CPUs, and have less memory.
  uint32_t likeliestDevice(const KernelGroup &group) const {
    ArrayRef<uint32_t> devices = devicesOf(group.roots.back());
    return devices.empty() ? 0 : devices.back();
  }

  /// Whether the value is made by the ops, or in regions of theirs.
  static bool isInside(Value value, ArrayRef<Operation *> ops) {
    Operation *maker = value.getDefiningOp();
    if (!maker)
      maker = value.getParentRegion()->getParentOp();
    for (; maker; maker = maker->getParentOp())
      if (llvm::is_contained(ops, maker))
        return true;
    return false;
  }

  uint32_t numberOf(Value value) {
    auto [entry, isNew] = values.try_emplace(value, 0);
    if (isNew) { // a constant, or a generator
      auto constant = value.getDefiningOp<ConstantOp>();
      bool mayStream = constant && !constant->hasAttr(kDeviceAttr) && isReadWholeAndHere(constant);
      entry->second = add({bytesOf(value.getType()), mayStream ? machine.host : noIndex, true});
      graph.constants.resize(graph.problem.values.size());
      graph.constants.back() = constant;
    }
    return entry->second;
  }

  /// Whether it can be copied in each run: not into loops and branches, and not for a few rows.
  static bool isReadWholeAndHere(Value value) {
    bool isWhole = false;
    for (Operation *user : value.getUsers()) {
      if (user->getBlock() != value.getParentBlock() || user->getNumRegions())
        return false;
      isWhole |= kindOf(user) == FusionKind::View ? isReadWholeAndHere(user->getResult(0))
                                                  : !isa<IndexingOpInterface>(user);
    }
    return isWhole;
  }

  /// A kernel is charged as a whole: what goes from op to op inside does not go through memory.
  double secondsOn(const KernelGroup &group, uint64_t outside, uint32_t device) {
    Operation *root = group.roots.back();
    // Runs nowhere, but its value has to be there; before Place the name may be a partial one.
    if (auto copy = dyn_cast<CopyOp>(root))
      return copy.getDevice().getName().matches(machine.nameOf(device)) ? 0 : notAllowed;
    if (std::optional<double> seconds = plannedSeconds(group.ops, device))
      return *seconds;
    double inside = 0;
    Work whole{0, 0,
               root->getNumResults() ? elementOf(root->getResult(0).getType()) : ElementType::f32};
    for (Operation *op : group.ops) {
      if (!mayRun(op, device))
        return notAllowed;
      for (Region &region : op->getRegions())
        region.walk([&](Operation *nested) {
          if (double seconds = secondsOf(nested, device))
            inside += roundsIn(op->getBlock(), nested) * seconds;
        });
      if (auto cost = dyn_cast<CostOpInterface>(op)) {
        whole.flops = cappedSum(whole.flops, cost.getFlops());
        whole.bytes = cappedSum(whole.bytes, cost.getBytes());
      }
    }
    whole.bytes = std::min(whole.bytes, outside);
    return inside + machine.costs.seconds(device, whole);
  }

  /// What the launches take that end with ops of the kernel, none for what is moved nowhere.
  std::optional<double> plannedSeconds(ArrayRef<Operation *> ops, uint32_t device) const {
    std::optional<double> sum;
    for (Operation *op : ops) {
      if (!mayRun(op, device))
        return notAllowed;
      const PlannedOp *planned = op->getNumRegions() ? nullptr : plannedOf(op, device);
      if (planned)
        sum = sum.value_or(0) + (planned->seconds.empty() ? 0 : planned->seconds[device]);
    }
    return sum;
  }

  /// Of an op in a region, on the device of the whole or where it may run at all, once.
  double secondsOf(Operation *op, uint32_t device) {
    auto cost = dyn_cast<CostOpInterface>(op);
    if (!cost || isEverywhere(op) || kindOf(op) == FusionKind::View)
      return 0;
    if (ArrayRef<uint32_t> devices = devicesOf(op); !devices.empty() && !mayRun(op, device))
      device = devices.front();
    return machine.costs.seconds(device, {cost.getFlops(), cost.getBytes(), ElementType::f32});
  }

  /// Groups that an op links are one group.
  uint32_t groupOf(const KernelGroup &kernel) {
    uint32_t task = static_cast<uint32_t>(graph.problem.tasks.size());
    uint32_t group = noIndex;
    for (Operation *op : kernel.ops)
      if (auto names = op->getAttrOfType<ArrayAttr>(kColocateAttr))
        for (auto name : names.getAsRange<StringAttr>()) {
          uint32_t known = leaderOf(groups.try_emplace(name.getValue(), task).first->second);
          if (group == noIndex)
            group = known;
          else if (known != group)
            joined[known] = group;
        }
    return group;
  }

  /// The group that a group was joined with, by way of others; the ways get shorter.
  uint32_t leaderOf(uint32_t group) {
    for (auto at = joined.find(group); at != joined.end(); at = joined.find(group)) {
      if (auto beyond = joined.find(at->second); beyond != joined.end())
        at->second = beyond->second;
      group = at->second;
    }
    return group;
  }

  /// A variable that has no device yet will be where it is used: nothing is known to be copied.
  void addArgument(BlockArgument arg, func::FuncOp homes) {
    unsigned i = arg.getArgNumber();
    auto device = homes.getArgAttrOfType<DeviceAttr>(i, kDeviceAttr);
    uint64_t bytes = bytesOf(arg.getType());
    if (!device && homes.getArgAttr(i, kVariableAttr)) {
      values[arg] = add({bytes, noIndex, true});
      return;
    }
    uint32_t home = homeOf(device);
    values[arg] = add({bytes, home, false});
    bound[home] += bytes;
  }

  /// What a variable becomes lies where the variable does, and is no copy of it.
  void addEnd(OpOperand &result, func::FuncOp homes) {
    unsigned i = result.getOperandNumber();
    auto device = homes.getResultAttrOfType<DeviceAttr>(i, kDeviceAttr);
    bool isVariable = homes.getResultAttr(i, kVariableAttr) != nullptr;
    auto number = values.find(skipViews(result.get()));
    if (isVariable && !device)
      return;
    if (!isVariable)
      bound[homeOf(device)] += bytesOf(result.get().getType());
    if (number != values.end())
      graph.problem.ends.push_back({number->second, homeOf(device)});
  }

  const MachineModel &machine;
  PlacementGraph &graph;
  func::FuncOp func;
  DevicesOf devicesOf;
  const Probe *probe;
  DenseMap<Value, uint32_t> values;
  std::vector<uint64_t> bound; ///< by device: inputs and outputs, which its limit has to hold too
  llvm::StringMap<uint32_t> groups;    ///< by name, as they were first
  DenseMap<uint32_t, uint32_t> joined; ///< groups, each with one that it is a part of
};
} // namespace

PlacementGraph::PlacementGraph(const MachineModel &machine, func::FuncOp func, func::FuncOp homes,
                               DevicesOf devicesOf, bool fuse, const Probe *probe) {
  GraphBuilder(machine, *this, func, devicesOf, probe).build(homes, fuse);
}

void PlacementGraph::learn(const PlannedTimes &times, StringRef function,
                           const placement::AutoPlacement &placement) {
  std::vector<uint32_t> sources(problem.values.size(), noIndex);
  for (auto [v, value] : llvm::enumerate(problem.values))
    sources[v] = value.home;
  for (auto [task, device] : llvm::zip(problem.tasks, placement.devices))
    for (uint32_t value : task.outputs)
      sources[value] = device;
  // Where a value crosses a border in this plan, what turning it takes is in the kernels now.
  auto forgetTurning = [&](uint32_t value, uint32_t device) {
    if (std::vector<double> &turning = problem.values[value].turning; !turning.empty())
      turning[device] = 0;
  };
  for (auto [t, device] : llvm::enumerate(placement.devices)) {
    AutoTask &task = problem.tasks[t];
    if (std::optional<double> seconds = times.secondsOf(function, tasks[t], device))
      task.seconds[task.only == noIndex ? device : 0] = *seconds;
    for (uint32_t value : task.inputs)
      if (sources[value] != device) {
        forgetTurning(value, device);
        if (sources[value] != noIndex)
          forgetTurning(value, sources[value]);
      }
  }
}
