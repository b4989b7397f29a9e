// Which small copies go as one transfer (spec X5).
//
// A copy takes its link's latency and then its bytes' time. Copies of one queue over one link that
// could start at the same time pay the latency once when they go together, and the values that
// would have come first wait for the bytes of the others. So that none waits longer than another
// gains, a transfer holds no more than what its link moves in one latency. Knows nothing of graphs;
// std only.
#pragma once

#include "gantry/Queues/Predict.h"

namespace gantry::queues {

/// What a task copies; a default-made one goes alone, and what does not copy has that too.
struct Message {
  uint32_t link = 0;  ///< any number that tells apart where it goes from and to
  double latency = 0; ///< seconds of the task that do not depend on its bytes
};

struct Transfers {
  std::vector<uint32_t> order; ///< tasks by start; members of a transfer follow each other
  std::vector<uint32_t>
      firsts; ///< by task, the first one of its transfer; itself where it goes alone
};

/// The order of orderByStart (gantry/Queues/Predict.h) in which small copies go together: what is
/// saved brings forward all that comes behind, so what is ready first depends on it. `messages` is
/// by task. All that a transfer comes after is predicted to be done when it starts. O(n log n).
Transfers coalesce(const std::vector<Task> &tasks, const std::vector<bool> &reordered,
                   const std::vector<Message> &messages);

} // namespace gantry::queues
