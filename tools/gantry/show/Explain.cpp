#include "Explain.h"

#include "gantry/Plan/PlanTopology.h"

#include <map>

namespace gantry::tool {

using namespace plan;

Subject::Subject(const Options &options, const Model &model)
    : options(options), model(model), plan(model.plan()), costs(CostModel::of(topologyOf(plan))) {}

std::vector<const fb::Function *> Subject::functions() const {
  std::vector<const fb::Function *> chosen;
  for (const auto *function : listOf(plan.functions()))
    if (options.function.empty() || textOf(function->name()) == options.function)
      chosen.push_back(function);
  return chosen;
}

Status Subject::checkFunction() const {
  if (!functions().empty())
    return {};
  std::string names;
  for (const auto *function : listOf(plan.functions()))
    names += (names.empty() ? "" : ", ") + std::string(textOf(function->name()));
  return Status::notFound("no function is called '" + options.function + "'; the functions are " +
                          names);
}

bool Subject::wants(const fb::PlacedOp &op) const {
  return options.op.empty() || textOf(op.name()).find(options.op) != std::string_view::npos ||
         textOf(op.log_name()).find(options.op) != std::string_view::npos;
}

bool Subject::wants(const LedgerCopy &copy) const {
  return options.op.empty() || copy.cause.find(options.op) != std::string_view::npos ||
         copy.name.find(options.op) != std::string_view::npos;
}

std::string Subject::where(std::string_view text) const {
  const std::string_view source = textOf(plan.source());
  const size_t of = text.rfind(" of ");
  if (of == std::string_view::npos || source.empty())
    return std::string(text);
  const std::string_view file = text.substr(of + 4);
  const bool same = file.ends_with(source) &&
                    (file.size() == source.size() || file[file.size() - source.size() - 1] == '/');
  return std::string(same ? text.substr(0, of) : text);
}

double Subject::seconds(const fb::PlacedOp &op) const {
  return op.predicted_seconds() > 0 ? op.predicted_seconds()
                                    : costs.seconds(op.device(), {op.flops(), op.bytes()});
}

double Subject::seconds(const LedgerCopy &copy) const {
  const double alone = costs.copySeconds(copy.from, copy.to, copy.bytes);
  return copy.joined && copy.bytes ? alone - costs.copyLatency(copy.from, copy.to) : alone;
}

std::vector<KernelUse> Subject::kernelsOf(const fb::Function &function) const {
  std::vector<KernelUse> uses;
  std::map<uint32_t, size_t> places;
  for (const PlacedCommand &placed : commandsOf(function)) {
    const fb::Command *command = placed.command;
    if (command->opcode() != fb::Opcode::launch)
      continue;
    auto [place, isNew] = places.try_emplace(command->kernel(), uses.size());
    if (isNew) {
      uses.push_back(
          {std::string(textOf(listOf(plan.kernels())[command->kernel()]->symbol())), 0, 0, ""});
      for (const auto *name : listOf(command->log_names()))
        uses.back().ops += (uses.back().ops.empty() ? "" : " ") + std::string(textOf(name));
    }
    KernelUse &use = uses[place->second];
    ++use.launches;
    use.items += command->items();
  }
  return uses;
}

std::vector<DeviceLoad> Subject::loadsOf(const fb::Function &function, const Ledger &ledger) const {
  std::vector<DeviceLoad> loads(plan.devices()->size());
  for (const auto *op : listOf(function.placed_ops()))
    ++loads[op->device()].ops;
  for (const PlacedCommand &placed : commandsOf(function))
    if (placed.command->opcode() == fb::Opcode::launch)
      loads[placed.command->device()].compute += costs.seconds(
          placed.command->device(), {placed.command->flops(), placed.command->bytes()});
  for (const LedgerCopy &copy : ledger.copies)
    if (copy.time != CopyTime::load) {
      loads[copy.countedOn].copies += seconds(copy);
      loads[copy.countedOn].copied += copy.bytes;
    }
  return loads;
}

DeviceMemory Subject::memoryOf(uint32_t device) const {
  DeviceMemory memory;
  for (uint32_t a = 0; a < listOf(plan.arenas()).size(); ++a) {
    const auto *arena = plan.arenas()->Get(a);
    if (arena->device() != device)
      continue;
    memory.sizes[static_cast<size_t>(arena->kind())] += arena->size();
    if (arena->kind() == fb::ArenaKind::transient) {
      memory.lowerBound += arena->lower_bound();
      memory.transient = a;
    }
  }
  return memory;
}

} // namespace gantry::tool
