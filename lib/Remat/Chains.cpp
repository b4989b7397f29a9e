#include "Chains.h"

#include <algorithm>
#include <tuple>

namespace gantry::remat {

namespace {

/// Stages that a chain has at most: more are joined.
constexpr size_t kMostStages = 64;
/// Points of a trade-off between bytes and seconds that are kept.
constexpr size_t kMostPoints = 64;
/// A value of less than this part of the peak may go around a cut.
constexpr int64_t kThin = 1024;

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// What of a stage's values is kept from the run that makes them until the way back reads them.
struct Tape {
  int64_t bytes = 0;
  std::vector<uint32_t> kept;
  std::vector<uint32_t> steps; ///< that make the others again where they are read
  double seconds = 0;          ///< of these steps
  double whole = 0;            ///< to what is kept and the output
};

struct Stage {
  uint32_t first = 0, end = 0; ///< steps of the way there
  uint32_t input = none, output = none;
  uint32_t turn = 0;          ///< the step of the way back at which it must be there again
  std::vector<uint32_t> read; ///< values that the way back reads, without the output
  std::vector<Tape> tapes;    ///< from all of them to none
  double across = 0;          ///< seconds from the input to the output
  double back = 0;            ///< to what is read
  int64_t acrossBytes = 0;    ///< held meanwhile, without the input while that is kept
  int64_t acrossPassing = 0;  ///< with the input, which ends
  int64_t wholeBytes = 0, backBytes = 0;
  int64_t beside = 0;    ///< held at its turn by what is not of the chain
  int64_t turnBytes = 0; ///< held by its way back, without its input and other stages
};

class ChainFinder {
public:
  explicit ChainFinder(const Schedule &plain)
      : plain(plain), graph(plain.graph), thin(int64_t(plain.peak()) / kThin) {}

  std::vector<Stage> find();
  /// Steps of the stage that make the values from what is there: in front of it, or given here.
  std::vector<uint32_t> stepsTo(const Stage &stage, std::vector<uint32_t> values,
                                const std::vector<uint32_t> &there = {}) const;
  int64_t bytesOf(uint32_t value) const { return graph.held[value]; }

private:
  const Schedule &plain;
  const Graph &graph;
  const int64_t thin;
  static constexpr uint32_t many = none - 1;

