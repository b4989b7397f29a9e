// Makes a program of a function's commands: blocks become one array of steps with jumps.
#include "gantry/Plan/Exchanges.h"
#include "gantry/Plan/Tasks.h"
#include "gantry/Plan/Views.h"
#include "gantry/Runtime/Driver.h"
#include "gantry/Runtime/Program.h"
#include "gantry/Runtime/State.h"

#include <optional>

namespace gantry::runtime {

namespace fb = plan::fb;
using plan::countOf;
using plan::each;
using plan::textOf;

/// Builds a Program. Two passes: the first lays out steps and slots by number, the second turns
/// slot numbers into pointers, because the arrays move while they grow.
class Flattener {
public:
  Flattener(const LoadedPlan &plan, const FunctionInfo &function,
            const Program::ArenaStarts &transient, const State *state, Program &program)
      : plan(plan), function(function), transient(transient), state(state), program(program) {}

  Status run() {
    program.inputs.resize(function.inputs.size());
    program.outputs.resize(function.outputs.size());
    program.isInline = isInline();
    if (countOf(plan.metadata().exchanges()) != 0)
      program.taskCount = tasks.emplace(plan.metadata()).count();
    GANTRY_RETURN_IF_ERROR(flatten(0));
    for (size_t i = 0; i < program.allSteps.size(); ++i)
      program.allSteps[i].buffers = program.slots.data() + firstSlot[i];
    return {};
  }

private:
  const LoadedPlan &plan;
  const FunctionInfo &function;
  const Program::ArenaStarts &transient;
  const State *state;
  Program &program;
  std::vector<size_t> firstSlot;    ///< by step
  std::optional<plan::Tasks> tasks; ///< of a plan that has exchanges

  /// Whether all work is over when the call for it returns: the devices run inline, and on none of
  /// them a queue of the plan's leaves its work to somebody else.
  bool isInline() {
    for (const Device *device : plan.devices())
      if (device && !device->runsInline())
        return false;
    for (const fb::Block *block : each(function.source->blocks()))
      for (const fb::Command *command : each(block->commands()))
        if (Device *device = plan.device(command->device());
            device && !queueOf(device, *command)->isOverOnReturn())
          return false;
    return true;
  }

  /// Recursive over branches and loops; the validator bounds the depth and makes blocks a tree.
  Status flatten(uint32_t blockIndex) {
    for (const fb::Command *command : each(function.source->blocks()->Get(blockIndex)->commands()))
      GANTRY_RETURN_IF_ERROR(withCommand(plan.metadata(), *command, add(*command)));
    return {};
  }

  Status add(const fb::Command &command) {
    switch (command.opcode()) {
    case fb::Opcode::launch:
      return addLaunch(command);
    case fb::Opcode::copy:
      return addCopy(command);
    case fb::Opcode::fill:
      return addFill(command);
    case fb::Opcode::check:
      return addCheck(command);
    case fb::Opcode::branch:
      return addBranch(command);
    case fb::Opcode::loop:
      return addLoop(command);
    case fb::Opcode::signal:
    case fb::Opcode::wait:
      addOrder(command);
      return {};
    case fb::Opcode::send:
    case fb::Opcode::receive:
    case fb::Opcode::part:
      return addMember(command);
    }
    return Status::unsupported("unknown opcode");
  }

  /// A step that `device` does, else the command's own.
  Step &append(Step::Kind kind, const fb::Command &command, Device *device = nullptr) {
    firstSlot.push_back(program.slots.size());
    if (program.commands.empty() || program.commands.back() != &command)
      program.commands.push_back(&command);
    Step step;
    step.kind = kind;
    step.command = static_cast<uint32_t>(program.commands.size() - 1);
    step.queue = queueOf(device ? device : plan.device(command.device()), command);
    if (tasks)
      step.task = static_cast<uint16_t>(tasks->of(command.device()));
    program.allSteps.push_back(step);
    return program.allSteps.back();
  }

  /// The queue of `device` for what the plan has on the command's queue.
  Queue *queueOf(Device *device, const fb::Command &command) {
    for (const Program::OwnQueue &own : program.ownQueues)
      if (own.device == device && own.plannedDevice == command.device() &&
          own.plannedQueue == command.queue())
        return own.queue.get();
    program.ownQueues.push_back({device, command.device(), command.queue(), device->createQueue()});
    return program.ownQueues.back().queue.get();
  }

