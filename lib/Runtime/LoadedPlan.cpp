// Loading, in the order in which it can fail cheaply: devices, a variant of each kernel, code,
// memory, and only then the constants, which cost the most.
#include "gantry/Runtime/LoadedPlan.h"

#include "ConstantPool.h"
#include "gantry/Device/DeviceName.h"
#include "gantry/Plan/Ledger.h"
#include "gantry/Plan/Outline.h"
#include "gantry/Plan/ProveOrder.h"
#include "gantry/Plan/Validate.h"
#include "gantry/Plan/Views.h"
#include "gantry/Runtime/Driver.h"
#include "gantry/Runtime/Executor.h"
#include "gantry/Runtime/Program.h"
#include "gantry/Support/Bytes.h"

#include <algorithm>
#include <set>

namespace gantry::runtime {

namespace fb = plan::fb;
using plan::countOf;
using plan::each;
using plan::textOf;

namespace {

std::vector<BindingInfo>
describeBindings(const flatbuffers::Vector<flatbuffers::Offset<fb::Binding>> *bindings,
                 const std::vector<Device *> &devices) {
  std::vector<BindingInfo> infos;
  for (const fb::Binding *binding : each(bindings)) {
    auto shape = plan::shapeOf(*binding->type());
    infos.push_back(
        {binding->name()->str(),
         {plan::elementOf(*binding->type()), {shape.begin(), shape.end()}},
         devices[binding->device()],
         binding->over() == plan::nothingSaid ? std::nullopt : std::optional(binding->over())});
  }
  return infos;
}

Expected<unsigned> indexOf(const FunctionInfo &function, const std::vector<BindingInfo> &bindings,
                           const char *kind, std::string_view name) {
  for (unsigned i = 0; i < bindings.size(); ++i)
    if (bindings[i].name == name)
      return i;
  std::string known;
  for (const BindingInfo &binding : bindings)
    known += (known.empty() ? "'" : ", '") + binding.name + "' " + binding.type.str();
  return Status::notFound(
      "function '" + function.name + "' has no " + kind + " '" + std::string(name) + "'; " +
      (known.empty() ? "it has none" : "the " + std::string(kind) + "s are " + known));
}

} // namespace

Expected<unsigned> FunctionInfo::inputIndex(std::string_view name) const {
  return indexOf(*this, inputs, "input", name);
}

Expected<unsigned> FunctionInfo::outputIndex(std::string_view name) const {
  return indexOf(*this, outputs, "output", name);
}

std::string describeCommand(const fb::Plan &plan, const fb::Command &command) {
  std::string text = "'" + std::string(textOf(command.name())) + "'";
  if (textOf(command.name()).empty())
    text = std::string("a ") + fb::EnumNameOpcode(command.opcode());
  if (const fb::IndexCheck *check = command.index_check()) // about an op, which may be elsewhere
    return text + " (" + std::string(textOf(check->source_op())) +
           (textOf(command.location()).empty() ? "" : ", ") +
           std::string(textOf(command.location())) + ")";
  if (command.also() && command.also()->size())
    text += " and " + std::to_string(command.also()->size()) + " more";
  std::string device = plan.devices()->Get(command.device())->name()->str();
  if (Expected<DeviceName> name = DeviceName::parse(device))
    device = name->shortStr();
  text += " on " + device;
  if (std::string_view location = textOf(command.location()); !location.empty())
    text += " (" + std::string(location) + ")";
  return text;
}

Status withCommand(const fb::Plan &plan, const fb::Command &command, Status status) {
  if (status.ok())
    return status;
  return Status(status.code(), describeCommand(plan, command) + ": " + status.message());
}

/// Members of an exchange meet in one process where the machine is simulated, or where all is done
/// in the plan's order.
static Status checkMeetings(const LoadedPlan &plan) {
  if (countOf(plan.metadata().exchanges()) == 0 || plan.hasVirtualClock())
    return {};
  for (const Device *device : plan.devices())
    if (device && !device->runsInline())
      return Status::unsupported("its tasks exchange bytes, and '" + device->name() +
                                 "' is one of a job that runs in one process, where GPUs have to "
                                 "be simulated; compile the graph with --simulate");
  return {};
}

Expected<std::shared_ptr<const LoadedPlan>> LoadedPlan::open(std::shared_ptr<Runtime> runtime,
                                                             const std::string &path) {
  Expected<plan::PlanFile> file = plan::PlanFile::open(path, {plan::Check::metadataOnly});
  if (!file)
    return file.status();
  return load(std::move(runtime), file.take(), path);
}

Expected<std::shared_ptr<const LoadedPlan>>
LoadedPlan::load(std::shared_ptr<Runtime> runtime, plan::PlanFile file, std::string name) {
  GANTRY_RETURN_IF_ERROR(runtime->checkProcess());
  std::shared_ptr<LoadedPlan> loaded(
      new LoadedPlan(std::move(runtime), std::move(file), std::move(name)));
  auto run = [&]() -> Status {
    if (plan::isOutline(loaded->metadata()))
      return Status::invalidArgument("an outline, which has neither weights nor code, cannot be "
                                     "run; compile the graph to a plan");
    GANTRY_RETURN_IF_ERROR(plan::proveOrder(loaded->metadata()));
    GANTRY_RETURN_IF_ERROR(loaded->findDevices());
    GANTRY_RETURN_IF_ERROR(checkMeetings(*loaded));
    GANTRY_RETURN_IF_ERROR(loaded->chooseKernels());
    GANTRY_RETURN_IF_ERROR(loaded->verify(plan::BytesOf::allButConstants));
    GANTRY_RETURN_IF_ERROR(loaded->loadKernels());
    loaded->findConstants();
    GANTRY_RETURN_IF_ERROR(loaded->checkMemory());
    GANTRY_RETURN_IF_ERROR(loaded->loadConstants());
    return loaded->computeConstants();
  };
  if (Status status = run(); !status.ok())
    return Status(status.code(), "'" + loaded->fileName + "': " + status.message());
  loaded->describeFunctions();
  return std::shared_ptr<const LoadedPlan>(std::move(loaded));
}

namespace {

/// By device: whether anything of the plan is on it. What is not used is left alone (spec M7).
std::vector<bool> usedDevices(const fb::Plan &plan) {
  std::vector<bool> used(plan.devices()->size());
  for (const fb::Arena *arena : each(plan.arenas()))
    if (arena->size() > 0 || arena->kind() == fb::ArenaKind::variables)
      used[arena->device()] = true;
  for (const fb::Constant *constant : each(plan.constants()))
    if (constant->home() != plan::nothingSaid)
      used[constant->home()] = true;
  for (const fb::Function *function : plan::allFunctions(plan)) {
    for (const auto *bindings : {function->inputs(), function->outputs()})
      for (const fb::Binding *binding : each(bindings))
        used[binding->device()] = true;
    for (const fb::Block *block : each(function->blocks()))
      for (const fb::Command *command : each(block->commands()))
        used[command->device()] = true;
  }
  // Arenas of no size still belong to somebody.
  if (std::find(used.begin(), used.end(), true) == used.end())
    used[0] = true;
  return used;
}

/// Number of the machine's device: the plan's, or that of the device that it was bound to.
uint32_t physicalOf(const fb::Device &device, const std::string &name) {
  Expected<DeviceName> bound = DeviceName::parse(name);
  return name == textOf(device.name()) || !bound ? device.physical() : bound->id.value_or(0);
}

} // namespace

/// Tasks are planned apart, but one process runs them all: whoever expects several hears of it.
static void warnOfTasks(const Runtime &runtime, const std::string &file,
                        const std::vector<std::string> &names, const std::vector<bool> &used) {
  std::set<TaskName> tasks;
  for (size_t i = 0; i < names.size(); ++i)
    if (Expected<DeviceName> name = DeviceName::parse(names[i]); name && used[i])
      tasks.insert(taskOf(*name));
  if (tasks.size() < 2)
    return;
  const std::string list = foldTasks(std::vector<TaskName>(tasks.begin(), tasks.end()));
  runtime.log(Severity::warning, "'" + file +
                                     "': the devices of all its tasks run in this process (" +
                                     list + "); jobs of several processes are not supported");
}

Status LoadedPlan::findDevices() {
  Expected<std::vector<std::string>> names = bindDevices(metadata(), owner->bindings());
  if (!names)
    return names.status();
  std::vector<bool> used = usedDevices(metadata());
  warnOfTasks(*owner, fileName, *names, used);
  std::vector<DeviceName> known;
  for (const fb::Device *device : each(metadata().devices())) {
    const std::string &name = (*names)[planDevices.size()];
    known.push_back(
        DeviceName::local(device->type() == fb::DeviceType::gpu ? DeviceType::GPU : DeviceType::CPU,
                          physicalOf(*device, name)));
    if (!used[planDevices.size()]) {
      planDevices.push_back(nullptr);
      continue;
    }
    Expected<Device *> found = findDevice(*device, name);
    if (!found)
      return found.status();
    planDevices.push_back(*found);
  }
  return owner->checkMemorySettings(std::move(known));
}

/// Of the first driver that has it. What stands in is remarked, since it is not what was planned.
Expected<Device *> LoadedPlan::findDevice(const fb::Device &device, const std::string &name) {
  const std::vector<std::string_view> drivers = plan::driversOf(device);
  Status lack;
  for (std::string_view driver : drivers) {
    Expected<Device *> found =
        owner->device(name, std::string(driver), device.memory_limit(), physicalOf(device, name));
    if (!found && found.status().code() != StatusCode::unavailable)
      return found.status();
    if (!found) {
      if (lack.ok())
        lack = found.status();
      continue;
    }
    if (driver != drivers.front())
      owner->log(Severity::remark, "'" + fileName + "': the driver '" + std::string(driver) +
                                       "' stands in: " + lack.message());
    return found;
  }
  std::string others;
  for (size_t i = 1; i < drivers.size(); ++i)
    others += (others.empty() ? "; nor is there one that may stand in: " : ", ") +
              std::string(drivers[i]);
  return Status(lack.code(), lack.message() + others);
}

bool LoadedPlan::hasVirtualClock() const {
  return std::any_of(planDevices.begin(), planDevices.end(), [](const Device *device) {
    return device && device->driver().hasVirtualClock();
  });
}

void LoadedPlan::describeFunctions() {
  for (const fb::Function *function : each(metadata().functions()))
    functionInfos.push_back({function->name()->str(),
                             describeBindings(function->inputs(), planDevices),
                             describeBindings(function->outputs(), planDevices),
                             function->writes_variables(), function});
}

/// Takes the memory of what lies in no file, and has the plan's function for it run.
Status LoadedPlan::computeConstants() {
  const fb::Function *function = metadata().load();
  if (!function)
    return {};
  std::vector<Computed> places(countOf(metadata().arenas()));
  for (uint32_t i = 0; i < places.size(); ++i) {
    places[i].begin = plan::computedFrom(metadata(), i);
    const uint64_t size = metadata().arenas()->Get(i)->size() - places[i].begin;
    if (size != 0 && metadata().arenas()->Get(i)->kind() == fb::ArenaKind::constants)
      GANTRY_RETURN_IF_ERROR(take(i, size, "constants", places[i].memory));
  }
  computed = std::move(places);
  return runAtLoad({function->name()->str(),
                    {},
                    describeBindings(function->outputs(), planDevices),
                    false,
                    function});
}

Expected<unsigned> LoadedPlan::functionIndex(std::string_view name) const {
  std::string known;
  for (unsigned i = 0; i < functionInfos.size(); ++i) {
    if (functionInfos[i].name == name)
      return i;
    known += (i ? ", '" : "'") + functionInfos[i].name + "'";
  }
  return Status::notFound("'" + fileName + "' has no function '" + std::string(name) +
                          "'; the functions are " + known);
}

namespace {

/// What a plan needs of a device, by what for.
struct Need {
  uint64_t arenas[3] = {}; ///< constants, variables, one session
  uint64_t computed = 0;   ///< of the constants: what lies in no file
  uint64_t there = 0;      ///< of the constants: what other plans have loaded
  uint64_t bound = 0;      ///< inputs and outputs of the function that has most of them
  uint64_t total = 0;