  bool isThin(uint32_t value) const { return graph.held[value] <= thin; }
  std::vector<uint32_t> crossings(uint32_t end, uint32_t &mostCuts) const;
  void measure(std::vector<Stage> &stages, uint32_t turn) const;
  void findTapes(Stage &stage) const;
  double secondsOf(const std::vector<uint32_t> &steps) const;
  int64_t peakOf(const Stage &stage, const std::vector<uint32_t> &steps,
                 const std::vector<uint32_t> &kept, bool inputEnds) const;
};

/// By step before `end`, the value that crosses the place behind it to a step before `end`; none or
/// many where it is not one. Also the end that gives most cuts.
std::vector<uint32_t> ChainFinder::crossings(uint32_t end, uint32_t &mostCuts) const {
  std::vector<uint32_t> crossing(end, none), last(graph.numValues, 0);
  uint32_t cuts = 0, most = 0;
  for (uint32_t step = 0; step < end; ++step) {
    for (uint32_t value : graph.problem.steps[step].reads) {
      if (isThin(value))
        continue;
      for (uint32_t at = std::max(graph.maker[value], last[value]); at < step; ++at) {
        uint32_t &here = crossing[at];
        if (here == none) {
          here = value;
          ++cuts;
        } else if (here != value && here != many) {
          here = many;
          --cuts;
        }
      }
      last[value] = step;
    }
    if (cuts > most) {
      most = cuts;
      mostCuts = step + 1;
    }
  }
  return crossing;
}

std::vector<Stage> ChainFinder::find() {
  uint32_t turn = 0, unused = 0;
  crossings(graph.numSteps, turn);
  std::vector<uint32_t> crossing = crossings(turn, unused);
  std::vector<Stage> stages(1);
  for (uint32_t step = 0; step + 1 < turn; ++step) {
    uint32_t value = crossing[step];
    if (value == none || value == many || value == stages.back().input)
      continue;
    stages.back().end = step + 1;
    stages.back().output = value;
    stages.emplace_back();
    stages.back().first = step + 1;
    stages.back().input = value;
  }
  stages.back().end = turn;
  while (stages.size() > kMostStages) { // every other cut goes
    std::vector<Stage> joined;
    for (size_t i = 0; i < stages.size(); i += 2) {
      joined.push_back(stages[i]);
      if (i + 1 < stages.size()) {
        joined.back().end = stages[i + 1].end;
        joined.back().output = stages[i + 1].output;
      }
    }
    stages = std::move(joined);
  }
  if (stages.size() > 1)
    measure(stages, turn);
  else
    stages.clear();
  return stages;
}

std::vector<uint32_t> ChainFinder::stepsTo(const Stage &stage, std::vector<uint32_t> values,
                                           const std::vector<uint32_t> &there) const {
  std::vector<uint32_t> steps;
  while (!values.empty()) {
    uint32_t value = values.back();
    values.pop_back();
    if (value == none || graph.held[value] == 0 || std::ranges::find(there, value) != there.end())
      continue;
    uint32_t maker = graph.maker[value];
    if (maker < stage.first || maker >= stage.end || !graph.problem.steps[maker].mayRepeat ||
        std::ranges::find(steps, maker) != steps.end())
      continue;
    steps.push_back(maker);
    values.insert(values.end(), graph.problem.steps[maker].reads.begin(),
                  graph.problem.steps[maker].reads.end());
  }
  std::ranges::sort(steps);
  return steps;
}

double ChainFinder::secondsOf(const std::vector<uint32_t> &steps) const {
  double seconds = 0;
  for (uint32_t step : steps)
    seconds += graph.problem.steps[step].seconds;
  return seconds;
}

/// The most that these steps hold, by themselves: what they make, and the input where it ends.
int64_t ChainFinder::peakOf(const Stage &stage, const std::vector<uint32_t> &steps,
                            const std::vector<uint32_t> &kept, bool inputEnds) const {
  auto isLast = [&](uint32_t value, size_t at) {
    if (std::ranges::find(kept, value) != kept.end())
      return false;
    for (size_t i = at + 1; i < steps.size(); ++i) {
      const std::vector<uint32_t> &reads = graph.problem.steps[steps[i]].reads;
      if (std::ranges::find(reads, value) != reads.end())
        return false;
    }
    return true;
  };
  auto isOwn = [&](uint32_t value) {
    if (graph.held[value] == 0)
      return false;
    return value == stage.input ? inputEnds
                                : std::ranges::find(steps, graph.maker[value]) != steps.end();
  };
  int64_t live = inputEnds && stage.input != none ? graph.held[stage.input] : 0, peak = live;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step &step = graph.problem.steps[steps[i]];
    int64_t made = 0, ended = 0, unused = 0;
    for (uint32_t value : step.makes) {
      made += graph.held[value];
      unused += isLast(value, i) ? graph.held[value] : 0;
    }
    for (uint32_t value : step.reads)
      if (isOwn(value) && isLast(value, i))
        ended += graph.held[value];
    int64_t inPlace = 0;
    if (step.makes.size() == 1)
      for (uint32_t value : step.replaces)
        if (isOwn(value) && isLast(value, i) && graph.held[value] == made)
          inPlace = made;
    peak = std::max(peak, live + made - inPlace + int64_t(step.scratch));
    live += made - ended - unused;
  }
  return peak;
}

/// Of all that is read, one value less each time: the one of most bytes for its seconds.
void ChainFinder::findTapes(Stage &stage) const {
  Tape tape;
  tape.kept = stage.read;
  std::vector<uint32_t> others;
  while (true) {
    tape.bytes = 0;
    for (uint32_t value : tape.kept)
      tape.bytes += graph.held[value];
    std::vector<uint32_t> values = tape.kept;
    values.push_back(stage.output);
    tape.whole = secondsOf(stepsTo(stage, values));
    stage.tapes.push_back(tape);
    double most = -1;
    Tape next;
    uint32_t dropped = none;
    for (uint32_t value : tape.kept) {
      Tape candidate;
      candidate.kept = tape.kept;
      std::erase(candidate.kept, value);
      values = others;
      values.push_back(value);
      std::vector<uint32_t> there = candidate.kept;
      there.push_back(stage.output);
      candidate.steps = stepsTo(stage, values, there);
      candidate.seconds = secondsOf(candidate.steps);
      double more = std::max(0.0, candidate.seconds - tape.seconds);
      double worth = double(graph.held[value]) / (more + 1e-9 * graph.seconds + 1e-30);
      if (graph.makerOf(value).mayRepeat && worth > most) {
        most = worth;
        next = std::move(candidate);
        dropped = value;
      }
    }
    if (dropped == none)
      return;
    others.push_back(dropped);
    tape = std::move(next);
  }
}

void ChainFinder::measure(std::vector<Stage> &stages, uint32_t turn) const {
  std::vector<uint32_t> stageOf(graph.numValues, none);
  for (uint32_t k = 0; k < stages.size(); ++k)
    for (uint32_t step = stages[k].first; step < stages[k].end; ++step)
      for (uint32_t value : graph.problem.steps[step].makes)
        if (!isThin(value))
          stageOf[value] = k;
  // By step of the way back, what stages up to one hold there.
  auto lastRead = [&](uint32_t value) {
    return graph.isKept[value]            ? graph.numSteps
           : graph.readers[value].empty() ? 0
                                          : graph.readers[value].back();
  };
  std::vector<uint32_t> firstBack(graph.numValues, none);
  for (uint32_t value = 0; value < graph.numValues; ++value)
    if (stageOf[value] != none)
      for (uint32_t reader : graph.readers[value])
        if (reader >= turn)
          firstBack[value] = std::min(firstBack[value], reader);
  uint32_t next = turn;
  for (size_t k = stages.size(); k-- > 0;) {
    Stage &stage = stages[k];
    uint32_t at = stage.input == none ? none : firstBack[stage.input];
    for (uint32_t step = stage.first; step < stage.end; ++step)
      for (uint32_t value : graph.problem.steps[step].makes)
        if (firstBack[value] != none && value != stage.output) {
          stage.read.push_back(value);
          at = std::min(at, firstBack[value]);
        }
    stage.turn = at == none ? next : at;
    next = stage.turn;
  }
  std::span<const int64_t> levels = plain.levels();
  for (size_t k = 0; k < stages.size(); ++k) {
    Stage &stage = stages[k];
    std::vector<uint32_t> all = stage.read;
    std::vector<uint32_t> output;
    if (stage.output != none)
      output.push_back(stage.output);
    all.insert(all.end(), output.begin(), output.end());
    std::vector<uint32_t> across = stepsTo(stage, output), whole = stepsTo(stage, all),
                          back = stepsTo(stage, stage.read);
    stage.across = secondsOf(across);
    stage.back = secondsOf(back);
    stage.acrossBytes = peakOf(stage, across, output, false);
    stage.acrossPassing = peakOf(stage, across, output, true);
    stage.wholeBytes = peakOf(stage, whole, all, false);
    stage.backBytes = peakOf(stage, back, stage.read, false);
    uint32_t last = k > 0 ? std::max(stages[k - 1].turn, stage.turn + 1) : graph.numSteps;
    for (uint32_t step = stage.turn; step < last && step < graph.numSteps; ++step) {
      int64_t others = 0, own = 0;
      for (uint32_t value = 0; value < graph.numValues; ++value) {
        if (stageOf[value] == none || lastRead(value) < step || graph.maker[value] >= step)
          continue;
        (stageOf[value] == k && value != stage.output ? own : others) += graph.held[value];
      }
      if (step == stage.turn)
        stage.beside = levels[step] - others - own;
      stage.turnBytes = std::max(stage.turnBytes, levels[step] - others);
    }
    findTapes(stage);
  }
}

//===----------------------------------------------------------------------===//
// Dynamic programming
//===----------------------------------------------------------------------===//

/// A way to run stages from one to another and back, from the input of the first, which is held
/// besides.
struct Point {
  int64_t bytes;
  double seconds;
  uint32_t cut = none; ///< the first stage behind a value that alone is held; none: a tape is kept
  uint32_t tape = 0;   ///< of the first stage
  uint32_t rest = 0;   ///< the point of the stages behind the cut or the first stage
  uint32_t front = 0;  ///< the point of those in front of the cut
};

/// The best points alone, by bytes.
void prune(std::vector<Point> &points) {
  std::ranges::sort(points, {}, [](const Point &p) {
    return std::tuple(p.bytes, p.seconds, p.cut, p.tape, p.rest, p.front);
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
  ChainSolver(const ChainFinder &finder, std::vector<Stage> stages)
      : finder(finder), stages(std::move(stages)), count(uint32_t(this->stages.size())),
        again(count * count), first(count) {
    for (uint32_t to = 0; to < count; ++to)
      for (uint32_t from = to + 1; from-- > 0;)
        again[from * count + to] = solve(from, to, /*isAgain=*/true);
    for (uint32_t from = count; from-- > 0;)
      first[from] = solve(from, count - 1, /*isAgain=*/false);
  }

  std::vector<Again> answerFor(int64_t bytes) {
    const std::vector<Point> &points = first[0];
    size_t chosen = 0; // the fastest within the bytes
    while (chosen + 1 < points.size() && points[chosen + 1].bytes <= bytes)
      ++chosen;
    answer.clear();
    emit(0, count - 1, points[chosen], false);
    std::ranges::sort(answer, [](const Again &a, const Again &b) {
      return a.before != b.before ? a.before < b.before : a.step < b.step;
    });
    answer.erase(std::unique(answer.begin(), answer.end()), answer.end());
    return answer;
  }

private:
  const ChainFinder &finder;
  std::vector<Stage> stages;
  uint32_t count;
  std::vector<std::vector<Point>> again; ///< by first and last stage, when they are run again
  std::vector<std::vector<Point>> first; ///< by first stage, for the way there itself
  std::vector<Again> answer;

  int64_t bytesOf(uint32_t value) const { return finder.bytesOf(value); }

  /// What is behind a stage is solved before what begins with it.
  std::vector<Point> solve(uint32_t from, uint32_t to, bool isAgain) const {
    const Stage &stage = stages[from];
    const int64_t beside = isAgain ? stages[to].beside : 0;
    std::vector<Point> points;
    if (from == to) {
      points.push_back({std::max(isAgain ? stage.backBytes + beside : 0, stage.turnBytes),
                        isAgain ? stage.back : 0});
      return points;
    }
    const std::vector<Point> &rest = isAgain ? again[(from + 1) * count + to] : first[from + 1];
    for (uint32_t tape = 0; tape < stage.tapes.size(); ++tape) {
      int64_t least = std::max(stage.turnBytes, isAgain ? stage.wholeBytes + beside : 0);
      int64_t held = stage.tapes[tape].bytes + bytesOf(stage.output);
      double seconds = stage.tapes[tape].seconds + (isAgain ? stage.tapes[tape].whole : 0);
      for (uint32_t i = 0; i < rest.size(); ++i)
        points.push_back(
            {std::max(least, held + rest[i].bytes), seconds + rest[i].seconds, none, tape, i, 0});
    }
    double across = 0;
    int64_t passing = 0;
    for (uint32_t cut = from + 1; cut <= to; ++cut) {
      const Stage &before = stages[cut - 1];
      across += isAgain ? before.across : 0;
      passing = std::max(passing, cut == from + 1 ? before.acrossBytes : before.acrossPassing);
      addCut(points, from, cut, isAgain ? again[cut * count + to] : first[cut],
             bytesOf(before.output), across, isAgain ? passing + beside : 0);
    }
    prune(points);
    return points;
  }

  /// Both parts take what they may hold, so that neither decides alone.
  void addCut(std::vector<Point> &points, uint32_t from, uint32_t cut,
              const std::vector<Point> &rest, int64_t held, double seconds, int64_t least) const {
    const std::vector<Point> &front = again[from * count + cut - 1];
    uint32_t i = 0, j = 0;
    while (true) {
      int64_t bytes = std::max({least, held + rest[i].bytes, front[j].bytes});
      while (i + 1 < rest.size() && held + rest[i + 1].bytes <= bytes)
        ++i;
      while (j + 1 < front.size() && front[j + 1].bytes <= bytes)
        ++j;
      points.push_back({bytes, seconds + rest[i].seconds + front[j].seconds, cut, 0, i, j});
      bool isRest = i + 1 < rest.size(), isFront = j + 1 < front.size();
      if (!isRest && !isFront)
        return;
      if (isRest && (!isFront || held + rest[i + 1].bytes <= front[j + 1].bytes))
        ++i;
      else
        ++j;
    }
  }

  void run(const Stage &stage, std::vector<uint32_t> values, uint32_t slot) {
    for (uint32_t step : finder.stepsTo(stage, std::move(values)))
      answer.push_back({step, slot});
  }

  void emit(uint32_t from, uint32_t to, Point point, bool isAgain) {
    const Stage &stage = stages[from];
    const uint32_t slot = stages[to].turn;
    if (from == to) {
      if (isAgain)
        run(stage, stage.read, slot);
      return;
    }
    if (point.cut == none) {
      const Tape &tape = stage.tapes[point.tape];
      if (isAgain) {
        std::vector<uint32_t> values = tape.kept;
        values.push_back(stage.output);
        run(stage, values, slot);
      }
      for (uint32_t step : tape.steps)
        answer.push_back({step, stage.turn});
      emit(from + 1, to,
           isAgain ? again[(from + 1) * count + to][point.rest] : first[from + 1][point.rest],
           isAgain);
      return;
    }
    for (uint32_t k = from; isAgain && k < point.cut; ++k)
      run(stages[k], {stages[k].output}, slot);
    emit(point.cut, to,
         isAgain ? again[point.cut * count + to][point.rest] : first[point.cut][point.rest],
         isAgain);
    emit(from, point.cut - 1, again[from * count + point.cut - 1][point.front], true);
  }
};

} // namespace

std::vector<std::vector<Again>> solveChain(const Schedule &plain, uint64_t limit) {
  ChainFinder finder(plain);
  std::vector<Stage> stages = finder.find();
  std::vector<std::vector<Again>> answers;
  if (stages.empty())
    return answers;
  ChainSolver solver(finder, std::move(stages));
  for (double part : {1.0, 1.1, 0.9, 0.8})
    answers.push_back(solver.answerFor(int64_t(part * double(std::min(limit, plain.peak())))));
  return answers;
}

} // namespace gantry::remat
