// One walk over the steps with two questions to each use.
//
// Is it in order? Of each queue it is kept how far every other queue is known to be; each piece of
// memory knows who wrote it and who has read it since. A use is in order when its queue knows of
// those that it meets. Commands before a join are in order with all that follow.
//
// Is it what was written? Each piece knows whose value it holds. Where ways meet, a piece that
// holds one value on the one way and another on the other is good for neither. A loop's first list
// begins with what was there before or with what its second list left; since commands write values
// without regard to what was there, one round tells all that any number of rounds can leave.
#include "gantry/Judge/QueueProgram.h"

#include "Clock.h"
#include "Contents.h"
#include "Lists.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gantry::judge {

namespace {

using Kind = Step::Kind;

Content meet(const Content &a, const Content &b) {
  if (a.onOtherWay)
    return a;
  if (b.value.buffer != a.value.buffer)
    return {a.value, b.value};
  return b.onOtherWay ? b : a;
}

class Walk {
public:
  explicit Walk(const QueueProgram &program);

  std::optional<Fault> run();

private:
  struct Placed {
    uint32_t space = 0;
    Stretch stretch;
  };
  struct Semaphore {
    bool isSet = false, isUsed = false;
    Clock known; ///< what is over when it is set
  };

  const QueueProgram &program;
  std::optional<Fault> fault;
  const Lists lists;
  std::vector<Contents> spaces;
  std::vector<Clock> known; ///< by queue
  std::vector<Semaphore> semaphores;
  std::vector<uint32_t> setHere; ///< semaphores of the lists that the walk is in
  uint64_t time = 0, joined = 0; ///< of the last command, and when the queues came together last
  bool isJudging = true;         ///< else only writes count
  unsigned depth = 0;            ///< lists around, whose writes are taken back
  std::vector<Placed> before;    ///< what these wrote over

  void measure();

  void runList(uint32_t begin, uint32_t end);
  void runCommand(uint32_t step);
  void runSignal(uint32_t step);
  void runWait(uint32_t step);
  void runBranch(uint32_t step);
  void runLoop(uint32_t step);
  void join() { joined = time; }

  ByteRange bytesOf(const Use &use) const;
  bool isSameUse(uint32_t step, const Use &use, const Use &other) const;
  void examine(uint32_t step, const Use &use);
  void examineAll(uint32_t step);
  void read(uint32_t step, const Use &use);
  void write(uint32_t step, const Use &use);
  void checkContent(uint32_t step, uint32_t buffer, ByteRange range, const Content &content);
  void checkOrder(uint32_t step, const Use &use, ByteRange range, const Event &event,
                  const Use &other);
  void report(Fault found) {
    if (!fault)
      fault = found;
  }

