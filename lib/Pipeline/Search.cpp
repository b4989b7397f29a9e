// Automatic placement: the problem from the module, the search, the answer as suggestions that
// Place takes up where nothing stronger speaks.
//
// What a request, lock or rule says about an op is not read a second time here: the module is
// copied and placed by the default policy, and what anything but the policy decided is a
// constraint.

#include "Search.h"

#include "gantry/Dialect/Plan/IR/Plan.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace gantry;
using placement::AutoPlacement;
using placement::AutoProblem;
using placement::AutoSchedule;
using placement::notAllowed;

//===----------------------------------------------------------------------===//
// Predictions
//===----------------------------------------------------------------------===//

static auto publicFunctions(ModuleOp module) {
  return llvm::make_filter_range(module.getOps<func::FuncOp>(), [](func::FuncOp func) {
    return !func.isExternal() && !func.isPrivate();
  });
}

/// Devices that the op's own request leaves, of those with a kernel. Requests that may soften leave
/// all.
static llvm::BitVector allowedByRequest(const Machine &machine, Operation *op) {
  llvm::BitVector allowed(machine.numDevices());
  auto request = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
  auto soft = op->getAttrOfType<StringAttr>(kSoftAttr);
  Expected<DeviceName> name =
      DeviceName::parse(request ? request.getSpelling().str() : "/device:*");
  bool isStrict = request && name && (!soft || soft.getValue() == "strict");
  for (uint32_t d = 0; d < machine.numDevices(); ++d)
    if (hasKernelOn(machine, op, d) && (!isStrict || name->matches(machine.nameOf(d))))
      allowed.set(d);
  return allowed.any() ? allowed : allowed.flip();
}

void gantry::predictBounds(ModuleOp module, bool fuse, Predictions &predictions) {
  Machine machine(module);
  for (func::FuncOp func : publicFunctions(module)) {
    DenseMap<Operation *, llvm::BitVector> known;
    auto mayRun = [&](Operation *op, uint32_t device) {
      auto [entry, isNew] = known.try_emplace(op);
      if (isNew)
        entry->second = allowedByRequest(machine, op);
      return entry->second.test(device);
    };
    PlacementGraph graph(machine, func, mayRun, fuse);
    predictions[func.getSymName().str()].lowerBoundSeconds = placement::lowerBound(graph.problem);
  }
}

/// Where the op is; of one with regions, where the first op inside is.
static std::optional<uint32_t> placeOf(const Machine &machine, Operation *op) {
  std::optional<uint32_t> device = machine.find(op->getAttrOfType<DeviceAttr>(kDeviceAttr));
  if (!device && op->getNumRegions())
    op->walk([&](Operation *nested) {
      device = machine.find(nested->getAttrOfType<DeviceAttr>(kDeviceAttr));
      return device ? WalkResult::interrupt() : WalkResult::advance();
    });
  return device;
}

void gantry::predictSeconds(ModuleOp module, bool fuse, Predictions &predictions) {
  Machine machine(module);
  for (func::FuncOp func : publicFunctions(module)) {
    DenseMap<Operation *, std::optional<uint32_t>> known;
    auto mayRun = [&](Operation *op, uint32_t device) {
      auto [entry, isNew] = known.try_emplace(op);
      if (isNew)
        entry->second = placeOf(machine, op);
      return !entry->second || *entry->second == device;
    };
    PlacementGraph graph(machine, func, mayRun, fuse);
    AutoPlacement placed;
    for (const placement::AutoTask &task : graph.problem.tasks) {
      auto first = llvm::find_if(task.seconds, [](double s) { return s != notAllowed; });
      if (first == task.seconds.end())
        return; // ops of one group on several devices: Place has not been here
      placed.devices.push_back(static_cast<uint32_t>(first - task.seconds.begin()));
      placed.order.push_back(static_cast<uint32_t>(placed.order.size()));
    }
    predictions[func.getSymName().str()].seconds =
        placement::simulate(graph.problem, placed).seconds;
  }
}

//===----------------------------------------------------------------------===//
// What is fixed
//===----------------------------------------------------------------------===//

/// Where the default policy puts each op, and whether it was the policy that did.
struct PlacementSearch::Fixed {
  struct Entry {
    uint32_t device;
    bool isFixed;
  };
  llvm::StringMap<Entry> ops; ///< by function and name

  static std::string key(func::FuncOp func, StringAttr name) {
    return (func.getSymName() + "\n" + name.getValue()).str();
  }
  const Entry *find(func::FuncOp func, Operation *op) const {
    auto name = op->getAttrOfType<StringAttr>(kNameAttr);
    auto entry = name ? ops.find(key(func, name)) : ops.end();
    return entry == ops.end() ? nullptr : &entry->second;
  }
};

