// Runs programs that have simulated devices, a SimRun for each run.
#pragma once

#include "SimDriver.h"
#include "gantry/Runtime/Executor.h"

#include <vector>

namespace gantry::runtime {

class SimExecutor final : public Executor {
public:
  /// All three must outlive the executor.
  SimExecutor(const Program &program, SimDriver &machine, ThreadPool &pool)
      : program(program), machine(machine), pool(pool) {}

  Status run(CommandOrder order) override;
  /// Times of the virtual clock.
  Status runTimed(CommandOrder order, std::vector<CommandEvent> &events) override;
  std::span<const CommandEvent> timeline() const override { return lastTimeline; }

private:
  const Program &program;
  SimDriver &machine;
  ThreadPool &pool;
  std::vector<CommandEvent> lastTimeline;
};

} // namespace gantry::runtime
