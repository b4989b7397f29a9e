#include "gantry/Plan/ProveOrder.h"

#include "gantry/Plan/Exchanges.h"
#include "gantry/Plan/Tasks.h"

#include <map>

namespace gantry::plan {

namespace {

using Kind = judge::Step::Kind;

/// Writes a function down for the judge, each command in its task's list.
class JobWriter {
public:
  JobWriter(const fb::Plan &plan, const fb::Function &function, const Tasks &tasks)
      : plan(plan), function(function), tasks(tasks), commands(tasks.count()),
        queues(tasks.count()) {
    job.tasks.resize(tasks.count());
    for (const fb::Exchange *exchange : each(plan.exchanges()))
      job.members.push_back(membersOf(plan, *exchange).size());
    addBlock(0);
  }

  judge::Job job;

  /// What stands at a place.
  const fb::Command &commandAt(judge::Stuck::Place place) const {
    return *commands[place.first][place.second];
  }

private:
  const fb::Plan &plan;
  const fb::Function &function;
  const Tasks &tasks;
  std::vector<std::vector<const fb::Command *>> commands; ///< by task and step
  /// By task: numbers of its queues, by device and number in the plan.
  std::vector<std::map<std::pair<uint32_t, uint32_t>, uint32_t>> queues;
  uint32_t numNested = 0;

  void add(uint32_t task, const fb::Command &command, judge::Step step) {
    job.tasks[task].steps.push_back(std::move(step));
    commands[task].push_back(&command);
  }

  void addBlock(uint32_t block) {
    for (const fb::Command *command : each(function.blocks()->Get(block)->commands())) {
      if (command->condition()) {
        addNested(*command);
        continue;
      }
      const uint32_t task = tasks.of(command->device());
      const auto count = static_cast<uint32_t>(queues[task].size());
      const uint32_t queue =
          queues[task].try_emplace({command->device(), command->queue()}, count).first->second;
      Kind kind = isExchange(*command) ? Kind::exchange : Kind::command;
      if (command->opcode() == fb::Opcode::signal)
        kind = Kind::signal;
      else if (command->opcode() == fb::Opcode::wait)
        kind = Kind::wait;
      add(task, *command, {kind, queue, command->signal(), {}, command->exchange()});
    }
  }

  void addNested(const fb::Command &command) {
    const bool isLoop = command.opcode() == fb::Opcode::loop;
    std::vector<uint32_t> inside;
    for (const fb::BufferRef &condition : conditionsOf(command))
      inside.push_back(tasks.of(deviceOf(plan, function, condition)));
    const uint32_t number = numNested++;
    auto addAll = [&](Kind kind) {
      for (uint32_t task : inside)
        add(task, command, {kind, 0, 0, {}, number});
    };
    addAll(isLoop ? Kind::loop : Kind::branch);
    addBlock(command.blocks()->Get(0));
    addAll(isLoop ? Kind::body : Kind::otherwise);
    addBlock(command.blocks()->Get(1));
    addAll(Kind::end);
  }
};

std::string nameOf(const fb::Plan &plan, const fb::Command &command) {
  if (!isExchange(command))
    return "the " + std::string(fb::EnumNameOpcode(command.opcode()));
  const std::string_view name = textOf(exchangeOf(plan, command).name());
  return name.empty() ? "exchange " + std::to_string(command.exchange())
                      : "'" + std::string(name) + "'";
}

} // namespace

judge::Job jobOf(const fb::Plan &plan, const fb::Function &function) {
  const Tasks tasks(plan);
  return std::move(JobWriter(plan, function, tasks).job);
}

Status proveOrder(const fb::Plan &plan) {
  if (countOf(plan.exchanges()) == 0)
    return {};
  const Tasks tasks(plan);
  for (const fb::Function *function : allFunctions(plan)) {
    const JobWriter writer(plan, *function, tasks);
    const std::optional<judge::Stuck> stuck = judge::findStuck(writer.job);
    if (!stuck)
      continue;
    return Status::corrupt(
        "function '" + std::string(textOf(function->name())) + "': " +
        judge::tell(
            *stuck, [&](uint32_t task) { return tasks.names()[task].shortStr(); },
            [&](judge::Stuck::Place place) { return nameOf(plan, writer.commandAt(place)); }) +
        "; expected an order in which all of it can be done");
  }
  return {};
}

} // namespace gantry::plan