  void addOrder(const fb::Command &command) {
    if (program.isInline)
      return;
    bool isSignal = command.opcode() == fb::Opcode::signal;
    append(isSignal ? Step::Kind::signal : Step::Kind::wait, command).target = command.signal();
  }

  void addJoins(const fb::Command &nested) {
    if (!program.isInline)
      addForTasks(nested, Step::Kind::join);
  }

  uint32_t here() const { return static_cast<uint32_t>(program.allSteps.size()); }

  Status addLaunch(const fb::Command &command) {
    if (command.items() == 0)
      return {};
    bool runsInline = plan.device(command.device())->runsInline();
    Step &step = append(runsInline ? Step::Kind::call : Step::Kind::launch, command);
    const KernelChoice &kernel = plan.kernel(command);
    step.kernel = kernel.handle;
    step.items =
        static_cast<int64_t>(kernel.variant.items ? kernel.variant.items : command.items());
    step.grain =
        static_cast<int64_t>(kernel.variant.grain ? kernel.variant.grain : command.grain());
    return addSlots(command);
  }

  Status addCopy(const fb::Command &command) {
    const plan::Copied first = plan::copiedBy(command, 0);
    Device *from = deviceOf(first.source), *to = deviceOf(first.target);
    const Step::Kind kind = copyBetween(*from, *to);
    if (kind == Step::Kind::copyFrom && &from->driver() != &to->driver())
      return Status::unsupported("a copy from a device of driver '" +
                                 std::string(from->driver().name()) + "' to one of driver '" +
                                 std::string(to->driver().name()) + "'");
    Step &step = append(kind, command, kind == Step::Kind::download ? from : to);
    step.source = from;
    return addSlots(command);
  }

  Status addFill(const fb::Command &command) {
    Step &step = append(Step::Kind::fill, command);
    step.items = static_cast<int64_t>(command.buffers()->Get(0)->size());
    step.value = command.value();
    return addSlots(command);
  }

  Status addMember(const fb::Command &command) {
    const fb::Exchange &exchange = plan::exchangeOf(plan.metadata(), command);
    Step &step = append(Step::Kind::exchange, command);
    step.target = command.rank();
    step.items = plan::membersOf(plan.metadata(), exchange).size();
    return addSlots(command);
  }

  /// With all of its buffers: what it holds back is a use, too.
  Status addCheck(const fb::Command &command) {
    append(Step::Kind::check, command);
    return addSlots(command);
  }

  /// One of the blocks, between joins: which one is known, so that the host waits for nothing.
  Status addDecided(const fb::Command &command) {
    addJoins(command);
    GANTRY_RETURN_IF_ERROR(flatten(command.blocks()->Get(plan.takesLibrary(command) ? 0 : 1)));
    addJoins(command);
    return {};
  }

  /// jumpIfFalse condition -> else; then...; jump -> end; else...; end: join
  Status addBranch(const fb::Command &command) {
    if (!textOf(command.library()).empty())
      return addDecided(command);
    const uint32_t tests = here();
    GANTRY_RETURN_IF_ERROR(addTests(command));
    const uint32_t first = here();
    GANTRY_RETURN_IF_ERROR(flatten(command.blocks()->Get(0)));
    const uint32_t skips = here();
    addForTasks(command, Step::Kind::jump);
    setTargets(tests, first, here());
    const uint32_t second = here();
    GANTRY_RETURN_IF_ERROR(flatten(command.blocks()->Get(1)));
    setTargets(skips, second, here());
    addJoins(command);
    return {};
  }

  /// begin: join; condition block...; jumpIfFalse condition -> end; body...; jump -> begin; end
  Status addLoop(const fb::Command &command) {
    const uint32_t begin = here();
    addJoins(command);
    GANTRY_RETURN_IF_ERROR(flatten(command.blocks()->Get(0)));
    const uint32_t tests = here();
    GANTRY_RETURN_IF_ERROR(addTests(command));
    const uint32_t body = here();
    GANTRY_RETURN_IF_ERROR(flatten(command.blocks()->Get(1)));
    const uint32_t jumps = here();
    addForTasks(command, Step::Kind::jump);
    setTargets(jumps, here(), begin);
    setTargets(tests, body, here());
    return {};
  }

