// One execution context of a plan: its transient memory and its functions, ready to run.
#pragma once

#include "gantry/Runtime/Bindings.h"
#include "gantry/Runtime/Executor.h"
#include "gantry/Runtime/Fence.h"
#include "gantry/Runtime/LoadedPlan.h"
#include "gantry/Runtime/RunLock.h"
#include "gantry/Runtime/State.h"

#include <memory>
#include <vector>

namespace gantry::runtime {

class Program;
struct RunLocks;

/// Thread-safe: runs of one session wait for one another, runs of different sessions do not (but
/// for functions that write the variables of a shared state). For concurrent runs, make more
/// sessions.
class Session : public std::enable_shared_from_this<Session> {
public:
  /// Takes the plan's transient memory on every device. Without a state, one is made for plans with
  /// variables. DOES_NOT_FIT says how much memory is missing.
  static Expected<std::shared_ptr<Session>> create(std::shared_ptr<const LoadedPlan> plan,
                                                   std::shared_ptr<State> state = nullptr);
  ~Session();

  /// Starts a run of the bindings' function. INVALID_ARGUMENT when the bindings are of another plan
  /// or not complete; what fails later is told by the fence: FAILED_PRECONDITION when a run of
  /// another session with these bindings goes on. Where all devices do their work at once, so does
  /// submit; else the session and the bindings must have come from their create.
  Expected<Fence> submit(Bindings &bindings);

  /// submit and wait. Where all devices run inline, nothing is allocated after the first run with
  /// some bindings.
  Status run(Bindings &bindings);

  /// run with a clock around each command: some nanoseconds slower per command. Of a simulated plan
  /// the times are those of the virtual clock.
  Expected<std::vector<CommandTime>> runTimed(Bindings &bindings);

  /// The same, and when each command began and ended. In the order in which they began; commands in
  /// loops come once per pass.
  Expected<std::vector<CommandEvent>> runTraced(Bindings &bindings);

  /// In what order later runs on a virtual clock go; without it, RuntimeOptions::commandOrder.
  void setCommandOrder(CommandOrder order);

  /// What the last run did on the virtual clock; empty when no device is simulated. Commands in
  /// loops come once per pass.
  std::vector<CommandEvent> timeline() const;

  const LoadedPlan &plan() const { return *loaded; }
  const std::shared_ptr<const LoadedPlan> &sharedPlan() const { return loaded; }
  const std::shared_ptr<State> &state() const { return sharedState; }

private:
  explicit Session(std::shared_ptr<const LoadedPlan> plan);
  Status allocateTransient();
  Status prepare(Bindings &bindings);
  RunLocks lockFor(const Bindings &bindings);
  Status begin(Bindings &bindings);
  template <typename Run>
  Status runLocked(Bindings &bindings, Run run);
  Expected<std::shared_ptr<PendingRun>> start(Bindings &bindings);

  std::shared_ptr<const LoadedPlan> loaded; // first: arenas need its devices when they go
  std::shared_ptr<State> sharedState;
  std::vector<Allocation> arenas; // by arena; empty for other kinds than transient
  struct Function {
    std::unique_ptr<Program> program;
    std::unique_ptr<Executor> executor;
  };
  std::vector<Function> functions; // by function of the plan
  CommandOrder order;
  const Executor *lastExecutor = nullptr;
  mutable RunLock mutex; // held by a run until it is over, which may be on another thread
};

} // namespace gantry::runtime
