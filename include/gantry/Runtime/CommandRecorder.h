// Takes the time of commands by the steady clock, for executors whose devices have real clocks.
#pragma once

#include "gantry/Runtime/Executor.h"
#include "gantry/Runtime/Program.h"

#include <chrono>

namespace gantry::runtime {

/// Of one run, which begins when the recorder is made.
class CommandRecorder {
public:
  /// Both must outlive the recorder.
  CommandRecorder(const Program &program, std::vector<CommandEvent> &events)
      : program(program), events(events) {}

  /// Seconds since the run began.
  double now() const;
  /// A launch, copy or fill that began at `start` and is over.
  void add(const Step &step, double start);

private:
  const Program &program;
  std::vector<CommandEvent> &events;
  const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};

} // namespace gantry::runtime
