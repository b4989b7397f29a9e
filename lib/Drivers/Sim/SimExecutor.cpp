#include "SimExecutor.h"

#include "SimRun.h"

#include <unordered_map>

namespace gantry::runtime {

Status SimExecutor::run(CommandOrder order) {
  lastTimeline.clear();
  Status status = SimRun(program, machine, pool, order, lastTimeline).run();
  machine.close();
  return status;
}

Status SimExecutor::runTimed(CommandOrder order, std::vector<CommandTime> &times) {
  Status status = run(order);
  std::unordered_map<const plan::fb::Command *, size_t> places;
  for (const CommandEvent &event : lastTimeline) {
    auto [place, isNew] = places.try_emplace(event.command, times.size());
    if (isNew)
      times.push_back({event.command, 0, 0});
    CommandTime &time = times[place->second];
    time.nanoseconds += static_cast<uint64_t>((event.end - event.start) * 1e9 + 0.5);
    ++time.calls;
  }
  return status;
}

} // namespace gantry::runtime
