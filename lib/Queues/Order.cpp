// Vector clocks over the commands in order: entry q of a command's clock is the number of commands
// of queue q that are done when it is done. A conflict is in order when the clock of the command
// before it on its own queue says so; of the others, those are left out that another wait implies.
//
// This gives the transitive reduction: a wait is kept only if no other way leads from the one
// command to the other, and then the conflict itself is what its removal would leave open.
#include "gantry/Queues/Order.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>

namespace gantry::queues {

namespace {

constexpr uint32_t none = UINT32_MAX;

/// Who used each byte of a space last: of every range the last write, and the reads since, at most
/// one per queue, the last.
class Uses {
public:
  /// Records a use by `command`; calls `conflict(other)` for each one that it conflicts with.
  template <typename Conflict>
  void record(uint32_t command, uint32_t queue, const Access &access, Conflict conflict) {
    if (access.begin >= access.end)
      return;
    split(access.begin);
    split(access.end);
    access.writes ? write(command, access, conflict) : read(command, queue, access, conflict);
  }

private:
  struct Read {
    uint32_t queue, command;
  };
  struct AccessRange {
    uint64_t end = 0;
    uint32_t write = none;
    std::vector<Read> reads;
  };
  std::map<uint64_t, AccessRange> ranges; ///< by begin; disjoint

  /// Makes `at` a border between ranges, if it lies inside of one.
  void split(uint64_t at) {
    auto after = ranges.upper_bound(at);
    if (after == ranges.begin())
      return;
    auto &[begin, range] = *std::prev(after);
    if (begin == at || range.end <= at)
      return;
    AccessRange second = range;
    range.end = at;
    ranges.emplace_hint(after, at, std::move(second));
  }

  /// What was there becomes one range: a space has no more of them than it has had writes.
  template <typename Conflict>
  void write(uint32_t command, const Access &access, Conflict conflict) {
    auto first = ranges.lower_bound(access.begin), last = first;
    for (; last != ranges.end() && last->first < access.end; ++last) {
      if (last->second.write != none)
        conflict(last->second.write);
      for (const Read &read : last->second.reads)
        conflict(read.command);
    }
    ranges.erase(first, last);
    ranges.emplace_hint(last, access.begin, AccessRange{access.end, command, {}});
  }

  template <typename Conflict>
  void read(uint32_t command, uint32_t queue, const Access &access, Conflict conflict) {
    uint64_t at = access.begin;
    for (auto found = ranges.lower_bound(at); at < access.end; at = found->second.end, ++found) {
      if (found == ranges.end() || found->first > at) { // bytes that nobody has used yet
        uint64_t end = found == ranges.end() ? access.end : std::min(access.end, found->first);
        found = ranges.emplace_hint(found, at, AccessRange{end, none, {}});
      }
      AccessRange &range = found->second;
      if (range.write != none)
        conflict(range.write);
      std::erase_if(range.reads, [&](const Read &read) { return read.queue == queue; });
      range.reads.push_back({queue, command});
    }
  }
};

class Orderer {
public:
  explicit Orderer(const std::vector<Command> &commands) : commands(commands) {
    for (const Command &command : commands) {
      numQueues = std::max(numQueues, command.queue + 1);
      for (const Access &access : command.accesses)
        numSpaces = std::max(numSpaces, access.space + 1);
    }
  }

  std::vector<Wait> run() {
    if (numQueues <= 1)
      return {};
    uses.resize(numSpaces);
    place.resize(commands.size());
    clocks.resize(commands.size() * numQueues);
    last.assign(numQueues, none);
    need.assign(numQueues, none);
    for (uint32_t i = 0; i < commands.size(); ++i)
      add(i);
    return std::move(waits);
  }

private:
  const std::vector<Command> &commands;
  uint32_t numQueues = 0, numSpaces = 0;
  std::vector<Uses> uses;       ///< by space
  std::vector<uint32_t> place;  ///< by command: how many its queue has had with it
  std::vector<uint32_t> clocks; ///< by command, then queue
  std::vector<uint32_t> last;   ///< by queue: its latest command
  std::vector<uint32_t> need; ///< by queue: its latest command that conflicts with the one at hand
  std::vector<uint32_t> needed; ///< those of them that are not in order yet
  std::vector<Wait> waits;

  std::span<uint32_t> clock(uint32_t command) {
    return {clocks.data() + size_t(command) * numQueues, numQueues};
  }

  void add(uint32_t index) {
    const Command &command = commands[index];
    std::span<uint32_t> mine = clock(index);
    if (uint32_t previous = last[command.queue]; previous != none)
      std::ranges::copy(clock(previous), mine.begin());
    collect(index);
    waitFor(index, mine);
    place[index] = ++mine[command.queue];
    last[command.queue] = index;
  }

  /// Of each other queue the latest conflict; it implies the earlier ones.
  void collect(uint32_t index) {
    const Command &command = commands[index];
    for (const Access &access : command.accesses)
      uses[access.space].record(index, command.queue, access, [&](uint32_t other) {
        uint32_t queue = commands[other].queue;
        if (queue == command.queue)
          return;
        if (need[queue] == none)
          needed.push_back(queue);
        if (need[queue] == none || need[queue] < other)
          need[queue] = other;
      });
  }

  void waitFor(uint32_t index, std::span<uint32_t> mine) {
    auto isKnown = [&](uint32_t queue, std::span<uint32_t> by) {
      return by[queue] >= place[need[queue]];
    };
    auto forget = [&](uint32_t queue) {
      bool known = isKnown(queue, mine);
      if (known)
        need[queue] = none;
      return known;
    };
    std::erase_if(needed, forget);
    size_t first = waits.size();
    for (uint32_t queue : needed)
      if (std::ranges::none_of(needed, [&](uint32_t other) {
            return other != queue && isKnown(queue, clock(need[other]));
          }))
        waits.push_back({need[queue], index});
    std::sort(waits.begin() + static_cast<ptrdiff_t>(first), waits.end(),
              [](const Wait &a, const Wait &b) { return a.before < b.before; });
    for (size_t i = first; i < waits.size(); ++i)
      std::ranges::transform(mine, clock(waits[i].before), mine.begin(),
                             [](uint32_t a, uint32_t b) { return std::max(a, b); });
    for (uint32_t queue : needed)
      need[queue] = none;
    needed.clear();
  }
};

} // namespace

std::vector<Wait> orderQueues(const std::vector<Command> &commands) {
  return Orderer(commands).run();
}

} // namespace gantry::queues
