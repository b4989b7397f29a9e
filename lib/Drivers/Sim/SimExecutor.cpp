#include "SimExecutor.h"

#include "SimRun.h"

namespace gantry::runtime {

Status SimExecutor::run(CommandOrder order) {
  lastTimeline.clear();
  Status status = SimRun(program, machine, pool, order, lastTimeline).run();
  machine.close();
  return status;
}

Status SimExecutor::runTimed(CommandOrder order, std::vector<CommandEvent> &events) {
  Status status = run(order);
  events = lastTimeline;
  return status;
}

} // namespace gantry::runtime
