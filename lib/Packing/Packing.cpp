// The front door: which planner, and the check of its result.
#include "gantry/Packing/Packing.h"

#include "Granularity.h"

#include <algorithm>

namespace gantry::packing {

uint64_t lowerBound(const Problem &problem) {
  uint64_t granule = granuleOf(problem);
  struct Change {
    uint32_t time;
    bool begins;
    uint64_t bytes;
  };
  std::vector<Change> changes;
  for (const Buffer &buffer : problem.buffers) {
    if (buffer.first == buffer.last)
      continue;
    uint64_t bytes = roundUp(buffer.size, granule);
    changes.push_back({buffer.first, true, bytes});
    changes.push_back({buffer.last, false, bytes});
  }
  std::sort(changes.begin(), changes.end(), [](const Change &a, const Change &b) {
    return std::pair(a.time, a.begins) < std::pair(b.time, b.begins);
  });
  uint64_t load = 0, most = 0;
  for (const Change &change : changes) {
    load = change.begins ? load + change.bytes : load - change.bytes;
    most = std::max(most, load);
  }
  return most;
}

namespace {
/// Fixed buffers are the caller's choice, so their overlap is the caller's error.
Status checkFixed(const Problem &problem) {
  Problem fixed;
  Solution solution;
  for (const Buffer &buffer : problem.buffers) {
    if (!buffer.fixedOffset)
      continue;
    fixed.buffers.push_back(buffer);
    solution.offsets.push_back(*buffer.fixedOffset);
    solution.peak = std::max(solution.peak, *buffer.fixedOffset + buffer.size);
  }
  Status status = validate(fixed, solution);
  if (!status.ok())
    return Status::invalidArgument("among the buffers of fixed offset, " + status.message());
  return {};
}
} // namespace

Expected<Solution> pack(const Problem &problem, const Options &options) {
  GANTRY_RETURN_IF_ERROR(checkProblem(problem));
  GANTRY_RETURN_IF_ERROR(checkFixed(problem));
  bool anyFixed = std::any_of(problem.buffers.begin(), problem.buffers.end(),
                              [](const Buffer &buffer) { return buffer.fixedOffset.has_value(); });
  Solution solution = anyFixed ? packBestFit(problem) : packSkyline(problem, options);
  GANTRY_RETURN_IF_ERROR(validate(problem, solution));
  return solution;
}

} // namespace gantry::packing
