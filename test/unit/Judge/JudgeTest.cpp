// The judge of commands, judged by brute force: every way through a program is walked, and on each
// every pair of uses is looked at.
#include "gantry/Judge/QueueProgram.h"
#include "gantry/Queues/Order.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <random>

using namespace gantry::judge;
using Kind = Step::Kind;
using FaultKind = Fault::Kind;

namespace {

Use reads(uint32_t buffer) { return {buffer, false}; }
Use writes(uint32_t buffer) { return {buffer, true}; }
Step command(uint32_t queue, std::vector<Use> uses) { return {Kind::command, queue, 0, uses}; }
Step signal(uint32_t queue, uint32_t semaphore) { return {Kind::signal, queue, semaphore, {}}; }
Step wait(uint32_t queue, uint32_t semaphore) { return {Kind::wait, queue, semaphore, {}}; }
Step list(Kind kind, std::vector<Use> uses = {}) { return {kind, 0, 0, uses}; }

// ---- each kind of fault ----

TEST(Judge, FindsNothingInNothing) {
  EXPECT_FALSE(findFault({}));
  EXPECT_FALSE(findFault({{{0, 0, 8, true, true}}, {}}));
}

TEST(Judge, WantsAnOrderForEachKindOfConflict) {
  std::vector<Buffer> buffers{{0, 0, 8}, {0, 4, 12}};
  std::vector<Step> ordered{command(0, {writes(0)}), signal(0, 0), wait(1, 0),
                            command(1, {reads(0)}),  signal(1, 1), wait(0, 1),
                            command(0, {writes(1)})};
  EXPECT_FALSE(findFault({buffers, ordered}));
  for (size_t missing : {2, 5}) {
    std::vector<Step> steps = ordered;
    steps.erase(steps.begin() + static_cast<ptrdiff_t>(missing));
    std::optional<Fault> fault = findFault({buffers, steps});
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->kind, FaultKind::unordered);
    EXPECT_EQ(fault->step, missing == 2 ? 2u : 5u);
    EXPECT_EQ(fault->other, missing == 2 ? 0u : 3u);
    EXPECT_EQ(fault->writes, missing == 5);
    EXPECT_EQ(fault->otherWrites, missing == 2);
    EXPECT_EQ(fault->begin, missing == 2 ? 0u : 4u);
    EXPECT_EQ(fault->end, 8u);
  }
  // Two writes of bytes that nobody reads.
  std::optional<Fault> fault =
      findFault({buffers, {command(0, {writes(0)}), command(1, {writes(1)})}});
  ASSERT_TRUE(fault);
  EXPECT_TRUE(fault->writes && fault->otherWrites);
  // Two reads need none, nor do other bytes or another space.
  buffers = {{0, 0, 8, true}, {0, 8, 16}, {1, 0, 8}};
  EXPECT_FALSE(findFault({buffers,
                          {command(0, {reads(0)}), command(1, {reads(0)}), command(2, {writes(1)}),
                           command(3, {writes(2)})}}));
}

TEST(Judge, WantsTheReaderToFindItsBuffer) {
  std::vector<Buffer> buffers{{0, 0, 8}, {0, 4, 12}};
  std::optional<Fault> fault = findFault(
      {buffers, {command(0, {writes(0)}), command(0, {writes(1)}), command(0, {reads(0)})}});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::overwritten);
  EXPECT_EQ(fault->step, 2u);
  EXPECT_EQ(fault->other, 1u);
  EXPECT_EQ(fault->buffer, 0u);
  EXPECT_EQ(fault->otherBuffer, 1u);
  EXPECT_EQ(fault->begin, 4u);
  EXPECT_EQ(fault->end, 8u);
  // Once it is read for the last time its place may be used.
  EXPECT_FALSE(findFault(
      {buffers, {command(0, {writes(0)}), command(0, {reads(0)}), command(0, {writes(1)})}}));
}

TEST(Judge, WantsBytesToBeWritten) {
  std::optional<Fault> fault = findFault({{{0, 0, 8}}, {command(0, {reads(0)})}});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::unwritten);
  EXPECT_FALSE(findFault({{{0, 0, 8, true}}, {command(0, {reads(0)})}}));
  EXPECT_FALSE(findFault({{{0, 8, 8}}, {command(0, {reads(0)})}})); // of no bytes
}

