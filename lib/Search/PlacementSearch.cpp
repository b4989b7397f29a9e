// Automatic placement: the problem from the module, the search, the answer as suggestions that
// Place takes up where nothing stronger speaks.
//
// What a request, lock or rule says about an op is not read a second time here: the module is
// copied and placed by the default policy, and what anything but the policy decided is a
// constraint.

#include "PlacementSearch.h"

#include "gantry/Analysis/Copies.h"
#include "gantry/Analysis/LiveRanges.h"
#include "gantry/Device/StreamRoom.h"
#include "gantry/Dialect/Plan/IR/Plan.h"
#include "gantry/Support/Format.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace gantry;
using placement::AutoPlacement;
using placement::AutoProblem;
using placement::AutoSchedule;
using placement::notAllowed;

/// Tasks that local search may simulate for each unit of effort: as many runs of the graph, but no
/// less in all than of a small one, and no more than of one that is large; the largest get a few
/// runs all the same.
static uint64_t visitsPerEffort(uint64_t tasks) {
  constexpr uint64_t runs = 300, least = 350'000, most = 1'500'000, fewestRuns = 30;
  return std::max(std::clamp(runs * tasks, least, most), fewestRuns * tasks);
}

/// One part in so many of that, where the search goes on from what it found.
static constexpr uint64_t kPartOfLaterSearches = 2;

//===----------------------------------------------------------------------===//
// Predictions
//===----------------------------------------------------------------------===//

static auto publicFunctions(ModuleOp module) {
  return llvm::make_filter_range(module.getOps<func::FuncOp>(), [](func::FuncOp func) {
    return !func.isExternal() && !func.isPrivate();
  });
}

/// Of what is asked for by its full name, without looking at the others.
static std::optional<uint32_t> onlyByRequest(const MachineModel &machine, Operation *op) {
  auto request = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
  auto soft = op->getAttrOfType<SoftModeAttr>(kSoftAttr);
  if (!request || (soft && soft.getValue() != SoftMode::Strict))
    return std::nullopt;
  std::optional<uint32_t> device = machine.find(request);
  return device && hasKernelOn(machine, op, *device) ? device : std::nullopt;
}

/// Devices that the op's own request leaves, of those with a kernel. Requests that may soften leave
/// all.
static llvm::BitVector allowedByRequest(const MachineModel &machine, Operation *op) {
  llvm::BitVector allowed(machine.numDevices());
  auto request = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
  auto soft = op->getAttrOfType<SoftModeAttr>(kSoftAttr);
  bool isStrict = request && (!soft || soft.getValue() == SoftMode::Strict);
  std::map<std::pair<const Target *, DeviceType>, bool> hasKernel; // alike on devices of a kind
  for (uint32_t d = 0; d < machine.numDevices(); ++d) {
    if (isStrict && !request.getName().matches(machine.nameOf(d)))
      continue;
    auto [known, isNew] = hasKernel.try_emplace({&machine.targetOf(d), *machine.nameOf(d).type});
    if (isNew)
      known->second = hasKernelOn(machine, op, d);
    if (known->second)
      allowed.set(d);
  }
  return allowed.any() ? allowed : allowed.flip();
}

void gantry::predictBounds(ModuleOp module, bool fuse, Predictions &predictions) {
  MachineModel machine(module);
  for (func::FuncOp func : publicFunctions(module)) {
    DeviceLists lists;
    DenseMap<Operation *, ArrayRef<uint32_t>> known;
    auto devicesOf = [&](Operation *op) {
      auto [entry, isNew] = known.try_emplace(op);
      if (isNew) {
        std::optional<uint32_t> only = onlyByRequest(machine, op);
        entry->second = only
                            ? machine.listOf(*only)
                            : lists.keep(llvm::to_vector(allowedByRequest(machine, op).set_bits()));
      }
      return entry->second;
    };
    PlacementGraph graph(machine, func, func, devicesOf, fuse);
    predictions[func.getSymName().str()].lowerBoundSeconds = placement::lowerBound(graph.problem);
  }
}

