// Folded names stand for the very names that were folded, each as often.
#include "gantry/Placement/FoldNames.h"

#include "gantry/Placement/OpPattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace gantry::placement {
namespace {

std::vector<std::string> texts(const std::vector<std::string_view> &names) {
  std::vector<std::string> out;
  for (const FoldedName &name : foldNames(names))
    out.push_back(name.text());
  return out;
}

using Texts = std::vector<std::string>;

TEST(FoldNames, Layers) {
  EXPECT_EQ(texts({"layer.0/Add", "layer.1/Add", "layer.2/Add"}), Texts{"layer.{0..2}/Add"});
  EXPECT_EQ(texts({"l.1/n2", "l.1/n1", "l.0/n1", "l.0/n2"}), Texts{"l.{0,1}/n{1,2}"});
  EXPECT_EQ(texts({"a9", "a10", "a11", "a13", "a15", "a16"}), Texts{"a{9..11,13,15,16}"});
}

TEST(FoldNames, WhatDoesNotFoldStays) {
  EXPECT_EQ(texts({}), Texts{});
  EXPECT_EQ(texts({"b", "a", ""}), (Texts{"b", "a", ""}));
  EXPECT_EQ(texts({"a1", "b2"}), (Texts{"a1", "b2"}));
  // Not every combination is there.
  EXPECT_EQ(texts({"l0/a0", "l0/a1", "l1/a0"}).size(), 2u);
  // Numbers are what we would write, letters that mean something in patterns are left alone.
  EXPECT_EQ(texts({"a01", "a02"}), (Texts{"a01", "a02"}));
  EXPECT_EQ(texts({"a99999999999999999999", "a1"}), (Texts{"a99999999999999999999", "a1"}));
  EXPECT_EQ(texts({"x{1}", "x{2}"}), (Texts{"x{1}", "x{2}"}));
}

TEST(FoldNames, EachAsOftenAsItIsThere) {
  EXPECT_EQ(texts({"a1", "a1", "a2"}), (Texts{"a{1,2}", "a1"}));
  EXPECT_EQ(texts({"x", "x"}), (Texts{"x", "x"}));
}

TEST(FoldNames, TheJudgeSeesWhatIsWrong) {
  const std::vector<std::string_view> names = {"a1", "a2", "b"};
  EXPECT_TRUE(isFoldOf(foldNames(names), names));
  const FoldedName a12{{"a", ""}, {{1, 2}}}, a13{{"a", ""}, {{1, 3}}}, b{{"b"}, {}};
  EXPECT_TRUE(isFoldOf(std::vector{b, a12}, names));
  EXPECT_FALSE(isFoldOf(std::vector{b, a13}, names));
  EXPECT_FALSE(isFoldOf(std::vector{a12}, names));
  EXPECT_FALSE(isFoldOf(std::vector{a12, b, b}, names));
}

/// Names as models have them, with repetitions.
std::vector<std::string> randomNames(std::mt19937 &random) {
  const auto upTo = [&](unsigned n) { return std::to_string(random() % n); };
  std::vector<std::string> names(random() % 120);
  for (std::string &name : names)
    switch (random() % 6) {
    case 0:
      name = "/l." + upTo(4) + "/n" + upTo(3) + "/Add_" + upTo(12);
      break;
    case 1:
      name = "/l." + upTo(40) + "/q/MatMul";
      break;
    case 2:
      name = upTo(3) + "." + upTo(2) + "." + upTo(200);
      break;
    case 3:
      name = "0" + upTo(20);
      break;
    case 4:
      name = "x{" + upTo(3) + "}*";
      break;
    default:
      name = "MatMul";
    }
  return names;
}

TEST(FoldNames, PropertyUnfoldingGivesTheSameNames) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const std::vector<std::string> owned = randomNames(random);
    const std::vector<std::string_view> names(owned.begin(), owned.end());
    const std::vector<FoldedName> folded = foldNames(names);
    ASSERT_TRUE(isFoldOf(folded, names));
    // Apart from the judge, by sorting.
    std::vector<std::string> unfolded, sorted = owned;
    for (const FoldedName &name : folded) {
      const std::vector<std::string> some = name.unfold();
      EXPECT_EQ(some.size(), name.count());
      unfolded.insert(unfolded.end(), some.begin(), some.end());
      // The text is a pattern for its names, and for no others of the list. Names with wildcards
      // of their own are themselves.
      for (const std::string &other : owned)
        if (!name.numbers.empty())
          EXPECT_EQ(globMatches(name.text(), other),
                    std::find(some.begin(), some.end(), other) != some.end())
              << name.text() << " " << other;
    }
    std::sort(unfolded.begin(), unfolded.end());
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(unfolded, sorted);
  }
}

TEST(FoldNames, ManyNamesTakeNoTime) {
  std::vector<std::string> owned;
  for (int i = 0; i < 100000; ++i)
    owned.push_back("/layer." + std::to_string(i) + "/Add");
  const std::vector<FoldedName> folded =
      foldNames(std::vector<std::string_view>(owned.begin(), owned.end()));
  ASSERT_EQ(folded.size(), 1u);
  EXPECT_EQ(folded.front().text(), "/layer.{0..99999}/Add");
}

TEST(OutlineNames, PartsOfAGraph) {
  const std::vector<std::string_view> all = {"/l.0/a/Add", "/l.0/b",      "/l.1/a/Add",  "/l.1/b",
                                             "/l.2/b",     "/norm/Add_1", "/norm/Add_2", "head"};
  const std::vector<std::string_view> some = {"/l.0/a/Add", "/l.0/b",      "/l.1/a/Add",
                                              "/l.1/b",     "/norm/Add_2", "head"};
  const std::vector<Part> parts = outlineNames(some, all);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].pattern, "/l.{0,1}/*");
  EXPECT_EQ(parts[0].count, 4u);
  EXPECT_EQ(parts[0].of, 4u);
  EXPECT_EQ(parts[1].pattern, "head");
  EXPECT_EQ(parts[2].pattern, "/norm/*");
  EXPECT_EQ(parts[2].count, 1u);
  EXPECT_EQ(parts[2].of, 2u);
  // A whole part is described by its pattern, and nothing else is.
  for (std::string_view name : all)
    EXPECT_EQ(globMatches(parts[0].pattern, name),
              name.starts_with("/l.0") || name.starts_with("/l.1"));
}

} // namespace
} // namespace gantry::placement
