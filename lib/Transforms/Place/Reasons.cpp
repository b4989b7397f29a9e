// Texts about placement. Errors name the op, what it asks for, and what is there (docs/Errors.md).

#include "Reasons.h"

#include "gantry/Support/ElementType.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::place;
using placement::Constraint;
using placement::Decision;
using placement::Failure;
using placement::Kind;
using placement::Member;
using placement::Rejection;
using placement::Softness;
using placement::Why;

static const Constraint &constraintOf(const Input &in, const Member &member) {
  return in.problem.ops[member.op].constraints[member.index];
}

static std::string fullName(const DeviceName &name) {
  return "'" + name.withDefaultTask().str() + "'";
}

/// "'MatMul'", or "'MatMul' ('fc1')".
std::string place::whatIs(const Input &in, uint32_t node) {
  StringRef name = in.nodes[node].name();
  return in.nodes[node].what() + (name.empty() ? "" : (" ('" + name + "')").str());
}

static std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type;
  return text;
}

/// "'TopKV2' of f32".
static std::string kernelText(const Input &in, uint32_t node) {
  Type element = kernelElementType(in.nodes[node].owner);
  return in.nodes[node].what() + (element ? " of " + typeText(element) : "");
}

/// "CPU", "CPU and GPU" or nothing: the types of device with a kernel.
static std::string kernelTypes(const Input &in, uint32_t node) {
  auto kernel = dyn_cast<KernelOpInterface>(in.nodes[node].owner);
  Type element = kernelElementType(in.nodes[node].owner);
  SmallVector<StringRef> types;
  for (DeviceType type : {DeviceType::CPU, DeviceType::GPU})
    if (!kernel || !element || kernel.hasKernel(type, element))
      types.push_back(deviceTypeName(type));
  return llvm::join(types, " and ");
}

