#include "gantry/Analysis/Segments.h"

#include "gantry/Analysis/SharedBuffers.h"

#include <map>
#include <numeric>
#include <tuple>

using namespace mlir;
using namespace gantry;
using namespace gantry::schedule;

QueueName gantry::schedule::queueOf(Operation *command) {
  if (auto copy = dyn_cast<plan::ir::CopyOp>(command))
    return {copy.getDeviceAttr(), copy.getQueue()};
  if (auto check = dyn_cast<plan::ir::CheckOp>(command))
    return {check.getDeviceAttr(), 0};
  if (auto part = dyn_cast<plan::ir::PartOp>(command))
    return {part.getDeviceAttr(), part.getQueue()};
  return {cast<plan::ir::LaunchOp>(command).getDeviceAttr(), 0};
}

void gantry::schedule::forEachSegment(Block &block,
                                      function_ref<void(ArrayRef<Operation *>)> visit) {
  SmallVector<Operation *> commands;
  auto flush = [&] {
    if (!commands.empty())
      visit(commands);
    commands.clear();
  };
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops) {
    if (isCommand(op))
      commands.push_back(op);
    if (op->getNumRegions() == 0)
      continue;
    flush();
    for (Region &region : op->getRegions())
      forEachSegment(region.front(), visit);
  }
  flush();
}

SmallVector<ArrayRef<Operation *>>
gantry::schedule::betweenExchanges(ArrayRef<Operation *> commands) {
  SmallVector<ArrayRef<Operation *>> lists;
  for (size_t begin = 0; begin < commands.size();) {
    size_t end = begin;
    while (end < commands.size() && !isa<plan::ir::PartOp>(commands[end]))
      ++end;
    if (end != begin)
      lists.push_back(commands.slice(begin, end - begin));
    begin = end + 1;
  }
  return lists;
}

static bool isOf(Operation *op, plan::ir::PartOp part) {
  auto other = dyn_cast_if_present<plan::ir::PartOp>(op);
  return other && other.getExchangeAttr() == part.getExchangeAttr();
}

Operation *gantry::schedule::firstOfExchange(Operation *op) {
  if (auto part = dyn_cast<plan::ir::PartOp>(op))
    while (isOf(op->getPrevNode(), part))
      op = op->getPrevNode();
  else if (isa_and_present<plan::ir::ConditionsOp>(op->getPrevNode()))
    op = op->getPrevNode();
  return op;
}

Operation *gantry::schedule::lastOfExchange(Operation *op) {
  if (auto part = dyn_cast<plan::ir::PartOp>(op))
    while (isOf(op->getNextNode(), part))
      op = op->getNextNode();
  return op;
}

void gantry::schedule::forEachBuffer(Operation *command, function_ref<void(Value, bool)> use) {
  if (auto copy = dyn_cast<plan::ir::CopyOp>(command)) {
    for (auto [source, target] : llvm::zip(copy.getSources(), copy.getTargets())) {
      use(source, false);
      use(target, true);
    }
    return;
  }
  if (auto check = dyn_cast<plan::ir::CheckOp>(command)) {
    for (Value buffer : check->getOperands())
      use(buffer, false);
    return;
  }
  if (auto part = dyn_cast<plan::ir::PartOp>(command)) {
    if (part.getSource())
      use(part.getSource(), false);
    if (part.getTarget())
      use(part.getTarget(), true);
    return;
  }
  auto launch = cast<plan::ir::LaunchOp>(command);
  for (Value input : launch.getInputs())
    use(input, false);
  for (Value output : launch.getOutputs())
    use(output, true);
  if (launch.getScratch())
    use(launch.getScratch(), true);
}

