#include "gantry/Support/Bytes.h"

#include <gtest/gtest.h>

#include <random>

namespace {
using namespace gantry;

TEST(Bytes, RangesThatWouldOverflowDoNotFit) {
  EXPECT_TRUE(rangeFits(0, 10, 10));
  EXPECT_TRUE(rangeFits(10, 0, 10));
  EXPECT_FALSE(rangeFits(1, 10, 10));
  EXPECT_FALSE(rangeFits(11, 0, 10));
  EXPECT_FALSE(rangeFits(UINT64_MAX, 2, 10));
  EXPECT_FALSE(rangeFits(2, UINT64_MAX, 10));
  EXPECT_TRUE(rangeFits(UINT64_MAX, 0, UINT64_MAX));
}

TEST(Bytes, RangesOverlapWhenTheyShareAByte) {
  EXPECT_TRUE(rangesOverlap(0, 10, 9, 1));
  EXPECT_FALSE(rangesOverlap(0, 10, 10, 1));
  EXPECT_FALSE(rangesOverlap(0, 10, 5, 0));
}

TEST(Bytes, AlignsUpAndSaysWhenItCannot) {
  EXPECT_EQ(alignTo(0, 64), 0u);
  EXPECT_EQ(alignTo(1, 64), 64u);
  EXPECT_EQ(alignTo(64, 64), 64u);
  uint64_t result;
  EXPECT_FALSE(alignToOverflows(UINT64_MAX - 64, 64, &result));
  EXPECT_EQ(result, UINT64_MAX - 63);
  EXPECT_TRUE(alignToOverflows(UINT64_MAX - 62, 64, &result));
}

TEST(Bytes, PrintsForPeople) {
  const std::pair<uint64_t, const char *> cases[] = {
      {0, "0 bytes"},
      {1, "1 byte"},
      {1023, "1023 bytes"},
      {1024, "1 KiB"},
      {1536, "1.5 KiB"},
      {1572864, "1.5 MiB"},
      {uint64_t(1) << 30, "1 GiB"},
      {(uint64_t(1) << 20) - 1, "1 MiB"},
      {uint64_t(3) << 30, "3 GiB"},
      {UINT64_MAX, "16 EiB"},
  };
  for (auto [bytes, text] : cases)
    EXPECT_EQ(formatBytes(bytes), text) << bytes;
}

TEST(Bytes, ReadsUnits) {
  const std::pair<const char *, uint64_t> cases[] = {
      {"0", 0},
      {"24", 24},
      {"24B", 24},
      {"24 bytes", 24},
      {"16GiB", uint64_t(16) << 30},
      {"16 gib", uint64_t(16) << 30},
      {"1024MiB", uint64_t(1) << 30},
      {"1GB", 1000'000'000},
      {"1.5KiB", 1536},
      {"0.5 MiB", 524288},
      {"2TB", 2000'000'000'000},
      {"9223372036854775807", INT64_MAX},
      {"9223372.036854775TB", 9223372036854775000u},
  };
  for (auto [text, bytes] : cases) {
    Expected<uint64_t> parsed = parseByteCount(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(*parsed, bytes) << text;
  }
}

TEST(Bytes, RefusesWithTheReason) {
  const std::string units = "; write a number and B, KiB, MiB, GiB, TiB, KB, MB, GB or TB";
  const std::pair<const char *, const char *> cases[] = {
      {"", "'' is not a byte count: it does not start with a digit"},
      {"GiB", "'GiB' is not a byte count: it does not start with a digit"},
      {"-1", "'-1' is not a byte count: it does not start with a digit"},
      {"1.", "'1.' is not a byte count: no digit follows the point"},
      {"1 parsec", "'1 parsec' is not a byte count: 'parsec' is not a unit"},
      {"0.3B", "'0.3B' is not a byte count: it is not a whole number of bytes"},
      {"18446744073709551616", "'18446744073709551616' is not a byte count: it is over 2^63 - 1"},
      {"9223372036854775808", "'9223372036854775808' is not a byte count: it is over 2^63 - 1"},
      {"10000000TB", "'10000000TB' is not a byte count: it is over 2^63 - 1"},
      {"8388608TiB", "'8388608TiB' is not a byte count: it is over 2^63 - 1"},
      {"16777216TiB", "'16777216TiB' is not a byte count: it is over 2^63 - 1"},
      {"1.0000000001KB", "'1.0000000001KB' is not a byte count: it has more than 9 decimals"},
  };
  for (auto [text, message] : cases)
    EXPECT_EQ(parseByteCount(text).status().message(), message + units);
}

TEST(Bytes, WholeUnitsReadBackAsPrinted) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    uint64_t bytes = (random() % 1023 + 1) << (10 * (random() % 5));
    Expected<uint64_t> again = parseByteCount(formatBytes(bytes));
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, bytes);
  }
}

} // namespace
