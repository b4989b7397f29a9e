// Reads a module as a problem of placement. Only attributes and interfaces are asked, so that ops
// of other dialects are placed like our own.

#include "PlacementInput.h"

#include "gantry/Analysis/Flow.h"
#include "gantry/Dialect/Gantry/IR/Collectives.h"
#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Placement/FoldNames.h"
#include "gantry/Support/Names.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::place;
using placement::Constraint;
using placement::Kind;
using placement::Softness;

bool place::isConstant(Operation *op) { return op->hasTrait<OpTrait::ConstantLike>(); }

std::string Node::what() const {
  switch (type) {
  case argument:
    return "argument " + std::to_string(index);
  case result:
    return "result " + std::to_string(index);
  case variable:
    return "variable '" + SymbolTable::getSymbolName(owner).str() + "'";
  case constant:
    return "'constant'";
  case copy:
    return "'gantry.copy'";
  case op:
  case view:
    return ("'" + cast<KernelOpInterface>(owner).getLogName() + "'").str();
  }
  llvm_unreachable("a node without a type");
}

StringRef Node::name() const {
  if (isEnd())
    return {};
  auto name = owner->getAttrOfType<StringAttr>(kNameAttr);
  return name ? name.getValue() : StringRef();
}

Location Node::loc() const {
  return type == argument ? cast<func::FuncOp>(owner).getArgument(index).getLoc() : owner->getLoc();
}

bool Input::isOneTask() const {
  // They stand in the order of their names.
  return topology.logical.empty() ||
         taskOf(topology.logical.front().name) == taskOf(topology.logical.back().name);
}

std::string Input::shortName(const DeviceName &name) const {
  return isOneTask() ? name.shortStr() : name.str();
}

OpTexts::OpTexts(Operation *op, StringRef kind) : kinds{std::string_view(kind)} {
  if (auto kernel = dyn_cast<KernelOpInterface>(op)) {
    ops.push_back(kernel.getLogName());
    if (kind != "view")
      kinds.push_back("compute");
  }
  if (auto source = op->getAttrOfType<StringAttr>(kSourceOpAttr))
    ops.push_back(source.getValue());
  if (auto name = op->getAttrOfType<StringAttr>(kNameAttr))
    names.push_back(name.getValue());
  // One node of a model may be several ops, of which one alone has the very name.
  if (StringRef node = nodeNameOf(op->getLoc()); !node.empty())
    names.push_back(node);
  if (kind == "variable")
    names.push_back(SymbolTable::getSymbolName(op).getValue());
}

namespace {

/// Fills an Input in one walk, in program order: makers come before readers.
class InputBuilder {
public:
  explicit InputBuilder(Input &in)
      : in(in), several(llvm::count_if(in.module.getOps<func::FuncOp>(),
                                       [](func::FuncOp f) { return !f.isExternal(); }) > 1) {}

  LogicalResult run();

private:
  uint32_t addNode(Node node);
  void addVariables();
  void addEnds(func::FuncOp func);
  void visit(Block &block);
  void visitOp(Operation &op);
  void visitBranch(RegionBranchOpInterface op);
  void visitMembers(SeveralDevicesOpInterface op);
  bool takeMaker(Value value, OpOperand *source);
  void addOp(Operation &op, Node::Type type);
  void constrain(uint32_t node, Kind kind, Softness softness, const DeviceName &name,
                 Origin origin);
  void addRequest(uint32_t node, DeviceAttr request, SoftModeAttr soft, LocationAttr scope,
                  Kind kind = Kind::requested);
  void addGroups(uint32_t node, Attribute names);
  bool addRule(uint32_t node, placement::Subject subject);
  void addLock(uint32_t node, Operation *op);
  std::optional<uint32_t> findRule(Operation *op, StringRef kind);
  uint32_t kernelsOf(Operation *op);
  void addOperands(uint32_t node, Operation *op);
  std::vector<std::string> namesFor(placement::OpPattern::Of of);
  void reportUnusedRules();
  LogicalResult reportUnusedLocks();
  void applyChanges();

  Softness softness(SoftModeAttr soft) const {
    if (soft)
      switch (soft.getValue()) {
      case SoftMode::Strict:
        return Softness::strict;
      case SoftMode::Prefer:
        return Softness::prefer;
      case SoftMode::Any:
        return Softness::any;
      }
    return in.requests.soft ? Softness::prefer : Softness::strict;
  }

  const std::vector<placement::LockEntry> &locks() const { return in.requests.lock.entries; }

