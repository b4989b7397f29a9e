// The judge. Written before the planners and apart from them: it shares none of their code, so that
// one mistake cannot hide in both.
#include "gantry/Packing/Packing.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>

namespace gantry::packing {

namespace {
std::string nameOf(size_t index) { return "buffer " + std::to_string(index); }

bool takesRoom(const Buffer &buffer) { return buffer.size != 0 && buffer.first != buffer.last; }

Status wrong(const std::string &what) { return Status::internal("memory plan: " + what); }

Status validateOne(const Buffer &buffer, size_t index, uint64_t offset, uint64_t peak) {
  if (offset % buffer.alignment != 0)
    return wrong(nameOf(index) + " is at " + std::to_string(offset) + ", not a multiple of " +
                 std::to_string(buffer.alignment));
  if (buffer.fixedOffset && offset != *buffer.fixedOffset)
    return wrong(nameOf(index) + " is at " + std::to_string(offset) + " and must be at " +
                 std::to_string(*buffer.fixedOffset));
  if (buffer.size > peak || offset > peak - buffer.size)
    return wrong(nameOf(index) + " ends at " + std::to_string(offset) + " + " +
                 std::to_string(buffer.size) + ", over the peak of " + std::to_string(peak));
  return {};
}

/// The ranges that are live at the time of the sweep, by offset.
class LiveRanges {
public:
  explicit LiveRanges(const Problem &problem) : problem(problem) {}

  Status insert(size_t index, uint64_t offset) {
    uint64_t end = offset + problem.buffers[index].size;
    auto after = live.lower_bound(offset);
    if (after != live.end() && after->first < end)
      return overlap(index, after->second);
    if (after != live.begin()) {
      auto before = std::prev(after);
      if (before->first + problem.buffers[before->second].size > offset)
        return overlap(index, before->second);
    }
    live.emplace(offset, index);
    return {};
  }
  void erase(uint64_t offset) { live.erase(offset); }

private:
  const Problem &problem;
  std::map<uint64_t, size_t> live;

  static Status overlap(size_t a, size_t b) {
    return wrong(nameOf(std::min(a, b)) + " and " + nameOf(std::max(a, b)) +
                 " are live together and overlap");
  }
};
} // namespace

Status checkProblem(const Problem &problem) {
  // Room for sums of offsets, sizes and alignments in 64 bits, for every planner.
  constexpr uint64_t limit = uint64_t(1) << 62;
  uint64_t total = 0;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    if (buffer.first > buffer.last)
      return Status::invalidArgument(nameOf(i) + " is live from " + std::to_string(buffer.first) +
                                     " to before " + std::to_string(buffer.last));
    if (!std::has_single_bit(buffer.alignment) || buffer.alignment > (uint64_t(1) << 32))
      return Status::invalidArgument(nameOf(i) + " has an alignment of " +
                                     std::to_string(buffer.alignment) +
                                     ", which is not a power of two up to 2^32");
    if (buffer.fixedOffset && *buffer.fixedOffset % buffer.alignment != 0)
      return Status::invalidArgument(
          nameOf(i) + " is fixed at " + std::to_string(*buffer.fixedOffset) +
          ", not a multiple of its alignment " + std::to_string(buffer.alignment));
    uint64_t fixed = buffer.fixedOffset.value_or(0);
    if (buffer.size > limit || fixed > limit ||
        (total += buffer.size + 2 * buffer.alignment) > limit)
      return Status::invalidArgument(nameOf(i) + ": the buffers have over 2^62 bytes together");
  }
  return {};
}

Status validate(const Problem &problem, const Solution &solution) {
  size_t count = problem.buffers.size();
  if (solution.offsets.size() != count)
    return wrong(std::to_string(solution.offsets.size()) + " offsets for " + std::to_string(count) +
                 " buffers");
  if (solution.lowerBound > solution.peak)
    return wrong("the peak " + std::to_string(solution.peak) + " is under the lower bound " +
                 std::to_string(solution.lowerBound));

  struct Event {
    uint32_t time;
    bool begins;
    size_t index;
  };
  std::vector<Event> events;
  for (size_t i = 0; i < count; ++i) {
    const Buffer &buffer = problem.buffers[i];
    if (!takesRoom(buffer))
      continue;
    GANTRY_RETURN_IF_ERROR(validateOne(buffer, i, solution.offsets[i], solution.peak));
    events.push_back({buffer.first, true, i});
    events.push_back({buffer.last, false, i});
  }
  // Half-open: what ends at a step makes room for what begins there.
  std::sort(events.begin(), events.end(), [](const Event &a, const Event &b) {
    return std::pair(a.time, a.begins) < std::pair(b.time, b.begins);
  });
  LiveRanges live(problem);
  for (const Event &event : events) {
    if (event.begins)
      GANTRY_RETURN_IF_ERROR(live.insert(event.index, solution.offsets[event.index]));
    else
      live.erase(solution.offsets[event.index]);
  }
  return {};
}

} // namespace gantry::packing
