// Which moves are tried, and how one is taken back.
#include "LocalSearch.h"

#include <algorithm>
#include <random>

namespace gantry::placement {

/// Clusters of a level whose pairs are tried; levels with more are not.
static constexpr size_t kMaxSwapped = 128;

bool isBetter(const Score &a, const Score &b) {
  if (a.overflow != b.overflow)
    return a.overflow < b.overflow;
  if (a.seconds < b.seconds * (1 - kSame))
    return true;
  return a.seconds <= b.seconds * (1 + kSame) && a.copyBytes < b.copyBytes;
}

void LocalSearch::climb(std::vector<uint32_t> start) {
  devices = std::move(start);
  best = simulator.run(devices);
  bool improved = true;
  while (improved && !isSpent()) {
    improved = false;
    for (const std::vector<Cluster> &level : levels)
      improved |= moveClusters(level);
    improved |= moveBorders();
    improved |= swapClusters();
  }
}

void LocalSearch::shake(uint32_t steps) {
  std::minstd_rand random;
  uint32_t last = budget.used + steps;
  while (!levels.empty() && budget.used < last && !isSpent()) {
    std::vector<uint32_t> kept = devices;
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
      climb(devices);
    }
    if (!isBetter(best, keptScore)) {
      devices = std::move(kept);
      best = keptScore;
    }
    if (budget.used == before)
      budget.spend(1); // nothing could be moved
  }
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
      moves |= devices[place] != device;
    }
  return moves;
}

void LocalSearch::set(const Cluster &cluster, uint32_t device) {
  for (uint32_t atom : cluster)
    for (uint32_t place : graph.atoms[atom]) {
      undo.emplace_back(place, devices[place]);
      devices[place] = device;
    }
}

/// Keeps what `set` did when that is better, else takes it back.
bool LocalSearch::keepIfBetter() {
  budget.spend(graph.numTasks());
  Score score = simulator.run(devices, &best);
  bool better = isBetter(score, best);
  if (better) {
    best = score;
    ++moves;
  } else {
    for (size_t i = undo.size(); i-- > 0;)
      devices[undo[i].first] = undo[i].second;
  }
  undo.clear();
  return better;
}

bool LocalSearch::tryMove(const Cluster &cluster, uint32_t device) {
  if (isSpent() || !canMove(cluster, device))
    return false;
  set(cluster, device);
  return keepIfBetter();
}

bool LocalSearch::trySwap(const Cluster &a, const Cluster &b) {
  uint32_t from = devices[graph.atoms[a.front()].front()];
  uint32_t to = devices[graph.atoms[b.front()].front()];
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
  simulator.run(devices);
  std::vector<char> isCritical(graph.atoms.size());
  for (uint32_t place : simulator.criticalPlaces())
    isCritical[graph.atom[place]] = 1;
  return isCritical;
}

/// Moves the cut between neighbouring runs of tasks on one device, by 1, 2, 4, ... tasks.
bool LocalSearch::moveBorders() {
  bool improved = false;
  for (uint32_t cut = 1; cut < graph.numTasks() && !isSpent(); ++cut) {
    if (devices[cut - 1] == devices[cut])
      continue;
    bool moved = false;
    for (uint32_t length = 1; length <= graph.numTasks() && !moved && !isSpent(); length *= 2)
      moved = moveBorder(cut, length);
    improved |= moved;
  }
  return improved;
}

bool LocalSearch::moveBorder(uint32_t cut, uint32_t length) {
  uint32_t left = devices[cut - 1], right = devices[cut];
  return tryMove(atomsBetween(cut, std::min(cut + length, graph.numTasks()), right), left) ||
         tryMove(atomsBetween(cut - std::min(cut, length), cut, left), right);
}

/// Atoms on `device` with a first task in [begin, end).
Cluster LocalSearch::atomsBetween(uint32_t begin, uint32_t end, uint32_t device) const {
  Cluster cluster;
  for (uint32_t place = begin; place < end; ++place)
    if (devices[place] == device && graph.atoms[graph.atom[place]].front() == place)
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

uint64_t LocalSearch::constantBytes(const Cluster &cluster) const {
  uint64_t sum = 0;
  for (uint32_t atom : cluster)
    for (uint32_t place : graph.atoms[atom])
      for (uint32_t value : graph.inputs[place])
        if (graph.isConstant[value])
          sum += graph.bytes[value];
  return sum;
}

} // namespace gantry::placement
