// Vector clocks over the commands in order: entry q of a command's clock is the number of commands
// of queue q that are done when it is done; a queue of which none is has no entry, so that clocks
// of a job's tasks, which meet rarely, stay short. A conflict is in order when the clock of the
// command before it on its own queue says so; of the others, those are left out that another wait
// implies.
//
// This gives the transitive reduction: a wait is kept only if no other way leads from the one
// command to the other, and then the conflict itself is what its removal would leave open.
#include "gantry/Queues/Order.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

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

/// How many commands of each queue are done, by queue; of queues that are not there none is.
class Clock {
public:
  uint32_t of(uint32_t queue) const {
    auto found = std::ranges::lower_bound(entries, queue, {}, &Entry::queue);
    return found != entries.end() && found->queue == queue ? found->done : 0;
  }

  uint32_t count(uint32_t queue) {
    auto found = std::ranges::lower_bound(entries, queue, {}, &Entry::queue);
    if (found == entries.end() || found->queue != queue)
      found = entries.insert(found, Entry{queue, 0});
    return ++found->done;
  }

  /// Takes over what the others know.
  void learn(const std::vector<const Clock *> &others) {
    if (others.empty())
      return;
    auto isBefore = [](const Entry &a, const Entry &b) {
      return a.queue != b.queue ? a.queue < b.queue : a.done > b.done;
    };
    const auto own = static_cast<ptrdiff_t>(entries.size());
    for (const Clock *other : others)
      entries.insert(entries.end(), other->entries.begin(), other->entries.end());
    if (others.size() == 1)
      std::ranges::inplace_merge(entries, entries.begin() + own, isBefore);
    else
      std::ranges::sort(entries, isBefore);
    auto again = std::ranges::unique(entries, {}, &Entry::queue);
    entries.erase(again.begin(), again.end());
  }

  template <typename Visit>
  void visit(Visit visit) const {
    for (const Entry &entry : entries)
      visit(entry.queue, entry.done);
  }

private:
  struct Entry {
    uint32_t queue, done;
  };
  std::vector<Entry> entries; ///< by queue
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
    clocks.resize(commands.size());
    last.assign(numQueues, none);
    need.assign(numQueues, none);
    isImplied.assign(numQueues, 0);
    for (uint32_t i = 0; i < commands.size(); ++i)
      add(i);
    return std::move(waits);
  }

private:
  const std::vector<Command> &commands;
  uint32_t numQueues = 0, numSpaces = 0;
  std::vector<Uses> uses;      ///< by space
  std::vector<uint32_t> place; ///< by command: how many its queue has had with it
  std::vector<Clock> clocks;   ///< by command
  std::vector<uint32_t> last;  ///< by queue: its latest command
  std::vector<uint32_t> need;  ///< by queue: its latest command that conflicts with the one at hand
  std::vector<uint32_t> needed; ///< those of them that are not in order yet
  std::vector<char> isImplied;  ///< by queue: a wait for another one of them implies it
  std::vector<Wait> waits;

  void add(uint32_t index) {
    const Command &command = commands[index];
    Clock &mine = clocks[index];
    if (uint32_t previous = last[command.queue]; previous != none)
      mine = clocks[previous];
    collect(index);
    waitFor(index, mine);
    place[index] = mine.count(command.queue);
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

  void waitFor(uint32_t index, Clock &mine) {
    auto forget = [&](uint32_t queue) {
      bool known = mine.of(queue) >= place[need[queue]];
      if (known)
        need[queue] = none;
      return known;
    };
    std::erase_if(needed, forget);
    for (uint32_t queue : needed)
      clocks[need[queue]].visit([&](uint32_t other, uint32_t done) {
        if (other != queue && need[other] != none && done >= place[need[other]])
          isImplied[other] = 1;
      });
    size_t first = waits.size();
    for (uint32_t queue : needed)
      if (!std::exchange(isImplied[queue], 0))
        waits.push_back({need[queue], index});
    std::sort(waits.begin() + static_cast<ptrdiff_t>(first), waits.end(),
              [](const Wait &a, const Wait &b) { return a.before < b.before; });
    std::vector<const Clock *> others;
    for (size_t i = first; i < waits.size(); ++i)
      others.push_back(&clocks[waits[i].before]);
    mine.learn(others);
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
