// When commands run that are spread over queues, by how long each takes and what it comes after.
// Knows nothing of graphs; std only.
#pragma once

#include <cstdint>
#include <vector>

namespace gantry::queues {

struct Task {
  uint32_t queue = 0;
  double seconds = 0;          ///< more than 0
  std::vector<uint32_t> after; ///< tasks before this one that must be done
  uint32_t exchange = 0;       ///< tasks side by side with the same number, but 0, begin together
};

/// By task, in seconds from the beginning.
struct Times {
  std::vector<double> start, end;
};

/// Each queue runs its tasks in the order in which they are given, each as soon as what it comes
/// after is done.
Times predict(const std::vector<Task> &tasks);

/// An order of the tasks by start, in which the queues of `reordered` (by queue) run what is ready
/// first instead of what is given first, so that a copy does not stand behind one whose value is
/// not there yet. What starts at the same time stays in the order given. Exchanges are not asked
/// for here: the caller keeps them where they are. O(n log n).
std::vector<uint32_t> orderByStart(const std::vector<Task> &tasks,
                                   const std::vector<bool> &reordered);

} // namespace gantry::queues
