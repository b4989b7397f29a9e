#include "gantry/Runtime/Session.h"

#include "PendingRun.h"
#include "gantry/Plan/Views.h"
#include "gantry/Runtime/Program.h"

#include <unordered_map>

namespace gantry::runtime {

namespace fb = plan::fb;
using plan::countOf;

Session::Session(std::shared_ptr<const LoadedPlan> plan)
    : loaded(std::move(plan)), order(loaded->runtime().commandOrder()) {}

Session::~Session() = default;

Expected<std::shared_ptr<Session>> Session::create(std::shared_ptr<const LoadedPlan> plan,
                                                   std::shared_ptr<State> state) {
  GANTRY_RETURN_IF_ERROR(plan->runtime().checkProcess());
  std::shared_ptr<Session> session(new Session(std::move(plan)));
  const LoadedPlan &loaded = *session->loaded;
  if (!state && countOf(loaded.metadata().variables()) != 0) {
    Expected<std::shared_ptr<State>> made = State::create(session->loaded);
    if (!made)
      return made.status();
    state = made.take();
  }
  session->sharedState = std::move(state);
  GANTRY_RETURN_IF_ERROR(session->allocateTransient());

  Program::ArenaStarts starts;
  for (const Allocation &arena : session->arenas)
    starts.push_back(arena.data());
  for (unsigned i = 0; i < loaded.functions().size(); ++i) {
    Expected<std::unique_ptr<Program>> program =
        Program::build(loaded, loaded.functions()[i], starts, session->sharedState.get());
    if (!program)
      return program.status();
    Function function{program.take(), nullptr};
    function.executor = createExecutor(*function.program, loaded.runtime().threadPool());
    session->functions.push_back(std::move(function));
  }
  return session;
}

Status Session::allocateTransient() {
  const fb::Plan &metadata = loaded->metadata();
  arenas.resize(countOf(metadata.arenas()));
  for (uint32_t i = 0; i < arenas.size(); ++i) {
    const fb::Arena &arena = *metadata.arenas()->Get(i);
    if (arena.kind() != fb::ArenaKind::transient || arena.size() == 0)
      continue;
    Device *device = loaded->device(arena.device());
    std::string what = "a session of '" + loaded->name() + "'";
    GANTRY_RETURN_IF_ERROR(device->checkFits(arena.size(), what));
    Expected<Allocation> memory = device->allocate(arena.size(), what);
    if (!memory)
      return memory.status();
    arenas[i] = memory.take();
  }
  return {};
}

Status Session::prepare(Bindings &bindings) {
  GANTRY_RETURN_IF_ERROR(loaded->runtime().checkProcess());
  if (&bindings.plan() != loaded.get())
    return Status::invalidArgument("the bindings are for a function of '" + bindings.plan().name() +
                                   "', the session is of '" + loaded->name() + "'");
  return bindings.prepare();
}

/// Which lock of the state is taken depends on the function, and neither when it has no variables.
RunLocks Session::lockFor(const Bindings &bindings) {
  RunLocks locks{std::unique_lock(mutex), {}, {}};
  if (sharedState && bindings.info().writesVariables)
    locks.writing = std::unique_lock(sharedState->lock());
  else if (sharedState && functions[bindings.function()].program->readsVariables())
    locks.reading = std::shared_lock(sharedState->lock());
  return locks;
}

/// Lets the program see the bindings, and brings in what is staged.
Status Session::begin(Bindings &bindings) {
  GANTRY_RETURN_IF_ERROR(bindings.checkIdle());
  GANTRY_RETURN_IF_ERROR(loaded->verifyConstants());
  Program &program = *functions[bindings.function()].program;
  for (unsigned i = 0; i < bindings.inputs.size(); ++i)
    program.setInput(i, bindings.inputs[i].address);
  for (unsigned i = 0; i < bindings.outputs.size(); ++i)
    program.setOutput(i, bindings.outputs[i].address);
  program.setCancel(bindings.cancel);
  program.setStream(bindings.stream);
  lastExecutor = functions[bindings.function()].executor.get();
  if (bindings.stream && !lastExecutor->followsStreams())
    return Status::unsupported("function '" + bindings.info().name +
                               "' cannot follow a stream, since no GPU runs it through CUDA");
  return bindings.copyIn();
}

template <typename Run>
Status Session::runLocked(Bindings &bindings, Run run) {
  RunLocks locks = lockFor(bindings);
  GANTRY_RETURN_IF_ERROR(begin(bindings));
  GANTRY_RETURN_IF_ERROR(run(*functions[bindings.function()].executor));
  return bindings.copyOut();
}

void Session::setCommandOrder(CommandOrder wanted) {
  std::lock_guard guard(mutex);
  order = wanted;
}

std::vector<CommandEvent> Session::timeline() const {
  std::lock_guard guard(mutex);
  if (!lastExecutor)
    return {};
  std::span<const CommandEvent> events = lastExecutor->timeline();
  return {events.begin(), events.end()};
}

Expected<std::shared_ptr<PendingRun>> Session::start(Bindings &bindings) {
  RunLocks locks = lockFor(bindings);
  GANTRY_RETURN_IF_ERROR(begin(bindings));
  const std::vector<OutputCopy> outputs = bindings.startLater();
  auto pending = std::make_shared<PendingRun>(shared_from_this(), bindings.shared_from_this(),
                                              std::move(locks));
  pending->keep(pending);
  functions[bindings.function()].executor->start(order, outputs, *pending);
  return pending;
}

Expected<Fence> Session::submit(Bindings &bindings) {
  GANTRY_RETURN_IF_ERROR(prepare(bindings));
  if (!functions[bindings.function()].executor->runsLater())
    return Fence(run(bindings));
  Expected<std::shared_ptr<PendingRun>> pending = start(bindings);
  if (!pending)
    return Fence(pending.status());
  return Fence(pending.take());
}

Status Session::run(Bindings &bindings) {
  GANTRY_RETURN_IF_ERROR(prepare(bindings));
  return runLocked(bindings, [&](Executor &executor) { return executor.run(order); });
}

Expected<std::vector<CommandEvent>> Session::runTraced(Bindings &bindings) {
  GANTRY_RETURN_IF_ERROR(prepare(bindings));
  std::vector<CommandEvent> events;
  GANTRY_RETURN_IF_ERROR(
      runLocked(bindings, [&](Executor &executor) { return executor.runTimed(order, events); }));
  return events;
}

Expected<std::vector<CommandTime>> Session::runTimed(Bindings &bindings) {
  Expected<std::vector<CommandEvent>> events = runTraced(bindings);
  if (!events)
    return events.status();
  std::vector<CommandTime> times;
  std::unordered_map<const plan::fb::Command *, size_t> places;
  for (const CommandEvent &event : *events) {
    auto [place, isNew] = places.try_emplace(event.command, times.size());
    if (isNew)
      times.push_back({event.command, 0, 0});
    CommandTime &time = times[place->second];
    time.nanoseconds += static_cast<uint64_t>((event.end - event.start) * 1e9 + 0.5);
    ++time.calls;
  }
  return times;
}

} // namespace gantry::runtime
