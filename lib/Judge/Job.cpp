// Sorts what a job does, list by list, so that each thing comes behind what it waits for; what is
// left over holds a circle.
//
// A list of one task and those of its twins in other tasks are sorted together. What they do are
// nodes: a step, the members of an exchange as one, a branch or loop with its twins as one, whose
// inner lists are sorted by themselves. Edges lie inside of a task: what stands before in the
// queue, the signal of a wait, and around a branch or loop everything. So a node that two tasks
// have is the only way from one to the other.
#include "gantry/Judge/Job.h"

#include "Lists.h"

#include <algorithm>
#include <unordered_map>

namespace gantry::judge {

namespace {

using Kind = Step::Kind;

/// One type of map for all, which takes its code once.
using Numbers = std::unordered_map<uint64_t, uint32_t>;

uint64_t pairOf(uint32_t high, uint32_t low) { return (uint64_t(high) << 32) + low; }

/// The steps of a list: of task `task`, those from `begin` to before `end`.
struct List {
  uint32_t task = 0, begin = 0, end = 0;
};

class Sorter {
public:
  explicit Sorter(const Job &job);
  std::optional<Stuck> run();

private:
  /// `before` is done first, in `task`, where both have a step.
  struct Edge {
    uint32_t before, task;
  };
  struct Node {
    std::vector<Stuck::Place> steps; ///< one for each task that has it
    std::vector<Edge> waitsFor;
    std::vector<uint32_t> frees; ///< nodes that wait for it
    bool never = false;
  };
  /// What of a task's list the steps that come next have to wait for.
  struct Front {
    std::optional<uint32_t> join; ///< the last branch or loop
    Numbers queues;               ///< nodes behind it, the last of each queue
  };

  const Job &job;
  std::vector<Lists> lists;            ///< by task
  std::vector<std::vector<List>> open; ///< lists with their twins that are not yet sorted
  // Of the lists at hand.
  std::vector<Node> nodes;
  Numbers shared; ///< by kind and number: exchanges and twins

