// Which variant of each kernel a loaded plan runs here, and its code: the first whose needs are
// met; where a library says only when it is asked what it cannot do, the next one.
#include "gantry/Plan/Views.h"
#include "gantry/Runtime/Driver.h"
#include "gantry/Runtime/LoadedPlan.h"

#include <algorithm>
#include <unordered_set>

namespace gantry::runtime {

namespace fb = plan::fb;
using plan::countOf;
using plan::each;
using plan::textOf;

Status LoadedPlan::chooseKernels() {
  choicesOf.resize(countOf(metadata().kernels()));
  std::unordered_set<const fb::Block *> ofLibraries;
  for (const fb::Function *function : plan::allFunctions(metadata()))
    for (const fb::Block *block : each(function->blocks()))
      for (const fb::Command *command : each(block->commands()))
        if (!textOf(command->library()).empty()) {
          const fb::Block *first = function->blocks()->Get(command->blocks()->Get(0));
          ofLibraries.insert(first);
          chooseBranch(*command, *first);
        }
  for (const fb::Function *function : plan::allFunctions(metadata()))
    for (const fb::Block *block : each(function->blocks()))
      for (const fb::Command *command : each(block->commands()))
        if (command->opcode() == fb::Opcode::launch && !ofLibraries.contains(block))
          GANTRY_RETURN_IF_ERROR(withCommand(metadata(), *command, chooseKernel(*command)));
  return {};
}

namespace {

VariantNeeds needsOf(const fb::Plan &plan, const plan::KernelVariant &variant) {
  VariantNeeds needs;
  needs.features = variant.features;
  needs.archMin = variant.archMin, needs.archMax = variant.archMax;
  needs.library = variant.library, needs.libraryVersion = variant.libraryVersion;
  if (variant.source == fb::KernelSource::library)
    needs.source = VariantNeeds::Source::library;
  if (variant.source == fb::KernelSource::registered)
    needs.source = VariantNeeds::Source::registered;
  if (variant.source != fb::KernelSource::code)
    return needs;
  const fb::Code &code = *plan.code()->Get(variant.code);
  needs.target = textOf(code.target());
  needs.isCubin = code.kind() == fb::CodeKind::cubin;
  for (const flatbuffers::String *feature : each(code.features()))
    needs.features.push_back(textOf(feature));
  return needs;
}

std::array<uint32_t, 3> sidesOf(const fb::Extent *extent) {
  return extent ? std::array<uint32_t, 3>{extent->x(), extent->y(), extent->z()}
                : std::array<uint32_t, 3>{1, 1, 1};
}

Geometry geometryOf(const plan::KernelVariant &variant) {
  return {sidesOf(variant.grid), sidesOf(variant.block), variant.sharedMemory, variant.scratch};
}

std::string joined(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : "; ") + part;
  return text;
}

} // namespace

Unmet LoadedPlan::unmet(const plan::KernelVariant &variant, const Device &device) const {
  if (Unmet lack = device.unmet(needsOf(metadata(), variant)))
    return lack;
  if (variant.source != fb::KernelSource::registered)
    return {};
  Expected<KernelFn> registered = owner->kernels().find(std::string(variant.symbol));
  return registered ? Unmet() : Unmet{registered.status().message(), ""};
}

const KernelChoice *LoadedPlan::choiceOf(uint32_t kernel, const Device *device) const {
  for (uint32_t index : choicesOf[kernel])
    if (choices[index].device == device)
      return &choices[index];
  return nullptr;
}

Status LoadedPlan::chooseKernel(const fb::Command &command) {
  Device *device = planDevices[command.device()];
  if (choiceOf(command.kernel(), device))
    return {};
  KernelChoice choice{command.kernel(), device, 0, {}, {}, &command};
  GANTRY_RETURN_IF_ERROR(chooseVariant(choice, 0));
  choicesOf[command.kernel()].push_back(static_cast<uint32_t>(choices.size()));
  choices.push_back(std::move(choice));
  return {};
}

/// The first from that number on whose needs are met.
Status LoadedPlan::chooseVariant(KernelChoice &choice, uint32_t first) const {
  const fb::Kernel &kernel = *metadata().kernels()->Get(choice.kernel);
  const std::vector<plan::KernelVariant> variants = plan::variantsOf(metadata(), kernel);
  Unmet lack;
  StatusCode code = StatusCode::unsupported;
  for (uint32_t i = first; i < variants.size(); ++i) {
    if (variants[i].driver != choice.device->driver().name())
      continue;
    lack = unmet(variants[i], *choice.device);
    if (!lack) {
      choice.number = i;
      choice.variant = variants[i];
      return {};
    }
    choice.passedOver.push_back(variants[i].describe(metadata()) + " (" + lack.what + ")");
    if (variants[i].source == fb::KernelSource::registered)
      code = StatusCode::notFound;
  }
  const std::string driver(choice.device->driver().name());
  const std::vector<std::string> &passedOver = choice.passedOver;
  if (passedOver.empty() && kernel.custom())
    return Status::unsupported("registered kernels run on CPUs only");
  if (passedOver.empty())
    return Status::unsupported("kernel '" + kernel.symbol()->str() +
                               "' has no variant for the driver '" + driver + "'");
  const std::string remedy = lack.remedy.empty() ? "" : "; " + lack.remedy;
  if (passedOver.size() == 1)
    return Status(code, (lack ? lack.what : passedOver.front()) + remedy);
  return Status::unsupported("none of the " + std::to_string(passedOver.size()) +
                             " variants of kernel '" + kernel.symbol()->str() +
                             "' for the driver '" + driver + "' runs here: " + joined(passedOver) +
                             remedy);
}