LogicalResult PlacementSearch::placeCopy(ModuleOp module, Fixed &fixed) {
  OwningOpRef<ModuleOp> copy = module.clone();
  CompileOptions byDefault = options;
  byDefault.placement = PlacementPolicy::first;
  byDefault.writePlacementLock.clear();
  byDefault.whyNot.clear();
  PassManager pm(module.getContext());
  buildPipeline(pm, byDefault, Phase::place, Phase::place);
  // Its remarks would be told twice; its errors will be told when the module itself is placed.
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  if (failed(pm.run(*copy)))
    return failure();
  Machine machine(*copy);
  for (func::FuncOp func : publicFunctions(*copy))
    func.walk([&](Operation *op) {
      auto name = op->getAttrOfType<StringAttr>(kNameAttr);
      std::optional<uint32_t> device = machine.find(op->getAttrOfType<DeviceAttr>(kDeviceAttr));
      auto decision = op->getAttrOfType<DecisionAttr>(kPlacementAttr);
      if (!name || !device)
        return;
      bool isFree = !decision || decision.getRule() == "default" || decision.getRule() == "follow";
      fixed.ops[Fixed::key(func, name)] = {*device, !isFree};
    });
  return success();
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {
/// Devices that an op, with all inside it, may be placed on.
class Choices {
public:
  Choices(const Machine &machine, llvm::function_ref<std::optional<uint32_t>(Operation *)> fixedAt)
      : machine(machine), fixedAt(fixedAt) {}

  bool mayRun(Operation *op, uint32_t device) {
    auto [entry, isNew] = known.try_emplace(op);
    if (isNew)
      entry->second = op->getNumRegions() ? ofRegions(op) : ofOne(op);
    return entry->second.test(device);
  }

private:
  llvm::BitVector ofOne(Operation *op) const {
    llvm::BitVector allowed = allowedByRequest(machine, op);
    std::optional<uint32_t> fixed = fixedAt(op);
    // A partial request leaves more than the device that the policy takes of it.
    auto request = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
    bool isPartial =
        request && !machine.find(request) && allowed.count() > 1 && allowed.test(fixed.value_or(0));
    if (fixed && !isPartial) {
      allowed.reset();
      allowed.set(*fixed);
    }
    return allowed;
  }

  llvm::BitVector ofRegions(Operation *op) const {
    llvm::BitVector allowed(machine.numDevices(), true);
    std::optional<uint32_t> first;
    for (Region &region : op->getRegions())
      region.walk([&](Operation *nested) {
        if (!isa<KernelOpInterface>(nested))
          return;
        llvm::BitVector own = ofOne(nested);
        if (!first)
          first = own.find_first();
        allowed &= own;
      });
    if (allowed.none())
      allowed.set(first.value_or(0)); // in several places: charged where it begins
    return allowed;
  }

  const Machine &machine;
  llvm::function_ref<std::optional<uint32_t>(Operation *)> fixedAt;
  DenseMap<Operation *, llvm::BitVector> known;
};

std::string inWords(double seconds) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (seconds < 1e-3)
    os << llvm::format("%.2f us", seconds * 1e6);
  else if (seconds < 1)
    os << llvm::format("%.3f ms", seconds * 1e3);
  else
    os << llvm::format("%.3f s", seconds);
  return text;
}

/// Orders the ops of the block by the tasks of `order`; views and constants go where they are first
/// needed.
void reorder(Block &block, const PlacementGraph &graph, const std::vector<uint32_t> &order) {
  Operation *end = block.getTerminator();
  llvm::DenseSet<Operation *> done;
  std::function<void(Operation *)> emit = [&](Operation *op) {
    if (!op || op->getBlock() != &block || !done.insert(op).second)
      return;
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (Operation *maker = operand.getDefiningOp())
          emit(block.findAncestorOpInBlock(*maker));
    });
    op->moveBefore(end);
  };
  for (uint32_t task : order)
    for (Operation *op : graph.tasks[task])
      emit(op);
}
} // namespace

LogicalResult PlacementSearch::suggest(ModuleOp module) {
  Fixed fixed;
  found.clear();
  if (failed(placeCopy(module, fixed)))
    return success(); // the errors come when the module is placed
  Machine machine(module);
  reserved.resize(machine.numDevices());
  for (func::FuncOp func : publicFunctions(module))
    if (failed(suggest(machine, func, fixed)))
      return failure();
  return success();
}

