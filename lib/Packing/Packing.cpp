// The front door: is the problem sound, which planner, and the check of its result.
#include "gantry/Packing/Packing.h"

#include "Planners.h"

#include <algorithm>

namespace gantry::packing {

uint64_t lowerBound(const Problem &problem) { return Instance(problem).lowerBound; }

namespace {
/// Fixed buffers are the caller's choice, so their overlap is the caller's error. Buffers keep
/// their numbers; those of no fixed place take no room here.
Status checkFixed(const Problem &problem) {
  auto isFixed = [](const Buffer &buffer) { return buffer.fixedOffset.has_value(); };
  if (std::none_of(problem.buffers.begin(), problem.buffers.end(), isFixed))
    return {};
  Problem fixed = problem;
  Solution solution;
  for (Buffer &buffer : fixed.buffers) {
    if (!buffer.fixedOffset)
      buffer.size = 0;
    solution.offsets.push_back(buffer.fixedOffset.value_or(0));
    solution.peak = std::max(solution.peak, solution.offsets.back() + buffer.size);
  }
  Status status = validate(fixed, solution);
  if (!status.ok())
    return Status::invalidArgument("among the buffers of fixed offset, " + status.message());
  return {};
}

/// Offsets per buffer of those per box.
Solution solutionOf(const Problem &problem, const Instance &instance, const Layout &layout) {
  Solution solution;
  solution.offsets.reserve(problem.buffers.size());
  for (const Buffer &buffer : problem.buffers)
    solution.offsets.push_back(buffer.fixedOffset.value_or(0));
  for (size_t i = 0; i < layout.offsets.size(); ++i)
    solution.offsets[instance.boxes[i].buffer] = layout.offsets[i];
  solution.peak = layout.peak;
  solution.lowerBound = instance.lowerBound;
  return solution;
}
} // namespace

Expected<Solution> pack(const Problem &problem, const Options &options) {
  GANTRY_RETURN_IF_ERROR(checkProblem(problem));
  GANTRY_RETURN_IF_ERROR(checkFixed(problem));
  const Instance instance(problem);
  Layout layout{{}, 0};
  if (!instance.boxes.empty()) {
    Expected<Layout> planned = options.planner == Planner::portfolio
                                   ? searchPortfolio(instance, options)
                                   : planAlone(instance, options);
    if (!planned)
      return planned.status();
    layout = planned.take();
  }
  Solution solution = solutionOf(problem, instance, layout);
  GANTRY_RETURN_IF_ERROR(validate(problem, solution));
  return solution;
}

} // namespace gantry::packing
