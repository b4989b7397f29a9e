#include "gantry/Queues/Predict.h"

#include "Simulation.h"

namespace gantry::queues {

Times predict(const std::vector<Task> &tasks) {
  Times times;
  std::vector<double> free(countQueues(tasks));
  for (size_t i = 0; i < tasks.size();) {
    size_t next = i + 1;
    while (tasks[i].exchange && next < tasks.size() && tasks[next].exchange == tasks[i].exchange)
      ++next;
    double start = 0;
    for (size_t member = i; member < next; ++member) {
      start = std::max(start, free[tasks[member].queue]);
      for (uint32_t before : tasks[member].after)
        start = std::max(start, times.end[before]);
    }
    for (; i < next; ++i) {
      times.start.push_back(start);
      times.end.push_back(free[tasks[i].queue] = start + tasks[i].seconds);
    }
  }
  return times;
}

std::vector<uint32_t> orderByStart(const std::vector<Task> &tasks,
                                   const std::vector<bool> &reordered) {
  return Simulation(tasks, reordered, {}).run().order;
}

} // namespace gantry::queues