LogicalResult PlacementSearch::suggest(const Machine &machine, func::FuncOp func,
                                       const Fixed &fixed) {
  auto fixedAt = [&](Operation *op) -> std::optional<uint32_t> {
    const Fixed::Entry *entry = fixed.find(func, op);
    return entry && entry->isFixed ? std::optional(entry->device) : std::nullopt;
  };
  Choices choices(machine, fixedAt);
  PlacementGraph graph(
      machine, func, [&](Operation *op, uint32_t d) { return choices.mayRun(op, d); },
      options.fuse);
  AutoProblem &problem = graph.problem;
  for (uint32_t d = 0; d < machine.numDevices(); ++d)
    if (uint64_t &limit = problem.limits[d])
      limit = std::max<uint64_t>(limit - std::min(limit, reserved[d]), 1);

  // As the default policy has it: what the search has to beat.
  AutoPlacement baseline;
  for (uint32_t t = 0; t < graph.tasks.size(); ++t) {
    const Fixed::Entry *entry = fixed.find(func, graph.tasks[t].back());
    uint32_t device = entry ? entry->device : machine.host;
    const std::vector<double> &seconds = problem.tasks[t].seconds;
    if (seconds[device] == notAllowed)
      device = llvm::find_if(seconds, [](double s) { return s != notAllowed; }) - seconds.begin();
    baseline.devices.push_back(device);
    baseline.order.push_back(t);
  }
  placement::AutoOptions search;
  search.maxSteps = options.searchSteps;
  Expected<placement::AutoOutcome> outcome = placement::searchPlacement(problem, search, &baseline);
  if (!outcome)
    return func.emitError() << outcome.status().message();
  if (outcome->fits)
    if (Status judged = placement::validateSchedule(problem, outcome->placement, outcome->schedule);
        !judged.ok())
      return func.emitError() << judged.message();

  Builder b(func.getContext());
  std::vector<uint32_t> counts(machine.numDevices());
  for (uint32_t t = 0; t < graph.tasks.size(); ++t) {
    uint32_t device = outcome->placement.devices[t];
    ++counts[device];
    auto suggestion = DeviceAttr::get(func.getContext(), machine.nameOf(device).str());
    for (Operation *op : graph.tasks[t])
      op->walk([&](Operation *nested) {
        if (isa<KernelOpInterface>(nested))
          nested->setAttr(kSearchAttr, suggestion);
      });
  }
  // The graph's own order is kept where it does as well.
  AutoPlacement asWritten{outcome->placement.devices, baseline.order};
  AutoSchedule written = placement::simulate(problem, asWritten);
  bool isKept = written.seconds <= outcome->schedule.seconds * (1 + 1e-6);
  for (uint32_t d = 0; d < machine.numDevices(); ++d)
    isKept &= !problem.limits[d] || written.peaks[d] <= problem.limits[d];
  if (!isKept)
    reorder(func.getBody().front(), graph, outcome->placement.order);

  AutoSchedule byDefault = placement::simulate(problem, baseline);
  bool defaultFits = true;
  for (uint32_t d = 0; d < machine.numDevices(); ++d)
    defaultFits &= !problem.limits[d] || byDefault.peaks[d] <= problem.limits[d];
  std::string text = "automatic placement of '" + func.getSymName().str() + "': predicted step " +
                     inWords(outcome->schedule.seconds) + ", lower bound " +
                     inWords(outcome->lowerBound) + ", default policy " +
                     inWords(byDefault.seconds) + (defaultFits ? "" : ", which is over a limit") +
                     "; kernels:";
  for (uint32_t d = 0; d < machine.numDevices(); ++d)
    if (counts[d])
      text += " " + machine.nameOf(d).shortStr() + " " + std::to_string(counts[d]);
  if (!outcome->fits)
    text += "; nothing was found that is within the limits";
  found.push_back(text);
  return success();
}

bool PlacementSearch::tightenLimits(ModuleOp module) {
  std::map<StringRef, uint64_t> planned;
  for (auto arena : module.getOps<planir::ArenaOp>())
    planned[arena.getDevice()] += arena.getSize();
  bool isOver = false;
  uint32_t d = 0;
  for (auto device : module.getOps<planir::DeviceOp>()) {
    uint64_t limit = device.getLimit(), bytes = planned[device.getSymName()];
    if (limit && bytes > limit && d < reserved.size()) {
      isOver = true;
      reserved[d] += bytes - limit + limit / 100; // a hundredth for what packing may lose
    }
    ++d;
  }
  return isOver;
}
