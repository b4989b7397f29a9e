#include "Instance.h"

#include <algorithm>
#include <numeric>

namespace gantry::packing {

namespace {

bool takesRoom(const Buffer &buffer) { return buffer.size != 0 && buffer.first != buffer.last; }

/// Numbers the steps at which something changes.
class Slots {
public:
  explicit Slots(const Problem &problem) {
    uint32_t latest = 0;
    for (const Buffer &buffer : problem.buffers)
      latest = std::max(latest, buffer.last);
    // Steps that are not much more than the buffers are looked up, others searched for.
    if (latest / 16 <= problem.buffers.size())
      number(problem, latest);
    else
      sort(problem);
  }
  uint32_t operator[](uint32_t step) const {
    if (!slotOf.empty())
      return slotOf[step];
    return static_cast<uint32_t>(std::lower_bound(steps.begin(), steps.end(), step) -
                                 steps.begin());
  }
  /// Between the steps.
  uint32_t count() const { return numSteps == 0 ? 0 : numSteps - 1; }

private:
  std::vector<uint32_t> slotOf, steps;
  uint32_t numSteps = 0;

  void number(const Problem &problem, uint32_t latest) {
    slotOf.assign(size_t(latest) + 1, 0);
    for (const Buffer &buffer : problem.buffers)
      if (takesRoom(buffer))
        slotOf[buffer.first] = slotOf[buffer.last] = 1;
    for (uint32_t &slot : slotOf)
      slot = slot ? numSteps++ : 0;
  }
  void sort(const Problem &problem) {
    for (const Buffer &buffer : problem.buffers)
      if (takesRoom(buffer)) {
        steps.push_back(buffer.first);
        steps.push_back(buffer.last);
      }
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    numSteps = static_cast<uint32_t>(steps.size());
  }
};

} // namespace

Instance::Instance(const Problem &problem) : granule(granuleOf(problem)) {
  const Slots slots(problem);
  numSlots = slots.count();
  load.assign(numSlots + size_t(1), 0); // differences, then their sums
  std::vector<uint32_t> ends(numSlots + size_t(1), 0);
  for (const Buffer &buffer : problem.buffers)
    if (takesRoom(buffer))
      ++ends[slots[buffer.first]];
  std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), 0u);
  const size_t count = ends.back(); // nothing begins at the last step
  boxes.resize(count);
  for (uint32_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    if (!takesRoom(buffer))
      continue;
    const Box box = {roundUp(buffer.size, granule),
                     buffer.alignment,
                     buffer.fixedOffset.value_or(Box::free),
                     slots[buffer.first],
                     slots[buffer.last],
                     buffer.last - buffer.first,
                     i};
    boxes[ends[box.begin]++] = box;
    load[box.begin] += box.size;
    load[box.end] -= box.size;
    oneAlignment &= box.alignment == granule;
    if (box.fixedAt != Box::free) {
      anyFixed = true;
      lowerBound = std::max(lowerBound, box.fixedAt + box.size);
    }
  }
  std::partial_sum(load.begin(), load.end(), load.begin());
  load.pop_back();
  for (uint64_t bytes : load)
    lowerBound = std::max(lowerBound, bytes);
}

uint64_t peakOf(const Instance &instance, const std::vector<uint64_t> &offsets) {
  uint64_t peak = 0;
  for (size_t i = 0; i < offsets.size(); ++i)
    peak = std::max(peak, offsets[i] + instance.boxes[i].size);
  return peak;
}

} // namespace gantry::packing