TEST(Judge, KeepsWhatTheCallerReads) {
  std::optional<Fault> fault = findFault({{{0, 0, 8, false, true}}, {}});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::unwritten);
  EXPECT_EQ(fault->step, Fault::caller);
  fault = findFault({{{0, 0, 8, true, true}, {0, 4, 12}}, {command(0, {writes(1)})}});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::overwritten);
  EXPECT_EQ(fault->step, Fault::caller);
  EXPECT_EQ(fault->other, 0u);
  // Two constants in one place.
  fault = findFault({{{0, 0, 8, true, true}, {0, 7, 12, true, true}}, {}});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->other, Fault::caller);
  EXPECT_EQ(fault->otherBuffer, 1u);
}

TEST(Judge, AllowsAResultOverItsOwnOperandOnly) {
  std::vector<Buffer> buffers{{0, 0, 8, true}, {0, 4, 12}};
  EXPECT_FALSE(findFault({buffers, {command(0, {reads(0), writes(0)})}}));
  std::optional<Fault> fault = findFault({buffers, {command(0, {reads(0), writes(1)})}});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::shared);
  fault = findFault({buffers, {command(0, {writes(1), writes(0)})}});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::shared);
}

TEST(Judge, KnowsUsesOfParts) {
  // Bytes 64 to 80 of the space, written in two parts, read as a whole and as one of them.
  std::vector<Buffer> buffers{{0, 64, 80}, {0, 76, 84}};
  auto part = [](bool writes, uint64_t begin, uint64_t end) { return Use{0, writes, begin, end}; };
  std::vector<Step> steps{command(0, {part(true, 64, 72)}), command(0, {part(true, 72, 80)}),
                          command(0, {reads(0)}), command(0, {part(false, 72, 80)})};
  EXPECT_FALSE(findFault({buffers, steps}));
  // Half of it is not all.
  std::optional<Fault> fault = findFault({buffers, {steps[0], steps[2]}});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::unwritten);
  EXPECT_EQ(fault->begin, 72u);
  EXPECT_EQ(fault->end, 80u);
  // Another buffer over a part that is read later; the other part is as it was.
  steps.insert(steps.begin() + 2, command(0, {writes(1)}));
  fault = findFault({buffers, steps});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::overwritten);
  EXPECT_EQ(fault->begin, 76u);
  EXPECT_FALSE(findFault({buffers, {steps[0], steps[2], command(0, {part(false, 64, 72)})}}));
  // On two queues, parts have nothing to do with each other, but with the whole.
  EXPECT_FALSE(findFault({buffers, {steps[0], command(1, {part(true, 72, 80)})}}));
  fault = findFault({buffers, {steps[0], command(1, {writes(0)})}});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::unordered);
  EXPECT_EQ(fault->end, 72u);
}

TEST(Judge, AllowsAResultOverAPartOfItsOperandNowhere) {
  std::vector<Buffer> buffers{{0, 0, 16, true}};
  Use low{0, false, 0, 8}, high{0, true, 8, 16}, both{0, true, 4, 12};
  EXPECT_FALSE(findFault({buffers, {command(0, {low, high})}}));
  for (const Use &written : {both, Use{0, true}}) {
    std::optional<Fault> fault = findFault({buffers, {command(0, {low, written})}});
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->kind, FaultKind::shared);
  }
}

TEST(Judge, WantsOneSignalBeforeEachWait) {
  std::optional<Fault> fault = findFault({{}, {wait(0, 0), signal(1, 0)}});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::unsignalled);
  EXPECT_EQ(fault->step, 0u);
  fault = findFault({{}, {signal(1, 0), signal(1, 0)}});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::signalledTwice);
  // The signal of a list that may not have run.
  fault = findFault(
      {{}, {list(Kind::branch), signal(1, 0), list(Kind::otherwise), list(Kind::end), wait(0, 0)}});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::unsignalled);
}

// ---- branches and loops ----

TEST(Judge, JoinsQueuesWhereListsBeginAndEnd) {
  std::vector<Buffer> buffers{{0, 0, 8}, {0, 8, 9, true}};
  EXPECT_FALSE(findFault(
      {buffers,
       {command(0, {writes(0)}), list(Kind::branch, {reads(1)}), command(1, {reads(0)}),
        list(Kind::otherwise), command(2, {writes(0)}), list(Kind::end), command(3, {reads(0)})}}));
}