  Input &in;
  bool several;
  /// Who makes a value: a node (< size) or a fixed device (as ~device); absent: nobody.
  llvm::DenseMap<Value, int64_t> makers;
  llvm::StringMap<uint32_t> variables;
  llvm::StringMap<std::pair<uint32_t, bool>> lockOf; ///< "function\0name" → entry, used
  std::map<std::pair<void *, void *>, uint32_t> kernelCache;
};

static std::string lockKey(StringRef function, StringRef name) {
  return (function + Twine('\0') + name).str();
}

LogicalResult InputBuilder::run() {
  in.problem.policy = in.requests.follow ? placement::Policy::follow : placement::Policy::first;
  DeviceName cpu;
  cpu.type = DeviceType::CPU;
  for (uint32_t d : placement::preference(in.problem))
    if (cpu.matches(in.problem.devices[d])) {
      in.host = d;
      break;
    }
  for (auto [i, entry] : llvm::enumerate(locks()))
    lockOf[lockKey(entry.function, entry.op)] = {uint32_t(i), false};
  in.hostArithmetic = findHostArithmetic(in.module);
  addVariables();
  for (auto func : in.module.getOps<func::FuncOp>())
    if (!func.isExternal()) {
      addEnds(func);
      visit(func.getBody().front());
    }
  reportUnusedRules();
  applyChanges();
  return reportUnusedLocks();
}

//===----------------------------------------------------------------------===//
// Rules and locks
//===----------------------------------------------------------------------===//

/// Makes the changes that an answer to --why-not came to (spec P10).
void InputBuilder::applyChanges() {
  const placement::Changes &changes = in.requests.changes;
  SmallVector<placement::Member> drop(changes.drop.begin(), changes.drop.end());
  llvm::sort(drop, std::greater<>()); // later constraints of an op first
  for (const placement::Member &member : drop) {
    placement::Op &op = in.problem.ops[member.op];
    if (member.type == placement::Member::Type::constraint)
      op.constraints.erase(op.constraints.begin() + member.index);
    else
      llvm::erase(op.groups, member.index);
  }
  for (const placement::Changes::Ask &ask : changes.ask)
    constrain(ask.op, Kind::requested, Softness::strict, in.problem.devices[ask.device],
              {in.nodes[ask.op].loc(), "asked for by --why-not"});
}

/// What a pattern can name of the ops there are, each once, in program order; nothing for kinds,
/// which are the same in every graph.
std::vector<std::string> InputBuilder::namesFor(placement::OpPattern::Of of) {
  using Of = placement::OpPattern::Of;
  llvm::SetVector<StringRef> names;
  auto add = [&](Operation *op) {
    auto text = [&](StringRef attribute) {
      auto name = op->getAttrOfType<StringAttr>(attribute);
      return name ? name.getValue() : StringRef();
    };
    if (of == Of::name || of == Of::nameOrOp)
      names.insert(text(kNameAttr));
    auto kernel = dyn_cast<KernelOpInterface>(op);
    if (!kernel || (of != Of::op && of != Of::nameOrOp))
      return;
    names.insert(kernel.getLogName());
    names.insert(text(kSourceOpAttr));
  };
  for (const Node &node : in.nodes)
    if (node.type == Node::op)
      add(node.owner);
  for (Operation *op : in.generators)
    add(op);
  names.remove("");
  return {names.begin(), names.end()};
}

void InputBuilder::reportUnusedRules() {
  constexpr size_t listed = 10;
  for (uint32_t index : in.rules.unmatched()) {
    const placement::Rule &rule = in.rules.rule(index);
    auto warning = emitWarning(UnknownLoc::get(in.module.getContext()))
                   << rule.origin << " '" << rule.text << "' matches nothing";
    const std::vector<std::string> names = namesFor(rule.pattern.of);
    warning << didYouMean(rule.pattern.text, names);
    if (names.empty())
      continue;
    std::vector<placement::FoldedName> folded =
        placement::foldNames(SmallVector<std::string_view>(names.begin(), names.end()));
    using Of = placement::OpPattern::Of;
    warning << "; the "
            << (rule.pattern.of == Of::op     ? "ops"
                : rule.pattern.of == Of::name ? "names"
                                              : "ops and names")
            << " are ";
    llvm::interleaveComma(ArrayRef(folded).take_front(listed), warning,
                          [&](const placement::FoldedName &name) { warning << name.text(); });
    if (folded.size() > listed)
      warning << " and " << folded.size() - listed << " more";
  }
}

LogicalResult InputBuilder::reportUnusedLocks() {
  for (const placement::LockEntry &entry : locks())
    if (!lockOf[lockKey(entry.function, entry.op)].second)
      return emitError(UnknownLoc::get(in.module.getContext()))
             << in.requests.lock.file << ":" << entry.line << ": the lock is stale: '" << entry.op
             << "' of '" << entry.function
             << "' is not in the graph; write a new one with --write-placement-lock";
  return success();
}

/// The rule for an op, or nothing.
std::optional<uint32_t> InputBuilder::findRule(Operation *op, StringRef kind) {
  return in.rules.empty() ? std::nullopt : in.rules.find(OpTexts(op, kind).subject());
}

//===----------------------------------------------------------------------===//
// Nodes and what wants them somewhere
//===----------------------------------------------------------------------===//

uint32_t InputBuilder::addNode(Node node) {
  in.nodes.push_back(node);
  in.problem.ops.emplace_back();
  auto index = uint32_t(in.nodes.size() - 1);
  if (!node.isEnd())
    in.nodeOf[node.owner] = index;
  return index;
}

void InputBuilder::constrain(uint32_t node, Kind kind, Softness softness, const DeviceName &name,
                             Origin origin) {
  in.origins.push_back(std::move(origin));
  in.problem.ops[node].constraints.push_back(
      {kind, softness, in.problem.intern(name), uint32_t(in.origins.size() - 1)});
}

void InputBuilder::addRequest(uint32_t node, DeviceAttr request, SoftModeAttr soft,
                              LocationAttr scope, Kind kind) {
  const DeviceName &name = request.getName();
  // Asking for any device is asking for nothing.
  if (name == DeviceName())
    return;
  Location loc = scope ? Location(scope) : in.nodes[node].loc();
  std::string at = describeLocation(loc);
  constrain(node, kind, softness(soft), name,
            {loc,
             at.empty()             ? "asked for in the graph"
             : at == kReplicateFlag ? "asked for by " + at
                                    : "asked for at " + at,
             bool(scope)});
}

void InputBuilder::addGroups(uint32_t node, Attribute names) {
  for (Attribute name :
       dyn_cast_if_present<ArrayAttr>(names) ?: ArrayAttr::get(in.module.getContext(), {})) {
    StringRef text = cast<StringAttr>(name).getValue();
    uint32_t number = in.groups.try_emplace(text, uint32_t(in.groups.size())).first->second;
    if (!llvm::is_contained(in.problem.ops[node].groups, number))
      in.problem.ops[node].groups.push_back(number);
  }
}

/// Group of what belongs to a variable: names of groups in the graph cannot be like this.
static StringAttr variableGroup(StringAttr variable) {
  return StringAttr::get(variable.getContext(), "variable '" + variable.getValue() + "'");
}

void InputBuilder::addVariables() {
  for (VariableOp op : in.module.getOps<VariableOp>()) {
    uint32_t node = addNode({Node::variable, op});
    addGroups(node, ArrayAttr::get(op.getContext(), variableGroup(op.getSymNameAttr())));
    addGroups(node, op->getAttr(kColocateAttr));
    if (auto request = op->getAttrOfType<DeviceAttr>(kDeviceAttr))
      addRequest(node, request, op->getAttrOfType<SoftModeAttr>(kSoftAttr),
                 op->getAttrOfType<LocationAttr>(kOriginAttr), Kind::resource);
    if (std::optional<uint32_t> rule = findRule(op, "variable"))
      constrain(
          node, Kind::rule, softness({}), in.rules.rule(*rule).device,
          {op.getLoc(), in.rules.rule(*rule).origin + " '" + in.rules.rule(*rule).text + "'"});
  }
}

/// Ends that ask for a device or belong to a variable; the others are on the host (P16).
void InputBuilder::addEnds(func::FuncOp func) {
  auto add = [&](Node::Type type, unsigned i, DictionaryAttr attrs) -> std::optional<uint32_t> {
    auto request = attrs ? attrs.getAs<DeviceAttr>(kDeviceAttr) : DeviceAttr();
    auto variable = attrs ? attrs.getAs<FlatSymbolRefAttr>(kVariableAttr) : FlatSymbolRefAttr();
    if (!request && !variable)
      return std::nullopt;
    uint32_t node = addNode({type, func, i});
    if (variable)
      addGroups(node, ArrayAttr::get(func.getContext(), variableGroup(variable.getAttr())));
    else
      addRequest(node, request, attrs.getAs<SoftModeAttr>(kSoftAttr), {});
    return node;
  };
  for (BlockArgument argument : func.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto node = add(Node::argument, i, func.getArgAttrDict(i));
    if (node)
      in.argumentNodes[{func, i}] = *node;
    makers[argument] = node ? int64_t(*node) : ~int64_t(in.host);
  }
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    if (auto node = add(Node::result, i, func.getResultAttrDict(i)))
      in.resultNodes[{func, i}] = *node;
}

uint32_t InputBuilder::kernelsOf(Operation *op) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  Type element = kernelElementType(op);
  if (!kernel || isView(op) || !element)
    return 0;
  auto &cached = kernelCache
                     .try_emplace({op->getName().getAsOpaquePointer(),
                                   const_cast<void *>(element.getAsOpaquePointer())},
                                  placement::none)
                     .first->second;
  if (cached != placement::none)
    return cached;
  placement::DeviceSet set;
  for (const DeviceName &device : in.problem.devices)
    set.push_back(kernel.hasKernel(*device.type, element));
  return cached = in.problem.intern(set);
}