  void put(uint32_t space, ByteRange range, const Content &content);
  void takeBack(size_t mark);
  std::vector<Placed> readAll(const std::vector<std::pair<uint32_t, ByteRange>> &ranges);
  std::vector<std::pair<uint32_t, ByteRange>> rangesSince(size_t mark) const;
  void meetWith(const std::vector<Placed> &others);
};

Walk::Walk(const QueueProgram &program) : program(program), lists(matchLists(program.steps)) {
  measure();
  for (uint32_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer &buffer = program.buffers[i];
    if (buffer.isGiven && buffer.begin < buffer.end)
      put(buffer.space, {buffer.begin, buffer.end}, {{i, {}}, std::nullopt});
  }
}

/// How many spaces, queues and semaphores there are, and of how many bytes.
void Walk::measure() {
  std::vector<uint64_t> sizes;
  for (const Buffer &buffer : program.buffers) {
    sizes.resize(std::max<size_t>(sizes.size(), buffer.space + 1));
    sizes[buffer.space] = std::max(sizes[buffer.space], buffer.end);
  }
  for (uint64_t size : sizes)
    spaces.emplace_back(size);
  size_t queues = 0, signals = 0;
  for (const Step &step : program.steps) {
    queues = std::max<size_t>(queues, step.queue + 1);
    signals = std::max<size_t>(signals, step.semaphore + 1);
  }
  known.resize(queues);
  semaphores.resize(signals);
}

std::optional<Fault> Walk::run() {
  runList(0, static_cast<uint32_t>(program.steps.size()));
  join();
  for (uint32_t i = 0; i < program.buffers.size() && !fault; ++i)
    if (program.buffers[i].isKept)
      examine(Fault::caller, {.buffer = i});
  return fault;
}

//===------------------------------------------------------------------------------------------===//
// Steps
//===------------------------------------------------------------------------------------------===//

/// What comes after the list cannot rely on the signals in it: the list may not have run.
void Walk::runList(uint32_t begin, uint32_t end) {
  size_t mark = setHere.size();
  for (uint32_t i = begin; i < end && !fault; ++i) {
    switch (program.steps[i].kind) {
    case Kind::command:
    case Kind::exchange: // when it happens is the job's to judge
      runCommand(i);
      break;
    case Kind::signal:
      runSignal(i);
      break;
    case Kind::wait:
      runWait(i);
      break;
    case Kind::branch:
      runBranch(i);
      i = lists[i].second;
      break;
    case Kind::loop:
      runLoop(i);
      i = lists[i].second;
      break;
    case Kind::otherwise:
    case Kind::body:
    case Kind::end:
      break;
    }
  }
  for (; setHere.size() > mark; setHere.pop_back())
    semaphores[setHere.back()].isSet = false;
}

void Walk::runCommand(uint32_t index) {
  const Step &step = program.steps[index];
  known[step.queue].set(step.queue, ++time);
  for (const Use &use : step.uses)
    if (!use.writes && isJudging)
      read(index, use);
  for (const Use &use : step.uses)
    if (use.writes && !fault)
      write(index, use);
}

void Walk::runSignal(uint32_t index) {
  if (!isJudging)
    return;
  const Step &step = program.steps[index];
  Semaphore &semaphore = semaphores[step.semaphore];
  if (semaphore.isUsed)
    report({.kind = Fault::Kind::signalledTwice, .step = index});
  semaphore = {true, true, known[step.queue]};
  setHere.push_back(step.semaphore);
}

void Walk::runWait(uint32_t index) {
  if (!isJudging)
    return;
  const Step &step = program.steps[index];
  const Semaphore &semaphore = semaphores[step.semaphore];
  if (!semaphore.isSet)
    return report({.kind = Fault::Kind::unsignalled, .step = index});
  known[step.queue].learn(semaphore.known);
}

void Walk::runBranch(uint32_t index) {
  auto [second, end] = lists[index];
  join();
  examineAll(index);
  size_t mark = before.size();
  ++depth;
  runList(index + 1, second);
  auto ranges = rangesSince(mark);
  std::vector<Placed> oneWay = readAll(ranges);
  takeBack(mark);
  join();
  runList(second + 1, end);
  std::ranges::move(rangesSince(mark), std::back_inserter(ranges));
  std::vector<Placed> otherWay = readAll(ranges);
  takeBack(mark);
  join();
  --depth;
  for (const auto &[space, stretch] : oneWay)
    put(space, stretch.range, stretch.content);
  meetWith(otherWay);
}

void Walk::runLoop(uint32_t index) {
  auto [second, end] = lists[index];
  bool wasJudging = std::exchange(isJudging, false);
  size_t mark = before.size();
  ++depth;
  runList(index + 1, second);
  runList(second + 1, end);
  std::vector<Placed> afterRound = readAll(rangesSince(mark));
  takeBack(mark);
  --depth;
  isJudging = wasJudging;
  meetWith(afterRound);

  join();
  runList(index + 1, second);
  join();
  examineAll(index);
  if (!isJudging)
    return; // what the body leaves is known
  ++depth;
  mark = before.size();
  runList(second + 1, end);
  takeBack(mark);
  --depth;
  join();
}

//===------------------------------------------------------------------------------------------===//
// Uses
//===------------------------------------------------------------------------------------------===//

/// Empty where the use has no byte of its buffer.
ByteRange Walk::bytesOf(const Use &use) const {
  const Buffer &place = program.buffers[use.buffer];
  uint64_t begin = std::max(place.begin, use.begin);
  return {begin, std::max(begin, std::min(place.end, use.end))};
}

void Walk::examineAll(uint32_t step) {
  for (const Use &use : program.steps[step].uses)
    if (isJudging)
      examine(step, use);
}

/// A read when all queues have come together.
void Walk::examine(uint32_t step, const Use &use) {
  ByteRange all = bytesOf(use);
  if (all.begin < all.end)
    spaces[program.buffers[use.buffer].space].visit(
        all, [&](ByteRange range, const WrittenBytes &piece) {
          checkContent(step, use.buffer, range, piece.content);
        });
}

void Walk::read(uint32_t step, const Use &use) {
  uint32_t queue = program.steps[step].queue;
  ByteRange all = bytesOf(use);
  if (all.begin >= all.end)
    return;
  spaces[program.buffers[use.buffer].space].visit(all, [&](ByteRange range, WrittenBytes &piece) {
    checkContent(step, use.buffer, range, piece.content);
    const Value &value = piece.content.value;
    checkOrder(step, use, range, value.writer, {value.buffer, true});
    std::erase_if(piece.readers, [&](const Event &event) { return event.queue == queue; });
    piece.readers.push_back({step, queue, time});
  });
}

void Walk::write(uint32_t step, const Use &use) {
  ByteRange all = bytesOf(use);
  if (all.begin >= all.end)
    return;
  uint32_t space = program.buffers[use.buffer].space;
  if (isJudging)
    spaces[space].visit(all, [&](ByteRange range, const WrittenBytes &piece) {
      const Value &value = piece.content.value;
      checkOrder(step, use, range, value.writer, {value.buffer, true});
      for (const Event &reader : piece.readers)
        checkOrder(step, use, range, reader, {value.buffer, false});
    });
  put(space, all, {{use.buffer, {step, program.steps[step].queue, time}}, std::nullopt});
}

void Walk::checkContent(uint32_t step, uint32_t buffer, ByteRange range, const Content &content) {
  const Value *wrong = nullptr;
  if (content.value.buffer != buffer)
    wrong = &content.value;
  else if (content.onOtherWay)
    wrong = &*content.onOtherWay;
  if (!wrong)
    return;
  bool isNobodys = wrong->buffer == nobody;
  report({.kind = isNobodys ? Fault::Kind::unwritten : Fault::Kind::overwritten,
          .step = step,
          .other = wrong->writer.step,
          .buffer = buffer,
          .otherBuffer = wrong->buffer,
          .otherWrites = true,
          .begin = range.begin,
          .end = range.end});
}

/// Whether all that the step uses of the other buffer there are the bytes of `use`.
bool Walk::isSameUse(uint32_t step, const Use &use, const Use &other) const {
  ByteRange mine = bytesOf(use);
  return use.buffer == other.buffer &&
         std::ranges::all_of(program.steps[step].uses, [&](const Use &own) {
           ByteRange its = bytesOf(own);
           bool meets = own.buffer == use.buffer && its.begin < mine.end && mine.begin < its.end;
           return !meets || (its.begin == mine.begin && its.end == mine.end);
         });
}

/// The step's own earlier uses are in order with a use of the same bytes of the same buffer: it may
/// write its result over an operand. Two buffers that it uses both hold something while it runs.
void Walk::checkOrder(uint32_t step, const Use &use, ByteRange range, const Event &event,
                      const Use &other) {
  uint32_t queue = program.steps[step].queue;
  bool isOwn = event.time == time && event.step == step;
  bool isOrdered =
      event.time <= joined || event.queue == queue || known[queue].of(event.queue) >= event.time;
  if (isOwn ? isSameUse(step, use, other) : isOrdered)
    return;
  report({.kind = isOwn ? Fault::Kind::shared : Fault::Kind::unordered,
          .step = step,
          .other = event.step,
          .buffer = use.buffer,
          .otherBuffer = other.buffer,
          .writes = use.writes,
          .otherWrites = other.writes,
          .begin = range.begin,
          .end = range.end});
}

//===------------------------------------------------------------------------------------------===//
// What was there before
//===------------------------------------------------------------------------------------------===//

void Walk::put(uint32_t space, ByteRange range, const Content &content) {
  if (depth > 0)
    for (Stretch &stretch : spaces[space].read(range))
      before.push_back({space, std::move(stretch)});
  spaces[space].write(range, content);
}

void Walk::takeBack(size_t mark) {
  for (; before.size() > mark; before.pop_back()) {
    const auto &[space, stretch] = before.back();
    spaces[space].write(stretch.range, stretch.content);
  }
}

/// The bytes that were written since, each once.
std::vector<std::pair<uint32_t, ByteRange>> Walk::rangesSince(size_t mark) const {
  std::vector<std::pair<uint32_t, ByteRange>> ranges, joint;
  for (size_t i = mark; i < before.size(); ++i)
    ranges.emplace_back(before[i].space, before[i].stretch.range);
  std::ranges::sort(ranges, {},
                    [](const auto &each) { return std::pair(each.first, each.second.begin); });
  for (const auto &[space, range] : ranges) {
    if (joint.empty() || joint.back().first != space || joint.back().second.end < range.begin)
      joint.emplace_back(space, range);
    else
      joint.back().second.end = std::max(joint.back().second.end, range.end);
  }
  return joint;
}

std::vector<Walk::Placed> Walk::readAll(const std::vector<std::pair<uint32_t, ByteRange>> &ranges) {
  std::vector<Placed> all;
  for (const auto &[space, range] : ranges)
    for (Stretch &stretch : spaces[space].read(range))
      all.push_back({space, std::move(stretch)});
  return all;
}

/// What is there and what was read on another way become what either may have left.
void Walk::meetWith(const std::vector<Placed> &others) {
  for (const auto &[space, other] : others)
    for (const Stretch &mine : spaces[space].read(other.range))
      put(space, mine.range, meet(mine.content, other.content));
}

} // namespace

std::optional<Fault> findFault(const QueueProgram &program) { return Walk(program).run(); }

} // namespace gantry::judge
