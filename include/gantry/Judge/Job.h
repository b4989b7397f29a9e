// Whether the tasks of a job can wait for one another for ever.
//
// An exchange happens when all of its members have come to it, and nothing is buffered: a task that
// has come waits for the others. Each task does the steps of a queue in their order, and its queues
// wait for one another by signals and waits. If all of it can be done in some order then no run of
// it gets stuck; else there is a circle of tasks, each of which waits for the next.
//
// The twins of a branch or loop are taken to begin and end together, whoever of them comes first: a
// job that needs them not to is found as well. Shares no code with what puts the members of
// exchanges side by side or checks that they are. Std only.
#pragma once

#include "gantry/Judge/QueueProgram.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gantry::judge {

struct Job {
  std::vector<QueueProgram> tasks; ///< of their steps, what they use counts for nothing here
  std::vector<uint32_t> members;   ///< of each exchange, how many steps it takes
};

/// Who waits for whom.
struct Stuck {
  using Place = std::pair<uint32_t, uint32_t>; ///< task, and a step of it
  /// Each has come to its step, and waits there for the next one to come to the same exchange; the
  /// last waits for the first. One alone waits for a member that never comes, or steps of one task
  /// for one another.
  std::vector<Place> circle;
};

/// Nothing when all can be done. Takes O(steps). A branch is judged for both ways. A wait whose
/// signal is not in the same list counts for nothing: findFault tells whether it may rely on it.
std::optional<Stuck> findStuck(const Job &job);

/// "task:0 waits at 'a' for task:1, which waits at 'b' for task:0", with names of tasks and steps.
std::string tell(const Stuck &stuck, const std::function<std::string(uint32_t)> &taskName,
                 const std::function<std::string(Stuck::Place)> &stepName);

} // namespace gantry::judge
