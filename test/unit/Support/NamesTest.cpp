#include "gantry/Support/Names.h"
#include "gantry/Support/JSONWriter.h"

#include <gtest/gtest.h>

namespace {
using namespace gantry;

TEST(Names, ControlCharactersAreMadeVisible) {
  EXPECT_EQ(printable("conv\x1b[31m_1"), "conv\\x1b[31m_1");
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\x9b2J"); // CSI as one code point
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "gnp"),
            "\\u202egnp"); // right to left
  EXPECT_EQ(printableLines("a\n\tb\x1b"), "a\n\tb\\x1b");
}

TEST(Names, LettersStay) {
  for (const char *text : {"", "größe", "卷积/Conv_3", "κ·x → y", "😀", "back\\slash", "'quoted'"})
    EXPECT_EQ(printable(text), text);
}

TEST(Names, WhatIsNoUTF8IsShownByteByByte) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("a\xc3"), "a\\xc3");                          // cut off
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                   // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");          // half of a surrogate pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80"); // above U+10FFFF
}

TEST(Names, InJSONTheyStayValid) {
  const auto json = [](const char *text) { return JSONWriter().value(text).text(); };
  EXPECT_EQ(json("a\x1b\x7f\xc2\x9b"
                 "b"),
            "\"a\\u001b\\u007f\\u009bb\"");
  EXPECT_EQ(json("größe \"\\"), "\"größe \\\"\\\\\"");
  EXPECT_EQ(json("\xff"), "\"\\ufffd\"");
}

TEST(Names, TheNearestIsSuggested) {
  const std::string commands[] = {"run", "compile", "check", "devices", "diff", "report"};
  EXPECT_EQ(didYouMean("runn", commands), "; did you mean 'run'?");
  EXPECT_EQ(didYouMean("complie", commands), "; did you mean 'compile'?");
  EXPECT_EQ(didYouMean("Device", commands), "; did you mean 'devices'?");
  EXPECT_EQ(didYouMean("frobnicate", commands), "");
  EXPECT_EQ(didYouMean("", commands), "");
  EXPECT_EQ(didYouMean("x", {}), "");
}
} // namespace
