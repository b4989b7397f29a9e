// How ops are named from outside.
#include "gantry/Placement/OpPattern.h"

#include <gtest/gtest.h>

namespace gantry::placement {
namespace {

TEST(OpPattern, Globs) {
  EXPECT_TRUE(globMatches("encoder.*", "encoder.layer.0"));
  EXPECT_TRUE(globMatches("*", ""));
  EXPECT_TRUE(globMatches("*a*b", "xxaxxbb"));
  EXPECT_TRUE(globMatches("layer?", "layer7"));
  EXPECT_FALSE(globMatches("layer?", "layer"));
  EXPECT_FALSE(globMatches("a*b", "abc"));
  EXPECT_FALSE(globMatches("", "a"));
  EXPECT_TRUE(globMatches("", ""));
  // All of the text, and case counts.
  EXPECT_FALSE(globMatches("conv", "conv1"));
  EXPECT_FALSE(globMatches("conv", "Conv"));
  // Quadratic at most, not exponential.
  EXPECT_FALSE(globMatches("*a*a*a*a*a*a*a*a*a*ab", std::string(5000, 'a')));
}

TEST(OpPattern, Numbers) {
  EXPECT_TRUE(globMatches("layer.{0..11}/Add", "layer.0/Add"));
  EXPECT_TRUE(globMatches("layer.{0..11}/Add", "layer.11/Add"));
  EXPECT_FALSE(globMatches("layer.{0..11}/Add", "layer.12/Add"));
  EXPECT_TRUE(globMatches("Add_{1,3,5..7}", "Add_3"));
  EXPECT_TRUE(globMatches("Add_{1,3,5..7}", "Add_6"));
  EXPECT_FALSE(globMatches("Add_{1,3,5..7}", "Add_4"));
  EXPECT_TRUE(globMatches("*{2}*", "a1b2c3"));
  // A number is all of its digits, written in one way.
  EXPECT_FALSE(globMatches("a{1}*", "a12"));
  EXPECT_FALSE(globMatches("a*{2}", "a12"));
  EXPECT_FALSE(globMatches("a{1}", "a01"));
  EXPECT_FALSE(globMatches("a{1}", "a"));
  EXPECT_FALSE(globMatches("*{9}", std::string(5000, '1')));
}

TEST(OpPattern, TheVeryTextAlwaysMatches) {
  for (const char *text : {"a{0..3}", "{", "a}b{", "{}", "{1..}", "x*y", "?"})
    EXPECT_TRUE(globMatches(text, text)) << text;
  // Braces without numbers in them are letters like others.
  EXPECT_TRUE(globMatches("while{body}/*", "while{body}/Add"));
}

TEST(OpPattern, SubjectsAreTold) {
  const std::string_view ops[] = {"Conv2D", "Conv"}, names[] = {"fc.1", "fc"},
                         kinds[] = {"compute"};
  const auto matches = [&](const char *text) {
    return parseOpPattern(text)->matches({ops, names, kinds});
  };
  for (const char *text :
       {"Conv", "op:Conv2D", "fc", "name:fc.1", "fc.*", "kind:compute", "op: Conv "})
    EXPECT_TRUE(matches(text)) << text;
  for (const char *text : {"name:Conv", "op:fc", "conv", "Con", "compute", "kind:view"})
    EXPECT_FALSE(matches(text)) << text;
  EXPECT_EQ(parseOpPattern("name:a*")->given(), "name:a*");
  EXPECT_EQ(parseOpPattern("a*")->given(), "a*");
}

TEST(OpPattern, ErrorsSayWhatIsKnown) {
  EXPECT_EQ(parseOpPattern("typ:x").status().message(),
            "has the unknown subject 'typ'; known are op, name, kind");
  EXPECT_EQ(parseOpPattern("").status().message(), "has no pattern; '*' matches everything");
  EXPECT_FALSE(parseOpPattern("kind:weights").ok());
}

} // namespace
} // namespace gantry::placement
