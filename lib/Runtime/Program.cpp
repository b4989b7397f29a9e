#include "Program.h"

#include "gantry/Plan/Views.h"
#include "gantry/Support/Bytes.h"

#include <chrono>

namespace gantry::runtime {

namespace fb = plan::fb;
using plan::countOf;
using plan::each;

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
    GANTRY_RETURN_IF_ERROR(flatten(0));
    for (size_t i = 0; i < program.steps.size(); ++i)
      program.steps[i].buffers = program.slots.data() + firstSlot[i];
    return {};
  }

private:
  const LoadedPlan &plan;
  const FunctionInfo &function;
  const Program::ArenaStarts &transient;
  const State *state;
  Program &program;
  std::vector<size_t> firstSlot; ///< by step

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
    case fb::Opcode::branch:
      return addBranch(command);
    case fb::Opcode::loop:
      return addLoop(command);
    case fb::Opcode::signal:
    case fb::Opcode::wait:
      addOrder(command);
      return {};
    }
    return Status::unsupported("unknown opcode");
  }

  Step &append(Step::Kind kind, const fb::Command &command) {
    firstSlot.push_back(program.slots.size());
    if (program.commands.empty() || program.commands.back() != &command)
      program.commands.push_back(&command);
    Step step;
    step.kind = kind;
    step.command = static_cast<uint32_t>(program.commands.size() - 1);
    step.device = plan.device(command.device());
    program.steps.push_back(step);
    return program.steps.back();
  }

  void addOrder(const fb::Command &command) {
    if (!program.simulated)
      return;
    bool isSignal = command.opcode() == fb::Opcode::signal;
    append(isSignal ? Step::Kind::signal : Step::Kind::wait, command).target = command.signal();
  }

  void addJoin(const fb::Command &command) {
    if (program.simulated)
      append(Step::Kind::join, command);
  }

  uint32_t here() const { return static_cast<uint32_t>(program.steps.size()); }

  Status addLaunch(const fb::Command &command) {
    if (command.items() == 0)
      return {};
    bool runsInline = plan.device(command.device())->driver().runsInline();
    Step &step = append(runsInline ? Step::Kind::call : Step::Kind::launch, command);
    step.kernel = plan.kernel(command);
    step.items = static_cast<int64_t>(command.items());
    step.grain = static_cast<int64_t>(command.grain());
    step.numBuffers = countOf(command.buffers());
    for (const fb::BufferRef *buffer : each(command.buffers()))
      GANTRY_RETURN_IF_ERROR(addSlot(*buffer));
    return {};
  }

  Status addCopy(const fb::Command &command) {
    const plan::Copied first = plan::copiedBy(command, 0);
    Device *from = deviceOf(first.source), *to = deviceOf(first.target);
    Step::Kind kind = Step::Kind::copy;
    if (&from->driver() != &to->driver()) {
      if (from->driver().runsInline())
        kind = Step::Kind::upload;
      else if (to->driver().runsInline())
        kind = Step::Kind::download;
      else if (from->driver().name() == to->driver().name())
        kind = Step::Kind::copyFrom;
      else
        return Status::unsupported("a copy from a device of driver '" +
                                   std::string(from->driver().name()) + "' to one of driver '" +
                                   std::string(to->driver().name()) + "'");
    }
    Step &step = append(kind, command);
    step.device = kind == Step::Kind::download ? from : to;
    step.source = from;
    step.numBuffers = countOf(command.buffers());
    for (const fb::BufferRef *buffer : each(command.buffers()))
      GANTRY_RETURN_IF_ERROR(addSlot(*buffer));
    return {};
  }

  Status addFill(const fb::Command &command) {
    const fb::BufferRef &destination = *command.buffers()->Get(0);
    Step &step = append(Step::Kind::fill, command);
    step.items = static_cast<int64_t>(destination.size());
    step.value = command.value();
    step.numBuffers = 1;
    return addSlot(destination);
  }

  /// jumpIfFalse condition -> else; then...; jump -> end; else...; end: join
  Status addBranch(const fb::Command &command) {
    uint32_t test = here();
    GANTRY_RETURN_IF_ERROR(addTest(command));
    GANTRY_RETURN_IF_ERROR(flatten(command.blocks()->Get(0)));
    uint32_t skip = here();
    append(Step::Kind::jump, command);
    program.steps[test].target = here();
    GANTRY_RETURN_IF_ERROR(flatten(command.blocks()->Get(1)));
    program.steps[skip].target = here();
    addJoin(command);
    return {};
  }

  /// begin: join; condition block...; jumpIfFalse condition -> end; body...; jump -> begin; end
  Status addLoop(const fb::Command &command) {
    uint32_t begin = here();
    addJoin(command);
    GANTRY_RETURN_IF_ERROR(flatten(command.blocks()->Get(0)));
    uint32_t test = here();
    GANTRY_RETURN_IF_ERROR(addTest(command));
    GANTRY_RETURN_IF_ERROR(flatten(command.blocks()->Get(1)));
    append(Step::Kind::jump, command).target = begin;
    program.steps[test].target = here();
    return {};
  }

  Status addTest(const fb::Command &command) {
    Device *device = deviceOf(*command.condition());
    if (!device->driver().runsInline() && !program.simulated)
      return Status::unsupported("its condition is not in host memory");
    Step &step = append(Step::Kind::jumpIfFalse, command);
    step.numBuffers = 1;
    step.device = device;
    return addSlot(*command.condition());
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

  /// Adds a buffer of the step that was appended last.
  Status addSlot(const fb::BufferRef &buffer) {
    auto slot = static_cast<uint32_t>(program.slots.size());
    program.slots.push_back(nullptr);
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
      std::span<const uint8_t> arena = plan.constantsArena(buffer.index());
      // Behind the last constant there may be no memory at all.
      if (!rangeFits(buffer.offset(), buffer.size(), arena.size()))
        return Status::corrupt("it reads constants that the plan does not have");
      program.slots[slot] = const_cast<uint8_t *>(arena.data()) + buffer.offset();
      return {};
    }
    case fb::ArenaKind::variables: {
      program.usesVariables = true;
      if (!state)
        return Status::internal("it uses variables, and there is no state");
      Expected<uint8_t *> address = state->resolve(plan, buffer.index(), buffer.offset());
      if (!address)
        return address.status();
      program.slots[slot] = *address;
      return {};
    }
    case fb::ArenaKind::transient:
      program.slots[slot] = transient[buffer.index()] + buffer.offset();
      return {};
    }
    return {};
  }
};

