#include "gantry/Support/Hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace {
using namespace gantry;

TEST(Hash, IsXXH3) {
  // The published value for the empty input: files written elsewhere must agree.
  EXPECT_EQ(hashBytes({}), 0x2d06800538d394c2u);
}

TEST(Hash, PiecesAndWholeAgree) {
  std::vector<uint8_t> bytes(5000);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i * 7);
  for (size_t piece : {size_t(1), size_t(63), size_t(256), size_t(4999)}) {
    Hasher hasher;
    for (size_t at = 0; at < bytes.size(); at += piece)
      hasher.update(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
    EXPECT_EQ(hasher.digest(), hashBytes(bytes)) << piece;
  }
}

TEST(Hash, DigestLeavesRoomForMore) {
  std::vector<uint8_t> bytes(100, 1);
  Hasher hasher;
  hasher.update(std::span(bytes).first(40));
  EXPECT_EQ(hasher.digest(), hashBytes(std::span(bytes).first(40)));
  hasher.update(std::span(bytes).subspan(40));
  EXPECT_EQ(hasher.digest(), hashBytes(bytes));
}

} // namespace