DenseMap<QueueName, uint32_t> gantry::schedule::numberQueues(ArrayRef<Operation *> commands) {
  DenseMap<QueueName, uint32_t> queues;
  for (Operation *op : commands)
    queues.try_emplace(queueOf(op), queues.size());
  return queues;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// The part of a topology that a plan states. Devices of a task that say the same type and number
/// of a physical device share it.
static Topology topologyOf(ModuleOp module, DenseMap<Attribute, uint32_t> &devices) {
  Topology topology;
  std::map<std::tuple<TaskName, DeviceType, int64_t>, uint32_t> physical;
  for (auto op : module.getOps<plan::ir::DeviceOp>()) {
    const DeviceName &full = op.getDevice().getName();
    auto [known, isNew] = physical.try_emplace({taskOf(full), *full.type, op.getPhysical()},
                                               topology.physical.size());
    if (isNew) {
      PhysicalDevice device;
      device.name = full;
      device.peakFlops[static_cast<size_t>(ElementType::f32)] = op.getFlops().convertToDouble();
      device.bandwidth = op.getBandwidth().convertToDouble();
      if (auto seconds = op->getAttrOfType<FloatAttr>(kLaunchSecondsAttr))
        device.launch = seconds.getValueAsDouble();
      topology.physical.push_back(device);
    }
    devices[FlatSymbolRefAttr::get(op.getSymNameAttr())] = topology.logical.size();
    topology.logical.push_back({full, known->second, 0});
  }
  for (auto op : module.getOps<plan::ir::LinkOp>()) {
    auto from = devices.find(op.getSourceAttr()), to = devices.find(op.getTargetAttr());
    if (from != devices.end() && to != devices.end())
      topology.links.push_back(
          {topology.logical[from->second].physical, topology.logical[to->second].physical,
           op.getBandwidth().convertToDouble(), op.getLatency().convertToDouble()});
  }
  Topology whole = getTopology(module);
  topology.tasks = std::move(whole.tasks);
  topology.hosts = std::move(whole.hosts);
  topology.network = std::move(whole.network);
  return topology;
}

CommandCosts::CommandCosts(ModuleOp module) {
  const Topology topology = topologyOf(module, devices);
  costs = CostModel::of(topology);
  if (topology.network && !topology.tasks.empty()) {
    network = NetworkModel::of(topology);
    std::map<TaskName, uint32_t> numbers;
    for (auto [i, task] : llvm::enumerate(topology.tasks))
      numbers[task.name] = i;
    for (const LogicalDevice &device : topology.logical)
      taskAt.push_back(numbers[taskOf(device.name)]);
  }
  for (auto constant : module.getOps<plan::ir::ConstantOp>())
    residents[FlatSymbolRefAttr::get(constant.getSymNameAttr())] = constant.getDeviceAttr();
  for (auto variable : module.getOps<plan::ir::VariableOp>())
    residents[FlatSymbolRefAttr::get(variable.getSymNameAttr())] = variable.getDeviceAttr();
  for (auto exchange : module.getOps<plan::ir::ExchangeOp>())
    exchanges[FlatSymbolRefAttr::get(exchange.getSymNameAttr())] = secondsOf(exchange);
}

double CommandCosts::secondsOf(plan::ir::ExchangeOp exchange) const {
  if (costs.numDevices() == 0)
    return 0;
  auto members =
      llvm::map_to_vector(exchange.getMembers(), [&](Attribute symbol) { return device(symbol); });
  SmallVector<uint64_t> sizes(exchange.getSizes());
  if (exchange.getKind() == ExchangeKind::Message)
    return costs.copySeconds(members[0], members[1], sizes[0]);
  const Collective kind = exchange.getKind() == ExchangeKind::AllGather  ? Collective::allGather
                          : exchange.getKind() == ExchangeKind::AllToAll ? Collective::allToAll
                                                                         : Collective::broadcast;
  if (std::optional<ArrayRef<int64_t>> rows = exchange.getRows())
    for (uint64_t &size : sizes)
      size *= *llvm::max_element(*rows);
  if (network) {
    auto tasks = llvm::map_to_vector(members, [&](uint32_t member) { return taskAt[member]; });
    return network->collectiveSeconds(kind, tasks, sizes);
  }
  // What goes in and out of a member, over the way between two of them.
  const uint64_t sum = std::accumulate(sizes.begin(), sizes.end(), uint64_t(0));
  const uint64_t most = *llvm::max_element(sizes);
  const uint64_t each = kind == Collective::allToAll ? most * (members.size() - 1) : sum - most;
  return costs.copySeconds(members[0], members[1], kind == Collective::broadcast ? sum : each);
}

uint32_t CommandCosts::device(Attribute symbol) const { return devices.lookup(symbol); }

uint32_t CommandCosts::deviceOf(Value buffer) const {
  Operation *op = buffer.getDefiningOp();
  if (auto decl = dyn_cast<plan::ir::BufferDeclOp>(op))
    return device(decl.getDeviceAttr());
  if (auto use = dyn_cast<plan::ir::UseOp>(op))
    return device(residents.lookup(use.getConstantAttr()));
  if (auto state = dyn_cast<plan::ir::StateOp>(op))
    return device(residents.lookup(state.getVariableAttr()));
  auto func = op->getParentOfType<plan::ir::FuncOp>();
  auto input = dyn_cast<plan::ir::InputOp>(op);
  uint64_t index = input ? input.getIndex() : cast<plan::ir::OutputOp>(op).getIndex();
  ArrayAttr bindings = input ? func.getInputs() : func.getOutputs();
  if (index >= bindings.size())
    return 0;
  return device(cast<plan::ir::BindingAttr>(bindings[index]).getDevice());
}

std::pair<uint32_t, uint32_t> CommandCosts::endsOf(plan::ir::CopyOp copy) const {
  return {deviceOf(copy.getSources().front()), deviceOf(copy.getTargets().front())};
}

double CommandCosts::latency(plan::ir::CopyOp copy) const {
  auto [from, to] = endsOf(copy);
  return costs.numDevices() == 0 ? 0 : costs.copyLatency(from, to);
}

uint64_t gantry::schedule::sizeOf(Value buffer) {
  return cast<IntegerAttr>(buffer.getDefiningOp()->getAttr("size")).getInt();
}

static uint64_t copiedBytes(plan::ir::CopyOp copy) {
  uint64_t bytes = 0;
  for (Value source : copy.getSources())
    bytes += sizeOf(source);
  return bytes;
}

double CommandCosts::seconds(Operation *command) const {
  constexpr double least = 1e-9; // so that what runs takes its turn
  if (costs.numDevices() == 0 || isa<plan::ir::CheckOp>(command))
    return least;
  if (auto copy = dyn_cast<plan::ir::CopyOp>(command)) {
    auto [from, to] = endsOf(copy);
    return std::max(least, costs.copySeconds(from, to, copiedBytes(copy)));
  }
  if (auto part = dyn_cast<plan::ir::PartOp>(command))
    return std::max(least, exchanges.lookup(part.getExchangeAttr()));
  auto launch = cast<plan::ir::LaunchOp>(command);
  return std::max(least, secondsOn(device(launch.getDeviceAttr()), launch));
}

std::optional<uint32_t> CommandCosts::runsOn(Operation *command) const {
  if (auto launch = dyn_cast<plan::ir::LaunchOp>(command))
    return device(launch.getDeviceAttr());
  if (auto copy = dyn_cast<plan::ir::CopyOp>(command))
    if (auto [from, to] = endsOf(copy); from == to)
      return from;
  return std::nullopt;
}

double CommandCosts::secondsOn(uint32_t device, Operation *command) const {
  if (auto copy = dyn_cast<plan::ir::CopyOp>(command))
    return costs.copySeconds(device, device, copiedBytes(copy));
  auto launch = cast<plan::ir::LaunchOp>(command);
  Work work{uint64_t(launch.getFlops()), uint64_t(launch.getBytes())};
  if (!work.bytes)
    forEachBuffer(launch, [&](Value buffer, bool) { work.bytes += sizeOf(buffer); });
  return costs.seconds(device, work);
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

namespace {
/// Who used a buffer last.
struct LastUses {
  std::optional<uint32_t> write;
  SmallVector<uint32_t, 2> reads; ///< since the write
};
} // namespace

/// Of buffers that share bytes the first one that was asked for.
static Value wholeOf(Value buffer, DenseMap<int64_t, Value> &wholes) {
  auto decl = buffer.getDefiningOp<plan::ir::BufferDeclOp>();
  std::optional<memory::Share> share = decl ? memory::shareOf(decl) : std::nullopt;
  return share ? wholes.try_emplace(share->whole, buffer).first->second : buffer;
}

std::vector<queues::Task> gantry::schedule::describeTasks(ArrayRef<Operation *> commands,
                                                          const CommandCosts &costs) {
  DenseMap<QueueName, uint32_t> queues = numberQueues(commands);
  DenseMap<Value, LastUses> uses;
  DenseMap<int64_t, Value> wholes; // what shares bytes, by the number of the whole
  std::vector<queues::Task> tasks(commands.size());
  DenseMap<uint32_t, SmallVector<uint32_t>> launches; // by device
  Attribute exchange;                                 // the last one
  uint32_t numExchanges = 0;
  for (auto [i, op] : llvm::enumerate(commands))
    if (auto launch = dyn_cast<plan::ir::LaunchOp>(op))
      launches[costs.device(launch.getDeviceAttr())].push_back(i);
  for (uint32_t i = 0; i < tasks.size(); ++i) {
    queues::Task &task = tasks[i];
    task.queue = queues.lookup(queueOf(commands[i]));
    task.seconds = costs.seconds(commands[i]);
    if (auto part = dyn_cast<plan::ir::PartOp>(commands[i])) {
      if (std::exchange(exchange, part.getExchangeAttr()) != part.getExchangeAttr())
        ++numExchanges;
      task.exchange = numExchanges;
    }
    auto comeAfter = [&](uint32_t other) {
      if (other != i)
        task.after.push_back(other);
    };
    if (auto gate = commands[i]->getAttrOfType<IntegerAttr>(kGatedAttr)) {
      const uint32_t device = costs.endsOf(cast<plan::ir::CopyOp>(commands[i])).second;
      if (gate.getInt() > 0)
        task.after.push_back(launches[device][gate.getInt() - 1]);
    }
    forEachBuffer(commands[i], [&](Value buffer, bool writes) {
      if (isa<plan::ir::InputOp, plan::ir::UseOp>(buffer.getDefiningOp()))
        return; // nobody writes these
      LastUses &last = uses[wholeOf(buffer, wholes)];
      if (last.write)
        comeAfter(*last.write);
      if (!writes) {
        last.reads.push_back(i);
        return;
      }
      llvm::for_each(last.reads, comeAfter);
      last = {i, {}};
    });
  }
  return tasks;
}