void gantry::predictSeconds(ModuleOp module, bool fuse, Predictions &predictions) {
  MachineModel machine(module);
  Homes homes(module);
  for (func::FuncOp func : publicFunctions(module)) {
    DenseMap<Operation *, std::optional<uint32_t>> known;
    auto devicesOf = [&](Operation *op) {
      auto [entry, isNew] = known.try_emplace(op);
      if (isNew)
        entry->second = machine.find(homes.deviceOf(op));
      return entry->second ? machine.listOf(*entry->second) : ArrayRef(machine.all);
    };
    PlacementGraph graph(machine, func, func, devicesOf, fuse);
    AutoPlacement placed;
    for (const placement::AutoTask &task : graph.problem.tasks) {
      auto first = llvm::find_if(task.seconds, [](double s) { return s != notAllowed; });
      if (first == task.seconds.end())
        return; // ops of one group on several devices: Place has not been here
      placed.devices.push_back(task.only != placement::noIndex
                                   ? task.only
                                   : static_cast<uint32_t>(first - task.seconds.begin()));
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
  FixedOps ops, following;      ///< by the default policy, and by `follow`
  OwningOpRef<ModuleOp> placed; ///< the copy
  Predictions byFollowing;      ///< what the policy `follow` comes to
  Predictions byDefault;        ///< what the default policy does, wherever loops may not be

  static std::string key(func::FuncOp func, StringAttr name) {
    return (func.getSymName() + "\n" + name.getValue()).str();
  }
  static const FixedEntry *find(const FixedOps &ops, func::FuncOp func, Operation *op) {
    auto name = op->getAttrOfType<StringAttr>(kNameAttr);
    auto entry = name ? ops.find(key(func, name)) : ops.end();
    return entry == ops.end() ? nullptr : &entry->second;
  }
  /// Where each op of a placed module is.
  static FixedOps read(ModuleOp module);
};

PlacementSearch::FixedOps PlacementSearch::Fixed::read(ModuleOp module) {
  FixedOps ops;
  MachineModel machine(module);
  for (func::FuncOp func : publicFunctions(module))
    func.walk([&](Operation *op) {
      auto name = op->getAttrOfType<StringAttr>(kNameAttr);
      std::optional<uint32_t> device = machine.find(op->getAttrOfType<DeviceAttr>(kDeviceAttr));
      auto decision = op->getAttrOfType<DecisionAttr>(kPlacementAttr);
      if (!name || !device)
        return;
      bool isFree = !decision || decision.getRule() == "default" || decision.getRule() == "follow";
      // A variable stays where it is by default, and what updates it stays with it.
      isFree &= !op->hasAttr(kVariableAttr);
      ops[key(func, name)] = {*device, !isFree};
    });
  return ops;
}

/// A copy of the module, placed; null when it cannot be.
OwningOpRef<ModuleOp> PlacementSearch::placedBy(PlacementPolicy policy, ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  CompileOptions other = options;
  other.place.policy = policy;
  PassManager pm(module.getContext());
  buildPipeline(pm, other, Phase::place, Phase::place);
  // Its remarks would be told twice; its errors will be told when the module itself is placed.
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  if (failed(pm.run(*copy)))
    return nullptr;
  return copy;
}

LogicalResult PlacementSearch::placeCopy(ModuleOp module, Fixed &fixed) {
  OwningOpRef<ModuleOp> following = placedBy(PlacementPolicy::follow, module);
  fixed.placed = placedBy(PlacementPolicy::first, module);
  if (!fixed.placed)
    return failure();
  if (following) {
    predictSeconds(*following, options.fuse.groups, fixed.byFollowing);
    fixed.following = Fixed::read(*following);
  }
  if (!barred.empty())
    predictSeconds(*fixed.placed, options.fuse.groups, fixed.byDefault);
  fixed.ops = Fixed::read(*fixed.placed);
  return success();
}

//===----------------------------------------------------------------------===//
// Budgets for copies
//===----------------------------------------------------------------------===//

/// A budget that cannot be read is for the check of the copies to report.
static CopyBudget budgetOf(func::FuncOp func, const CompileOptions &options) {
  Expected<CopyBudget> budget = copyBudgetOf(func, options.copy.budget);
  return budget ? *budget : CopyBudget();
}

/// The graph of the search has loops as one task each and does not see what they copy inside; those
/// copies are known once they are there.
bool PlacementSearch::leaveLoops(ModuleOp module) {
  MachineModel machine(module);
  Homes homes(module);
  const size_t numBefore = barred.size();
  auto bar = [&](func::FuncOp func, Operation *nested, CopyDirection direction) {
    auto name = nested->getAttrOfType<StringAttr>(kNameAttr);
    std::optional<uint32_t> at = machine.find(nested->getAttrOfType<DeviceAttr>(kSearchAttr));
    for (uint32_t d = 0; name && at && d < machine.numDevices(); ++d)
      // Between host and devices it is the type that matters.
      if (d == *at ||
          (direction != CopyDirection::d2d && machine.nameOf(d).type == machine.nameOf(*at).type))
        barred.emplace(Fixed::key(func, name), d);
  };
  for (func::FuncOp func : publicFunctions(module)) {
    CopyBudget budget = budgetOf(func, options);
    for (const CountedCopy &copy : countCopies(func, homes))
      if (copy.inLoop && copy.direction && budget.of(*copy.direction))
        func.getBody()
            .front()
            .findAncestorOpInBlock(*CopyOp(copy.op))
            ->walk([&](KernelOpInterface nested) { bar(func, nested, *copy.direction); });
  }
  if (barred.size() == numBefore)
    return false;
  found.clear(); // what was found may not be any more
  isPrepared = false;
  return true;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {
/// Devices that an op, with all inside it, may be placed on.
class Choices {
public:
  /// `isBarred` tells where an op in a loop keeps the loop from being.
  Choices(const MachineModel &machine,
          llvm::function_ref<std::optional<uint32_t>(Operation *)> fixedAt,
          llvm::function_ref<bool(Operation *, uint32_t)> isBarred)
      : machine(machine), fixedAt(fixedAt), isBarred(isBarred) {}

  ArrayRef<uint32_t> devicesOf(Operation *op) {
    auto [entry, isNew] = known.try_emplace(op);
    if (isNew) {
      llvm::BitVector devices = op->getNumRegions() ? ofRegions(op) : ofOne(op);
      entry->second = lists.keep(llvm::to_vector(devices.set_bits()));
    }
    return entry->second;
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

  /// Ops inside that something else places stay there; the others go together.
  llvm::BitVector ofRegions(Operation *op) const {
    llvm::BitVector ofFree(machine.numDevices(), true), ofFixed(machine.numDevices());
    llvm::BitVector notBarred(machine.numDevices(), true);
    bool anyFree = false;
    for (Region &region : op->getRegions())
      region.walk([&](KernelOpInterface nested) {
        llvm::BitVector own = ofOne(nested);
        for (uint32_t d = 0; d < machine.numDevices(); ++d)
          if (isBarred(nested, d))
            notBarred.reset(d);
        if (own.count() > 1) {
          ofFree &= own;
          anyFree = true;
        } else if (ofFixed.none()) {
          ofFixed = own;
        }
      });
    if (anyFree && ofFree.anyCommon(notBarred))
      return ofFree &= notBarred;
    if (anyFree && ofFree.any())
      return ofFree;
    return ofFixed.any() ? ofFixed : llvm::BitVector(machine.numDevices(), true);
  }

  const MachineModel &machine;
  llvm::function_ref<std::optional<uint32_t>(Operation *)> fixedAt;
  llvm::function_ref<bool(Operation *, uint32_t)> isBarred;
  DeviceLists lists;
  DenseMap<Operation *, ArrayRef<uint32_t>> known;
};

std::string inWords(double seconds) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (seconds < 1e-3)
    os << gantry::format("%.2f us", seconds * 1e6);
  else if (seconds < 1)
    os << gantry::format("%.3f ms", seconds * 1e3);
  else
    os << gantry::format("%.3f s", seconds);
  return text;
}

/// Orders the ops of the block by the tasks of `order`; views and constants go where they are first
/// needed.
void reorder(Block &block, const PlacementGraph &graph, const std::vector<uint32_t> &order,
             const IRMapping &copies) {
  Operation *end = block.getTerminator();
  SmallVector<Operation *> written;
  for (Operation &op : block.without_terminator())
    written.push_back(&op);
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
      emit(copies.lookup(op));
  for (Operation *op : written) // views of results, and what nothing reads
    emit(op);
}
} // namespace

void PlacementSearch::prepare() {
  Fixed fixed;
  isPrepared = true;
  if (failed(placeCopy(module, fixed)))
    return; // the errors come when the module is placed
  MachineModel machine(module);
  reserved.assign(machine.numDevices(), 0);
  if (machine.numDevices() > 1 && !probe)
    probe.emplace(machine, module, options, lowered);
  for (func::FuncOp func : publicFunctions(module))
    addProblem(machine, func, fixed);
}

bool PlacementSearch::begin(ModuleOp searched, uint32_t devices) {
  module = searched;
  numDevices = devices;
  if (!isPrepared)
    prepare();
  reserved.assign(reserved.size(), 0);
  for (Found &one : found) {
    if (devices < one.limits.size() && !placement::withFirstDevices(one.graph->problem, devices))
      return false;
    for (placement::AutoCandidate &candidate : one.outcome.candidates)
      one.starts.push_back({"fewer devices", std::move(candidate.placement)});
    one.outcome = {};
    one.isSearched = false;
    one.graph->problem.leastSpare.clear(); // other placements lose other parts of their room
  }
  return true;
}

LogicalResult PlacementSearch::run() {
  if (!isPrepared)
    prepare();
  for (Found &one : found)
    if (failed(search(one)))
      return failure();
  return success();
}

namespace {
bool fits(const AutoProblem &problem, const AutoSchedule &schedule) {
  return placement::fitsMemory(problem, schedule) && placement::fitsBudgets(problem, schedule);
}

/// What a placement that does not fit is over, as a part of a sentence.
std::string whatIsOver(const AutoProblem &problem, const AutoSchedule &schedule) {
  std::string text;
  if (!placement::fitsMemory(problem, schedule))
    text += ", which is over a limit";
  if (!placement::fitsBudgets(problem, schedule))
    text += text.empty() ? ", which is over the copy budget" : " and the copy budget";
  return text;
}

/// What is made at load is made where it is read first, so that nobody else has to keep it.
void suggestAsReaders(Block &block) {
  for (Operation &op : llvm::reverse(block))
    if (isa<KernelOpInterface>(op) && !op.hasAttr(kSearchAttr))
      for (Operation *user : op.getUsers())
        if (auto there = user->getAttrOfType<DeviceAttr>(kSearchAttr)) {
          op.setAttr(kSearchAttr, there);
          break;
        }
}

/// Writes the answer into the function's copy; gives it in the order that it has there.
AutoPlacement apply(const MachineModel &machine, const PlacementGraph &graph,
                    const AutoPlacement &placement, const std::vector<uint32_t> &written,
                    const IRMapping &copies, Block &block) {
  for (auto [ops, device] : llvm::zip(graph.tasks, placement.devices)) {
    auto suggestion = DeviceAttr::get(block.getParentOp()->getContext(), machine.nameOf(device));
    for (Operation *op : ops)
      copies.lookup(op)->walk(
          [&](KernelOpInterface nested) { nested->setAttr(kSearchAttr, suggestion); });
  }
  suggestAsReaders(block);
  auto host = DeviceAttr::get(block.getParentOp()->getContext(), machine.nameOf(machine.host));
  for (auto [value, isStreamed] : llvm::enumerate(placement.streamed))
    if (isStreamed)
      copies.lookup(ConstantOp(graph.constants[value]).getOperation())->setAttr(kSearchAttr, host);
  // The graph's own order is kept where it does as well, but for what is made of nothing: that
  // is made where it is read, lest it be held.
  AutoPlacement inOrder = placement;
  inOrder.order = written;
  AutoSchedule asWritten = placement::simulate(graph.problem, inOrder);
  AutoSchedule asFound = placement::simulate(graph.problem, placement);
  const bool isWorse = asWritten.seconds > asFound.seconds * (1 + 1e-6);
  const AutoPlacement &best = isWorse || !fits(graph.problem, asWritten) ? placement : inOrder;
  reorder(block, graph, best.order, copies);
  return best;
}
} // namespace

const AutoPlacement &PlacementSearch::Found::candidate(size_t number) const {
  if (number == PlacementSearch::byDefault)
    return byDefault;
  if (number == PlacementSearch::byFollowing)
    return byFollowing;
  if (number == PlacementSearch::unlimited)
    return outcome.unlimited.placement;
  return outcome.candidates[std::min(number, outcome.candidates.size() - 1)].placement;
}

size_t PlacementSearch::numCandidates() const {
  size_t count = 1;
  for (const Found &one : found)
    count = std::max(count, one.outcome.candidates.size());
  return count;
}

bool PlacementSearch::areAlike(size_t a, size_t b) const {
  return llvm::all_of(found, [&](const Found &one) {
    return one.candidate(a).devices == one.candidate(b).devices;
  });
}

bool PlacementSearch::isWithinLimits(size_t candidate) const {
  return llvm::all_of(found, [&](const Found &one) {
    const AutoProblem &problem = one.graph->problem;
    return ::fits(problem, placement::simulate(problem, one.candidate(candidate)));
  });
}

double PlacementSearch::secondsOf(size_t candidate) const {
  double seconds = 0;
  for (const Found &one : found)
    seconds += placement::simulate(one.graph->problem, one.candidate(candidate)).seconds;
  return seconds;
}

double PlacementSearch::secondsSuggested() const {
  double seconds = 0;
  for (const Found &one : found)
    seconds += placement::simulate(one.graph->problem, one.suggested).seconds;
  return seconds;
}

uint64_t PlacementSearch::hashSuggested() const {
  llvm::hash_code hash = 0;
  for (const Found &one : found) {
    const AutoPlacement &placement = one.suggested;
    hash = llvm::hash_combine(hash, llvm::hash_combine_range(placement.devices),
                              llvm::hash_combine_range(placement.order),
                              llvm::hash_combine_range(placement.streamed));
  }
  return hash;
}

/// What the layout of memory lost there.
static void learnLost(const MachineModel &machine, ModuleOp planned, AutoProblem &problem) {
  for (auto arena : planned.getOps<plan::ir::ArenaOp>())
    if (auto lost = arena->getAttrOfType<IntegerAttr>(memory::kLostAttr))
      if (auto device = planned.lookupSymbol<plan::ir::DeviceOp>(arena.getDeviceAttr().getAttr()))
        if (std::optional<uint32_t> number = machine.find(device.getDevice())) {
          problem.leastSpare.resize(problem.numDevices());
          problem.leastSpare[*number] = static_cast<uint32_t>(lost.getInt());
        }
}

/// By device: whether the host's constants come in where memory is limited.
static llvm::BitVector streamingDevices(const AutoProblem &problem,
                                        const AutoPlacement &placement) {
  llvm::BitVector isStreaming(problem.numDevices());
  if (!placement.streamed.empty())
    for (auto [task, device] : llvm::zip(problem.tasks, placement.devices))
      if (problem.limits[device] &&
          llvm::any_of(task.inputs, [&](uint32_t value) { return placement.streamed[value] != 0; }))
        isStreaming.set(device);
  return isStreaming;
}

void PlacementSearch::learn(ModuleOp planned, size_t candidate, double seconds) {
  if (!probe)
    return;
  const MachineModel machine(module);
  const PlannedTimes times(machine, module, planned);
  for (Found &one : found) {
    one.graph->learn(times, one.func.getSymName(), one.candidate(candidate));
    learnLost(machine, planned, one.graph->problem);
  }
  if (std::abs(seconds / secondsSuggested() - 1) > kExplained)
    learnRoomLeftFree(candidate, seconds);
}

/// How much of the room is not filled, of all devices alike and then of each, where that comes
/// nearest to what the plan takes.
void PlacementSearch::learnRoomLeftFree(size_t candidate, double seconds) {
  constexpr uint32_t parts[] = {0, 64, 48, 32, 24, 16, 12, 10, 8, 7, 6, 5, 4, 3};
  const auto off = [&] { return std::abs(secondsSuggested() - seconds); };
  auto tryParts = [&](auto isWanted) {
    for (Found &one : found) {
      AutoProblem &problem = one.graph->problem;
      llvm::BitVector devices = streamingDevices(problem, one.candidate(candidate));
      for (unsigned device = 0; device < devices.size(); ++device)
        if (!isWanted(device))
          devices.reset(device);
      if (devices.none())
        continue; // nothing to try
      problem.leastSpare.resize(problem.numDevices());
      std::vector<uint32_t> best = problem.leastSpare;
      for (double nearest = off(); uint32_t part : parts) {
        for (unsigned device : devices.set_bits())
          problem.leastSpare[device] = part;
        if (const double now = off(); now < nearest) {
          nearest = now;
          best = problem.leastSpare;
        }
      }
      problem.leastSpare = best;
    }
  };
  tryParts([](unsigned) { return true; });
  for (unsigned each = 0; each < reserved.size(); ++each)
    tryParts([&](unsigned device) { return device == each; });
}

bool PlacementSearch::fits() const {
  return llvm::all_of(found, [](const Found &one) { return one.outcome.fits; });
}

OwningOpRef<ModuleOp> PlacementSearch::suggest(size_t candidate) {
  IRMapping copies;
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(ModuleOp(module)->clone(copies)));
  MachineModel machine(*copy);
  for (Found &one : found) {
    auto func = cast<func::FuncOp>(copies.lookup(func::FuncOp(one.func).getOperation()));
    one.suggested = apply(machine, *one.graph, one.candidate(candidate), one.byDefault.order,
                          copies, func.getBody().front());
  }
  return copy;
}

/// What a policy makes of the problem, in the order of the graph.
AutoPlacement PlacementSearch::asPlaced(const MachineModel &machine, const PlacementGraph &graph,
                                        func::FuncOp func, const FixedOps &placedOps) {
  AutoPlacement placed;
  for (auto [task, ops] : llvm::zip(graph.problem.tasks, graph.tasks)) {
    const FixedEntry *entry = Fixed::find(placedOps, func, ops.back());
    if (!entry) // has regions: where the ops are that are free
      ops.back()->walk([&](Operation *nested) {
        const FixedEntry *inside = Fixed::find(placedOps, func, nested);
        if (inside && (!entry || (entry->isFixed && !inside->isFixed)))
          entry = inside;
      });
    uint32_t device = entry ? entry->device : machine.host;
    if (task.secondsOn(device) == notAllowed)
      device = *llvm::find_if(
          machine.all, [&, &task = task](uint32_t d) { return task.secondsOn(d) != notAllowed; });
    placed.devices.push_back(device);
    placed.order.push_back(static_cast<uint32_t>(placed.order.size()));
  }
  return placed;
}

void PlacementSearch::addProblem(const MachineModel &machine, func::FuncOp func,
                                 const Fixed &fixed) {
  auto fixedAt = [&](Operation *op) -> std::optional<uint32_t> {
    const FixedEntry *entry = Fixed::find(fixed.ops, func, op);
    return entry && entry->isFixed ? std::optional(entry->device) : std::nullopt;
  };
  auto isBarred = [&](Operation *op, uint32_t device) {
    auto name = op->getAttrOfType<StringAttr>(kNameAttr);
    return !barred.empty() && name && barred.contains({Fixed::key(func, name), device});
  };
  Choices choices(machine, fixedAt, isBarred);
  auto graph = std::make_unique<PlacementGraph>(
      machine, func, fixed.placed.get().lookupSymbol<func::FuncOp>(func.getSymName()),
      [&](Operation *op) { return choices.devicesOf(op); }, options.fuse.groups,
      probe ? &*probe : nullptr);
  graph->problem.setBudget(machine.topology, budgetOf(func, options));
  AutoPlacement baseline = asPlaced(machine, *graph, func, fixed.ops);
  Found one{func, nullptr, graph->problem.limits, baseline, baseline, "", {{"default", baseline}},
            {},   false};
  if (!fixed.following.empty()) {
    one.byFollowing = asPlaced(machine, *graph, func, fixed.following);
    one.starts.push_back({"follow", one.byFollowing});
  }
  one.graph = std::move(graph);
  one.compared = comparison(one, fixed, baseline);
  found.push_back(std::move(one));
}

/// In terms of so many devices, of which it uses no more than the first.
static void setDevices(placement::AutoPlacement &placement, uint32_t devices) {
  if (!placement.spare.empty())
    placement.spare.resize(devices);
}

static void setDevices(placement::AutoOutcome &outcome, uint32_t devices) {
  setDevices(outcome.placement, devices);
  setDevices(outcome.unlimited.placement, devices);
  for (placement::AutoCandidate &candidate : outcome.candidates)
    setDevices(candidate.placement, devices);
}

LogicalResult PlacementSearch::search(Found &one) {
  AutoProblem &whole = one.graph->problem;
  for (auto [limit, own, taken] : llvm::zip(whole.limits, one.limits, reserved))
    limit = own ? std::max<uint64_t>(own - std::min(own, taken), 1) : 0;
  const uint32_t all = whole.numDevices();
  std::optional<AutoProblem> part;
  if (numDevices < all)
    part = placement::withFirstDevices(whole, numDevices);
  const AutoProblem &problem = part ? *part : whole;
  std::vector<placement::AutoStart> starts;
  for (placement::AutoStart start : one.starts)
    if (llvm::all_of(start.placement.devices,
                     [&](uint32_t device) { return device < problem.numDevices(); })) {
      setDevices(start.placement, problem.numDevices());
      starts.push_back(std::move(start));
    }
  placement::AutoOptions effort;
  effort.maxVisits = options.place.effort * visitsPerEffort(problem.tasks.size());
  if (one.isSearched)
    effort.maxVisits /= kPartOfLaterSearches;
  setDevices(one.outcome, problem.numDevices());
  auto outcome =
      placement::searchPlacement(problem, effort, starts, one.isSearched ? &one.outcome : nullptr);
  if (!outcome)
    return one.func.emitError() << outcome.status().message();
  Status judged = placement::validateSchedule(problem, outcome->placement, outcome->schedule);
  if (outcome->fits && !judged.ok())
    return one.func.emitError() << judged.message();
  one.outcome = outcome.take();
  one.isSearched = true;
  setDevices(one.outcome, all);
  return success();
}

/// What the policies would come to.
std::string PlacementSearch::comparison(const Found &one, const Fixed &fixed,
                                        const AutoPlacement &baseline) const {
  // A loop that was sent elsewhere is in the baseline too, but not by the default policy.
  const std::string name = func::FuncOp(one.func).getSymName().str();
  AutoSchedule before = placement::simulate(one.graph->problem, baseline);
  auto asDefault = fixed.byDefault.find(name);
  auto isOurs = [&](const auto &entry) { return StringRef(entry.first).starts_with(name + "\n"); };
  bool isMoved = asDefault != fixed.byDefault.end() && llvm::any_of(barred, isOurs) &&
                 asDefault->second.seconds < before.seconds * (1 - 1e-6);
  std::string text =
      ", default policy " + inWords(isMoved ? asDefault->second.seconds : before.seconds) +
      (isMoved ? ", which is over the copy budget" : whatIsOver(one.graph->problem, before));
  if (auto follow = fixed.byFollowing.find(name); follow != fixed.byFollowing.end())
    text += ", follow " + inWords(follow->second.seconds);
  return text;
}

/// Where the search began, and what that came to.
static std::string triedInWords(const placement::AutoOutcome &outcome) {
  std::string text;
  for (const placement::AutoTried &tried : outcome.tried)
    text += (text.empty() ? "" : ", ") + tried.name + " " +
            (tried.seconds == notAllowed ? "does not fit" : inWords(tried.seconds));
  return text;
}

/// From where, and by which moves, it came to what it is.
static std::string wonInWords(const placement::AutoCandidate &candidate) {
  std::string text = " from " + candidate.start;
  for (const placement::AutoGain &gain : candidate.gains)
    text += (&gain == &candidate.gains.front() ? " by " : ", ") + std::to_string(gain.moves) + " " +
            gain.kind + (gain.seconds < 0 ? " +" : " -") + inWords(std::abs(gain.seconds));
  return text;
}

/// How many kernels each device has, and what comes to them in each run.
static std::string placedInWords(const MachineModel &machine, const AutoPlacement &placement) {
  std::string text = "; kernels:";
  for (uint32_t d = 0; d < machine.numDevices(); ++d)
    if (auto count = llvm::count(placement.devices, d))
      text += " " + machine.nameOf(d).shortStr() + " " + std::to_string(count);
  if (auto streamed = llvm::count(placement.streamed, 1))
    text += "; " + std::to_string(streamed) +
            (streamed == 1 ? " weight stays on the host and comes in each run"
                           : " weights stay on the host and come in each run");
  return text;
}

std::string PlacementSearch::finding(const Found &one, size_t candidate, double seconds,
                                     bool isRepaired) const {
  const AutoProblem &problem = one.graph->problem;
  const placement::AutoOutcome &outcome = one.outcome;
  const double believed = placement::simulate(problem, one.suggested).seconds;
  const double step = seconds > 0 ? seconds : believed;
  std::string text = "automatic placement of '" + func::FuncOp(one.func).getSymName().str() +
                     "': predicted step " + inWords(step);
  if (isRepaired)
    text += " (a repair)";
  else if (seconds > 0)
    text += " (the search predicted " + inWords(believed) + ")";
  // Where all is on one device, a plan may fuse more than the graph that was searched.
  text += ", lower bound " + inWords(std::min(outcome.lowerBound, step)) + one.compared +
          placedInWords(MachineModel(module), one.candidate(candidate));
  if (outcome.unlimited.seconds < outcome.schedule.seconds * (1 - 1e-3))
    text += "; without limits " + inWords(outcome.unlimited.seconds);
  if (problem.numDevices() > 1)
    text += "; tried: " + triedInWords(outcome);
  if (candidate < outcome.candidates.size() && problem.numDevices() > 1)
    text += "; found" + wonInWords(outcome.candidates[candidate]);
  if (!outcome.fits)
    text += problem.budgets.empty()
                ? "; nothing was found that is within the limits"
                : "; nothing was found that is within the limits and the copy budget";
  return text;
}

std::vector<std::string> PlacementSearch::findings(size_t candidate, double seconds,
                                                   bool isRepaired) const {
  std::vector<std::string> texts;
  for (const Found &one : found)
    texts.push_back(finding(one, candidate, found.size() == 1 ? seconds : 0, isRepaired));
  return texts;
}

std::vector<std::string> PlacementSearch::pricesOfMemory() const {
  constexpr double mebibyte = 1 << 20;
  MachineModel machine(module);
  std::vector<std::string> texts;
  for (const Found &one : found) {
    const AutoProblem &problem = one.graph->problem;
    if (!one.outcome.fits)
      continue;
    std::string text;
    const auto prices = placement::priceMemory(problem, one.outcome.placement);
    for (auto [d, price] : llvm::enumerate(prices))
      if (problem.limits[d])
        text += (text.empty() ? "" : "; ") + machine.nameOf(d).shortStr() + " " +
                inWords(price.more * mebibyte) + " less for a MiB more, " +
                (price.less == notAllowed ? "nothing found"
                                          : inWords(price.less * mebibyte) + " more") +
                " for a MiB less";
    if (!text.empty())
      texts.push_back("what memory is worth to '" + func::FuncOp(one.func).getSymName().str() +
                      "': " + text);
  }
  return texts;
}

bool PlacementSearch::tightenLimits(ArrayRef<int64_t> missing) {
  constexpr int64_t packing = 500; // one part in so many may be lost between buffers
  bool isOver = false;
  for (auto [taken, bytes] : llvm::zip(reserved, missing))
    if (bytes > 0) {
      taken += bytes + bytes / packing + 1;
      isOver = true;
    }
  return isOver;
}
