// Packing against its definition: element (matrix, row, column) of the plain tensor, zeros behind.
#include "gantry/Analysis/PanelLayout.h"

#include "mlir/IR/Builders.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

using namespace gantry;

namespace {

std::vector<uint8_t> packed(const PanelLayout &layout, const std::vector<uint8_t> &plain,
                            unsigned elementBytes) {
  std::vector<uint8_t> bytes;
  EXPECT_TRUE(layout
                  .pack(plain, elementBytes,
                        [&](std::span<const uint8_t> piece) -> Status {
                          bytes.insert(bytes.end(), piece.begin(), piece.end());
                          return {};
                        })
                  .ok());
  return bytes;
}

int64_t offset(const PanelLayout::Loops &loops, int64_t index) {
  int64_t offset = 0;
  for (size_t i = loops.size(); i-- > 0;) {
    offset += index % loops[i].size * loops[i].step;
    index /= loops[i].size;
  }
  return offset;
}

std::vector<uint8_t> expected(const PanelLayout &layout, const std::vector<uint8_t> &plain,
                              unsigned elementBytes) {
  int64_t rows = PanelLayout::count(layout.rows), columns = PanelLayout::count(layout.columns);
  std::vector<uint8_t> bytes(layout.elements() * elementBytes, 0);
  for (int64_t m = 0; m < PanelLayout::count(layout.matrices); ++m)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) {
        int64_t from =
            offset(layout.matrices, m) + offset(layout.rows, r) + offset(layout.columns, c);
        int64_t panel = (m * layout.panels() + c / layout.width) * layout.panelRows();
        int64_t to = (panel + r / layout.packingFactor * layout.packingFactor) * layout.width +
                     c % layout.width * layout.packingFactor + r % layout.packingFactor;
        std::memcpy(&bytes[to * elementBytes], &plain[from * elementBytes], elementBytes);
      }
  return bytes;
}

void check(const PanelLayout &layout, unsigned elementBytes, std::mt19937 &random) {
  int64_t elements = PanelLayout::count(layout.matrices) * PanelLayout::count(layout.rows) *
                     PanelLayout::count(layout.columns);
  std::vector<uint8_t> plain(elements * elementBytes);
  for (uint8_t &byte : plain)
    byte = uint8_t(random());
  EXPECT_EQ(packed(layout, plain, elementBytes), expected(layout, plain, elementBytes));
}

TEST(PanelLayoutTest, PacksRowsAndTransposedOnes) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    int64_t k = random() % 40 + 1, n = random() % 150 + 1, count = random() % 3 + 1;
    int64_t width = int64_t(16) * (random() % 4 + 1);
    unsigned elementBytes = 1u << random() % 4;
    check({{{count, k * n}}, {{k, n}}, {{n, 1}}, width}, elementBytes, random);
    check({{{count, k * n}}, {{k, 1}}, {{n, k}}, width}, elementBytes, random);
  }
}

/// Pairs of 16 bits and fours of bytes; the last group need not be full.
TEST(PanelLayoutTest, PacksGroupsOfRows) {
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    int64_t k = random() % 40 + 1, n = random() % 150 + 1, count = random() % 3 + 1;
    int64_t width = int64_t(16) * (random() % 4 + 1), group = std::array{2, 3, 4}[random() % 3];
    check({{{count, k * n}}, {{k, n}}, {{n, 1}}, width, group}, 4 / group, random);
    check({{{count, k * n}}, {{k, 1}}, {{n, k}}, width, group}, 4 / group, random);
  }
  check({{}, {{7001, 50}}, {{50, 1}}, 48, 2}, 2, random);
}

/// More rows than a piece holds.
TEST(PanelLayoutTest, PacksInPieces) {
  std::mt19937 random(2);
  check({{}, {{2000, 50}}, {{50, 1}}, 48}, 4, random);
}

/// Output channels are columns, the window and the input channels rows: [o][i][ky][kx].
TEST(PanelLayoutTest, PacksWeightsOfConvolutions) {
  std::mt19937 random(3);
  check({{}, {{3, 5}, {5, 1}, {7, 15}}, {{33, 105}}, 32}, 4, random);
  // First and last of the columns are as far apart as in a line, but those between are not.
  check({{}, {{4, 4}}, {{2, 1}, {2, 2}}, 16}, 4, random);
}

TEST(PanelLayoutTest, IsAnAttribute) {
  mlir::MLIRContext context;
  PanelLayout layout{{{2, 12}}, {{3, 4}}, {{4, 1}}, 16};
  EXPECT_EQ(PanelLayout::of(layout.toAttr(&context)), layout);
  PanelLayout pairs{{{2, 12}}, {{3, 4}}, {{4, 1}}, 16, 2};
  EXPECT_EQ(PanelLayout::of(pairs.toAttr(&context)), pairs);
  EXPECT_NE(pairs, layout);
  EXPECT_EQ(PanelLayout::of(mlir::UnitAttr::get(&context)), std::nullopt);
  EXPECT_EQ(PanelLayout::of(mlir::DictionaryAttr::get(&context)), std::nullopt);
}

} // namespace