static uint64_t bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() ? getByteSize(tensor) : 0;
}

/// What an op follows; the key of a generator draws it nowhere.
void InputBuilder::addOperands(uint32_t node, Operation *op) {
  if (auto kernel = dyn_cast<KernelOpInterface>(op);
      kernel && kernel.getFusionKind() == FusionKind::Generator)
    return;
  for (Value value : op->getOperands()) {
    auto maker = makers.find(value);
    if (maker == makers.end())
      continue;
    placement::Operand operand;
    operand.bytes = bytesOf(value.getType());
    (maker->second < 0 ? operand.device : operand.op) =
        uint32_t(maker->second < 0 ? ~maker->second : maker->second);
    in.problem.ops[node].operands.push_back(operand);
  }
}

void InputBuilder::addLock(uint32_t node, Operation *op) {
  auto func = op->getParentOfType<func::FuncOp>();
  auto found = lockOf.find(lockKey(func ? func.getSymName() : "", in.nodes[node].name()));
  if (found == lockOf.end())
    return;
  found->second.second = true;
  const placement::LockEntry &entry = locks()[found->second.first];
  constrain(
      node, Kind::lock, Softness::strict, entry.device,
      {op->getLoc(), "locked by " + in.requests.lock.file + ":" + std::to_string(entry.line)});
}

