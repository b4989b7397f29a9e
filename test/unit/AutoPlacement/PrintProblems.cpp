// Prints random problems of automatic placement with what the search makes of them, a line of JSON
// each, for test/e2e/placement_oracle_test.py, which knows the optimum of small ones.
//
//   PrintPlacementProblems COUNT SEED LEAST_TASKS MOST_TASKS
#include "Exact.h"
#include "Problems.h"

#include <cstdio>
#include <cstdlib>

namespace {
using namespace gantry::placement;

void print(const char *name, const std::vector<uint32_t> &numbers) {
  std::printf("\"%s\": [", name);
  for (size_t i = 0; i < numbers.size(); ++i)
    std::printf("%s%u", i ? ", " : "", numbers[i]);
  std::printf("]");
}

void print(const AutoProblem &problem) {
  std::printf("{\"limits\": [");
  for (size_t d = 0; d < problem.limits.size(); ++d)
    std::printf("%s%llu", d ? ", " : "", (unsigned long long)problem.limits[d]);
  const AutoLink &link = problem.link(0, 1);
  std::printf("], \"latency\": %.17g, \"per_byte\": %.17g, \"values\": [", link.latency,
              link.secondsPerByte);
  for (size_t v = 0; v < problem.values.size(); ++v) {
    const AutoValue &value = problem.values[v];
    std::printf("%s{\"bytes\": %llu, \"home\": %d, \"constant\": %s}", v ? ", " : "",
                (unsigned long long)value.bytes, int(value.home),
                value.isConstant ? "true" : "false");
  }
  std::printf("], \"tasks\": [");
  for (size_t t = 0; t < problem.tasks.size(); ++t) {
    const AutoTask &task = problem.tasks[t];
    std::printf("%s{", t ? ", " : "");
    print("inputs", task.inputs);
    std::printf(", ");
    print("outputs", task.outputs);
    std::printf(", \"group\": %d, \"seconds\": [", int(task.group));
    for (size_t d = 0; d < task.seconds.size(); ++d)
      std::printf("%s%.17g", d ? ", " : "", task.seconds[d] == notAllowed ? -1 : task.seconds[d]);
    std::printf("]}");
  }
  std::printf("], \"ends\": [");
  for (size_t i = 0; i < problem.ends.size(); ++i)
    std::printf("%s[%u, %u]", i ? ", " : "", problem.ends[i].value, problem.ends[i].device);
  std::printf("]");
}

void printOne(std::mt19937 &random, uint32_t least, uint32_t most) {
  auto draw = [&](uint32_t from, uint32_t to) {
    return std::uniform_int_distribution<uint32_t>(from, to)(random);
  };
  RandomShape shape;
  shape.devices = draw(2, 4);
  shape.tasks = draw(least, most);
  shape.tight = draw(0, 3) != 0;
  shape.roomForValues = true;
  AutoProblem problem = randomProblem(random, shape);
  auto found = searchPlacement(problem);
  print(problem);
  if (found.ok()) {
    std::printf(", \"fits\": %s, \"seconds\": %.17g, \"bound\": %.17g, ",
                found->fits ? "true" : "false", found->schedule.seconds, found->lowerBound);
    print("devices", found->placement.devices);
    std::printf(", ");
    print("order", found->placement.order);
    if (found->fits) {
      Exact exact(problem, found->schedule.seconds);
      const double seconds = exact.run(4'000'000);
      std::printf(", \"exact\": %.17g, \"complete\": %s", seconds,
                  exact.isComplete ? "true" : "false");
    }
  }
  std::printf("}\n");
}
} // namespace

int main(int argc, char **argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: PrintPlacementProblems COUNT SEED LEAST_TASKS MOST_TASKS\n");
    return 2;
  }
  std::mt19937 random(static_cast<uint32_t>(std::atoi(argv[2])));
  for (int i = std::atoi(argv[1]); i > 0; --i)
    printOne(random, static_cast<uint32_t>(std::atoi(argv[3])),
             static_cast<uint32_t>(std::atoi(argv[4])));
  return 0;
}
