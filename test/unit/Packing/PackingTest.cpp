// The judge on plans made by hand, then the planners on random problems: whatever they plan must
// pass the judge.
#include "gantry/Packing/Packing.h"

#include <gtest/gtest.h>

#include <random>

namespace {
using namespace gantry;
using namespace gantry::packing;

Buffer buffer(uint64_t size, uint32_t first, uint32_t last, uint64_t alignment = 1) {
  return {size, first, last, alignment, {}};
}

Buffer fixedBuffer(uint64_t size, uint32_t first, uint32_t last, uint64_t offset) {
  return {size, first, last, 1, offset};
}

std::string judge(const Problem &problem, std::vector<uint64_t> offsets, uint64_t peak) {
  return validate(problem, {std::move(offsets), peak, 0}).message();
}

TEST(Judge, AcceptsBuffersThatFollowEachOther) {
  Problem problem{{buffer(10, 0, 5), buffer(10, 5, 9)}};
  EXPECT_EQ(judge(problem, {0, 0}, 10), "");
}

TEST(Judge, RefusesOverlap) {
  Problem problem{{buffer(10, 0, 5), buffer(10, 4, 9)}};
  EXPECT_EQ(judge(problem, {0, 9}, 20),
            "memory plan: buffer 0 and buffer 1 are live together and overlap");
  EXPECT_EQ(judge(problem, {9, 0}, 20),
            "memory plan: buffer 0 and buffer 1 are live together and overlap");
  EXPECT_EQ(judge(problem, {0, 0}, 20),
            "memory plan: buffer 0 and buffer 1 are live together and overlap");
  EXPECT_EQ(judge(problem, {0, 10}, 20), "");
}

TEST(Judge, FindsTheOverlapInsideALargeBuffer) {
  Problem problem{{buffer(100, 0, 9), buffer(1, 3, 4)}};
  EXPECT_NE(judge(problem, {0, 50}, 100), "");
  EXPECT_NE(judge({{problem.buffers[1], problem.buffers[0]}}, {50, 0}, 100), "");
}

TEST(Judge, RefusesWhatIsOutOfPlace) {
  EXPECT_EQ(judge({{buffer(10, 0, 1, 64)}}, {32}, 64),
            "memory plan: buffer 0 is at 32, not a multiple of 64");
  EXPECT_EQ(judge({{buffer(10, 0, 1)}}, {5}, 14),
            "memory plan: buffer 0 ends at 5 + 10, over the peak of 14");
  EXPECT_EQ(judge({{buffer(10, 0, 1)}}, {UINT64_MAX - 2}, 14),
            "memory plan: buffer 0 ends at 18446744073709551613 + 10, over the peak of 14");
  EXPECT_EQ(judge({{fixedBuffer(10, 0, 1, 8)}}, {0}, 18),
            "memory plan: buffer 0 is at 0 and must be at 8");
  EXPECT_EQ(judge({{buffer(10, 0, 1)}}, {}, 10), "memory plan: 0 offsets for 1 buffers");
  EXPECT_EQ(validate({{buffer(10, 0, 1)}}, {{0}, 10, 11}).message(),
            "memory plan: the peak 10 is under the lower bound 11");
}

TEST(Judge, RefusesProblemsWithoutMeaning) {
  EXPECT_EQ(checkProblem({{buffer(1, 5, 4)}}).message(), "buffer 0 is live from 5 to before 4");
  EXPECT_EQ(checkProblem({{buffer(1, 0, 1, 3)}}).message(),
            "buffer 0 has an alignment of 3, which is not a power of two up to 2^32");
  EXPECT_EQ(checkProblem({{buffer(UINT64_MAX, 0, 1)}}).message(),
            "buffer 0: the buffers have over 2^62 bytes together");
  Buffer odd = buffer(1, 0, 1, 64);
  odd.fixedOffset = 3;
  EXPECT_EQ(checkProblem({{odd}}).message(),
            "buffer 0 is fixed at 3, not a multiple of its alignment 64");
}

TEST(Pack, PutsBuffersThatNeverMeetInOnePlace) {
  Expected<Solution> solution = pack({{buffer(64, 0, 2, 64), buffer(64, 2, 4, 64)}});
  ASSERT_TRUE(solution.ok()) << solution.status().message();
  EXPECT_EQ(solution->peak, 64u);
  EXPECT_EQ(solution->offsets, (std::vector<uint64_t>{0, 0}));
}

TEST(Pack, NothingNeedsNothing) {
  for (const Problem &problem :
       {Problem{}, Problem{{buffer(0, 0, 9)}}, Problem{{buffer(9, 3, 3)}}}) {
    Expected<Solution> solution = pack(problem);
    ASSERT_TRUE(solution.ok()) << solution.status().message();
    EXPECT_LE(solution->peak, 9u);
  }
}

TEST(Pack, CountsWholeGranulesInTheBound) {
  Problem problem{{buffer(1, 0, 2, 64), buffer(1, 1, 3, 64)}};
  EXPECT_EQ(lowerBound(problem), 128u);
  EXPECT_EQ(pack(problem)->peak, 128u);
}

TEST(Pack, GoesAroundFixedBuffers) {
  Expected<Solution> solution =
      pack({{buffer(30, 0, 9), fixedBuffer(10, 0, 9, 40), buffer(50, 0, 5)}});
  ASSERT_TRUE(solution.ok()) << solution.status().message();
  EXPECT_EQ(solution->offsets, (std::vector<uint64_t>{0, 40, 50}));
}

TEST(Pack, RefusesFixedBuffersThatOverlap) {
  Expected<Solution> solution = pack({{fixedBuffer(10, 0, 9, 0), fixedBuffer(10, 3, 4, 5)}});
  ASSERT_FALSE(solution.ok());
  EXPECT_EQ(solution.status().code(), StatusCode::invalidArgument);
  EXPECT_EQ(
      solution.status().message(),
      "among the buffers of fixed offset, memory plan: buffer 0 and buffer 1 are live together "
      "and overlap");
}

/// Problems of every kind: few and many buffers, long and short lives, equal and odd sizes.
Problem randomProblem(std::mt19937 &random, bool withFixed) {
  auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  uint32_t count = 1 + below(60), steps = 1 + below(40), longest = 1 + below(steps);
  uint64_t largest = uint64_t(1) << below(20);
  bool aligned = below(2);
  Problem problem;
  uint64_t fixedEnd = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t first = below(steps);
    Buffer b =
        buffer(below(static_cast<uint32_t>(largest) + 1), first,
               std::min(steps, first + below(longest + 1)), aligned ? uint64_t(1) << below(8) : 1);
    // Fixed ones stand side by side, so that they can be placed.
    if (withFixed && below(4) == 0) {
      b.fixedOffset = (fixedEnd + below(100) + b.alignment - 1) / b.alignment * b.alignment;
      fixedEnd = *b.fixedOffset + b.size;
    }
    problem.buffers.push_back(b);
  }
  return problem;
}

