// Loading, in the order in which it can fail cheaply: devices, memory, CPU features and code, and
// only then the constants, which cost the most.
#include "gantry/Runtime/LoadedPlan.h"

#include "ConstantPool.h"
#include "gantry/Device/DeviceName.h"
#include "gantry/Plan/Ledger.h"
#include "gantry/Plan/Validate.h"
#include "gantry/Plan/Views.h"
#include "gantry/Runtime/CPUFeatures.h"
#include "gantry/Support/Bytes.h"

#include <algorithm>

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
    infos.push_back({binding->name()->str(),
                     {plan::elementOf(*binding->type()), {shape.begin(), shape.end()}},
                     devices[binding->device()]});
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

/// The driver that a device asks for; plans from before a driver was named mean the usual one.
std::string driverOf(const fb::Device &device) {
  std::string_view name = textOf(device.driver());
  if (!name.empty())
    return std::string(name);
  return device.type() == fb::DeviceType::cpu ? "host" : "cuda";
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

Expected<std::shared_ptr<const LoadedPlan>> LoadedPlan::open(std::shared_ptr<Runtime> runtime,
                                                             const std::string &path,
                                                             const LoadOptions &options) {
  Expected<plan::PlanFile> file = plan::PlanFile::open(path, options.read);
  if (!file)
    return file.status();
  return load(std::move(runtime), file.take(), path);
}

Expected<std::shared_ptr<const LoadedPlan>>
LoadedPlan::load(std::shared_ptr<Runtime> runtime, plan::PlanFile file, std::string name) {
  std::shared_ptr<LoadedPlan> loaded(
      new LoadedPlan(std::move(runtime), std::move(file), std::move(name)));
  auto run = [&]() -> Status {
    GANTRY_RETURN_IF_ERROR(loaded->findDevices());
    GANTRY_RETURN_IF_ERROR(loaded->loadKernels());
    GANTRY_RETURN_IF_ERROR(loaded->checkMemory());
    return loaded->loadConstants();
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
  for (const fb::Function *function : each(plan.functions())) {
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

} // namespace

Status LoadedPlan::findDevices() {
  Expected<std::vector<std::string>> names = bindDevices(metadata(), owner->bindings());
  if (!names)
    return names.status();
  std::vector<bool> used = usedDevices(metadata());
  for (const fb::Device *device : each(metadata().devices())) {
    if (!used[planDevices.size()]) {
      planDevices.push_back(nullptr);
      continue;
    }
    const std::string &name = (*names)[planDevices.size()];
    Expected<Device *> found = owner->device(name, driverOf(*device), device->memory_limit());
    if (!found)
      return found.status();
    planDevices.push_back(*found);
  }
  return {};
}

bool LoadedPlan::isSimulated() const {
  return std::any_of(planDevices.begin(), planDevices.end(), [&](const Device *device) {
    return device && owner->simMachine().owns(device->driver());
  });
}

void LoadedPlan::describeFunctions() {
  for (const fb::Function *function : each(metadata().functions()))
    functionInfos.push_back({function->name()->str(),
                             describeBindings(function->inputs(), planDevices),
                             describeBindings(function->outputs(), planDevices),
                             function->writes_variables(), function});
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

/// Constants, variables and the transient memory of one session, against limit and free memory
/// (spec M2), before the first byte of them is allocated.
Status LoadedPlan::checkMemory() const {
  for (size_t d = 0; d < planDevices.size(); ++d) {
    if (!planDevices[d])
      continue;
    uint64_t bytes[3] = {};
    for (const fb::Arena *arena : each(metadata().arenas()))
      if (planDevices[arena->device()] == planDevices[d])
        bytes[static_cast<size_t>(arena->kind())] += arena->size();
    // Constants of the host are used where the file is mapped; they need no memory of ours.
    uint64_t constantBytes = planDevices[d]->driver().runsInline() ? 0 : bytes[0];
    uint64_t total = constantBytes + bytes[1] + bytes[2];
    if (total == 0)
      continue;
    std::string parts = "the plan (constants " + formatBytes(bytes[0]) + ", variables " +
                        formatBytes(bytes[1]) + ", one session " + formatBytes(bytes[2]) + ")";
    GANTRY_RETURN_IF_ERROR(planDevices[d]->checkFits(total, parts));
  }
  return {};
}

Status LoadedPlan::loadConstants() {
  constants.resize(countOf(metadata().arenas()));
  for (uint32_t i = 0; i < constants.size(); ++i) {
    const fb::Arena *arena = metadata().arenas()->Get(i);
    if (arena->kind() == fb::ArenaKind::constants && planDevices[arena->device()])
      GANTRY_RETURN_IF_ERROR(loadArena(i));
  }
  return {};
}

namespace {

/// A constants arena as the plan describes it, with the bytes in the file.
struct ArenaContents {
  std::vector<ConstantRange> ranges;
  std::vector<const uint8_t *> bytes;
};

ArenaContents contentsOf(const plan::PlanFile &file, uint32_t arena) {
  std::vector<const fb::Constant *> sorted;
  for (const fb::Constant *constant : each(file.plan().constants()))
    if (constant->arena() == arena)
      sorted.push_back(constant);
  std::sort(sorted.begin(), sorted.end(),
            [](auto *a, auto *b) { return a->offset() < b->offset(); });
  ArenaContents contents;
  for (const fb::Constant *constant : sorted) {
    contents.ranges.push_back({constant->offset(), constant->size(), constant->content_hash()});
    contents.bytes.push_back(file.bytesOf(*constant).data());
  }
  return contents;
}

/// Where the arena would start if the file's bytes were used in place: null unless all constants
/// lie in the file as in the arena, at a 64-byte boundary. The writer lays them out so; this is
/// what makes a plan of many GiB load without reading it.
const uint8_t *startInPlace(const ArenaContents &contents) {
  if (contents.ranges.empty())
    return nullptr;
  const uint8_t *start = contents.bytes[0] - contents.ranges[0].offset;
  for (size_t i = 0; i < contents.ranges.size(); ++i)
    if (contents.bytes[i] - contents.ranges[i].offset != start)
      return nullptr;
  return reinterpret_cast<uintptr_t>(start) % bufferAlignment == 0 ? start : nullptr;
}

Status copyContents(const ArenaContents &contents, Device &device, uint8_t *data) {
  for (size_t i = 0; i < contents.ranges.size(); ++i) {
    const ConstantRange &range = contents.ranges[i];
    GANTRY_RETURN_IF_ERROR(
        device.driver().upload(data + range.offset, contents.bytes[i], range.size));
  }
  return {};
}

} // namespace

Status LoadedPlan::loadArena(uint32_t index) {
  const fb::Arena &arena = *metadata().arenas()->Get(index);
  Device *device = planDevices[arena.device()];
  ArenaContents contents = contentsOf(planFile, index);
  constants[index] = owner->constantPool().find(device, contents.ranges, contents.bytes);
  if (constants[index])
    return {};

  auto loaded = std::make_shared<ConstantArena>();
  loaded->device = device;
  // Up to the end of the last constant: the arena's size may be rounded up to beyond the file's
  // end.
  if (!contents.ranges.empty())
    loaded->size = contents.ranges.back().offset + contents.ranges.back().size;
  const uint8_t *inPlace = device->driver().runsInline() ? startInPlace(contents) : nullptr;
  if (inPlace) {
    loaded->data = inPlace;
    loaded->file = std::make_shared<const plan::PlanFile>(planFile);
    device->countMapped(static_cast<int64_t>(loaded->size));
  } else {
    if (device->driver().runsInline() && loaded->size > 0)
      owner->log(Severity::remark, "'" + fileName + "': " + formatBytes(loaded->size) +
                                       " of constants are copied, since they do not lie in the "
                                       "file as in their arena");
    GANTRY_RETURN_IF_ERROR(device->checkFits(loaded->size, "the constants"));
    Expected<Allocation> memory = device->allocate(loaded->size, "constants");
    if (!memory)
      return memory.status();
    loaded->memory = memory.take();
    loaded->data = loaded->memory.data();
    GANTRY_RETURN_IF_ERROR(copyContents(contents, *device, loaded->memory.data()));
  }
  countLoadCopies(index);
  loaded->ranges = std::move(contents.ranges);
  owner->constantPool().add(loaded);
  constants[index] = std::move(loaded);
  return {};
}

/// Constants that the graph wants on another device than the arena's: to put them here is a copy,
/// as the plan's ledger says. An arena that was there already costs none.
void LoadedPlan::countLoadCopies(uint32_t arena) const {
  const auto &devices = *metadata().devices();
  uint32_t to = metadata().arenas()->Get(arena)->device();
  for (const fb::Constant *constant : each(metadata().constants())) {
    uint32_t from = constant->home();
    if (constant->arena() != arena || from == plan::nothingSaid || from == to)
      continue;
    fb::CopyKind kind =
        plan::copyKindBetween(from, devices.Get(from)->type(), to, devices.Get(to)->type());
    uint32_t countedOn = kind == fb::CopyKind::deviceToHost ? from : to;
    planDevices[countedOn]->countLoad(kind, constant->size());
  }
}

std::span<const uint8_t> LoadedPlan::constantsArena(uint32_t arena) const {
  if (!constants[arena])
    return {};
  return {constants[arena]->data, constants[arena]->size};
}

Status LoadedPlan::loadKernels() {
  kernels.resize(countOf(metadata().kernels()));
  for (const fb::Function *function : each(metadata().functions()))
    for (const fb::Block *block : each(function->blocks()))
      for (const fb::Command *command : each(block->commands()))
        if (command->opcode() == fb::Opcode::launch)
          GANTRY_RETURN_IF_ERROR(withCommand(metadata(), *command, loadKernel(*command)));
  return {};
}

Status LoadedPlan::loadKernel(const fb::Command &command) {
  std::vector<LoadedKernel> &loaded = kernels[command.kernel()];
  Driver &driver = planDevices[command.device()]->driver();
  for (const LoadedKernel &known : loaded)
    if (known.driver == driver.name())
      return {};
  const fb::Kernel &kernel = *metadata().kernels()->Get(command.kernel());
  std::string symbol = kernel.symbol()->str();
  if (kernel.custom()) {
    if (!driver.runsInline())
      return Status::unsupported("registered kernels run on CPUs only");
    Expected<KernelFn> fn = owner->kernels().find(symbol);
    if (!fn)
      return fn.status();
    loaded.push_back({driver.name(), reinterpret_cast<KernelHandle>(*fn)});
    return {};
  }
  Expected<CodeObject *> code = loadCode(kernel.code(), driver);
  if (!code)
    return code.status();
  Expected<KernelHandle> handle = (*code)->lookup(symbol);
  if (!handle)
    return handle.status();
  loaded.push_back({driver.name(), *handle});
  return {};
}

Expected<CodeObject *> LoadedPlan::loadCode(uint32_t index, Driver &driver) {
  for (LoadedCode &loaded : codes)
    if (loaded.code == index && loaded.driver->name() == driver.name())
      return loaded.object.get();
  const fb::Code &code = *metadata().code()->Get(index);
  if (code.kind() == fb::CodeKind::elfSharedObject) {
    std::string_view target = textOf(code.target());
    if (!target.empty() && target != machineTarget())
      return Status::unsupported("the plan's code is for " + std::string(target) +
                                 ", this machine is " + std::string(machineTarget()));
    std::vector<std::string> required;
    for (const flatbuffers::String *feature : each(code.features()))
      required.push_back(feature->str());
    if (!required.empty())
      GANTRY_RETURN_IF_ERROR(checkCPUFeatures(required, machineFeatures()));
  }
  Expected<std::unique_ptr<CodeObject>> object = driver.loadCode(planFile.bytesOf(code));
  if (!object)
    return object.status();
  codes.push_back({index, &driver, object.take()});
  return codes.back().object.get();
}

KernelHandle LoadedPlan::kernel(const fb::Command &command) const {
  std::string_view driver = planDevices[command.device()]->driver().name();
  for (const LoadedKernel &loaded : kernels[command.kernel()])
    if (loaded.driver == driver)
      return loaded.handle;
  return nullptr;
}

} // namespace gantry::runtime