  void addList(const List &list);
  uint32_t nodeOf(uint32_t task, uint32_t step);
  void wait(uint32_t node, uint32_t before, uint32_t task);
  void countMembers();
  void openTwins();
  std::optional<Stuck> sort();
  Stuck findCircle(const std::vector<uint32_t> &left) const;
  Stuck::Place placeIn(const Node &node, uint32_t task) const;
};

Sorter::Sorter(const Job &job) : job(job) {
  std::vector<List> whole;
  for (uint32_t task = 0; task < job.tasks.size(); ++task) {
    lists.push_back(matchLists(job.tasks[task].steps));
    whole.push_back({task, 0, static_cast<uint32_t>(job.tasks[task].steps.size())});
  }
  open.push_back(std::move(whole));
}

std::optional<Stuck> Sorter::run() {
  for (size_t i = 0; i < open.size(); ++i) {
    nodes.clear();
    shared.clear();
    const std::vector<List> twins = std::move(open[i]);
    for (const List &list : twins)
      addList(list);
    countMembers();
    if (std::optional<Stuck> stuck = sort())
      return stuck;
    openTwins();
  }
  return std::nullopt;
}

/// The node of a step: another task's where that is the same exchange, branch or loop.
uint32_t Sorter::nodeOf(uint32_t task, uint32_t step) {
  const Step &what = job.tasks[task].steps[step];
  auto added = static_cast<uint32_t>(nodes.size());
  if (what.kind == Kind::exchange || nests(what.kind)) {
    const uint64_t name = pairOf(static_cast<uint32_t>(what.kind), what.number);
    added = shared.try_emplace(name, added).first->second;
  }
  if (added == nodes.size())
    nodes.emplace_back();
  nodes[added].steps.emplace_back(task, step);
  return added;
}

void Sorter::wait(uint32_t node, uint32_t before, uint32_t task) {
  nodes[node].waitsFor.push_back({before, task});
  nodes[before].frees.push_back(node);
}

void Sorter::addList(const List &list) {
  const auto &[task, begin, end] = list;
  const std::vector<Step> &steps = job.tasks[task].steps;
  Front front;
  Numbers signals;                                  // nodes, by semaphore
  std::vector<std::pair<uint32_t, uint32_t>> waits; // nodes and semaphores
  for (uint32_t i = begin; i < end; ++i) {
    const Step &step = steps[i];
    const uint32_t node = nodeOf(task, i);
    if (front.join)
      wait(node, *front.join, task);
    if (nests(step.kind)) {
      for (const auto &[queue, last] : front.queues)
        wait(node, last, task);
      front = {node, {}};
      i = lists[task][i].second;
      continue;
    }
    if (auto [last, isFirst] = front.queues.try_emplace(step.queue, node); !isFirst) {
      wait(node, last->second, task);
      last->second = node;
    }
    if (step.kind == Kind::signal)
      signals.emplace(step.semaphore, node);
    else if (step.kind == Kind::wait)
      waits.emplace_back(node, step.semaphore);
  }
  for (const auto &[node, semaphore] : waits)
    if (auto signal = signals.find(semaphore); signal != signals.end())
      wait(node, signal->second, task);
}

/// Who is nowhere in these lists does not come.
void Sorter::countMembers() {
  for (Node &node : nodes) {
    const auto &[task, index] = node.steps.front();
    const Step &step = job.tasks[task].steps[index];
    if (step.kind == Kind::exchange &&
        (step.number >= job.members.size() || node.steps.size() != job.members[step.number]))
      node.never = true;
  }
}

/// Both lists of the branches and loops here.
void Sorter::openTwins() {
  for (const Node &node : nodes) {
    std::vector<List> first, second;
    for (const auto &[task, step] : node.steps)
      if (nests(job.tasks[task].steps[step].kind)) {
        const auto &[middle, end] = lists[task][step];
        first.push_back({task, step + 1, middle});
        second.push_back({task, middle + 1, end});
      }
    if (first.empty())
      continue;
    open.push_back(std::move(first));
    open.push_back(std::move(second));
  }
}

std::optional<Stuck> Sorter::sort() {
  std::vector<uint32_t> left(nodes.size()), ready;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    left[i] = static_cast<uint32_t>(nodes[i].waitsFor.size()) + nodes[i].never;
    if (left[i] == 0)
      ready.push_back(i);
  }
  size_t done = 0;
  for (; done < ready.size(); ++done)
    for (const uint32_t next : nodes[ready[done]].frees)
      if (--left[next] == 0)
        ready.push_back(next);
  if (done == nodes.size())
    return std::nullopt;
  return findCircle(left);
}

Stuck::Place Sorter::placeIn(const Node &node, uint32_t task) const {
  return *std::ranges::find(node.steps, task, &Stuck::Place::first);
}

/// Goes from a node that is left over to one that it waits for, in the same task as long as there
/// is one, until a task is at a node again: so each task has come to where it is told.
Stuck Sorter::findCircle(const std::vector<uint32_t> &left) const {
  std::vector<Edge> way;
  Numbers seen; // tasks and nodes
  auto at = static_cast<uint32_t>(
      std::ranges::find_if(left, [](uint32_t count) { return count != 0; }) - left.begin());
  uint32_t task = nodes[at].steps.front().first;
  while (seen.try_emplace(pairOf(task, at), static_cast<uint32_t>(way.size())).second) {
    const Edge *next = nullptr;
    for (const Edge &edge : nodes[at].waitsFor)
      if (left[edge.before] != 0 && (!next || edge.task == task))
        next = &edge;
    if (!next || nodes[at].never)
      return {{nodes[at].steps.front()}};
    way.push_back(*next);
    task = next->task, at = next->before;
  }
  way.erase(way.begin(), way.begin() + static_cast<ptrdiff_t>(seen.at(pairOf(task, at))));
  // Of what a task waits for, the last is what it has come to, which another one waits for, too.
  Stuck stuck, inside;
  for (size_t i = 0; i < way.size(); ++i) {
    const Edge &edge = way[i], &next = way[(i + 1) % way.size()];
    const Stuck::Place place = placeIn(nodes[edge.before], edge.task);
    inside.circle.push_back(place);
    if (next.task != edge.task)
      stuck.circle.push_back(place);
  }
  std::vector<Stuck::Place> &circle = stuck.circle.empty() ? inside.circle : stuck.circle;
  std::rotate(circle.begin(), std::min_element(circle.begin(), circle.end()), circle.end());
  return {circle};
}

} // namespace

std::optional<Stuck> findStuck(const Job &job) { return Sorter(job).run(); }

std::string tell(const Stuck &stuck, const std::function<std::string(uint32_t)> &taskName,
                 const std::function<std::string(Stuck::Place)> &stepName) {
  std::string text;
  for (size_t i = 0; i < stuck.circle.size(); ++i) {
    const Stuck::Place &place = stuck.circle[i];
    text += (i == 0 ? taskName(place.first) : ", which") + " waits at " + stepName(place) + " for ";
    text += stuck.circle.size() == 1 ? "what never comes"
                                     : taskName(stuck.circle[(i + 1) % stuck.circle.size()].first);
  }
  return text;
}

} // namespace gantry::judge