TEST(Pack, AnyPlanPassesTheJudge) {
  std::mt19937 random(1);
  for (int round = 0; round < 600; ++round) {
    Problem problem = randomProblem(random, /*withFixed=*/round % 3 == 0);
    Expected<Solution> solution = pack(problem);
    ASSERT_TRUE(solution.ok()) << "round " << round << ": " << solution.status().message();
    ASSERT_EQ(solution->lowerBound, lowerBound(problem)) << "round " << round;
  }
}

constexpr Planner planners[] = {Planner::portfolio, Planner::timeOrder, Planner::largestFirst,
                                Planner::skyline,   Planner::ejection,  Planner::annealing,
                                Planner::exact};

bool takesFixed(Planner planner) {
  return planner == Planner::portfolio || planner == Planner::largestFirst ||
         planner == Planner::ejection;
}

TEST(Planners, AnyPlanOfEachPassesTheJudge) {
  std::mt19937 random(4);
  for (int round = 0; round < 100; ++round) {
    const bool fixed = round % 3 == 0;
    Problem problem = randomProblem(random, fixed);
    for (Planner planner : planners) {
      if (fixed && !takesFixed(planner))
        continue;
      Expected<Solution> solution = pack(problem, {.planner = planner});
      // Only the exact search may find nothing: boxes of several alignments are not for it.
      if (!solution.ok() && planner == Planner::exact)
        continue;
      ASSERT_TRUE(solution.ok()) << "round " << round << ", planner " << int(planner) << ": "
                                 << solution.status().message();
    }
  }
}

TEST(Planners, RefuseFixedOffsetsThatTheyCannotTake) {
  Problem problem{{fixedBuffer(10, 0, 9, 8), buffer(4, 0, 9)}};
  for (Planner planner : planners) {
    Expected<Solution> solution = pack(problem, {.planner = planner});
    EXPECT_EQ(solution.ok(), takesFixed(planner)) << int(planner);
    if (!takesFixed(planner))
      EXPECT_EQ(
          solution.status().message(),
          "this planner takes no fixed offsets; the portfolio, largest-first and ejection do");
  }
}

/// Boxes that no skyline lays out at the bound: dense problems cut from one full rectangle.
Problem denseProblem(std::mt19937 &random, uint32_t cuts) {
  struct Rectangle {
    uint32_t first, last;
    uint64_t bottom, top;
  };
  std::vector<Rectangle> pieces{{0, 1000, 0, 1000}};
  while (pieces.size() < cuts) {
    Rectangle &piece = pieces[random() % pieces.size()];
    Rectangle rest = piece;
    if (random() % 2 && piece.last - piece.first > 1)
      piece.last = rest.first = piece.first + 1 + random() % (piece.last - piece.first - 1);
    else if (piece.top - piece.bottom > 1)
      piece.top = rest.bottom = piece.bottom + 1 + random() % (piece.top - piece.bottom - 1);
    else
      continue;
    pieces.push_back(rest);
  }
  Problem problem;
  for (const Rectangle &piece : pieces)
    problem.buffers.push_back(buffer(piece.top - piece.bottom, piece.first, piece.last));
  return problem;
}

