// Anneals the keys of the skyline: a few boxes get other keys, the skyline is drawn again, and what
// is not much worse is kept, ever less of it. For instances whose sizes are so alike that hardly
// any place is better than another, this finds what ejection does not.
#include "Planners.h"
#include "Skyline.h"
#include "gantry/Support/Random.h"

#include <cmath>

namespace gantry::packing {

namespace {

/// The weighting whose skyline is lowest, as the place to begin.
std::vector<double> bestKeys(const KeyMaker &maker, SkylinePlanner &planner, Layout &best,
                             uint64_t target, uint64_t cost, Effort &effort) {
  std::vector<double> kept;
  std::vector<uint64_t> offsets;
  uint64_t lowest = UINT64_MAX;
  for (unsigned i = 0; i < numWeightings() && lowest > target && effort.take(cost); ++i) {
    std::vector<double> keys = maker.keys(weighting(i));
    uint64_t height = planner.place(keys, lowest, offsets);
    if (height >= lowest)
      continue;
    lowest = height;
    kept = std::move(keys);
    if (height < best.peak)
      best = {offsets, height};
  }
  return kept;
}

} // namespace

Layout anneal(const Instance &instance, const Layout &start, uint64_t target, uint64_t seed,
              Effort &effort) {
  Layout best = start;
  const uint64_t cost = instance.boxes.size();
  KeyMaker maker(instance);
  SkylinePlanner planner(instance);
  std::vector<double> keys = bestKeys(maker, planner, best, target, cost, effort);
  if (keys.empty() || best.peak <= target)
    return best;
  Random random(seed);
  std::vector<uint64_t> offsets;
  uint64_t current = planner.place(keys, UINT64_MAX, offsets);
  const double rounds = static_cast<double>(effort.left / cost + 1);
  const double warmest = 0.1 * static_cast<double>(current - target);
  std::vector<std::pair<uint32_t, double>> changed;
  std::vector<uint32_t> high; // boxes over the target
  auto findHigh = [&] {
    high.clear();
    for (uint32_t i = 0; i < offsets.size(); ++i)
      if (offsets[i] + instance.boxes[i].size > target)
        high.push_back(i);
  };
  findHigh();
  while (best.peak > target && effort.take(cost)) {
    double heat = static_cast<double>(effort.left / cost) / rounds;
    changed.clear();
    for (uint64_t n = 1 + random.below(3); n != 0; --n) {
      uint32_t box = high.empty() || random.below(2) == 0
                         ? static_cast<uint32_t>(random.below(keys.size()))
                         : high[random.below(high.size())];
      changed.emplace_back(box, keys[box]);
      keys[box] += 4 * (random.unit() - 0.5);
    }
    // As much worse as the heat allows, by chance.
    uint64_t slack = static_cast<uint64_t>(-std::log(1 - random.unit()) * warmest * heat * heat);
    uint64_t height = planner.place(keys, current + slack + 1, offsets);
    if (height > current + slack) {
      for (auto it = changed.rbegin(); it != changed.rend(); ++it)
        keys[it->first] = it->second;
      continue;
    }
    current = height;
    findHigh();
    if (height < best.peak)
      best = {offsets, height};
  }
  return best;
}

} // namespace gantry::packing
