#include "Stages.h"

#include <algorithm>

namespace gantry::remat {

/// Stages that a chain has at most; every other cut goes until then.
static constexpr size_t kMostStages = 64;
/// Tapes of a stage, evenly spread over the values that can be kept.
static constexpr size_t kMostTapes = 16;
/// A value of less than this part of the peak may go around a cut.
static constexpr int64_t kThin = 1024;

namespace {

constexpr uint32_t many = none - 1;

class StageFinder {
public:
  explicit StageFinder(const Schedule &plain)
      : plain(plain), graph(plain.graph), thin(int64_t(plain.peak()) / kThin),
        isStaged(graph.numValues), firstBack(graph.numValues, none) {}

  std::vector<Stage> find();

private:
  const Schedule &plain;
  const Graph &graph;
  const int64_t thin;
  uint32_t turn = 0;               ///< the first step of the way back
  std::vector<char> isStaged;      ///< by value, whether it is of a stage and not thin
  std::vector<uint32_t> firstBack; ///< by value of a stage, its first reader on the way back
  std::vector<int64_t> ofStages;   ///< by slot, bytes of values of stages

  bool isThin(uint32_t value) const { return graph.held[value] <= thin; }
  uint32_t lastUse(uint32_t value) const;
  std::vector<uint32_t> findCrossings(uint32_t end, uint32_t &best) const;
  void cut(std::vector<Stage> &stages) const;
  void findReads(std::vector<Stage> &stages);
  void measureRuns(Stage &stage) const;
  void measureThere(Stage &stage) const;
  void measureTurn(std::vector<Stage> &stages, uint32_t index) const;
  void findTapes(Stage &stage) const;
  double secondsOf(const std::vector<uint32_t> &steps) const;
  int64_t peakOf(const Stage &stage, const std::vector<uint32_t> &steps,
                 const std::vector<uint32_t> &kept, bool inputEnds) const;
};

uint32_t StageFinder::lastUse(uint32_t value) const {
  return graph.isKept[value]            ? graph.numSteps
         : graph.readers[value].empty() ? graph.maker[value]
                                        : graph.readers[value].back();
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

/// By step before `end`, the value that goes from up to it to a later one before `end`; none or
/// many where it is not one. `best`: the end with which there are most places with one.
std::vector<uint32_t> StageFinder::findCrossings(uint32_t end, uint32_t &best) const {
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
      best = step + 1;
    }
  }
  return crossing;
}

void StageFinder::cut(std::vector<Stage> &stages) const {
  uint32_t unused = 0;
  std::vector<uint32_t> crossing = findCrossings(turn, unused);
  stages.emplace_back();
  for (uint32_t step = 0; step + 1 < turn; ++step) {
    const uint32_t value = crossing[step];
    if (value == none || value == many || value == stages.back().input)
      continue;
    stages.back().end = step + 1;
    stages.back().output = value;
    stages.emplace_back();
    stages.back().first = step + 1;
    stages.back().input = value;
  }
  stages.back().end = turn;
  while (stages.size() > kMostStages) {
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
}

/// What the way back reads of each stage, and when it begins to. The last stage goes straight into
/// the way back: its values are held as they are.
void StageFinder::findReads(std::vector<Stage> &stages) {
  ofStages.assign(graph.numSteps + 2, 0);
  for (uint32_t k = 0; k + 1 < stages.size(); ++k)
    for (uint32_t step = stages[k].first; step < stages[k].end; ++step)
      for (uint32_t value : graph.problem.steps[step].makes) {
        if (isThin(value))
          continue;
        isStaged[value] = 1;
        ofStages[step + 1] += graph.held[value];
        ofStages[lastUse(value) + 1] -= graph.held[value];
        const std::vector<uint32_t> &readers = graph.readers[value];
        auto back = std::ranges::lower_bound(readers, turn);
        if (back == readers.end())
          continue;
        firstBack[value] = *back;
        if (value != stages[k].output)
          stages[k].read.push_back(value);
      }
  for (size_t slot = 1; slot < ofStages.size(); ++slot)
    ofStages[slot] += ofStages[slot - 1];
  uint32_t next = turn;
  for (size_t k = stages.size(); k-- > 0;) {
    Stage &stage = stages[k];
    uint32_t first = stage.input == none ? none : firstBack[stage.input];
    for (uint32_t value : stage.read)
      first = std::min(first, firstBack[value]);
    next = stage.turn = first == none ? next : first;
  }
}

//===----------------------------------------------------------------------===//
// Bytes and seconds
//===----------------------------------------------------------------------===//

double StageFinder::secondsOf(const std::vector<uint32_t> &steps) const {
  double seconds = 0;
  for (uint32_t step : steps)
    seconds += graph.problem.steps[step].seconds;
  return seconds;
}

/// The most that these steps hold by themselves: what they make, and the input where it ends.
int64_t StageFinder::peakOf(const Stage &stage, const std::vector<uint32_t> &steps,
                            const std::vector<uint32_t> &kept, bool inputEnds) const {
  std::vector<uint32_t> last(graph.numValues, none); // step that uses a value last; none: not ours
  for (uint32_t step : steps) {
    for (uint32_t value : graph.problem.steps[step].makes)
      last[value] = step;
    for (uint32_t value : graph.problem.steps[step].reads)
      if (last[value] != none || (value == stage.input && inputEnds))
        last[value] = step;
  }
  for (uint32_t value : kept)
    last[value] = many;
  int64_t live = inputEnds && stage.input != none ? graph.held[stage.input] : 0, peak = live;
  for (uint32_t index : steps) {
    const Step &step = graph.problem.steps[index];
    int64_t made = 0, ended = 0, inPlace = 0;
    for (uint32_t value : step.makes) {
      made += graph.held[value];
      ended += last[value] == index ? graph.held[value] : 0;
    }
    for (uint32_t value : step.reads)
      ended += last[value] == index ? graph.held[value] : 0;
    for (uint32_t value : step.replaces)
      if (last[value] == index && step.makes.size() == 1 && graph.held[value] == made)
        inPlace = made;
    peak = std::max(peak, live + made - inPlace + int64_t(step.scratch));
    live += made - ended;
  }
  return peak;
}

void StageFinder::measureRuns(Stage &stage) const {
  std::vector<uint32_t> output, all = stage.read;
  if (stage.output != none) {
    output.push_back(stage.output);
    all.push_back(stage.output);
    stage.outputBytes = graph.held[stage.output];
  }
  std::vector<uint32_t> across = stepsTo(graph, stage, output);
  std::vector<uint32_t> back = stepsTo(graph, stage, stage.read);
  stage.acrossSeconds = secondsOf(across);
  stage.backSeconds = secondsOf(back);
  stage.acrossBytes = peakOf(stage, across, output, false);
  stage.passingBytes = peakOf(stage, across, output, true);
  stage.tapeBytes = peakOf(stage, stepsTo(graph, stage, all), all, false);
  stage.backBytes = peakOf(stage, back, stage.read, false);
}

void StageFinder::measureThere(Stage &stage) const {
  std::span<const int64_t> levels = plain.levels();
  std::vector<uint32_t> made; // in front of a step, by its stage
  for (uint32_t step = stage.first; step < stage.end; ++step) {
    int64_t own = 0;
    for (uint32_t value : made)
      own += lastUse(value) >= step && isStaged[value] ? graph.held[value] : 0;
    stage.thereBytes = std::max(stage.thereBytes, levels[step] - ofStages[step] + own);
    const std::vector<uint32_t> &makes = graph.problem.steps[step].makes;
    made.insert(made.end(), makes.begin(), makes.end());
  }
}

/// What is held while the way back is at a stage, as it is without repetitions.
void StageFinder::measureTurn(std::vector<Stage> &stages, uint32_t index) const {
  Stage &stage = stages[index];
  std::span<const int64_t> levels = plain.levels();
  stage.besideBytes = levels[stage.turn] - ofStages[stage.turn];
  const uint32_t end = index > 0 ? std::max(stages[index - 1].turn, stage.turn + 1)
                                 : std::max(graph.numSteps, stage.turn + 1);
  for (uint32_t step = stage.turn; step < end; ++step) {
    int64_t own = 0;
    for (uint32_t value : stage.read)
      own += lastUse(value) >= step ? graph.held[value] : 0;
    if (stage.input != none && lastUse(stage.input) < step)
      own -= graph.held[stage.input]; // which counts as held meanwhile
    stage.turnBytes = std::max(stage.turnBytes, levels[step] - ofStages[step] + own);
  }
}

/// Values that free most bytes for their seconds are made late first.
void StageFinder::findTapes(Stage &stage) const {
  struct Worth {
    uint32_t value;
    double worth;
  };
  std::vector<Worth> order;
  for (uint32_t value : stage.read) {
    std::vector<uint32_t> there = stage.read;
    std::erase(there, value);
    if (stage.output != none)
      there.push_back(stage.output);
    double seconds = secondsOf(stepsTo(graph, stage, {value}, there));
    if (graph.makerOf(value).mayRepeat)
      order.push_back(
          {value, double(graph.held[value]) / (seconds + 1e-9 * graph.seconds + 1e-30)});
  }
  std::ranges::stable_sort(order, std::greater(), &Worth::worth);
  const size_t steps = std::min(order.size(), kMostTapes - 1);
  for (size_t i = 0; i <= steps; ++i) {
    const size_t numLate = steps == 0 ? 0 : order.size() * i / steps;
    Tape tape;
    tape.values = stage.read;
    std::vector<uint32_t> late;
    for (size_t j = 0; j < numLate; ++j) {
      late.push_back(order[j].value);
      std::erase(tape.values, order[j].value);
    }
    for (uint32_t value : tape.values)
      tape.bytes += graph.held[value];
    std::vector<uint32_t> there = tape.values;
    if (stage.output != none)
      there.push_back(stage.output);
    tape.seconds = secondsOf(stepsTo(graph, stage, there));
    tape.lateSteps = stepsTo(graph, stage, std::move(late), std::move(there));
    tape.lateSeconds = secondsOf(tape.lateSteps);
    stage.tapes.push_back(std::move(tape));
  }
}

std::vector<Stage> StageFinder::find() {
  std::vector<Stage> stages;
  findCrossings(graph.numSteps, turn);
  if (turn > 0)
    cut(stages);
  if (stages.size() < 2)
    return {};
  findReads(stages);
  for (uint32_t k = 0; k < stages.size(); ++k) {
    measureRuns(stages[k]);
    measureThere(stages[k]);
    measureTurn(stages, k);
    findTapes(stages[k]);
  }
  return stages;
}

} // namespace

std::vector<Stage> findStages(const Schedule &plain) { return StageFinder(plain).find(); }

std::vector<uint32_t> stepsTo(const Graph &graph, const Stage &stage, std::vector<uint32_t> values,
                              std::vector<uint32_t> there) {
  std::ranges::sort(there);
  std::vector<char> isFound(stage.end - stage.first);
  while (!values.empty()) {
    const uint32_t value = values.back(), maker = graph.maker[value];
    values.pop_back();
    if (graph.held[value] == 0 || maker < stage.first || maker >= stage.end ||
        isFound[maker - stage.first] || !graph.problem.steps[maker].mayRepeat ||
        std::ranges::binary_search(there, value))
      continue;
    isFound[maker - stage.first] = 1;
    const std::vector<uint32_t> &reads = graph.problem.steps[maker].reads;
    values.insert(values.end(), reads.begin(), reads.end());
  }
  std::vector<uint32_t> steps;
  for (uint32_t step = stage.first; step < stage.end; ++step)
    if (isFound[step - stage.first])
      steps.push_back(step);
  return steps;
}

} // namespace gantry::remat