void InputBuilder::addOp(Operation &op, Node::Type type) {
  uint32_t node = addNode({type, &op});
  in.problem.ops[node].kernels = kernelsOf(&op);
  addOperands(node, &op);
  if (auto request = op.getAttrOfType<DeviceAttr>(kDeviceAttr))
    addRequest(node, request, op.getAttrOfType<SoftModeAttr>(kSoftAttr),
               op.getAttrOfType<LocationAttr>(kOriginAttr));
  addGroups(node, op.getAttr(kColocateAttr));
  if (auto variable = op.getAttrOfType<FlatSymbolRefAttr>(kVariableAttr))
    addGroups(node, ArrayAttr::get(op.getContext(), variableGroup(variable.getAttr())));
  if (!lockOf.empty())
    addLock(node, &op);
  if (in.hostArithmetic.contains(&op)) {
    DeviceName cpu;
    cpu.type = DeviceType::CPU;
    cpu.id = 0;
    constrain(node, Kind::inferred, Softness::prefer, cpu,
              {op.getLoc(), "its value steers control flow on the host"});
  }
  if (auto search = op.getAttrOfType<DeviceAttr>(kSearchAttr))
    constrain(node, Kind::proposed, Softness::prefer, search.getName(),
              {op.getLoc(), "the search found it best"});
  for (Value result : op.getResults())
    makers[result] = node;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

void InputBuilder::visit(Block &block) {
  for (Operation &op : block)
    visitOp(op);
}

void InputBuilder::visitOp(Operation &op) {
  auto ruleFor = [&](StringRef kind) { return findRule(&op, kind); };
  auto addWithRule = [&](Node::Type type, std::optional<uint32_t> rule) {
    addOp(op, type);
    if (rule)
      constrain(
          in.nodeOf[&op], Kind::rule, softness({}), in.rules.rule(*rule).device,
          {op.getLoc(), in.rules.rule(*rule).origin + " '" + in.rules.rule(*rule).text + "'"});
  };
  auto kernel = dyn_cast<KernelOpInterface>(op);
  bool asks = op.hasAttr(kDeviceAttr);
  if (isConstant(&op)) {
    // Only a rule about constants is about constants: their bytes follow their uses.
    std::optional<uint32_t> rule;
    std::string_view kind = "constant";
    if (!in.rules.empty())
      rule = in.rules.find({{}, {}, {&kind, 1}});
    if (asks || rule)
      addWithRule(Node::constant, rule);
  } else if (isView(&op)) {
    std::optional<uint32_t> rule = ruleFor("view");
    if (asks)
      addOp(op, Node::view);
    else if (auto maker = makers.find(op.getOperand(0)); maker != makers.end())
      makers[op.getResult(0)] = int64_t(maker->second);
    (void)rule;
  } else if (kernel) {
    std::optional<uint32_t> rule = ruleFor(fusionKindName(kernel.getFusionKind()));
    bool isLocked =
        !lockOf.empty() && lockOf.contains(lockKey(op.getParentOfType<func::FuncOp>().getSymName(),
                                                   Node{Node::op, &op}.name()));
    bool isFree = !asks && !rule && !isLocked && !op.hasAttr(kColocateAttr);
    // One without any kernel is for the solver to report.
    if (isMadeOfNothing(&op) && isFree &&
        llvm::is_contained(in.problem.kernelSets[kernelsOf(&op)], true))
      in.generators.push_back(&op);
    else
      addWithRule(Node::op, rule);
  } else if (auto copy = dyn_cast<CopyOp>(op)) {
    uint32_t node = addNode({Node::copy, &op});
    addRequest(node, copy.getDevice(), op.getAttrOfType<SoftModeAttr>(kSoftAttr),
               op.getAttrOfType<LocationAttr>(kOriginAttr));
    makers[copy.getResult()] = node;
  } else if (auto several = dyn_cast<SeveralDevicesOpInterface>(op)) {
    visitMembers(several);
  } else if (auto branch = dyn_cast<RegionBranchOpInterface>(op)) {
    visitBranch(branch);
  }
}

/// A member is where what it brings is.
void InputBuilder::visitMembers(SeveralDevicesOpInterface op) {
  DenseMap<unsigned, OpOperand *> brings;
  for (OpOperand &operand : op->getOpOperands())
    brings.try_emplace(op.getMemberOfOperand(operand.getOperandNumber()), &operand);
  for (OpResult result : op->getResults())
    takeMaker(result, brings.lookup(op.getMemberOfResult(result.getResultNumber())));
}

/// Whether `source` is there and somebody makes its value, who then makes `value`, too.
bool InputBuilder::takeMaker(Value value, OpOperand *source) {
  auto maker = source ? makers.find(source->get()) : makers.end();
  if (maker == makers.end())
    return false;
  makers[value] = int64_t(maker->second);
  return true;
}

/// What a region yields counts before what the op was given, and the first region most.
void InputBuilder::visitBranch(RegionBranchOpInterface op) {
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments())
      takeMaker(argument, initialSource(op, argument));
  for (Region &region : op->getRegions())
    visit(region.front());
  for (OpResult result : op->getResults()) {
    SmallVector<OpOperand *> sources = yieldedSources(op, result);
    sources.push_back(initialSource(op, result));
    (void)llvm::any_of(sources, [&](OpOperand *source) { return takeMaker(result, source); });
  }
}

} // namespace