TEST(Judge, TakesEachWayOfABranch) {
  std::vector<Buffer> buffers{{0, 0, 8}, {0, 0, 8}, {0, 8, 9, true}};
  auto branch = [&](std::vector<Use> then, std::vector<Use> otherwise) {
    return findFault({buffers,
                      {list(Kind::branch, {reads(2)}), command(0, then), list(Kind::otherwise),
                       command(0, otherwise), list(Kind::end), command(0, {reads(0)})}});
  };
  EXPECT_FALSE(branch({writes(0)}, {writes(0)}));
  EXPECT_EQ(branch({writes(0)}, {}).value().kind, FaultKind::unwritten);
  EXPECT_EQ(branch({}, {writes(0)}).value().kind, FaultKind::unwritten);
  EXPECT_EQ(branch({writes(0)}, {writes(1)}).value().kind, FaultKind::overwritten);
  EXPECT_EQ(branch({writes(1)}, {writes(0)}).value().other, 1u);
}

TEST(Judge, TakesALoopRoundMoreThanOnce) {
  // 0 is read in each round, 1 written after it in its place: the second round reads 1.
  std::vector<Buffer> buffers{{0, 0, 8}, {0, 0, 8}, {0, 8, 9}};
  std::vector<Step> steps{command(0, {writes(0)}), list(Kind::loop, {reads(2)}),
                          command(0, {writes(2)}), list(Kind::body),
                          command(0, {reads(0)}),  command(0, {writes(1)}),
                          list(Kind::end)};
  std::optional<Fault> fault = findFault({buffers, steps});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::overwritten);
  EXPECT_EQ(fault->step, 4u);
  EXPECT_EQ(fault->other, 5u);
  steps[5] = command(0, {writes(0)});
  EXPECT_FALSE(findFault({buffers, steps}));
  // The condition has to be written by the steps that come before it is read.
  std::swap(steps[2], steps[4]);
  EXPECT_EQ(findFault({buffers, steps}).value().kind, FaultKind::unwritten);
}

// ---- brute force ----

/// Every way through a program, as the steps that it takes; loops take up to two rounds.
class Ways {
public:
  explicit Ways(const QueueProgram &program) : program(program) { walk(0); }

  struct Taken {
    uint32_t step;
    bool joins; ///< all queues come together, then `step` reads its condition or only joins
  };
  static constexpr size_t tooMany = 200;
  std::vector<std::vector<Taken>> ways;

private:
  const QueueProgram &program;
  std::vector<Taken> way;
  struct Frame {
    uint32_t open, rounds;
  };
  std::vector<Frame> frames;

  uint32_t find(uint32_t open, bool second) const {
    unsigned depth = 0;
    for (uint32_t i = open + 1;; ++i) {
      Kind kind = program.steps[i].kind;
      if (depth == 0 &&
          (second ? kind == Kind::otherwise || kind == Kind::body : kind == Kind::end))
        return i;
      depth += kind == Kind::branch || kind == Kind::loop;
      depth -= kind == Kind::end;
    }
  }

  void follow(uint32_t at) {
    auto savedWay = way;
    auto savedFrames = frames;
    walk(at);
    way = savedWay;
    frames = savedFrames;
  }

  void walk(uint32_t at) {
    if (ways.size() == tooMany)
      return;
    if (at == program.steps.size()) {
      ways.push_back(way);
      return;
    }
    switch (program.steps[at].kind) {
    case Kind::branch:
      way.push_back({at, true});
      frames.push_back({at, 0});
      follow(at + 1);
      return follow(find(at, true) + 1);
    case Kind::loop:
      way.push_back({UINT32_MAX, true});
      frames.push_back({at, 0});
      return follow(at + 1);
    case Kind::otherwise:
      return follow(find(frames.back().open, false));
    case Kind::body: {
      Frame &frame = frames.back();
      way.push_back({frame.open, true});
      auto saved = frames;
      if (frame.rounds++ < 2)
        follow(at + 1);
      frames = saved;
      frames.pop_back();
      way.push_back({UINT32_MAX, true});
      return follow(find(saved.back().open, false) + 1);
    }
    case Kind::end: {
      uint32_t open = frames.back().open;
      way.push_back({UINT32_MAX, true});
      if (program.steps[open].kind == Kind::loop)
        return follow(open + 1);
      frames.pop_back();
      return follow(at + 1);
    }
    default:
      way.push_back({at, false});
      return follow(at + 1);
    }
  }
};