TEST(Planners, TheExactSearchFillsARectangle) {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    Problem problem = denseProblem(random, 25);
    ASSERT_EQ(lowerBound(problem), 1000u);
    EXPECT_EQ(pack(problem, {.planner = Planner::exact})->peak, 1000u) << "round " << round;
    EXPECT_EQ(pack(problem)->peak, 1000u) << "round " << round;
  }
}

/// Whether any choice of offsets stays under the capacity: all of them are tried.
bool fits(const Problem &problem, uint64_t capacity, std::vector<uint64_t> &offsets) {
  const size_t next = offsets.size();
  if (next == problem.buffers.size())
    return true;
  const Buffer &box = problem.buffers[next];
  for (uint64_t offset = 0; offset + box.size <= capacity; ++offset) {
    bool isFree = true;
    for (size_t i = 0; i < next && isFree; ++i) {
      const Buffer &other = problem.buffers[i];
      isFree = other.last <= box.first || box.last <= other.first ||
               offsets[i] + other.size <= offset || offset + box.size <= offsets[i];
    }
    if (!isFree)
      continue;
    offsets.push_back(offset);
    if (fits(problem, capacity, offsets))
      return true;
    offsets.pop_back();
  }
  return false;
}

TEST(Planners, SmallProblemsGetTheSmallestPeakThereIs) {
  std::mt19937 random(6);
  // Those that meet the bound prove themselves.
  for (int round = 0; round < 3000; ++round) {
    Problem problem;
    for (int i = 0; i < 16; ++i) {
      uint32_t first = random() % 16;
      problem.buffers.push_back(
          buffer(1 + random() % 3, first, first + 1 + static_cast<uint32_t>(random() % 8)));
    }
    uint64_t found = pack(problem, {.planner = Planner::exact})->peak;
    ASSERT_EQ(pack(problem)->peak, found) << "round " << round;
    if (found == lowerBound(problem))
      continue;
    std::vector<uint64_t> offsets;
    ASSERT_FALSE(fits(problem, found - 1, offsets)) << "round " << round;
  }
}

TEST(Portfolio, IsTheSameForAnyNumberOfThreads) {
  std::mt19937 random(7);
  for (int round = 0; round < 6; ++round) {
    Problem problem = denseProblem(random, 150);
    Expected<Solution> one = pack(problem, {.threads = 1});
    ASSERT_TRUE(one.ok()) << one.status().message();
    for (unsigned threads : {2u, 3u, 8u})
      EXPECT_EQ(pack(problem, {.threads = threads})->offsets, one->offsets) << threads;
  }
}

TEST(Portfolio, StopsAtTheCapacityThatIsEnough) {
  std::mt19937 random(8);
  Problem problem = denseProblem(random, 150);
  EXPECT_LE(pack(problem, {.capacity = 1300})->peak, 1300u);
}

/// Some thousand buffers, about 100 live at a time, sizes over four orders of magnitude.
Problem liveHundred(uint32_t count, bool withFixed) {
  std::mt19937 random(9);
  Problem problem;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t first = random() % count;
    uint64_t size = uint64_t(64) << random() % 14;
    problem.buffers.push_back(
        buffer(size + random() % size, first, first + 1 + static_cast<uint32_t>(random() % 200)));
  }
  if (!withFixed)
    return problem;
  // Of a sound plan, so that the others have room.
  std::vector<uint64_t> offsets = pack(problem)->offsets;
  for (size_t i = 0; i < problem.buffers.size(); i += 20)
    problem.buffers[i].fixedOffset = offsets[i];
  return problem;
}

TEST(Portfolio, ComesNearTheBoundOfThousands) {
  EXPECT_LE(pack(liveHundred(3000, false))->ratio(), 1.002);
  EXPECT_LE(pack(liveHundred(3000, true))->ratio(), 1.01);
}

TEST(Pack, IsTheSameEveryTime) {
  std::mt19937 random(2);
  Problem problem = randomProblem(random, false);
  EXPECT_EQ(pack(problem)->offsets, pack(problem)->offsets);
}

TEST(Pack, MeetsTheBoundOfATrainingStep) {
  // Forward activations live until their mirror image in the backward pass.
  std::mt19937 random(3);
  Problem problem;
  uint32_t layers = 20000;
  for (uint32_t i = 0; i < layers; ++i) {
    problem.buffers.push_back(buffer(1 + random() % 100000, i, 2 * layers - i, 64));
    problem.buffers.push_back(buffer(1 + random() % 100000, i, i + 2, 64));
  }
  Expected<Solution> solution = pack(problem);
  ASSERT_TRUE(solution.ok()) << solution.status().message();
  EXPECT_LE(double(solution->peak), 1.001 * double(solution->lowerBound));
}

} // namespace
