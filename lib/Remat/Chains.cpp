#include "Chains.h"

#include "Stages.h"

#include <algorithm>
#include <tuple>

namespace gantry::remat {

namespace {

/// Points of a trade-off between bytes and seconds that are kept.
constexpr size_t kMostPoints = 64;

/// A way to run stages from one to another and back, from the input of the first, which is held
/// besides.
struct Point {
  int64_t bytes = 0;
  double seconds = 0;
  uint32_t cut = none; ///< the first stage behind a value that is kept alone; none: a tape is kept
  uint32_t tape = 0;   ///< of the first stage
  uint32_t rest = 0;   ///< the point of the stages behind the cut, or behind the first stage
  uint32_t front = 0;  ///< the point of those in front of the cut, which run again for it
};

/// The best points alone, by bytes: each takes fewer seconds than the one before.
void prune(std::vector<Point> &points) {
  std::ranges::sort(points, {}, [](const Point &point) {
    return std::tuple(point.bytes, point.seconds, point.cut, point.tape, point.rest, point.front);
  });
  std::vector<Point> best;
  for (const Point &point : points)
    if (best.empty() || point.seconds < best.back().seconds)
      best.push_back(point);
  if (best.size() > kMostPoints) {
    std::vector<Point> some;
    for (size_t i = 0; i < kMostPoints; ++i)
      some.push_back(best[i * (best.size() - 1) / (kMostPoints - 1)]);
    best = std::move(some);
  }
  points = std::move(best);
}

class ChainSolver {
public:
  ChainSolver(const Graph &graph, std::vector<Stage> stages)
      : graph(graph), stages(std::move(stages)), count(uint32_t(this->stages.size())),
        pointsAgain(count * count), pointsFirst(count) {
    for (uint32_t to = 0; to < count; ++to)
      for (uint32_t from = to + 1; from-- > 0;)
        pointsAgain[from * count + to] = solve(from, to, /*isAgain=*/true);
    for (uint32_t from = count; from-- > 0;)
      pointsFirst[from] = solve(from, count - 1, /*isAgain=*/false);
  }

  /// The fastest way within the bytes; else the one of fewest bytes.
  std::vector<Again> answerFor(int64_t bytes);

private:
  const Graph &graph;
  std::vector<Stage> stages;
  uint32_t count;
  std::vector<std::vector<Point>> pointsAgain; ///< by first and last stage
  std::vector<std::vector<Point>> pointsFirst; ///< to the last stage, when the way there is free
  std::vector<Again> answer;