/// Whether one way is sound: all pairs of its steps, and byte after byte.
bool isSound(const QueueProgram &program, const std::vector<Ways::Taken> &way) {
  size_t n = way.size();
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n));
  auto stepOf = [&](size_t i) -> const Step & { return program.steps[way[i].step]; };
  auto isWithin = [&](size_t i, size_t j) { // nothing joins between them
    for (size_t k = i; k <= j; ++k)
      if (way[k].joins)
        return false;
    return true;
  };
  for (size_t j = 0; j < n; ++j)
    for (size_t i = j; i-- > 0;) {
      bool edge = !isWithin(i, j) || stepOf(i).queue == stepOf(j).queue ||
                  (stepOf(i).kind == Kind::signal && stepOf(j).kind == Kind::wait &&
                   stepOf(i).semaphore == stepOf(j).semaphore);
      if (!edge)
        continue;
      before[j][i] = true;
      for (size_t k = 0; k < i; ++k)
        if (before[i][k])
          before[j][k] = true;
    }
  auto usesOf = [&](size_t i) {
    return way[i].step == UINT32_MAX ? std::vector<Use>() : stepOf(i).uses;
  };
  auto meet = [&](const Use &a, const Use &b) {
    const Buffer &x = program.buffers[a.buffer], &y = program.buffers[b.buffer];
    return x.space == y.space && std::max(x.begin, y.begin) < std::min(x.end, y.end) &&
           (a.writes || b.writes);
  };
  for (size_t j = 0; j < n; ++j)
    for (size_t i = 0; i <= j; ++i)
      for (const Use &a : usesOf(i))
        for (const Use &b : usesOf(j))
          if (meet(a, b) && (i == j ? a.buffer != b.buffer : !before[j][i]))
            return false;

  std::vector<std::vector<uint32_t>> bytes(4, std::vector<uint32_t>(64, UINT32_MAX));
  auto check = [&](uint32_t buffer) {
    const Buffer &place = program.buffers[buffer];
    for (uint64_t at = place.begin; at < place.end; ++at)
      if (bytes[place.space][at] != buffer)
        return false;
    return true;
  };
  auto fill = [&](uint32_t buffer) {
    const Buffer &place = program.buffers[buffer];
    for (uint64_t at = place.begin; at < place.end; ++at)
      bytes[place.space][at] = buffer;
  };
  for (uint32_t i = 0; i < program.buffers.size(); ++i)
    if (program.buffers[i].isGiven)
      fill(i);
  for (size_t i = 0; i < n; ++i) {
    for (const Use &use : usesOf(i))
      if (!use.writes && !check(use.buffer))
        return false;
    for (const Use &use : usesOf(i))
      if (use.writes)
        fill(use.buffer);
  }
  for (uint32_t i = 0; i < program.buffers.size(); ++i)
    if (program.buffers[i].isKept && !check(i))
      return false;
  return true;
}

bool isSound(const QueueProgram &program, const Ways &all) {
  return std::ranges::all_of(all.ways, [&](const auto &way) { return isSound(program, way); });
}

class Random {
public:
  explicit Random(unsigned seed) : engine(seed) {}
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(engine() % n); }

  /// Buffers that are likely to meet, of which the first `given` hold something.
  std::vector<Buffer> buffers(uint32_t count, uint32_t room) {
    std::vector<Buffer> all;
    for (uint32_t i = 0; i < count; ++i) {
      uint64_t begin = below(room);
      all.push_back({below(2), begin, begin + below(6), below(2) == 0, false});
    }
    return all;
  }

  /// Commands, with branches and loops `depth` deep, that use what is likely to be written.
  void lists(QueueProgram &program, uint32_t queues, unsigned depth) {
    for (uint32_t i = 1 + below(3); i-- > 0;) {
      if (depth > 0 && below(3) == 0) {
        bool isLoop = below(2);
        auto condition = reads(below(static_cast<uint32_t>(program.buffers.size())));
        program.steps.push_back(list(isLoop ? Kind::loop : Kind::branch, {condition}));
        lists(program, queues, depth - 1);
        if (isLoop && below(2))
          program.steps.push_back(command(below(queues), {writes(condition.buffer)}));
        program.steps.push_back(list(isLoop ? Kind::body : Kind::otherwise));
        lists(program, queues, depth - 1);
        program.steps.push_back(list(Kind::end));
      } else {
        Step next = command(below(queues), {});
        for (uint32_t k = 1 + below(2); k-- > 0;)
          next.uses.push_back(
              {below(static_cast<uint32_t>(program.buffers.size())), below(2) == 0});
        program.steps.push_back(next);
      }
    }
  }

