// One execution context of a plan: its transient memory and its functions, ready to run.
#pragma once

#include "gantry/Runtime/Bindings.h"
#include "gantry/Runtime/LoadedPlan.h"
#include "gantry/Runtime/State.h"

#include <memory>
#include <mutex>
#include <vector>

namespace gantry::runtime {

class Program;

/// The end of a submitted run. On the host a run is over when submit returns; with other devices
/// wait() waits for them.
class Fence {
public:
  Fence() = default;
  explicit Fence(Status status) : outcome(std::move(status)) {}

  bool done() const { return true; }
  /// Waits for the run and says how it ended; may be called more than once.
  Status wait() const { return outcome; }

private:
  Status outcome;
};

/// Time of a command in a timed run, summed over the passes of a loop.
struct CommandTime {
  const plan::fb::Command *command = nullptr;
  uint64_t nanoseconds = 0;
  uint64_t calls = 0;
};

/// Thread-safe: runs of one session wait for one another, runs of different sessions do not (but
/// for functions that write the variables of a shared state). For concurrent runs, make more
/// sessions.
class Session {
public:
  /// Takes the plan's transient memory on every device. Without a state, one is made for plans with
  /// variables. DOES_NOT_FIT says how much memory is missing.
  static Expected<std::unique_ptr<Session>> create(std::shared_ptr<const LoadedPlan> plan,
                                                   std::shared_ptr<State> state = nullptr);
  ~Session();

  /// Starts a run of the bindings' function. INVALID_ARGUMENT when the bindings are of another plan
  /// or not complete; what fails later is told by the fence.
  Expected<Fence> submit(Bindings &bindings);

  /// submit and wait. After the first run with some bindings nothing is allocated.
  Status run(Bindings &bindings);

  /// run with a clock around each command: some nanoseconds slower per command. Of a simulated plan
  /// the times are those of the virtual clock.
  Expected<std::vector<CommandTime>> runTimed(Bindings &bindings);

  /// In what order later runs of a simulated plan go; without it, RuntimeOptions::simOrder.
  void setSimOrder(SimOrder order);

  /// What the last run did on the virtual clock; empty when no device is simulated. Commands in
  /// loops come once per pass.
  std::vector<SimEvent> timeline() const;

  const LoadedPlan &plan() const { return *loaded; }
  const std::shared_ptr<State> &state() const { return sharedState; }

private:
  explicit Session(std::shared_ptr<const LoadedPlan> plan);
  Status allocateTransient();
  Status prepare(Bindings &bindings);
  Status runSimulated(Program &program);
  template <typename Run>
  Status runLocked(Bindings &bindings, Run run);

  std::shared_ptr<const LoadedPlan> loaded; // first: arenas need its devices when they go
  std::shared_ptr<State> sharedState;
  std::vector<Allocation> arenas;                 // by arena; empty for other kinds than transient
  std::vector<std::unique_ptr<Program>> programs; // by function
  SimOrder simOrder;
  std::vector<SimEvent> lastTimeline;
  mutable std::mutex mutex;
};

} // namespace gantry::runtime
