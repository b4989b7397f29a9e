// The judge of jobs, judged by a small simulation: queues do their steps in order, and an exchange
// happens when all of its members are at the heads of their queues.
#include "gantry/Judge/Job.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace gantry::judge;
using Kind = Step::Kind;

namespace {

Step command(uint32_t queue) { return {Kind::command, queue, 0, {}}; }
Step signal(uint32_t queue, uint32_t semaphore) { return {Kind::signal, queue, semaphore, {}}; }
Step wait(uint32_t queue, uint32_t semaphore) { return {Kind::wait, queue, semaphore, {}}; }
Step exchange(uint32_t queue, uint32_t number) { return {Kind::exchange, queue, 0, {}, number}; }
Step nested(Kind kind, uint32_t number = 0) { return {kind, 0, 0, {}, number}; }

/// Who waits for whom, in words.
std::string told(const Job &job) {
  std::optional<Stuck> stuck = findStuck(job);
  if (!stuck)
    return "";
  return tell(
      *stuck, [](uint32_t task) { return "task:" + std::to_string(task); },
      [](Stuck::Place place) { return "step " + std::to_string(place.second); });
}

TEST(Job, FindsNothingInNothing) {
  EXPECT_EQ(told({}), "");
  EXPECT_EQ(told({{{}, {}}, {}}), "");
}

TEST(Job, TellsACircleOfTasks) {
  std::vector<Step> one{exchange(0, 0), exchange(0, 1)}, other{exchange(0, 1), exchange(0, 0)};
  EXPECT_EQ(told({{{{}, one}, {{}, one}}, {2, 2}}), "");
  EXPECT_EQ(told({{{{}, one}, {{}, other}}, {2, 2}}),
            "task:0 waits at step 0 for task:1, which waits at step 0 for task:0");
  // On queues of their own they may come in any order.
  other = {exchange(0, 1), exchange(1, 0)};
  EXPECT_EQ(told({{{{}, one}, {{}, other}}, {2, 2}}), "");
}

TEST(Job, TellsACircleOfThree) {
  auto task = [](uint32_t first, uint32_t second) {
    return QueueProgram{{}, {command(0), exchange(0, first), exchange(0, second)}};
  };
  EXPECT_EQ(told({{task(0, 2), task(1, 0), task(2, 1)}, {2, 2, 2}}),
            "task:0 waits at step 1 for task:1, which waits at step 1 for task:2, which waits at "
            "step 1 for task:0");
}

TEST(Job, FollowsSignals) {
  // In task 0 the second exchange waits for the first, by a signal; in task 1 the other way round.
  QueueProgram first{{}, {exchange(0, 0), signal(0, 0), wait(1, 0), exchange(1, 1)}};
  QueueProgram second{{}, {exchange(1, 1), signal(1, 0), wait(0, 0), exchange(0, 0)}};
  EXPECT_EQ(told({{first, first}, {2, 2}}), "");
  EXPECT_EQ(told({{first, second}, {2, 2}}),
            "task:0 waits at step 0 for task:1, which waits at step 0 for task:0");
  // A signal behind its own wait.
  QueueProgram late{{}, {wait(0, 0), signal(0, 0)}};
  EXPECT_NE(told({{late}, {}}), "");
}

TEST(Job, MissesMembers) {
  QueueProgram whole{{}, {exchange(0, 0)}}, none;
  EXPECT_EQ(told({{whole, none}, {2}}), "task:0 waits at step 0 for what never comes");
  EXPECT_EQ(told({{whole, whole}, {3}}), "task:0 waits at step 0 for what never comes");
  EXPECT_EQ(told({{whole, whole}, {}}), "task:0 waits at step 0 for what never comes");
  QueueProgram twice{{}, {exchange(0, 0), exchange(0, 0)}};
  EXPECT_NE(told({{twice, whole}, {2}}), "");
  // One in a branch and one beside it.
  QueueProgram inside{
      {}, {nested(Kind::branch), exchange(0, 0), nested(Kind::otherwise), nested(Kind::end)}};
  EXPECT_EQ(told({{whole, inside}, {2}}), "task:0 waits at step 0 for what never comes");
  EXPECT_EQ(told({{inside, inside}, {2}}), "");
}

TEST(Job, TakesTwinsTogether) {
  auto loop = [](bool isBehind) {
    std::vector<Step> steps{nested(Kind::loop, 7), exchange(0, 0), nested(Kind::body),
                            exchange(0, 1), nested(Kind::end)};
    steps.insert(isBehind ? steps.begin() : steps.end(), exchange(1, 2));
    return QueueProgram{{}, steps};
  };
  EXPECT_EQ(told({{loop(true), loop(true)}, {2, 2, 2}}), "");
  EXPECT_EQ(told({{loop(false), loop(false)}, {2, 2, 2}}), "");
  EXPECT_EQ(told({{loop(true), loop(false)}, {2, 2, 2}}),
            "task:0 waits at step 0 for task:1, which waits at step 0 for task:0");
}

// ---- random jobs ----

/// One list of steps of each task, run as a job: twins together, all queues joined around them.
class Simulation {
public:
  explicit Simulation(const Job &job) : job(job) {
    for (const QueueProgram &program : job.tasks)
      whole.push_back(program.steps);
  }
  bool hangs() { return !run(whole); }

private:
  const Job &job;
  using Lists = std::vector<std::vector<Step>>; ///< by task
  Lists whole;