  void setTargets(uint32_t begin, uint32_t end, uint32_t target) {
    for (uint32_t step = begin; step < end; ++step)
      program.allSteps[step].target = target;
  }

  /// A step on the device of a condition.
  Step &appendAt(Step::Kind kind, const fb::Command &command, const fb::BufferRef &condition) {
    Step &step = append(kind, command, deviceOf(condition));
    if (tasks)
      step.task = static_cast<uint16_t>(
          tasks->of(plan::deviceOf(plan.metadata(), *function.source, condition)));
    return step;
  }

  /// Each task that has commands inside goes its own way.
  void addForTasks(const fb::Command &command, Step::Kind kind) {
    for (const fb::BufferRef &condition : plan::conditionsOf(command))
      appendAt(kind, command, condition);
  }

  Status addTests(const fb::Command &command) {
    for (const fb::BufferRef &condition : plan::conditionsOf(command)) {
      appendAt(Step::Kind::jumpIfFalse, command, condition).numBuffers = 1;
      GANTRY_RETURN_IF_ERROR(addSlot(condition));
    }
    return {};
  }

  Device *deviceOf(const fb::BufferRef &buffer) const {
    switch (buffer.space()) {
    case fb::Space::arena:
      return plan.device(plan.metadata().arenas()->Get(buffer.index())->device());
    case fb::Space::input:
      return function.inputs[buffer.index()].device;
    case fb::Space::output:
      return function.outputs[buffer.index()].device;
    }
    return nullptr;
  }

  /// Gives the step that was appended last all buffers of its command.
  Status addSlots(const fb::Command &command) {
    program.allSteps.back().numBuffers = countOf(command.buffers());
    for (const fb::BufferRef *buffer : each(command.buffers()))
      GANTRY_RETURN_IF_ERROR(addSlot(*buffer));
    return {};
  }

  /// Adds a buffer of the step that was appended last.
  Status addSlot(const fb::BufferRef &buffer) {
    auto slot = static_cast<uint32_t>(program.slots.size());
    program.slots.push_back(nullptr);
    program.sizes.push_back(buffer.size());
    if (buffer.space() == fb::Space::input)
      program.inputs[buffer.index()].uses.push_back({slot, buffer.offset()});
    else if (buffer.space() == fb::Space::output)
      program.outputs[buffer.index()].uses.push_back({slot, buffer.offset()});
    else
      return resolveArena(buffer, slot);
    return {};
  }

  Status resolveArena(const fb::BufferRef &buffer, uint32_t slot) {
    switch (plan.metadata().arenas()->Get(buffer.index())->kind()) {
    case fb::ArenaKind::constants: {
      const uint8_t *address = plan.constantAt(buffer.index(), buffer.offset(), buffer.size());
      if (!address && buffer.size() != 0) // of nothing there is no place
        return Status::corrupt("it reads constants that the plan does not have");
      program.slots[slot] = const_cast<uint8_t *>(address);
      return {};
    }
    case fb::ArenaKind::variables: {
      program.usesVariables = true;
      if (!state)
        return Status::internal("it uses variables, and there is no state");
      Expected<State::Place> place =
          state->resolve(plan, buffer.index(), buffer.offset(), buffer.size());
      if (!place)
        return place.status();
      program.slots[slot] = place->data;
      if (place->memory)
        program.variables.push_back(place->memory);
      return {};
    }
    case fb::ArenaKind::transient:
      program.slots[slot] = transient[buffer.index()] + buffer.offset();
      return {};
    }
    return {};
  }
};

Expected<std::unique_ptr<Program>> Program::build(const LoadedPlan &plan,
                                                  const FunctionInfo &function,
                                                  const ArenaStarts &transient,
                                                  const State *state) {
  std::unique_ptr<Program> program(new Program(plan));
  program->source = function.source;
  GANTRY_RETURN_IF_ERROR(Flattener(plan, function, transient, state, *program).run());
  return program;
}

} // namespace gantry::runtime