  std::string text() const {
    return "the plan (constants " + formatBytes(arenas[0]) +
           (there ? ", of which " + formatBytes(there) + " are loaded" : "") + ", variables " +
           formatBytes(arenas[1]) + ", one session " + formatBytes(arenas[2]) +
           (bound ? ", inputs and outputs " + formatBytes(bound) : "") + ")";
  }
};

uint64_t boundBytes(const fb::Function &function, const std::vector<Device *> &devices,
                    const Device *device) {
  uint64_t bytes = 0;
  for (const auto *bindings : {function.inputs(), function.outputs()})
    for (const fb::Binding *binding : each(bindings))
      if (devices[binding->device()] == device)
        bytes += plan::byteSizeOf(*binding->type()).value_or(0);
  return bytes;
}

Need needOf(const fb::Plan &plan, const std::vector<Device *> &devices, const Device *device) {
  Need need;
  for (uint32_t i = 0; i < countOf(plan.arenas()); ++i) {
    const fb::Arena &arena = *plan.arenas()->Get(i);
    if (devices[arena.device()] != device)
      continue;
    need.arenas[static_cast<size_t>(arena.kind())] += std::max(arena.size(), arena.load_size());
    if (arena.kind() == fb::ArenaKind::constants)
      need.computed += arena.size() - plan::computedFrom(plan, i);
  }
  // Arrays of the host are the caller's, and its constants are used where the file is mapped.
  if (!device->runsInline())
    for (const fb::Function *function : each(plan.functions()))
      need.bound = std::max(need.bound, boundBytes(*function, devices, device));
  need.total = (device->runsInline() ? need.computed : need.arenas[0]) + need.arenas[1] +
               need.arenas[2] + need.bound;
  return need;
}

} // namespace

/// Bytes of the device's constants that other plans have loaded; all of them for its budget, too.
uint64_t LoadedPlan::constantsThere(const Device *device, Budget::Constants &all) const {
  uint64_t bytes = 0;
  std::lock_guard lock(owner->constantPool().placing);
  for (const std::vector<OwnConstant> &arena : constants)
    for (const OwnConstant &own : arena)
      if (own.pooled->device == device) {
        bytes += own.pooled->data ? own.room : 0;
        all.emplace_back(own.pooled.get(), own.room);
      }
  return bytes;
}

/// Constants, variables, the transient memory of one session and what is bound, against limit, free
/// memory and budget (spec M2, M4), before the first byte of them is allocated. Parts of one
/// physical device share its budget.
Status LoadedPlan::checkMemory() {
  struct Shared {
    Need need;
    Budget::Constants constants;
  };
  std::vector<std::pair<Budget *, Shared>> shared;
  for (size_t d = 0; d < planDevices.size(); ++d) {
    Device *device = planDevices[d];
    if (!device ||
        std::find(planDevices.begin(), planDevices.begin() + d, device) != planDevices.begin() + d)
      continue;
    Need need = needOf(metadata(), planDevices, device);
    Budget::Constants ofFile;
    if (!device->runsInline())
      need.there = constantsThere(device, ofFile);
    if (need.total == 0)
      continue;
    GANTRY_RETURN_IF_ERROR(device->checkFits(need.total - need.there, need.text()));
    if (!device->budget())
      continue;
    auto known = std::find_if(shared.begin(), shared.end(),
                              [&](const auto &each) { return each.first == device->budget(); });
    if (known == shared.end())
      known = shared.insert(shared.end(), {device->budget(), Shared()});
    auto &[sum, all] = known->second;
    for (size_t kind = 0; kind < 3; ++kind)
      sum.arenas[kind] += need.arenas[kind];
    sum.bound += need.bound;
    sum.there += need.there;
    sum.total += need.total;
    all.insert(all.end(), ofFile.begin(), ofFile.end());
  }
  for (auto &[budget, sum] : shared) {
    for (const auto &[constant, bytes] : sum.constants)
      sum.need.total -= bytes; // counted by themselves
    Expected<uint64_t> ticket =
        budget->admit(sum.need.total, sum.need.text(), std::move(sum.constants));
    if (!ticket)
      return ticket.status();
    tickets.emplace_back(budget, *ticket);
  }
  return {};
}

LoadedPlan::~LoadedPlan() {
  for (const auto &[budget, ticket] : tickets)
    budget->leave(ticket);
}

/// On the threads of the host's kernels.
Status LoadedPlan::verify(plan::BytesOf which) const {
  if (planFile.isVerified() || owner->verify() == Verify::off)
    return {};
  return plan::verifyBytes(planFile, which, [&](size_t count, const auto &work) {
    shareOut(owner->threadPool(), count, work);
  });
}

/// Of several runs at once the first reads; a plan that is damaged stays so.
Status LoadedPlan::verifyLate() const {
  std::lock_guard guard(verifying);
  if (!unverified.load(std::memory_order_relaxed))
    return {};
  if (Status status = verify(plan::BytesOf::constants); !status.ok())
    return Status(status.code(), "'" + fileName + "': " + status.message());
  unverified.store(false, std::memory_order_release);
  return {};
}

} // namespace gantry::runtime
