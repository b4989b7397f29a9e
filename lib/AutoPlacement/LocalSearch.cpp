// Which moves are tried, and how one is taken back.
#include "LocalSearch.h"

#include <algorithm>
#include <random>

namespace gantry::placement {

/// Clusters of a level whose pairs are tried; levels with more are not.
static constexpr size_t kMaxSwapped = 128;
/// Moves of a level that may be tried with others making room for them.
static constexpr int kMostWithRoom = 32;

bool isBetter(const Score &a, const Score &b) {
  if (a.overflow != b.overflow)
    return a.overflow < b.overflow;
  if (a.seconds < b.seconds * (1 - kSame))
    return true;
  return a.seconds <= b.seconds * (1 + kSame) && a.copyBytes < b.copyBytes;
}

void LocalSearch::climb(Assignment start) {
  now = std::move(start);
  best = simulator.run(now);
  bool improved = true;
  while (improved && !isSpent()) {
    improved = false;
    for (const std::vector<Cluster> &level : levels)
      improved |= moveClusters(level);
    improved |= moveBorders();
    improved |= swapClusters();
    improved |= swapDevices();
    improved |= keepStreamed();
    if (!improved)
      for (const std::vector<Cluster> &level : levels)
        improved |= moveWithRoom(level);
  }
}

void LocalSearch::shake(uint32_t steps) {
  std::minstd_rand random;
  uint32_t last = budget.used + steps;
  while (!levels.empty() && budget.used < last && !isSpent()) {
    Assignment kept = now;
    Score keptScore = best;
    uint32_t before = budget.used;
    const std::vector<Cluster> &level = levels[random() % levels.size()];
    for (int i = 0; i < 3; ++i) {
      const Cluster &cluster = level[random() % level.size()];
      uint32_t device = random() % graph.numDevices;
      if (canMove(cluster, device))
        set(cluster, device);
    }
    if (!undo.empty()) {
      undo.clear();
      climb(now);
    }
    if (!isBetter(best, keptScore)) {
      now = std::move(kept);
      best = keptScore;
    }
    if (budget.used == before)
      budget.spend(1); // nothing could be moved
  }
}

std::vector<Assignment> LocalSearch::madeToFit(const Assignment &decision) {
  std::vector<Assignment> fitting;
  auto add = [&](Assignment &made, const Score &score) {
    if (!score.overflow)
      fitting.push_back(std::move(made));
  };
  Assignment spilled = decision;
  add(spilled, roomMaker.spill(spilled));
  if (mayStream) {
    Assignment streamed = decision;
    Score score = roomMaker.stream(streamed);
    if (score.overflow)
      score = roomMaker.spill(streamed);
    add(streamed, score);
  }
  return fitting;
}

std::vector<Assignment> LocalSearch::withMoreStreams(const Assignment &decision) {
  std::vector<Assignment> more;
  for (double part : {0.15, 0.4, 1.0}) {
    Assignment made = decision;
    if (roomMaker.streamMore(made, part))
      more.push_back(std::move(made));
  }
  return more;
}

//===----------------------------------------------------------------------===//
// One move
//===----------------------------------------------------------------------===//

/// Whether all atoms may go there and not all are there.
bool LocalSearch::canMove(const Cluster &cluster, uint32_t device) const {
  bool moves = false;
  for (uint32_t atom : cluster)
    for (uint32_t place : graph.atoms[atom]) {
      if (!graph.isAllowed(place, device))
        return false;
      moves |= now.devices[place] != device;
    }
  return moves;
}

void LocalSearch::set(const Cluster &cluster, uint32_t device) {
  for (uint32_t atom : cluster)
    for (uint32_t place : graph.atoms[atom]) {
      undo.emplace_back(place, now.devices[place]);
      now.devices[place] = device;
    }
}

/// Keeps what `set` did when that is better, else takes it back.
bool LocalSearch::keepIfBetter() {
  budget.spend(graph.numTasks());
  Score score = simulator.run(now, &best);
  bool better = isBetter(score, best);
  if (better) {
    best = score;
    ++moves;
  } else {
    for (size_t i = undo.size(); i-- > 0;)
      now.devices[undo[i].first] = undo[i].second;
  }
  undo.clear();
  return better;
}

bool LocalSearch::takeIfBetter(Assignment other) {
  budget.spend(graph.numTasks());
  Score score = simulator.run(other, &best);
  if (!isBetter(score, best))
    return false;
  best = score;
  now = std::move(other);
  ++moves;
  return true;
}

bool LocalSearch::tryMove(const Cluster &cluster, uint32_t device) {
  if (isSpent() || !canMove(cluster, device))
    return false;
  set(cluster, device);
  return keepIfBetter();
}

/// There it may need more memory than there is: with its constants streamed, or with others moved
/// away for it.
bool LocalSearch::tryMoveWithRoom(const Cluster &cluster, uint32_t device) {
  if (isSpent() || !graph.problem.limits[device] || !canMove(cluster, device))
    return false;
  Assignment moved = now;
  for (uint32_t atom : cluster)
    for (uint32_t place : graph.atoms[atom])
      moved.devices[place] = device;
  budget.spend(graph.numTasks());
  Score score = simulator.run(moved);
  if (!simulator.overflow(device) || score.seconds >= best.seconds)
    return false; // it is not memory that keeps it away
  if (mayStream) {
    Assignment streamed = moved;
    streamed.streamed.resize(graph.numValues());
    for (uint32_t value : constantsOf(cluster))
      if (graph.home[value] != noIndex && graph.bytes[value] >= kLeastStreamed)
        streamed.streamed[value] = 1;
    if (roomMaker.settleAhead(streamed).overflow == 0 && takeIfBetter(std::move(streamed)))
      return true;
  }
  return roomMaker.spill(moved, cluster).overflow == 0 && takeIfBetter(std::move(moved));
}

bool LocalSearch::trySwap(const Cluster &a, const Cluster &b) {
  uint32_t from = now.devices[graph.atoms[a.front()].front()];
  uint32_t to = now.devices[graph.atoms[b.front()].front()];
  if (from == to || !canMove(a, to) || !canMove(b, from))
    return false;
  set(a, to);
  set(b, from);
  return keepIfBetter();
}

//===----------------------------------------------------------------------===//
// Which moves
//===----------------------------------------------------------------------===//

/// Clusters that hold a task of the critical path first: only they can make the step shorter
/// (others can make room).
bool LocalSearch::moveClusters(const std::vector<Cluster> &level) {
  std::vector<char> isCritical = criticalAtoms();
  bool improved = false;
  for (bool wanted : {true, false})
    for (const Cluster &cluster : level) {
      bool critical = std::any_of(cluster.begin(), cluster.end(),
                                  [&](uint32_t atom) { return isCritical[atom]; });
      if (critical != wanted)
        continue;
      for (uint32_t d = 0; d < graph.numDevices; ++d)
        improved |= tryMove(cluster, d);
      if (isSpent())
        return improved;
    }
  return improved;
}

std::vector<char> LocalSearch::criticalAtoms() {
  simulator.run(now);
  std::vector<char> isCritical(graph.atoms.size());
  for (uint32_t place : simulator.criticalPlaces())
    isCritical[graph.atom[place]] = 1;
  return isCritical;
}

/// Moves the cut between neighbouring runs of tasks on one device, by 1, 2, 4, ... tasks.
bool LocalSearch::moveBorders() {
  bool improved = false;
  for (uint32_t cut = 1; cut < graph.numTasks() && !isSpent(); ++cut) {
    if (now.devices[cut - 1] == now.devices[cut])
      continue;
    bool moved = false;
    for (uint32_t length = 1; length <= graph.numTasks() && !moved && !isSpent(); length *= 2)
      moved = moveBorder(cut, length);
    improved |= moved;
  }
  return improved;
}

bool LocalSearch::moveBorder(uint32_t cut, uint32_t length) {
  uint32_t left = now.devices[cut - 1], right = now.devices[cut];
  return tryMove(atomsBetween(cut, std::min(cut + length, graph.numTasks()), right), left) ||
         tryMove(atomsBetween(cut - std::min(cut, length), cut, left), right);
}

/// Atoms on `device` with a first task in [begin, end).
Cluster LocalSearch::atomsBetween(uint32_t begin, uint32_t end, uint32_t device) const {
  Cluster cluster;
  for (uint32_t place = begin; place < end; ++place)
    if (now.devices[place] == device && graph.atoms[graph.atom[place]].front() == place)
      cluster.push_back(graph.atom[place]);
  return cluster;
}

/// Where memory is tight, no cluster can move alone: exchanges it with one of another device whose
/// constants take about as much.
bool LocalSearch::swapClusters() {
  auto areAlike = [](uint64_t a, uint64_t b) { return a <= 2 * b + 4096 && b <= 2 * a + 4096; };
  bool improved = false;
  for (const std::vector<Cluster> &level : levels) {
    if (level.size() > kMaxSwapped)
      break;
    std::vector<uint64_t> weights;
    for (const Cluster &cluster : level)
      weights.push_back(constantBytes(cluster));
    for (size_t a = 0; a < level.size(); ++a)
      for (size_t b = a + 1; b < level.size() && !isSpent(); ++b)
        if (areAlike(weights[a], weights[b]))
          improved |= trySwap(level[a], level[b]);
  }
  return improved;
}

/// Devices that do not take the same time, or have other links, may do better with each other's
/// part.
bool LocalSearch::swapDevices() {
  bool improved = false;
  for (uint32_t a = 0; a < graph.numDevices; ++a)
    for (uint32_t b = a + 1; b < graph.numDevices && !isSpent(); ++b) {
      Assignment other = now;
      bool isAllowed = true;
      for (uint32_t place = 0; place < graph.numTasks(); ++place)
        if (uint32_t d = now.devices[place]; d == a || d == b) {
          other.devices[place] = a + b - d;
          isAllowed &= graph.isAllowed(place, a + b - d);
        }
      if (isAllowed && !other.ahead.empty())
        std::swap(other.ahead[a], other.ahead[b]);
      improved |= isAllowed && other.devices != now.devices && takeIfBetter(std::move(other));
    }
  return improved;
}

/// Keeps constants on their devices that need not be streamed, the largest first, and lets the
/// others come as early as they may.
bool LocalSearch::keepStreamed() {
  std::vector<uint32_t> streamed;
  for (uint32_t value : graph.constants)
    if (now.isStreamed(value))
      streamed.push_back(value);
  if (streamed.empty())
    return false;
  std::stable_sort(streamed.begin(), streamed.end(),
                   [&](uint32_t a, uint32_t b) { return graph.bytes[a] > graph.bytes[b]; });
  bool improved = false;
  for (uint32_t value : streamed) {
    if (isSpent())
      return improved;
    Assignment other = now;
    other.streamed[value] = 0;
    improved |= takeIfBetter(std::move(other));
  }
  Assignment other = now;
  roomMaker.settleAhead(other);
  return takeIfBetter(std::move(other)) || improved;
}

/// What memory keeps from where it would be faster, if it is of the critical path.
bool LocalSearch::moveWithRoom(const std::vector<Cluster> &level) {
  std::vector<char> isCritical = criticalAtoms();
  bool improved = false;
  int tries = kMostWithRoom;
  for (const Cluster &cluster : level)
    if (tries > 0 && std::any_of(cluster.begin(), cluster.end(),
                                 [&](uint32_t atom) { return isCritical[atom]; }))
      for (uint32_t d = 0; d < graph.numDevices && !isSpent(); ++d, --tries)
        improved |= tryMoveWithRoom(cluster, d);
  return improved;
}

std::vector<uint32_t> LocalSearch::constantsOf(const Cluster &cluster) const {
  std::vector<uint32_t> values;
  for (uint32_t atom : cluster)
    for (uint32_t place : graph.atoms[atom])
      for (uint32_t value : graph.inputs[place])
        if (graph.isConstant[value])
          values.push_back(value);
  return values;
}

uint64_t LocalSearch::constantBytes(const Cluster &cluster) const {
  uint64_t sum = 0;
  for (uint32_t value : constantsOf(cluster))
    sum += graph.bytes[value];
  return sum;
}

} // namespace gantry::placement