Expected<std::unique_ptr<Program>> Program::build(const LoadedPlan &plan, unsigned function,
                                                  const ArenaStarts &transient,
                                                  const State *state) {
  std::unique_ptr<Program> program(new Program(plan));
  program->source = plan.functions()[function].source;
  program->simulated = plan.isSimulated();
  GANTRY_RETURN_IF_ERROR(
      Flattener(plan, plan.functions()[function], transient, state, *program).run());
  return program;
}

void Program::patch(BoundSlots &bound, uint8_t *address) {
  if (bound.address == address)
    return;
  for (const BoundSlots::Use &use : bound.uses)
    slots[use.slot] = address + use.offset;
  bound.address = address;
}

/// Counted on the device that the plan's ledger counts it on: the GPU, of two the target.
Status Program::performCopy(const Step &step) {
  const fb::Command &command = *commands[step.command];
  Driver &driver = step.device->driver();
  for (uint32_t i = 0; i < step.numBuffers; i += 2) {
    const void *source = step.buffers[i];
    void *target = step.buffers[i + 1];
    const uint64_t bytes = command.buffers()->Get(i)->size();
    step.device->countCopy(command.copy_kind(), bytes, i == 0);
    Status status;
    if (step.kind == Step::Kind::copy)
      status = driver.copy(target, source, bytes);
    else if (step.kind == Step::Kind::upload)
      status = driver.upload(target, source, bytes);
    else if (step.kind == Step::Kind::download)
      status = driver.download(target, source, bytes);
    else
      status = driver.copyFrom(step.source->driver(), target, source, bytes);
    GANTRY_RETURN_IF_ERROR(status);
  }
  return {};
}

/// Everything that may fail, or is not worth a place in the hot loop.
Status Program::perform(const Step &step) {
  Driver &driver = step.device->driver();
  switch (step.kind) {
  case Step::Kind::launch:
    return driver.launch({step.kernel, step.buffers, step.numBuffers, step.items, step.grain});
  case Step::Kind::copy:
  case Step::Kind::upload:
  case Step::Kind::download:
  case Step::Kind::copyFrom:
    return performCopy(step);
  case Step::Kind::fill:
    return driver.fill(step.buffers[0], step.value, static_cast<uint64_t>(step.items));
  default:
    return {};
  }
}

/// The hot loop. `observe(step, run)` calls run() and may look at the clock around it.
template <typename Observe>
Status Program::execute(ThreadPool &pool, Observe observe) {
  const Step *begin = steps.data();
  const Step *end = begin + steps.size();
  for (const Step *step = begin; step != end;) {
    switch (step->kind) {
    case Step::Kind::call:
      observe(*step, [&] {
        pool.parallelFor(reinterpret_cast<KernelFn>(step->kernel), step->buffers, step->items,
                         step->grain);
      });
      ++step;
      break;
    case Step::Kind::jumpIfFalse:
      step = *static_cast<const uint8_t *>(step->buffers[0]) ? step + 1 : begin + step->target;
      break;
    case Step::Kind::jump:
      step = begin + step->target;
      break;
    default: {
      Status status;
      observe(*step, [&] { status = perform(*step); });
      if (!status.ok())
        return withCommand(plan.metadata(), *commands[step->command], std::move(status));
      ++step;
    }
    }
  }
  return {};
}

Status Program::run(ThreadPool &pool) {
  return execute(pool, [](const Step &, auto run) { run(); });
}

Status Program::runTimed(ThreadPool &pool, std::vector<CommandTime> &times) {
  using Clock = std::chrono::steady_clock;
  times.resize(commands.size());
  Status status = execute(pool, [&](const Step &step, auto run) {
    Clock::time_point start = Clock::now();
    run();
    auto passed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start);
    CommandTime &time = times[step.command];
    time.command = commands[step.command];
    time.nanoseconds += static_cast<uint64_t>(passed.count());
    ++time.calls;
  });
  std::erase_if(times, [](const CommandTime &time) { return !time.command; });
  return status;
}

} // namespace gantry::runtime
