// Which tasks there are, as --tasks says: of a job so many.
#pragma once

#include "gantry/Device/Topology.h"

namespace gantry {

/// A job and how many tasks it has.
struct JobSize {
  std::string job;
  uint32_t tasks = 0;
};

/// Reads "worker=4,ps=1". Errors: INVALID_ARGUMENT, with what is not like that in quotes.
Expected<std::vector<JobSize>> parseJobSizes(std::string_view text);

/// Of each job the first so many tasks in the order of their names, with their devices, links and
/// hosts; other jobs are left out. INVALID_ARGUMENT where a job has fewer.
Expected<Topology> firstTasks(const Topology &topology, std::span<const JobSize> jobs);

} // namespace gantry
