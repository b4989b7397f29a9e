#include "gantry/Queues/Predict.h"

#include "Simulation.h"

namespace gantry::queues {

Times predict(const std::vector<Task> &tasks) {
  Times times;
  std::vector<double> free(countQueues(tasks));
  for (const Task &task : tasks) {
    double start = free[task.queue];
    for (uint32_t before : task.after)
      start = std::max(start, times.end[before]);
    times.start.push_back(start);
    times.end.push_back(free[task.queue] = start + task.seconds);
  }
  return times;
}

std::vector<uint32_t> orderByStart(const std::vector<Task> &tasks,
                                   const std::vector<bool> &reordered) {
  return Simulation(tasks, reordered, {}).run().order;
}

} // namespace gantry::queues
