#include "Probe.h"

#include "gantry/Analysis/Segments.h"
#include "gantry/Analysis/SharedBuffers.h"
#include "gantry/Dialect/Plan/IR/Plan.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace gantry;

static std::string keyOf(StringRef function, StringRef op) { return (function + "\n" + op).str(); }

/// Kinds of devices, numbered by the first device of each.
static std::vector<uint32_t> kindsOf(const MachineModel &machine) {
  std::vector<uint32_t> kinds;
  std::vector<std::pair<DeviceType, const Target *>> known;
  for (uint32_t d = 0; d < machine.numDevices(); ++d) {
    std::pair kind(*machine.nameOf(d).type, &machine.targetOf(d));
    auto found = llvm::find(known, kind);
    kinds.push_back(static_cast<uint32_t>(found - known.begin()));
    if (found == known.end())
      known.push_back(kind);
  }
  return kinds;
}

static void dropLimits(ModuleOp module) {
  Topology topology = getTopology(module);
  for (PhysicalDevice &device : topology.physical)
    device.memory = 0;
  for (LogicalDevice &device : topology.logical)
    device.limit = 0;
  setTopology(module, topology);
}

/// The plan of a copy of the module with all that may be there on the device; null where there is
/// none.
static OwningOpRef<ModuleOp> planOn(const MachineModel &machine, ModuleOp module, uint32_t device,
                                    CompileOptions options, LoweredKernels &known) {
  OwningOpRef<ModuleOp> copy = module.clone();
  dropLimits(*copy);
  auto there = DeviceAttr::get(module.getContext(), machine.nameOf(device));
  copy->walk([&](KernelOpInterface op) {
    if (hasKernelOn(machine, op, device))
      op->setAttr(kSearchAttr, there);
  });
  options.place.policy = PlacementPolicy::automatic;
  options.copy.budget = {};
  options.memory.repair.clear();
  PassManager pm(module.getContext());
  buildPipeline(pm, options, Phase::memory, Phase::place, &known);
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  if (failed(pm.run(*copy)))
    return nullptr;
  return copy;
}

namespace {
/// Reads the commands of a function.
struct FunctionReader {
  plan::ir::FuncOp func;
  const schedule::CommandCosts &costs;
  uint32_t numDevices;
  llvm::StringMap<PlannedOp> &ops;
  const llvm::StringMap<ArrayRef<int64_t>> &shapes; ///< of results, as the graph has them
  llvm::DenseMap<Value, uint32_t> buffers{};
  llvm::DenseMap<int64_t, uint32_t> wholes{};
  std::vector<double> waiting{}; ///< of launches whose op the graph does not have

  std::string key(StringRef name) { return keyOf(func.getSymName(), name); }

  void read(uint32_t device) {
    for (auto placed : func.getPlaced().getAsRange<plan::ir::PlacedAttr>())
      if (costs.device(placed.getDevice()) == device && shapes.contains(key(placed.getName())))
        ops[key(placed.getName())].isAtLoad = placed.getOnce();
    PlannedOp *last = nullptr;
    for (Operation &command : func.getBody().front()) {
      if (costs.runsOn(&command) != device)
        continue;
      auto op = ops.find(key(command.getAttrOfType<StringAttr>("name")));
      if (op == ops.end()) {
        PlannedOp unknown;
        addSeconds(unknown, &command);
        add(waiting, unknown.seconds);
        continue;
      }
      last = &op->second;
      addSeconds(*last, &command);
      addWaiting(*last);
      if (auto launch = dyn_cast<plan::ir::LaunchOp>(command))
        for (Value output : launch.getOutputs())
          setBuffer(*last, output);
    }
    if (last)
      addWaiting(*last);
    // What is moved nowhere is in a buffer all the same.
    for (auto decl : func.getBody().front().getOps<plan::ir::BufferDeclOp>())
      if (auto op = ops.find(key(decl.getValue())); op != ops.end() && op->second.seconds.empty())
        setBuffer(op->second, decl);
  }

  static void add(std::vector<double> &sums, const std::vector<double> &more) {
    sums.resize(std::max(sums.size(), more.size()));
    for (auto [sum, seconds] : llvm::zip(sums, more))
      sum += seconds;
  }

