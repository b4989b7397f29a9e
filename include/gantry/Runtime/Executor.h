// What runs a program on the devices of its plan: inline, by queues, or on a virtual clock.
//
// Each session has an executor for each function of its plan, and lets one run at a time into it.
#pragma once

#include "gantry/Support/Status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace gantry::plan::fb {
struct Command;
} // namespace gantry::plan::fb

namespace gantry::runtime {

class Device;
class Program;
class ThreadPool;

/// Which of the commands that may start next does, where the executor has a choice. Every order
/// gives the same bytes, or the plan lacks a wait, which the executor says.
struct CommandOrder {
  bool isRandom = false;
  uint64_t seed = 0;

  /// The one that can start first on the virtual clock.
  static CommandOrder virtualTime() { return {}; }
  /// Any of them, drawn from the seed.
  static CommandOrder random(uint64_t seed) { return {true, seed}; }
  /// Reads "virtual" or "random:SEED". INVALID_ARGUMENT.
  static Expected<CommandOrder> parse(std::string_view text);
};

/// A launch, copy or fill of a run; times in seconds since its beginning, on the virtual clock of
/// simulated devices, else on the steady clock.
struct CommandEvent {
  const plan::fb::Command *command = nullptr;
  Device *device = nullptr; ///< of the command
  uint32_t queue = 0;
  double start = 0;
  double end = 0;
};

/// Time of a command in a timed run, summed over the passes of a loop.
struct CommandTime {
  const plan::fb::Command *command = nullptr;
  uint64_t nanoseconds = 0;
  uint64_t calls = 0;
};

/// An output that goes from the memory of its device to the caller's when the commands are over.
struct OutputCopy {
  Device *device = nullptr;
  void *destination = nullptr; ///< on the host
  const void *source = nullptr;
  uint64_t bytes = 0;
};

/// Is told how a run ended.
class RunCompletion {
public:
  /// From any thread, perhaps before start has returned. May not call a driver.
  virtual void runFinished(Status status) = 0;

protected:
  ~RunCompletion() = default;
};

class Executor {
public:
  virtual ~Executor() = default;

  /// One run to its end. An error names the command.
  virtual Status run(CommandOrder order) = 0;

  /// The same with a clock around each command, which is waited for where its time is real;
  /// `events` gets what ran, in the order in which it began. Commands in loops come once per pass.
  virtual Status runTimed(CommandOrder order, std::vector<CommandEvent> &events) = 0;

  /// Whether start is worth calling: whether it returns before the run is over.
  virtual bool runsLater() const { return false; }

  /// Starts a run, and the copies of its outputs behind it.
  virtual void start(CommandOrder order, std::span<const OutputCopy> outputs,
                     RunCompletion &completion) {
    (void)outputs;
    completion.runFinished(run(order));
  }

  /// Whether runs can be ordered with a stream of the caller's (Bindings::setStream).
  virtual bool followsStreams() const { return false; }

  /// What the last run did on the virtual clock; empty without one. Commands in loops come once per
  /// pass.
  virtual std::span<const CommandEvent> timeline() const { return {}; }
};

/// The executor that the drivers of the program's devices ask for, else one of the runtime's own.
std::unique_ptr<Executor> createExecutor(Program &program, ThreadPool &pool);

} // namespace gantry::runtime
