// Which moves are tried, and how one is taken back.
#include "LocalSearch.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace gantry::placement {

/// Clusters of a level whose pairs are tried; levels with more are not.
static constexpr size_t kMaxSwapped = 128;
/// Tasks of a graph all of whose turns are tried; of larger ones those that are waited for.
static constexpr uint32_t kMostReordered = 40;
/// Tasks that may be tried earlier one after the other.
static constexpr int kMostEarlier = 256;
/// Rounds of shaking in a row that may bring nothing.
static constexpr int kMostVain = 50;
/// Moves of a level that may be tried with others making room for them.
static constexpr int kMostWithRoom = 32;

bool isBetter(const Score &a, const Score &b) {
  if (a.overflow != b.overflow)
    return a.overflow < b.overflow;
  if (a.seconds < b.seconds * (1 - kSame))
    return true;
  return a.seconds <= b.seconds * (1 + kSame) && a.copyBytes < b.copyBytes;
}

void LocalSearch::climb(Assignment start, const Gains &before) {
  now = std::move(start);
  best = simulator.run(now);
  gains = before;
  bool improved = true;
  auto improve = [&](Move tried, auto &&moves) {
    kind = tried;
    improved |= moves();
  };
  while (improved && !isSpent()) {
    improved = false;
    // The cheap ones first: a few tries each, where a level of clusters has many.
    improve(Move::stream, [&] { return keepStreamed(); });
    improve(Move::stream, [&] { return swapStreamed(); });
    improve(Move::border, [&] { return moveBorders(); });
    for (const std::vector<Cluster> &level : levels)
      improve(Move::cluster, [&] { return moveClusters(level); });
    improve(Move::exchange, [&] { return swapClusters(); });
    improve(Move::relabel, [&] { return swapDevices(); });
    improve(Move::reorder,
            [&] { return graph.numTasks() <= kMostReordered ? reorderAll() : moveEarlier(); });
    if (improved || !isShortOfMemory())
      continue;
    improve(Move::stream, [&] { return streamMore(); });
    improve(Move::makeRoom, [&] { return moveBordersWithRoom(); });
    for (const std::vector<Cluster> &level : levels)
      improve(Move::makeRoom, [&] { return moveWithRoom(level); });
  }
}

/// Whether a device with a limit has anything to do.
bool LocalSearch::isShortOfMemory() const {
  const std::vector<uint64_t> &limits = graph.problem.limits;
  return std::any_of(limits.begin(), limits.end(), [](uint64_t limit) { return limit != 0; });
}