static std::string whyText(const Input &in, uint32_t node, Why why) {
  switch (why) {
  case Why::unknown:
    return "unknown device";
  case Why::noKernel:
    return "no kernel for " + kernelText(in, node);
  case Why::givesWay:
    return "what is stronger says otherwise";
  }
  llvm_unreachable("a reason without words");
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

/// The constraint of the op itself that was softened.
static const Constraint *softened(const Input &in, uint32_t index, const Decision &decision) {
  for (const Constraint &c : in.problem.ops[index].constraints)
    if (c.softness == Softness::prefer && c.kind <= Kind::rule &&
        !in.problem.names[c.name].matches(in.problem.devices[decision.device]))
      return &c;
  return nullptr;
}

static std::string ruleName(Kind kind) {
  return kind == Kind::proposed ? "auto" : std::string(kindName(kind));
}

DecisionAttr place::describeDecision(const Input &in, uint32_t index, const Decision &decision) {
  const Constraint *decider =
      decision.decider == placement::none
          ? nullptr
          : &in.problem.ops[decision.deciderOp].constraints[decision.decider];
  std::string rule = "default", reason = "GPUs before CPUs, then the lowest id";
  if (const Constraint *soft = decision.fallBack ? softened(in, index, decision) : nullptr) {
    rule = ruleName(soft->kind);
    reason = in.origins[soft->origin].text;
  } else if (decider && decision.deciderOp == index) {
    rule = ruleName(decider->kind);
    reason = in.origins[decider->origin].text;
  } else if (decider) {
    rule = "inferred";
    reason =
        "goes with " + whatIs(in, decision.deciderOp) + ", " + in.origins[decider->origin].text;
  } else if (decision.followed) {
    rule = "follow";
    reason = "where its largest inputs are";
  }
  MLIRContext *context = in.module.getContext();
  SmallVector<StringAttr> rejected;
  for (const Rejection &r : decision.rejected)
    rejected.push_back(StringAttr::get(context, in.shortName(r.name == placement::none
                                                                 ? in.problem.devices[r.device]
                                                                 : in.problem.names[r.name]) +
                                                    ": " + whyText(in, index, r.why)));
  return DecisionAttr::get(context, rule, reason, rejected, decision.fallBack);
}

void place::remarkFallBack(const Input &in, uint32_t index, const Decision &decision) {
  const Constraint *soft = softened(in, index, decision);
  if (!soft)
    return;
  Why why = Why::givesWay;
  for (const Rejection &r : decision.rejected)
    if (r.name == soft->name)
      why = r.why;
  emitRemark(in.nodes[index].loc())
      << in.nodes[index].what() << " falls back from " << fullName(in.problem.names[soft->name])
      << " to '" << in.problem.devices[decision.device].str() << "': " << whyText(in, index, why);
}

/// The strict rule of an op that its device is against, because of something stronger.
static const Constraint *overruled(const Input &in, uint32_t index, const Decision &decision) {
  if (decision.decider == placement::none)
    return nullptr;
  if (in.problem.ops[decision.deciderOp].constraints[decision.decider].kind >= Kind::rule)
    return nullptr;
  for (const Constraint &c : in.problem.ops[index].constraints)
    if (c.kind == Kind::rule && c.softness == Softness::strict &&
        !in.problem.names[c.name].matches(in.problem.devices[decision.device]))
      return &c;
  return nullptr;
}

void place::warnOfOverruledRules(const Input &in, ArrayRef<Decision> decisions) {
  llvm::MapVector<StringRef, SmallVector<uint32_t>> ops; // by rule
  for (uint32_t i = 0; i < decisions.size(); ++i)
    if (const Constraint *rule = overruled(in, i, decisions[i]))
      ops[in.origins[rule->origin].text].push_back(i);
  for (const auto &[rule, indices] : ops) {
    const uint32_t first = indices.front();
    const Decision &decision = decisions[first];
    const Constraint &by = in.problem.ops[decision.deciderOp].constraints[decision.decider];
    auto warning = emitWarning(in.nodes[first].loc())
                   << rule << " gives way: " << in.nodes[first].what() << " is on '"
                   << in.shortName(in.problem.devices[decision.device]) << "', "
                   << in.origins[by.origin].text;
    if (indices.size() > 1)
      warning << ", and so for " << indices.size() - 1
              << (indices.size() == 2 ? " more op" : " more ops");
    warning << "; what the graph or a lock asks for is stronger than a rule";
  }
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

/// More would make a line that nobody reads.
static constexpr uint32_t kMostSuggestedGPUs = 16;

static std::string deviceList(const Input &in) {
  return "the devices are " + in.topology.deviceList();
}

/// " by --place 'op:MatMul=GPU:7'" for rules, nothing for requests.
static std::string byWhom(const Input &in, const Constraint &c) {
  return c.kind == Kind::rule ? " by " + in.origins[c.origin].text : "";
}

/// "; to have it: --devices=CPU:0,GPU:0,GPU:1 --simulate"; nothing where no list of devices has it.
static std::string howToHave(const Input &in, const DeviceName &name) {
  const uint32_t id = name.id.value_or(0);
  if (name.type != DeviceType::GPU || id >= kMostSuggestedGPUs || !in.isOneTask() ||
      name.withDefaultTask() != DeviceName::local(DeviceType::GPU, id))
    return {};
  uint32_t gpus = id + 1;
  bool isSimulated = true;
  for (const LogicalDevice &device : in.topology.logical)
    if (device.name.type == DeviceType::GPU) {
      gpus = std::max(gpus, *device.name.id + 1);
      isSimulated &= in.topology.physical[device.physical].driver == Driver::sim;
    }
  std::string list = "CPU:0";
  for (uint32_t i = 0; i < gpus; ++i)
    list += "," + DeviceName::local(DeviceType::GPU, i).shortStr();
  return "; to have it: --devices=" + list + (isSimulated ? " --simulate" : "");
}

static void noteScope(const Input &in, const Constraint &c, InFlightDiagnostic &error) {
  if (in.origins[c.origin].isScope)
    error.attachNote(in.origins[c.origin].loc) << "asked for here";
}

static StringRef verbOf(const Node &node) {
  return node.type == Node::copy ? "goes to" : "is placed on";
}

static void reportUnknown(const Input &in, const Failure &failure) {
  const Constraint &c = constraintOf(in, failure.members.front());
  const Node &node = in.nodes[failure.op()];
  const DeviceName &name = in.problem.names[c.name];
  InFlightDiagnostic error = emitError(node.loc());
  error << node.what() << " " << verbOf(node) << " " << fullName(name) << ": unknown device; "
        << deviceList(in);
  noteScope(in, c, error);
}

/// "'conv1' (Conv)", in the words of the model, whose node may be several ops here; "'Conv'" where
/// the node has no name.
static std::string inModel(const Node &node) {
  if (node.type != Node::op && node.type != Node::view)
    return node.what();
  const OpTexts texts(node.owner, "");
  const std::string op(texts.ops.back());
  return texts.names.empty() ? "'" + op + "'"
                             : "'" + std::string(texts.names.back()) + "' (" + op + ")";
}

void place::reportUnknownOfRule(const Input &in, ArrayRef<const Failure *> failures) {
  llvm::StringSet<> seen;
  std::vector<std::string> nodes;
  for (const Failure *failure : failures)
    if (std::string node = inModel(in.nodes[failure->op()]); seen.insert(node).second)
      nodes.push_back(std::move(node));
  const Constraint &c = constraintOf(in, failures.front()->members.front());
  const DeviceName &name = in.problem.names[c.name];
  constexpr size_t named = 3;
  InFlightDiagnostic error = emitError(in.nodes[failures.front()->op()].loc());
  error << in.origins[c.origin].text << " puts ";
  for (size_t i = 0; i < nodes.size() && i < named; ++i)
    error << (i == 0 ? "" : i + 1 == nodes.size() ? " and " : ", ") << nodes[i];
  if (nodes.size() > named)
    error << " and " << nodes.size() - named << " more";
  error << " on " << fullName(name) << ": unknown device; " << deviceList(in) << howToHave(in, name)
        << "; to fall back to these: --soft-placement";
}

static void reportNoKernel(const Input &in, const Failure &failure) {
  uint32_t op = failure.op();
  InFlightDiagnostic error = emitError(in.nodes[op].loc());
  std::string types = kernelTypes(in, op);
  std::string have =
      types.empty() ? "there is none for any device" : "there are kernels for " + types;
  if (failure.members.front().type == Member::Type::kernels) {
    error << "no device has a kernel for " << kernelText(in, op) << ": " << have << "; "
          << deviceList(in);
    return;
  }
  const Constraint &c = constraintOf(in, failure.members.front());
  error << in.nodes[op].what() << " is placed on " << fullName(in.problem.names[c.name])
        << byWhom(in, c) << ": no kernel for " << kernelText(in, op) << " there; " << have
        << "; ask for another device, or let it fall back with --soft-placement";
  noteScope(in, c, error);
}

static bool isThere(const Input &in, const Constraint &c) {
  return llvm::any_of(in.problem.devices, [&](const DeviceName &device) {
    return in.problem.names[c.name].matches(device);
  });
}

static void noteMember(const Input &in, const Member &member, InFlightDiagnostic &error) {
  const Node &node = in.nodes[member.op];
  switch (member.type) {
  case Member::Type::constraint: {
    const Constraint &c = constraintOf(in, member);
    const Origin &origin = in.origins[c.origin];
    auto &note = error.attachNote(origin.loc);
    note << whatIs(in, member.op)
         << (c.kind == Kind::lock       ? " is locked to "
             : c.kind == Kind::resource ? " lives on "
                                        : " is requested on ")
         << fullName(in.problem.names[c.name]);
    if (c.kind == Kind::lock || c.kind == Kind::rule)
      note << ", " << origin.text;
    else if (c.softness == Softness::prefer && !isThere(in, c))
      note << ", an unknown device, and falls back to the next best";
    return;
  }
  case Member::Type::kernels:
    error.attachNote(node.loc()) << whatIs(in, member.op) << " has kernels for "
                                 << (kernelTypes(in, member.op).empty()
                                         ? "no device"
                                         : kernelTypes(in, member.op) + " only");
    return;
  case Member::Type::group:
    StringRef group = in.groups.getArrayRef()[member.index].first;
    auto &note = error.attachNote(node.loc());
    if (node.type == Node::variable)
      note << whatIs(in, member.op) << " has its updates where it is";
    else if (group.starts_with("variable '"))
      note << whatIs(in, member.op) << " belongs to " << group;
    else
      note << whatIs(in, member.op) << " is in the colocation group '" << group << "'";
    return;
  }
}

static void reportConflict(const Input &in, const Failure &failure) {
  llvm::SmallSetVector<uint32_t, 4> ops;
  for (const Member &member : failure.members)
    ops.insert(member.op);
  InFlightDiagnostic error = emitError(in.nodes[failure.op()].loc());
  error << in.nodes[failure.op()].what();
  if (ops.size() > 1)
    error << " and what goes with it";
  error << " cannot be placed: " << failure.members.size()
        << " things cannot hold together; dropping any one of them resolves it";
  for (const Member &member : failure.members)
    noteMember(in, member, error);
}

static void reportStaleLock(const Input &in, const Failure &failure) {
  auto lock = llvm::find_if(failure.members, [&](const Member &m) {
    return m.type == Member::Type::constraint && constraintOf(in, m).kind == Kind::lock;
  });
  auto isRequest = [&](const Member &m) {
    return m.type == Member::Type::constraint && constraintOf(in, m).kind == Kind::requested;
  };
  const Constraint &c = constraintOf(in, *lock);
  StringRef text = in.origins[c.origin].text;
  text.consume_front("locked by ");
  InFlightDiagnostic error = emitError(in.nodes[lock->op].loc());
  error << text << ": the lock is stale: it has " << whatIs(in, lock->op) << " on "
        << fullName(in.problem.names[c.name]);
  if (failure.members.size() == 1)
    error << ", an unknown device; " << deviceList(in);
  else if (auto asks = llvm::find_if(failure.members, isRequest); asks != failure.members.end())
    error << ", against the request for "
          << fullName(in.problem.names[constraintOf(in, *asks).name]);
  else
    error << ", against what holds now";
  error << "; write a new one with --write-placement-lock";
  for (const Member &member : failure.members)
    if (&member != &*lock)
      noteMember(in, member, error);
}

void place::reportFailure(const Input &in, const Failure &failure) {
  switch (failure.type) {
  case Failure::Type::unknownDevice:
    return reportUnknown(in, failure);
  case Failure::Type::noKernel:
    return reportNoKernel(in, failure);
  case Failure::Type::staleLock:
    return reportStaleLock(in, failure);
  case Failure::Type::conflict:
    return reportConflict(in, failure);
  }
}

//===----------------------------------------------------------------------===//
// Why not
//===----------------------------------------------------------------------===//

/// `self` is the op in question, which stands for itself.
static std::string describeDrop(const Input &in, const Member &member, uint32_t self) {
  std::string who = member.op == self ? "\1" : whatIs(in, member.op);
  if (member.type == Member::Type::group)
    return "take " + who + " out of the colocation group '" +
           in.groups.getArrayRef()[member.index].first.str() + "'";
  const Constraint &c = constraintOf(in, member);
  const Origin &origin = in.origins[c.origin];
  std::string device = in.shortName(in.problem.names[c.name]);
  switch (c.kind) {
  case Kind::lock:
    return "remove " + (member.op == self ? who : "'" + in.nodes[member.op].name().str() + "'") +
           " from the lock (" + origin.text + ")";
  case Kind::rule:
    return "drop the rule " + origin.text;
  case Kind::requested:
  case Kind::resource:
    return "drop the request of " + who + " for " + device + " (" + origin.text + ")";
  case Kind::proposed:
    return "place without --placement=auto, which puts " + who + " on " + device;
  case Kind::assigned:
  case Kind::inferred:
    return "let " + who + " leave " + device + " (" + origin.text + ")";
  }
  llvm_unreachable("a kind without words");
}

WhyNotWords place::describeWhyNot(const Input &in, uint32_t node, uint32_t device,
                                  const placement::WhyNot &answer, const Decision &now) {
  std::string there = in.shortName(in.problem.devices[device]);
  if (answer.isThere)
    return {" is on " + there + " already", {}};
  if (!answer.hasKernel) {
    return {" cannot be on " + there + ": no kernel for " + kernelText(in, node) +
                " there; there are kernels for " + kernelTypes(in, node),
            {}};
  }
  WhyNotWords words;
  words.state = now.device == placement::none
                    ? " has no device"
                    : " is on " + in.shortName(in.problem.devices[now.device]) + " (" +
                          describeDecision(in, node, now).getReason().str() + ")";
  words.state += "; for " + there + ":";
  for (const Member &member : answer.drop)
    words.advice.push_back(describeDrop(in, member, node));
  return words;
}
