#include "gantry/Queues/Coalesce.h"

#include "Simulation.h"

namespace gantry::queues {

Transfers coalesce(const std::vector<Task> &tasks, const std::vector<bool> &reordered,
                   const std::vector<Message> &messages) {
  return Simulation(tasks, reordered, messages).run();
}

} // namespace gantry::queues