  const std::vector<Point> &pointsOf(uint32_t from, uint32_t to, bool isAgain) const {
    return isAgain ? pointsAgain[from * count + to] : pointsFirst[from];
  }
  std::vector<Point> solve(uint32_t from, uint32_t to, bool isAgain) const;
  void addTapes(uint32_t from, uint32_t to, bool isAgain, std::vector<Point> &points) const;
  void addCut(const std::vector<Point> &rest, const std::vector<Point> &front, int64_t held,
              Point least, std::vector<Point> &points) const;
  void emit(uint32_t from, uint32_t to, const Point &point, bool isAgain);
  void emitRun(const Stage &stage, std::vector<uint32_t> values, uint32_t slot);
};

/// What is behind the first stage has been solved before, and so have shorter ways.
std::vector<Point> ChainSolver::solve(uint32_t from, uint32_t to, bool isAgain) const {
  const Stage &stage = stages[from];
  const int64_t beside = isAgain ? stages[to].besideBytes : 0;
  std::vector<Point> points;
  if (from == to) {
    Point point;
    point.bytes = std::max(stage.turnBytes, isAgain ? stage.backBytes + beside : stage.thereBytes);
    point.seconds = isAgain ? stage.backSeconds : 0;
    points.push_back(point);
    return points;
  }
  addTapes(from, to, isAgain, points);
  Point least;
  for (least.cut = from + 1; least.cut <= to; ++least.cut) {
    const Stage &before = stages[least.cut - 1];
    int64_t bytes = least.cut == from + 1 ? before.acrossBytes : before.passingBytes;
    least.bytes = std::max(least.bytes, bytes + beside);
    least.seconds += isAgain ? before.acrossSeconds : 0;
    addCut(pointsOf(least.cut, to, isAgain), pointsOf(from, least.cut - 1, true),
           before.outputBytes, least, points);
  }
  prune(points);
  return points;
}

/// Ways that keep a tape of the first stage.
void ChainSolver::addTapes(uint32_t from, uint32_t to, bool isAgain,
                           std::vector<Point> &points) const {
  const Stage &stage = stages[from];
  const std::vector<Point> &rest = pointsOf(from + 1, to, isAgain);
  const int64_t least = std::max(stage.turnBytes, isAgain ? stage.tapeBytes + stages[to].besideBytes
                                                          : stage.thereBytes);
  for (uint32_t i = 0; i < stage.tapes.size(); ++i) {
    const Tape &tape = stage.tapes[i];
    for (uint32_t j = 0; j < rest.size(); ++j) {
      Point point;
      point.bytes = std::max(least, tape.bytes + stage.outputBytes + rest[j].bytes);
      point.seconds = tape.lateSeconds + (isAgain ? tape.seconds : 0) + rest[j].seconds;
      point.tape = i;
      point.rest = j;
      points.push_back(point);
    }
  }
}

/// Ways that keep `held` bytes at a cut: both parts take what they may hold, so that each total is
/// that of one of them.
void ChainSolver::addCut(const std::vector<Point> &rest, const std::vector<Point> &front,
                         int64_t held, Point least, std::vector<Point> &points) const {
  for (uint32_t i = 0, j = 0;;) {
    Point point = least;
    point.bytes = std::max({least.bytes, held + rest[i].bytes, front[j].bytes});
    while (i + 1 < rest.size() && held + rest[i + 1].bytes <= point.bytes)
      ++i;
    while (j + 1 < front.size() && front[j + 1].bytes <= point.bytes)
      ++j;
    point.seconds += rest[i].seconds + front[j].seconds;
    point.rest = i;
    point.front = j;
    points.push_back(point);
    const bool isRest = i + 1 < rest.size(), isFront = j + 1 < front.size();
    if (!isRest && !isFront)
      return;
    if (isRest && (!isFront || held + rest[i + 1].bytes <= front[j + 1].bytes))
      ++i;
    else
      ++j;
  }
}

void ChainSolver::emitRun(const Stage &stage, std::vector<uint32_t> values, uint32_t slot) {
  for (uint32_t step : stepsTo(graph, stage, std::move(values)))
    answer.push_back({step, slot});
}

void ChainSolver::emit(uint32_t from, uint32_t to, const Point &point, bool isAgain) {
  const Stage &stage = stages[from];
  const uint32_t slot = stages[to].turn;
  if (from == to) {
    if (isAgain)
      emitRun(stage, stage.read, slot);
    return;
  }
  if (point.cut == none) {
    const Tape &tape = stage.tapes[point.tape];
    if (isAgain) {
      std::vector<uint32_t> values = tape.values;
      values.push_back(stage.output);
      emitRun(stage, std::move(values), slot);
    }
    for (uint32_t step : tape.lateSteps)
      answer.push_back({step, stage.turn});
    emit(from + 1, to, pointsOf(from + 1, to, isAgain)[point.rest], isAgain);
    return;
  }
  for (uint32_t k = from; isAgain && k < point.cut; ++k)
    emitRun(stages[k], {stages[k].output}, slot);
  emit(point.cut, to, pointsOf(point.cut, to, isAgain)[point.rest], isAgain);
  emit(from, point.cut - 1, pointsOf(from, point.cut - 1, true)[point.front], true);
}

std::vector<Again> ChainSolver::answerFor(int64_t bytes) {
  const std::vector<Point> &points = pointsFirst[0];
  size_t chosen = 0;
  while (chosen + 1 < points.size() && points[chosen + 1].bytes <= bytes)
    ++chosen;
  answer.clear();
  emit(0, count - 1, points[chosen], false);
  std::ranges::sort(answer, {}, [](const Again &a) { return std::tuple(a.before, a.step); });
  answer.erase(std::unique(answer.begin(), answer.end()), answer.end());
  return answer;
}

} // namespace

std::vector<std::vector<Again>> solveChain(const Schedule &plain, uint64_t limit) {
  std::vector<std::vector<Again>> answers;
  std::vector<Stage> stages = findStages(plain);
  if (stages.empty())
    return answers;
  ChainSolver solver(plain.graph, std::move(stages));
  for (double part : {1.0, 1.1, 0.9, 0.8})
    answers.push_back(solver.answerFor(int64_t(part * double(std::min(limit, plain.peak())))));
  return answers;
}

} // namespace gantry::remat