private:
  std::mt19937 engine;
};

TEST(Judge, AgreesWithEveryWayThroughRandomPrograms) {
  Random random(11);
  size_t sound = 0, unsound = 0;
  for (int round = 0; round < 4000; ++round) {
    QueueProgram program;
    program.buffers = random.buffers(1 + random.below(4), 4 + random.below(30));
    for (Buffer &buffer : program.buffers)
      buffer.isKept = random.below(4) == 0;
    random.lists(program, 1 + random.below(2), 2);
    Ways all(program);
    if (all.ways.size() == Ways::tooMany)
      continue;
    bool expected = isSound(program, all);
    ASSERT_EQ(!findFault(program), expected) << "round " << round;
    ++(expected ? sound : unsound);
  }
  EXPECT_GT(sound, 200u);
  EXPECT_GT(unsound, 200u);
}

/// Straight programs of which the queues library says where signals and waits go.
struct OrderedProgram {
  QueueProgram program;
  std::vector<size_t> waits; ///< steps
};

OrderedProgram orderedProgram(Random &random) {
  OrderedProgram made;
  std::vector<Buffer> &buffers = made.program.buffers;
  buffers = random.buffers(4 + random.below(8), 40);
  for (Buffer &buffer : buffers)
    buffer.isGiven = false;
  std::vector<gantry::queues::Command> commands;
  std::vector<std::vector<Use>> uses;
  uint32_t queues = 2 + random.below(4);
  for (uint32_t i = 0; i < queues + random.below(24); ++i) {
    commands.push_back({i < queues ? i : random.below(queues), {}});
    uses.emplace_back();
    for (uint32_t k = 1 + random.below(3); k-- > 0;) {
      uint32_t buffer = random.below(static_cast<uint32_t>(buffers.size()));
      const Buffer &place = buffers[buffer];
      bool isWrite = random.below(2) == 0;
      uses.back().push_back({buffer, isWrite});
      commands.back().accesses.push_back({place.space, place.begin, place.end, isWrite});
    }
  }
  std::vector<gantry::queues::Wait> waits = orderQueues(commands);
  for (uint32_t i = 0; i < commands.size(); ++i) {
    for (uint32_t k = 0; k < waits.size(); ++k)
      if (waits[k].after == i) {
        made.waits.push_back(made.program.steps.size());
        made.program.steps.push_back(wait(commands[i].queue, k));
      }
    made.program.steps.push_back(command(commands[i].queue, uses[i]));
    for (uint32_t k = 0; k < waits.size(); ++k)
      if (waits[k].before == i)
        made.program.steps.push_back(signal(commands[i].queue, k));
  }
  return made;
}

/// Faults of contents come from what random commands read; here only the order matters.
bool isOrdered(QueueProgram program) {
  for (Buffer &buffer : program.buffers)
    buffer.isGiven = true;
  std::optional<Fault> fault;
  // Reads that find something else are dropped until none is left.
  while ((fault = findFault(program)) && fault->kind != FaultKind::unordered) {
    if (fault->step == Fault::caller)
      return true;
    std::vector<Use> &uses = program.steps[fault->step].uses;
    auto isIt = [&](const Use &use) {
      return use.buffer == fault->buffer && use.writes == fault->writes;
    };
    uses.erase(std::ranges::find_if(uses, isIt));
  }
  return !fault;
}

TEST(Judge, MissesNoWaitThatIsNeeded) {
  Random random(5);
  size_t removed = 0, caught = 0;
  for (int round = 0; round < 2000; ++round) {
    OrderedProgram made = orderedProgram(random);
    ASSERT_TRUE(isOrdered(made.program)) << "round " << round;
    for (size_t at : made.waits) {
      QueueProgram fewer = made.program;
      fewer.steps.erase(fewer.steps.begin() + static_cast<ptrdiff_t>(at));
      ASSERT_EQ(!findFault(fewer), isSound(fewer, Ways(fewer)))
          << "round " << round << ", step " << at;
      ++removed;
      caught += !isOrdered(fewer);
    }
  }
  EXPECT_GT(removed, 5000u);
  EXPECT_GT(caught, removed / 2);
}

