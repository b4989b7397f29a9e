// Values of ranges against an array with a value for each byte.
#include "gantry/Support/RangeMap.h"

#include <array>
#include <gtest/gtest.h>
#include <optional>
#include <random>

namespace {
using namespace gantry;

constexpr uint64_t size = 40;

TEST(RangeMap, EachByteHasTheValueThatItWasGivenLast) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    RangeMap<int> ranges;
    std::array<int, size> bytes{};
    for (int step = 1; step <= 30; ++step) {
      const uint64_t begin = random() % size, end = begin + random() % (size - begin + 1);
      if (random() % 4 == 0) {
        ranges.erase(begin, end);
        std::fill(bytes.begin() + long(begin), bytes.begin() + long(end), 0);
        continue;
      }
      uint64_t pieces = 0;
      ranges.visit(begin, end, [&](int &value) -> std::optional<int> {
        value = step;
        ++pieces;
        return std::nullopt;
      });
      EXPECT_LE(pieces, end - begin);
      std::fill(bytes.begin() + long(begin), bytes.begin() + long(end), step);
    }
    for (uint64_t at = 0; at < size; ++at)
      ranges.visit(at, at + 1, [&](int &value) -> std::optional<int> {
        EXPECT_EQ(value, bytes[at]) << round << ' ' << at;
        return std::nullopt;
      });
  }
}

TEST(RangeMap, TheFirstAnswerEndsAVisit) {
  RangeMap<int> ranges;
  auto set = [&](uint64_t begin, uint64_t end, int to) {
    ranges.visit(begin, end, [&](int &value) { return value = to, std::optional<int>(); });
  };
  set(0, 4, 1), set(4, 8, 2), set(8, 12, 3);
  int seen = 0;
  const auto answer = ranges.visit(2, 12, [&](int &value) {
    ++seen;
    return value == 2 ? std::optional(value) : std::nullopt;
  });
  EXPECT_EQ(answer, 2);
  EXPECT_EQ(seen, 2);
}

} // namespace
