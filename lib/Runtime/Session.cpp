#include "gantry/Runtime/Session.h"

#include "Program.h"
#include "drivers/sim/SimExecutor.h"
#include "gantry/Plan/Views.h"

#include <shared_mutex>
#include <unordered_map>

namespace gantry::runtime {

namespace fb = plan::fb;
using plan::countOf;

Session::Session(std::shared_ptr<const LoadedPlan> plan)
    : loaded(std::move(plan)), simOrder(loaded->runtime().simOrder()) {}

Session::~Session() = default;

Expected<std::unique_ptr<Session>> Session::create(std::shared_ptr<const LoadedPlan> plan,
                                                   std::shared_ptr<State> state) {
  std::unique_ptr<Session> session(new Session(std::move(plan)));
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
        Program::build(loaded, i, starts, session->sharedState.get());
    if (!program)
      return program.status();
    session->programs.push_back(program.take());
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
  if (&bindings.plan() != loaded.get())
    return Status::invalidArgument("the bindings are for a function of '" + bindings.plan().name() +
                                   "', the session is of '" + loaded->name() + "'");
  return bindings.prepare();
}

template <typename Run>
Status Session::runLocked(Bindings &bindings, Run run) {
  std::lock_guard guard(mutex);
  Program &program = *programs[bindings.function()];
  // Defer both: which one is taken depends on the function, and neither when it has no variables.
  std::unique_lock<std::shared_mutex> writing;
  std::shared_lock<std::shared_mutex> reading;
  if (sharedState && bindings.info().writesVariables)
    writing = std::unique_lock(sharedState->lock());
  else if (sharedState && program.readsVariables())
    reading = std::shared_lock(sharedState->lock());

  for (unsigned i = 0; i < bindings.inputs.size(); ++i)
    program.setInput(i, bindings.inputs[i].address);
  for (unsigned i = 0; i < bindings.outputs.size(); ++i)
    program.setOutput(i, bindings.outputs[i].address);
  GANTRY_RETURN_IF_ERROR(bindings.copyIn());
  GANTRY_RETURN_IF_ERROR(run(program));
  return bindings.copyOut();
}

void Session::setSimOrder(SimOrder order) {
  std::lock_guard guard(mutex);
  simOrder = order;
}

std::vector<SimEvent> Session::timeline() const {
  std::lock_guard guard(mutex);
  return lastTimeline;
}

Status Session::runSimulated(Program &program) {
  Runtime &runtime = loaded->runtime();
  lastTimeline.clear();
  Status status =
      SimExecutor(program, runtime.simMachine(), runtime.threadPool(), simOrder, lastTimeline)
          .run();
  runtime.simMachine().close();
  return status;
}

namespace {

/// On a simulated plan the clock is the virtual one.
std::vector<CommandTime> sumTimes(const std::vector<SimEvent> &timeline) {
  std::vector<CommandTime> times;
  std::unordered_map<const fb::Command *, size_t> places;
  for (const SimEvent &event : timeline) {
    auto [place, isNew] = places.try_emplace(event.command, times.size());
    if (isNew)
      times.push_back({event.command, 0, 0});
    CommandTime &time = times[place->second];
    time.nanoseconds += static_cast<uint64_t>((event.end - event.start) * 1e9 + 0.5);
    ++time.calls;
  }
  return times;
}

} // namespace

Expected<Fence> Session::submit(Bindings &bindings) {
  GANTRY_RETURN_IF_ERROR(prepare(bindings));
  ThreadPool &pool = loaded->runtime().threadPool();
  return Fence(runLocked(bindings, [&](Program &program) {
    return program.isSimulated() ? runSimulated(program) : program.run(pool);
  }));
}

Status Session::run(Bindings &bindings) {
  Expected<Fence> fence = submit(bindings);
  return fence ? fence->wait() : fence.status();
}

Expected<std::vector<CommandTime>> Session::runTimed(Bindings &bindings) {
  GANTRY_RETURN_IF_ERROR(prepare(bindings));
  ThreadPool &pool = loaded->runtime().threadPool();
  std::vector<CommandTime> times;
  GANTRY_RETURN_IF_ERROR(runLocked(bindings, [&](Program &program) {
    if (!program.isSimulated())
      return program.runTimed(pool, times);
    Status status = runSimulated(program);
    times = sumTimes(lastTimeline);
    return status;
  }));
  return times;
}

} // namespace gantry::runtime