TEST(Judge, FindsNoFaultInWaitsTooMany) {
  Random random(6);
  for (int round = 0; round < 500; ++round) {
    OrderedProgram made = orderedProgram(random);
    QueueProgram &program = made.program;
    auto semaphore = static_cast<uint32_t>(made.waits.size());
    for (int k = 0; k < 5; ++k) {
      auto first = random.below(static_cast<uint32_t>(program.steps.size()));
      auto second = first + random.below(static_cast<uint32_t>(program.steps.size()) - first);
      program.steps.insert(program.steps.begin() + second, wait(random.below(3), semaphore));
      program.steps.insert(program.steps.begin() + first, signal(random.below(3), semaphore++));
    }
    EXPECT_TRUE(isOrdered(program)) << "round " << round;
  }
}

// ---- many commands ----

/// A pipeline over 8 devices with 4 queues each, whose memory is used again.
QueueProgram pipeline(uint32_t n) {
  QueueProgram program;
  for (uint32_t space = 0; space < 8; ++space)
    for (uint64_t slot = 0; slot < 1000; ++slot)
      program.buffers.push_back({space, slot * 64, slot * 64 + 64, true, true});
  std::mt19937 random(1);
  std::vector<gantry::queues::Command> commands;
  std::vector<std::vector<Use>> uses;
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t queue = i < 32 ? i : static_cast<uint32_t>(random() % 32), space = queue / 4;
    auto at = static_cast<uint32_t>(random() % 1000), from = static_cast<uint32_t>(random() % 1000);
    uses.push_back({writes(space * 1000 + at), reads(space * 1000 + from),
                    reads((space + 1) % 8 * 1000 + from)});
    commands.push_back({queue, {}});
    for (const Use &use : uses.back()) {
      const Buffer &place = program.buffers[use.buffer];
      commands.back().accesses.push_back({place.space, place.begin, place.end, use.writes});
    }
  }
  std::vector<gantry::queues::Wait> waits = orderQueues(commands);
  std::vector<std::vector<uint32_t>> waitsOf(n), signalsOf(n);
  for (uint32_t k = 0; k < waits.size(); ++k) {
    waitsOf[waits[k].after].push_back(k);
    signalsOf[waits[k].before].push_back(k);
  }
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t k : waitsOf[i])
      program.steps.push_back(wait(commands[i].queue, k));
    program.steps.push_back(command(commands[i].queue, uses[i]));
    for (uint32_t k : signalsOf[i])
      program.steps.push_back(signal(commands[i].queue, k));
  }
  return program;
}

double secondsOf(const QueueProgram &program) {
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(findFault(program));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Judge, TimeGrowsWithTheNumberOfCommands) {
  double few = secondsOf(pipeline(10'000)), many = secondsOf(pipeline(100'000));
  RecordProperty("seconds_100k", std::to_string(many));
  EXPECT_LT(many, 40 * few + 0.1); // 10 times as many; the rest is for a busy machine
}

TEST(Judge, TimeGrowsWithTheNumberOfBranches) {
  auto branches = [](uint32_t n) {
    QueueProgram program{{{0, 0, 8, true}, {0, 8, 72}, {0, 72, 136, false, true}}, {}};
    for (uint32_t i = 0; i < n; ++i)
      program.steps.insert(program.steps.end(),
                           {list(Kind::branch, {reads(0)}), command(0, {writes(1)}),
                            list(Kind::otherwise), command(1, {writes(1)}), list(Kind::end),
                            command(i % 2, {reads(1), writes(2)})});
    return program;
  };
  double few = secondsOf(branches(5'000)), many = secondsOf(branches(50'000));
  RecordProperty("seconds_50k", std::to_string(many));
  EXPECT_LT(many, 40 * few + 0.1);
}

TEST(Judge, TimeAndMemoryGrowWithTasksNotWithTheirSquare) {
  // What each of 100 000 queues knows of each would be 80 GB here.
  constexpr uint32_t tasks = 50'000;
  QueueProgram program;
  for (uint32_t t = 0; t < tasks; ++t) {
    program.buffers.push_back({t, 0, 8, false, true});
    program.steps.insert(program.steps.end(), {command(2 * t, {writes(t)}), signal(2 * t, t),
                                               wait(2 * t + 1, t), command(2 * t + 1, {reads(t)})});
  }
  EXPECT_FALSE(findFault(program));
  // The wait of one task is not that of another.
  std::swap(program.steps[2], program.steps[6]);
  std::optional<Fault> fault = findFault(program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->step, 2u); // before its signal
  program.steps[2] = command(0, {});
  fault = findFault(program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::unordered);
  EXPECT_EQ(fault->step, 3u);
}

} // namespace
