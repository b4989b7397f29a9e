#include "gantry/Plan/Tasks.h"

#include "gantry/Plan/PlanTopology.h"

#include <algorithm>

namespace gantry::plan {

Tasks::Tasks(const fb::Plan &plan) {
  const Topology topology = topologyOf(plan);
  all = tasksOf(topology);
  for (const LogicalDevice &device : topology.logical)
    byDevice.push_back(static_cast<uint32_t>(
        std::lower_bound(all.begin(), all.end(), taskOf(device.name)) - all.begin()));
}

std::span<const fb::BufferRef> conditionsOf(const fb::Command &command) {
  if (const uint32_t count = countOf(command.conditions()))
    return {command.conditions()->Get(0), count};
  return {command.condition(), command.condition() ? size_t(1) : 0};
}

bool TaskView::has(const fb::Function &function, const fb::Command &command) const {
  if (!command.condition())
    return hasDevice(command.device());
  return std::ranges::any_of(conditionsOf(command), [&](const fb::BufferRef &condition) {
    return hasDevice(deviceOf(plan, function, condition));
  });
}

std::vector<uint32_t> TaskView::devices() const {
  std::vector<uint32_t> list;
  for (uint32_t i = 0; i < countOf(plan.devices()); ++i)
    if (hasDevice(i))
      list.push_back(i);
  return list;
}

std::vector<uint32_t> TaskView::arenas() const {
  std::vector<uint32_t> list;
  for (uint32_t i = 0; i < countOf(plan.arenas()); ++i)
    if (hasDevice(plan.arenas()->Get(i)->device()))
      list.push_back(i);
  return list;
}

std::vector<uint32_t> TaskView::constants() const {
  std::vector<uint32_t> list;
  for (uint32_t i = 0; i < countOf(plan.constants()); ++i)
    if (hasDevice(plan.arenas()->Get(plan.constants()->Get(i)->arena())->device()))
      list.push_back(i);
  return list;
}

std::vector<uint32_t> TaskView::kernels() const {
  std::vector<bool> used(countOf(plan.kernels()));
  for (const fb::Function *function : allFunctions(plan))
    for (const fb::Block *block : each(function->blocks()))
      for (const fb::Command *command : each(block->commands()))
        if (command->opcode() == fb::Opcode::launch && hasDevice(command->device()))
          used[command->kernel()] = true;
  std::vector<uint32_t> list;
  for (uint32_t i = 0; i < used.size(); ++i)
    if (used[i])
      list.push_back(i);
  return list;
}

MemoryNeed TaskView::peak(uint32_t device) const {
  MemoryNeed need;
  for (const fb::Arena *arena : each(plan.arenas())) {
    if (arena->device() != device)
      continue;
    switch (arena->kind()) {
    case fb::ArenaKind::constants:
      need.constants += arena->size();
      break;
    case fb::ArenaKind::variables:
      need.variables += arena->size();
      break;
    case fb::ArenaKind::transient:
      need.transient += std::max(arena->size(), arena->load_size());
      break;
    }
  }
  return need;
}

} // namespace gantry::plan
