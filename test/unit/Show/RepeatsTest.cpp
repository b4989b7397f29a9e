// Repeated layers are found, and what is found repeats.
#include "gantry/Show/Repeats.h"

#include <gtest/gtest.h>

#include <random>
#include <string_view>

namespace gantry::show {
namespace {

std::vector<Repeat> find(std::string_view text, size_t least = 2) {
  return findRepeats(std::vector<uint64_t>(text.begin(), text.end()), least);
}

TEST(Repeats, Layers) {
  const std::vector<Repeat> found = find("xabcabcabcy");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first, 1u);
  EXPECT_EQ(found[0].period, 3u);
  EXPECT_EQ(found[0].times, 3u);
  EXPECT_EQ(found[0].saved(), 6u);
}

TEST(Repeats, TheOneThatSavesMost) {
  // "aa" repeats within what repeats as a whole.
  const std::vector<Repeat> found = find("aabaabaab");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].period, 3u);
  EXPECT_EQ(find("aaaaaa")[0].period, 1u);
}

TEST(Repeats, SeveralAndNone) {
  EXPECT_EQ(find("ababcdcdcd").size(), 2u);
  EXPECT_TRUE(find("abcdef").empty());
  EXPECT_TRUE(find("").empty());
  EXPECT_TRUE(find("a").empty());
  EXPECT_TRUE(find("abab", 3).empty());
}

TEST(Repeats, PropertyWhatIsFoundRepeats) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<uint64_t> sequence(random() % 60);
    for (uint64_t &element : sequence)
      element = random() % 3;
    size_t end = 0;
    for (const Repeat &repeat : findRepeats(sequence, 4)) {
      EXPECT_GE(repeat.first, end);
      EXPECT_GE(repeat.saved(), 4u);
      end = repeat.first + repeat.period * repeat.times;
      ASSERT_LE(end, sequence.size());
      for (size_t i = repeat.first; i + repeat.period < end; ++i)
        EXPECT_EQ(sequence[i], sequence[i + repeat.period]);
    }
  }
}

} // namespace
} // namespace gantry::show