  struct Task {
    std::vector<Step> steps;
    std::vector<char> done;
    std::set<uint32_t> signalled;
  };

  static size_t endOf(const std::vector<Step> &steps, size_t begin, size_t &middle) {
    size_t depth = 0;
    for (size_t i = begin + 1;; ++i) {
      if (steps[i].kind == Kind::branch || steps[i].kind == Kind::loop)
        ++depth;
      else if (depth == 0 && (steps[i].kind == Kind::otherwise || steps[i].kind == Kind::body))
        middle = i;
      else if (steps[i].kind == Kind::end && depth-- == 0)
        return i;
    }
  }

  /// Whether a step of the task can go on, by what is done of it.
  static bool isFree(const Task &task, size_t index) {
    const Step &step = task.steps[index];
    const bool joins = step.kind == Kind::branch;
    for (size_t i = 0; i < index; ++i)
      if (!task.done[i] &&
          (joins || task.steps[i].kind == Kind::branch || task.steps[i].queue == step.queue))
        return false;
    if (step.kind != Kind::wait)
      return true;
    const bool isHere = std::ranges::any_of(task.steps, [&](const Step &other) {
      return other.kind == Kind::signal && other.semaphore == step.semaphore;
    });
    return !isHere || task.signalled.contains(step.semaphore);
  }

  /// Whether all of the lists can be done, and all that is inside.
  bool run(const Lists &lists) {
    std::vector<Task> tasks(lists.size());
    std::map<uint32_t, std::pair<Lists, Lists>> inner; // by number
    for (size_t t = 0; t < lists.size(); ++t) {
      for (size_t i = 0; i < lists[t].size(); ++i) {
        const Step &step = lists[t][i];
        tasks[t].steps.push_back(step);
        if (step.kind != Kind::branch)
          continue;
        size_t middle = 0;
        const size_t end = endOf(lists[t], i, middle);
        auto &[first, second] = inner[step.number];
        first.resize(lists.size()), second.resize(lists.size());
        auto at = [&](size_t index) { return lists[t].begin() + static_cast<ptrdiff_t>(index); };
        first[t].assign(at(i + 1), at(middle));
        second[t].assign(at(middle + 1), at(end));
        i = end;
      }
      tasks[t].done.resize(tasks[t].steps.size());
    }
    while (goOn(tasks)) {
    }
    for (const Task &task : tasks)
      if (std::ranges::count(task.done, 0) != 0)
        return false;
    return std::ranges::all_of(inner, [&](const auto &lists) {
      return run(lists.second.first) && run(lists.second.second);
    });
  }