LogicalResult Input::build() { return InputBuilder(*this).run(); }

//===----------------------------------------------------------------------===//
// Arithmetic that belongs on the host
//===----------------------------------------------------------------------===//

/// More elements than shapes and counters have.
static constexpr int64_t kMaxHostElements = 64;

static bool isSmallInteger(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && isa<IntegerType>(tensor.getElementType()) &&
         tensor.getNumElements() <= kMaxHostElements;
}

DenseSet<Operation *> place::findHostArithmetic(ModuleOp module) {
  DenseSet<Operation *> found;
  SmallVector<Value> wanted;
  DenseSet<Value> seen;
  auto want = [&](Value value) {
    if (seen.insert(value).second)
      wanted.push_back(value);
  };
  module.walk([&](Operation *op) {
    if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
      want(conditionOf(branch));
    else if (auto kernel = dyn_cast<KernelOpInterface>(op))
      for (unsigned i : kernel.getHostOperands())
        want(op->getOperand(i));
    else if (auto check = dyn_cast<AssertIndicesOp>(op); check && check.getSays())
      want(check.getFirst()); // of what steered a loop
  });
  while (!wanted.empty()) {
    Value value = wanted.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      // What a loop carries: the first value, and the next one.
      if (auto loop = dyn_cast<RegionBranchOpInterface>(argument.getOwner()->getParentOp()))
        forEachFlow(loop, [&](OpOperand &source, Value input) {
          if (input == argument)
            want(source.get());
        });
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (!isa<KernelOpInterface>(op) || !llvm::all_of(op->getOperandTypes(), isSmallInteger) ||
        !llvm::all_of(op->getResultTypes(), isSmallInteger))
      continue;
    if (!isView(op))
      found.insert(op);
    llvm::for_each(op->getOperands(), want);
  }
  return found;
}