void LocalSearch::shake() {
  std::minstd_rand random;
  for (int vain = 0; !levels.empty() && vain < kMostVain && !isSpent(); ++vain) {
    Assignment kept = now;
    const Score keptScore = best;
    const Gains keptGains = gains;
    const std::vector<Cluster> &level = levels[random() % levels.size()];
    for (int i = 0; i < 3; ++i) {
      const Cluster &cluster = level[random() % level.size()];
      uint32_t device = random() % graph.numDevices;
      if (canMove(cluster, device))
        set(cluster, device);
    }
    for (int i = 0; i < 2; ++i) {
      number();
      const uint32_t place = random() % graph.numTasks();
      const auto [first, last] = turnsOf(place);
      takeTurn(now.order, turn[place], first + random() % (last - first + 1));
    }
    undo.clear();
    climb(now);
    // What the moves in between won is nothing by itself: they mend what was shaken.
    gains = keptGains;
    if (isBetter(best, keptScore)) {
      gains.add(Move::shake, keptScore, best);
      vain = 0;
    } else {
      now = std::move(kept);
      best = keptScore;
    }
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

/// A move was taken.
void LocalSearch::note(const Score &score) {
  gains.add(kind, best, score);
  best = score;
  ++moves;
}

/// Keeps what `set` did when that is better, else takes it back.
bool LocalSearch::keepIfBetter() {
  Score score = simulator.run(now, &best);
  budget.spend(simulator.numVisited());
  bool better = isBetter(score, best);
  if (better) {
    note(score);
  } else {
    for (size_t i = undo.size(); i-- > 0;)
      now.devices[undo[i].first] = undo[i].second;
  }
  undo.clear();
  return better;
}

bool LocalSearch::takeIfBetter(Assignment other) {
  Score score = simulator.run(other, &best);
  budget.spend(simulator.numVisited());
  if (!isBetter(score, best))
    return false;
  note(score);
  now = std::move(other);
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
    Assignment spread = moved;
    if (roomMaker.stream(spread).overflow == 0 && takeIfBetter(std::move(spread)))
      return true;
    Assignment streamed = moved;
    streamed.streamed.resize(graph.numValues());
    for (uint32_t value : constantsOf(cluster))
      if (graph.home[value] != noIndex && graph.bytes[value] >= kLeastStreamed)
        streamed.streamed[value] = 1;
    if (roomMaker.settleRoom(streamed).overflow == 0 && takeIfBetter(std::move(streamed)))
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
      if (isAllowed && !other.spare.empty())
        std::swap(other.spare[a], other.spare[b]);
      improved |= isAllowed && other.devices != now.devices && takeIfBetter(std::move(other));
    }
  return improved;
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

/// The turns of all places.
void LocalSearch::number() {
  if (now.order.empty()) {
    now.order.resize(graph.numTasks());
    std::iota(now.order.begin(), now.order.end(), 0);
  }
  turn.resize(graph.numTasks());
  for (uint32_t i = 0; i < graph.numTasks(); ++i)
    turn[now.order[i]] = i;
}

/// The first and the last turn that a task may take, others making way.
std::pair<uint32_t, uint32_t> LocalSearch::turnsOf(uint32_t place) const {
  uint32_t first = 0, last = graph.numTasks() - 1;
  for (uint32_t value : graph.inputs[place])
    if (uint32_t maker = graph.maker[value]; maker != noIndex)
      first = std::max(first, turn[maker] + 1);
  for (uint32_t value : graph.outputs[place])
    for (uint32_t reader : graph.readers[value])
      last = std::min(last, turn[reader] - 1);
  return {first, last};
}

void LocalSearch::takeTurn(std::vector<uint32_t> &order, uint32_t from, uint32_t to) {
  auto begin = order.begin();
  if (to < from)
    std::rotate(begin + to, begin + from, begin + from + 1);
  else
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
}

bool LocalSearch::tryTurn(uint32_t place, uint32_t to, uint32_t device) {
  const uint32_t from = turn[place];
  if (from == to || isSpent())
    return false;
  Assignment other = now;
  takeTurn(other.order, from, to);
  for (uint32_t member : graph.atoms[graph.atom[place]])
    other.devices[member] = device;
  if (!takeIfBetter(std::move(other)))
    return false;
  number();
  return true;
}

/// Tasks that the end waits for, and that wait for their device, before what that does instead.
bool LocalSearch::moveEarlier() {
  number();
  bool improved = false, moved = true;
  for (int tries = kMostEarlier; moved && tries > 0 && !isSpent();) {
    moved = false;
    simulator.run(now);
    budget.spend(graph.numTasks());
    std::vector<uint32_t> waiting = simulator.criticalPlaces();
    std::erase_if(waiting, [&](uint32_t place) { return !simulator.waitsForDevice(place); });
    for (size_t i = 0; i < waiting.size() && !moved && tries > 0; ++i, --tries)
      moved = tryTurn(waiting[i], turnsOf(waiting[i]).first, now.devices[waiting[i]]);
    improved |= moved;
  }
  return improved;
}

/// Every task on every device at every turn where that has another one to do.
bool LocalSearch::reorderAll() {
  number();
  bool improved = false;
  for (uint32_t place = 0; place < graph.numTasks(); ++place)
    for (uint32_t d = 0; d < graph.numDevices; ++d) {
      const auto [first, last] = turnsOf(place);
      for (uint32_t to = first; to <= last && graph.isAllowed(place, d) && !isSpent(); ++to)
        if (now.devices[now.order[to]] == d && tryTurn(place, to, d)) {
          improved = true;
          break;
        }
    }
  return improved;
}

//===----------------------------------------------------------------------===//
// Streams and room
//===----------------------------------------------------------------------===//

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
  roomMaker.settleRoom(other);
  return takeIfBetter(std::move(other)) || improved;
}

/// Streams a constant that is read near by in the place of one that is streamed.
bool LocalSearch::swapStreamed() {
  constexpr size_t nearest = 3; // on either side
  if (std::find(now.streamed.begin(), now.streamed.end(), 1) == now.streamed.end())
    return false;
  bool improved = false;
  for (uint32_t d = 0; d < graph.numDevices; ++d) {
    const std::vector<uint32_t> values = roomMaker.streamable(now, d);
    for (size_t i = 0; i < values.size(); ++i)
      for (size_t step = 1; step <= nearest && now.isStreamed(values[i]); ++step)
        for (size_t other : {i + step, i - step}) {
          if (other >= values.size() || now.isStreamed(values[other]) || isSpent())
            continue;
          Assignment swapped = now;
          swapped.streamed[values[i]] = 0;
          swapped.streamed[values[other]] = 1;
          improved |= takeIfBetter(std::move(swapped));
          if (!now.isStreamed(values[i]))
            break;
        }
  }
  return improved;
}

/// More streams leave more room for each to come earlier.
bool LocalSearch::streamMore() {
  bool improved = false;
  for (double part : {0.1, 0.25, 0.6}) {
    if (isSpent())
      break;
    Assignment more = now;
    improved |=
        !more.streamed.empty() && roomMaker.streamMore(more, part) && takeIfBetter(std::move(more));
  }
  return improved;
}

/// A border that memory holds where it is, with more constants streamed or other tasks elsewhere.
bool LocalSearch::moveBordersWithRoom() {
  bool improved = false;
  int tries = kMostWithRoom;
  for (uint32_t cut = 1; cut < graph.numTasks() && tries > 0; ++cut) {
    if (now.devices[cut - 1] == now.devices[cut])
      continue;
    const uint32_t left = now.devices[cut - 1], right = now.devices[cut];
    bool moved = false;
    for (uint32_t length = 1; length <= graph.numTasks() && !moved && tries > 0 && !isSpent();
         length *= 4, --tries)
      moved = tryMoveWithRoom(atomsBetween(cut, std::min(cut + length, graph.numTasks()), right),
                              left) ||
              tryMoveWithRoom(atomsBetween(cut - std::min(cut, length), cut, left), right);
    improved |= moved;
  }
  return improved;
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