  /// Does all that can be done at once; false when that is nothing.
  bool goOn(std::vector<Task> &tasks) {
    bool went = false;
    std::map<std::pair<Kind, uint32_t>, std::vector<std::pair<size_t, size_t>>> come, known;
    for (size_t t = 0; t < tasks.size(); ++t)
      for (size_t i = 0; i < tasks[t].steps.size(); ++i) {
        const Step &step = tasks[t].steps[i];
        const bool isShared = step.kind == Kind::exchange || step.kind == Kind::branch;
        if (isShared)
          known[{step.kind, step.number}].emplace_back(t, i);
        if (tasks[t].done[i] || !isFree(tasks[t], i))
          continue;
        if (isShared) {
          come[{step.kind, step.number}].emplace_back(t, i);
          continue;
        }
        tasks[t].done[i] = 1;
        if (step.kind == Kind::signal)
          tasks[t].signalled.insert(step.semaphore);
        went = true;
      }
    for (const auto &[name, places] : come) {
      const size_t wanted =
          name.first == Kind::branch ? known[name].size() : job.members[name.second];
      if (places.size() != wanted || places.size() != known[name].size())
        continue;
      for (const auto &[t, i] : places)
        tasks[t].done[i] = 1;
      went = true;
    }
    return went;
  }
};

using Random = std::mt19937;

/// A list of the job in the plan's order, members side by side; each step goes to its task's list.
void addSteps(Job &job, Random &random, unsigned depth, std::vector<uint32_t> tasks,
              uint32_t &branches, uint32_t &semaphores) {
  std::vector<std::vector<uint32_t>> set(job.tasks.size()); // semaphores of this list
  for (unsigned n = random() % (depth == 0 ? 12 : 5); n > 0; --n) {
    const uint32_t task = tasks[random() % tasks.size()], queue = random() % 4;
    std::vector<Step> &steps = job.tasks[task].steps;
    switch (random() % 5) {
    case 0:
      steps.push_back(command(queue));
      break;
    case 1:
      steps.push_back(signal(queue, semaphores));
      set[task].push_back(semaphores++);
      break;
    case 2:
      if (!set[task].empty())
        steps.push_back(wait(queue, set[task][random() % set[task].size()]));
      break;
    case 3: {
      std::ranges::shuffle(tasks, random);
      if (tasks.size() < 2)
        break;
      const size_t count = 2 + random() % (tasks.size() - 1);
      for (size_t m = 0; m < count; ++m)
        job.tasks[tasks[m]].steps.push_back(
            exchange(random() % 4, static_cast<uint32_t>(job.members.size())));
      job.members.push_back(static_cast<uint32_t>(count));
      break;
    }
    default: {
      if (depth == 2)
        break;
      std::ranges::shuffle(tasks, random);
      const std::vector<uint32_t> inside(tasks.begin(),
                                         tasks.begin() + 1 + random() % tasks.size());
      const uint32_t number = branches++;
      for (uint32_t t : inside)
        job.tasks[t].steps.push_back(nested(Kind::branch, number));
      addSteps(job, random, depth + 1, inside, branches, semaphores);
      for (uint32_t t : inside)
        job.tasks[t].steps.push_back(nested(Kind::otherwise, number));
      addSteps(job, random, depth + 1, inside, branches, semaphores);
      for (uint32_t t : inside)
        job.tasks[t].steps.push_back(nested(Kind::end, number));
    }
    }
  }
}

Job randomJob(Random &random) {
  Job job;
  job.tasks.resize(1 + random() % 4);
  std::vector<uint32_t> tasks(job.tasks.size());
  for (uint32_t t = 0; t < tasks.size(); ++t)
    tasks[t] = t;
  uint32_t branches = 0, semaphores = 0;
  addSteps(job, random, 0, tasks, branches, semaphores);
  return job;
}

bool isPlain(const Step &step) { return step.kind <= Kind::wait || step.kind == Kind::exchange; }

/// Swaps two steps, or takes one away, or doubles one, or puts one on another queue.
void damage(Job &job, Random &random) {
  std::vector<Step> &steps = job.tasks[random() % job.tasks.size()].steps;
  if (steps.empty())
    return;
  const size_t a = random() % steps.size(), b = random() % steps.size();
  if (!isPlain(steps[a]) || !isPlain(steps[b]))
    return;
  auto at = steps.begin() + static_cast<ptrdiff_t>(a);
  switch (random() % 8) {
  case 0:
    steps.erase(at);
    break;
  case 1: {
    const Step copy = *at;
    steps.insert(at, copy);
    break;
  }
  case 2:
    steps[a].queue = random() % 4;
    break;
  case 3:
    if (steps[a].kind == Kind::exchange)
      steps[a].number = static_cast<uint32_t>(random() % job.members.size());
    break;
  default:
    std::swap(steps[a], steps[b]);
  }
}

/// Each waits for the next at something that both have.
void checkCircle(const Job &job, const Stuck &stuck) {
  ASSERT_FALSE(stuck.circle.empty());
  for (size_t i = 0; i < stuck.circle.size(); ++i) {
    const auto &[task, index] = stuck.circle[i];
    const Step &step = job.tasks[task].steps[index];
    const uint32_t next = stuck.circle[(i + 1) % stuck.circle.size()].first;
    if (next == task)
      continue;
    ASSERT_TRUE(std::ranges::any_of(job.tasks[next].steps, [&](const Step &other) {
      return other.kind == step.kind && other.number == step.number;
    }));
    ASSERT_TRUE(step.kind == Kind::exchange || step.kind == Kind::branch);
  }
}

TEST(Job, FindsWhatHangsAndAccusesNothingElse) {
  Random random(7);
  int sound = 0, hanging = 0, going = 0;
  for (int round = 0; round < 40'000; ++round) {
    Job job = randomJob(random);
    ASSERT_FALSE(findStuck(job)) << "round " << round;
    ++sound;
    for (int change = 0; change < 2; ++change) {
      damage(job, random);
      std::optional<Stuck> stuck = findStuck(job);
      const bool hangs = Simulation(job).hangs();
      ASSERT_EQ(stuck.has_value(), hangs) << "round " << round << ", change " << change;
      ++(hangs ? hanging : going);
      if (stuck)
        checkCircle(job, *stuck);
    }
  }
  // Enough of each to say something.
  EXPECT_EQ(sound, 40'000);
  EXPECT_GT(hanging, 5'000);
  EXPECT_GT(going, 10'000);
}

TEST(Job, GoesByStepsAlone) {
  // A thousand tasks with queues, exchanges of all and branches, in much less than a second.
  Job job;
  job.tasks.resize(1000);
  for (uint32_t n = 0; n < 100; ++n) {
    for (uint32_t t = 0; t < job.tasks.size(); ++t) {
      std::vector<Step> &steps = job.tasks[t].steps;
      steps.insert(steps.end(), {command(0), signal(0, n), wait(1, n), exchange(1, n)});
    }
    job.members.push_back(1000);
  }
  EXPECT_FALSE(findStuck(job));
  std::swap(job.tasks[999].steps[3], job.tasks[999].steps[399]);
  EXPECT_EQ(told(job), "task:0 waits at step 3 for task:999, which waits at step 3 for task:0");
}

} // namespace
