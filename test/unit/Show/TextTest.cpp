// Texts for people: what gives way when there is no room.
#include "gantry/Show/Text.h"

#include <gtest/gtest.h>

namespace gantry::show {
namespace {

TEST(Text, WidthIsInCharacters) {
  EXPECT_EQ(displayWidth("3 µs"), 4u);
  EXPECT_EQ(displayWidth("…"), 1u);
}

TEST(Text, CutKeepsBothEndsAndMoreOfTheLast) {
  EXPECT_EQ(cutTo("conv", 4), "conv");
  EXPECT_EQ(cutTo("/encoder/layer.0/output", 10), "/en…output");
  EXPECT_EQ(cutTo("µµµµµµ", 3), "…µµ");
}

TEST(Text, LinesBreakAtBlanksThenAtMarksThenAnywhere) {
  EXPECT_EQ(wrapped("one two three", 8), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrapped("/encoder/layer", 10), (std::vector<std::string>{"/encoder/", "layer"}));
  EXPECT_EQ(wrapped("abcdefgh", 3), (std::vector<std::string>{"abc", "def", "gh"}));
}

TEST(Text, TablesGiveWayInLongColumns) {
  Table table({"op", ">bytes", "~name"});
  table.add({"Conv", "12", "a/long/name"});
  EXPECT_EQ(table.text(Long::wrap, 80), "  op    bytes  name\n"
                                        "  Conv     12  a/long/name\n");
  EXPECT_EQ(table.text(Long::cut, 22), "  op    bytes  name\n"
                                       "  Conv     12  a/…name\n");
  EXPECT_EQ(table.text(Long::wrap, 22), "  op    bytes  name\n"
                                        "  Conv     12  a/long/\n"
                                        "               name\n");
}

TEST(Text, PagesGrowByLines) {
  Page page(20);
  page.print("%d ops\n", 3);
  page.paragraph("what does not fit goes on\nbelow");
  page.paragraph("");
  page.more("ways", 2, 5);
  page.more("ways", 5, 5);
  EXPECT_EQ(page.take(), "3 ops\n"
                         "what does not fit\n"
                         "  goes on\\nbelow\n"
                         "  … and 3 more ways (--all)\n");
}

TEST(Text, BarsShowTheLeast) {
  EXPECT_EQ(bar(0, 8), "");
  EXPECT_EQ(bar(0.0001, 8), "▏");
  EXPECT_EQ(bar(0.5, 2), "█");
  EXPECT_EQ(bar(7, 2), "██");
}

} // namespace
} // namespace gantry::show