/// What a kernel runs as, where that is a library or not what comes first in the plan.
static std::string wayOf(const KernelChoice &choice, const fb::Plan &plan) {
  const std::string on = " on '" + choice.device->name() + "' ";
  if (!choice.passedOver.empty())
    return on + "as " + choice.variant.describe(plan) +
           "; what comes before it in the plan cannot run here: " + joined(choice.passedOver);
  if (choice.variant.source == fb::KernelSource::library)
    return on + "by the library " + std::string(choice.variant.library);
  return "";
}

/// One line for all kernels that go the same way for the same reasons.
void LoadedPlan::logWays() const {
  std::vector<std::pair<std::string, std::vector<const KernelChoice *>>> groups;
  for (const KernelChoice &choice : choices) {
    std::string way = wayOf(choice, metadata());
    if (way.empty())
      continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto &known) { return known.first == way; });
    if (group == groups.end())
      group = groups.insert(groups.end(), {std::move(way), {}});
    group->second.push_back(&choice);
  }
  for (const auto &[way, members] : groups) {
    std::string who =
        "kernel '" + metadata().kernels()->Get(members[0]->kernel)->symbol()->str() + "' runs";
    if (members.size() > 1)
      who = std::to_string(members.size()) + " kernels run";
    owner->log(members[0]->passedOver.empty() ? Severity::note : Severity::remark,
               "'" + fileName + "': " + who + way);
  }
}

Status LoadedPlan::loadKernels() {
  for (KernelChoice &choice : choices)
    GANTRY_RETURN_IF_ERROR(withCommand(metadata(), *choice.firstLaunch, loadKernel(choice)));
  loadBranches();
  logWays();
  return {};
}

/// What a library cannot do shows only when it is asked; then the next variant is taken.
Status LoadedPlan::loadKernel(KernelChoice &choice) {
  Status status = loadVariant(choice);
  while (choice.variant.source == fb::KernelSource::library &&
         (status.code() == StatusCode::unsupported || status.code() == StatusCode::unavailable)) {
    choice.passedOver.push_back(choice.variant.describe(metadata()) + " (" + status.message() +
                                ")");
    GANTRY_RETURN_IF_ERROR(chooseVariant(choice, choice.number + 1));
    status = loadVariant(choice);
  }
  return status;
}

Status LoadedPlan::loadVariant(KernelChoice &choice) {
  const std::string symbol(choice.variant.symbol);
  if (choice.variant.source == fb::KernelSource::registered) {
    Expected<KernelFn> fn = owner->kernels().find(symbol);
    if (!fn)
      return fn.status();
    choice.handle = reinterpret_cast<KernelHandle>(*fn);
    return {};
  }
  Expected<CodeObject *> code = choice.variant.source == fb::KernelSource::library
                                    ? openLibrary(choice.variant.library, *choice.device)
                                    : loadCode(choice.variant.code, *choice.device);
  if (!code)
    return code.status();
  Expected<KernelHandle> handle = (*code)->lookup(symbol, geometryOf(choice.variant));
  if (!handle)
    return handle.status();
  choice.handle = *handle;
  return {};
}

Expected<CodeObject *> LoadedPlan::openLibrary(std::string_view name, Device &device) {
  for (OpenLibrary &known : libraries)
    if (known.name == name && known.domain == device.codeDomain())
      return known.object.get();
  Expected<std::unique_ptr<CodeObject>> object = device.openLibrary(name);
  if (!object)
    return object.status();
  libraries.push_back({std::string(name), device.codeDomain(), object.take()});
  return libraries.back().object.get();
}

Expected<CodeObject *> LoadedPlan::loadCode(uint32_t index, Device &device) {
  for (LoadedCode &loaded : codes)
    if (loaded.code == index && loaded.domain == device.codeDomain())
      return loaded.object.get();
  Expected<std::unique_ptr<CodeObject>> object =
      device.loadCode(planFile.bytesOf(*metadata().code()->Get(index)));
  if (!object)
    return object.status();
  codes.push_back({index, device.codeDomain(), object.take()});
  return codes.back().object.get();
}

const KernelChoice &LoadedPlan::kernel(const fb::Command &command) const {
  return *choiceOf(command.kernel(), planDevices[command.device()]);
}

} // namespace gantry::runtime