  void addWaiting(PlannedOp &op) {
    add(op.seconds, waiting);
    waiting.clear();
  }

  void addSeconds(PlannedOp &op, Operation *command) {
    std::vector<double> seconds;
    for (uint32_t d = 0; d < numDevices; ++d)
      seconds.push_back(costs.secondsOn(d, command));
    add(op.seconds, seconds);
  }

  /// Buffers that share bytes have one number.
  void setBuffer(PlannedOp &op, Value buffer) {
    auto decl = buffer.getDefiningOp<plan::ir::BufferDeclOp>();
    if (!decl)
      return;
    const uint32_t next = static_cast<uint32_t>(buffers.size() + wholes.size());
    std::optional<memory::Share> share = memory::shareOf(decl);
    op.isPart = share.has_value();
    op.isTurned =
        shapes.contains(key(decl.getValue())) &&
        shapes.lookup(key(decl.getValue())) != cast<ShapedType>(decl.getType()).getShape();
    op.bytesWith = share ? wholes.try_emplace(share->whole, next).first->second
                         : buffers.try_emplace(buffer, next).first->second;
  }
};
} // namespace

Probe::Ops Probe::plan(const MachineModel &machine, ModuleOp module, uint32_t device,
                       const CompileOptions &options, LoweredKernels &known) {
  Ops ops;
  if (OwningOpRef<ModuleOp> planned = planOn(machine, module, device, options, known))
    read(module, *planned, device, ops);
  return ops;
}

/// Ops on the device, in a plan of the module.
void Probe::read(ModuleOp module, ModuleOp planned, uint32_t device, Ops &ops) {
  llvm::StringMap<ArrayRef<int64_t>> shapes;
  for (auto func : module.getOps<func::FuncOp>())
    func.walk([&](KernelOpInterface op) {
      auto name = op->getAttrOfType<StringAttr>(kNameAttr);
      auto type =
          op->getNumResults() ? dyn_cast<ShapedType>(op->getResult(0).getType()) : ShapedType();
      if (name && type)
        shapes[keyOf(func.getSymName(), name)] = type.getShape();
    });
  schedule::CommandCosts costs(planned);
  const auto numDevices = uint32_t(std::distance(planned.getOps<plan::ir::DeviceOp>().begin(),
                                                 planned.getOps<plan::ir::DeviceOp>().end()));
  for (auto func : planned.getOps<plan::ir::FuncOp>())
    if (!func.getAtLoad())
      FunctionReader{func, costs, numDevices, ops, shapes}.read(device);
}

Probe::Probe(const MachineModel &machine, ModuleOp module, const CompileOptions &options,
             LoweredKernels &known)
    : kindOf(kindsOf(machine)) {
  for (uint32_t d = 0; d < machine.numDevices(); ++d)
    if (kindOf[d] == kinds.size())
      kinds.push_back(plan(machine, module, d, options, known));
}

bool Probe::makesAtLoad() const {
  return llvm::any_of(kinds, [](const Ops &ops) {
    return llvm::any_of(ops, [](const auto &op) { return op.second.isAtLoad; });
  });
}

const PlannedOp *Probe::find(StringRef function, StringRef op, uint32_t device) const {
  const Ops &ops = kinds[kindOf[device]];
  auto found = ops.find(keyOf(function, op));
  return found == ops.end() ? nullptr : &found->second;
}

PlannedTimes::PlannedTimes(const MachineModel &machine, ModuleOp module, ModuleOp planned)
    : byDevice(machine.numDevices()) {
  for (auto [device, ops] : llvm::enumerate(byDevice))
    Probe::read(module, planned, device, ops);
}

std::optional<double> PlannedTimes::secondsOf(StringRef function, ArrayRef<Operation *> ops,
                                              uint32_t device) const {
  double sum = 0;
  for (Operation *op : ops) {
    auto name = op->getAttrOfType<StringAttr>(kNameAttr);
    if (!name || op->getNumRegions())
      return std::nullopt;
    for (uint32_t d = 0; d < byDevice.size(); ++d)
      if (auto found = byDevice[d].find(keyOf(function, name));
          found != byDevice[d].end() && !found->second.seconds.empty()) {
        if (d != device)
          return std::nullopt;
        sum += found->second.seconds[d];
      }
  }
  return sum;
}
