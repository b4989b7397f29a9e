// Instructions of AMX, run: by the processor where it has them, else by the library that carries
// them out, which is part of this program.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <immintrin.h>
#include <random>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

struct alignas(64) Config {
  uint8_t palette = 1, start = 0, none[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};
};

/// Registers 0 (sums, m x n), 1 (m x k) and 2 (k x n), k in words of four bytes.
Config shaped(int m, int n, int k) {
  Config config;
  config.rows[0] = config.rows[1] = uint8_t(m);
  config.rows[2] = uint8_t(k);
  config.rowBytes[0] = config.rowBytes[2] = uint16_t(4 * n);
  config.rowBytes[1] = uint16_t(4 * k);
  return config;
}

class EmulateAMX : public testing::Test {
protected:
  void SetUp() override {
    if (!__builtin_cpu_supports("avx512f"))
      GTEST_SKIP() << "this processor has no AVX-512, which the emulation is written with";
    // Of a processor that has AMX.
    constexpr int requestPermission = 0x1023, tileData = 18;
    (void)syscall(SYS_arch_prctl, requestPermission, tileData);
  }
};

struct Words {
  uint8_t bytes[16][64];
};

Words random(unsigned seed) {
  std::mt19937 generator(seed);
  Words words;
  for (auto &row : words.bytes)
    for (uint8_t &byte : row)
      byte = uint8_t(generator());
  return words;
}

template <typename Left, typename Right, typename Multiply>
void checkBytes(Multiply multiply, int m, int n, int k) {
  const Words x = random(1), y = random(2), start = random(3);
  Words sums = start;
  const Config config = shaped(m, n, k);
  _tile_loadconfig(&config);
  _tile_loadd(0, &start, 64);
  _tile_loadd(1, &x, 64);
  _tile_stream_loadd(2, &y, 64);
  multiply();
  _tile_stored(0, &sums, 64);
  _tile_release();
  for (int r = 0; r < 16; ++r)
    for (int c = 0; c < 16; ++c) {
      uint32_t expected = 0, found = 0;
      std::memcpy(&expected, start.bytes[r] + 4 * c, 4);
      std::memcpy(&found, sums.bytes[r] + 4 * c, 4);
      for (int t = 0; r < m && c < n && t < 4 * k; ++t)
        expected += uint32_t(int(Left(x.bytes[r][t])) * int(Right(y.bytes[t / 4][4 * c + t % 4])));
      ASSERT_EQ(found, expected) << r << ", " << c;
    }
}

TEST_F(EmulateAMX, multipliesBytesOfAllSigns) {
  for (auto [m, n, k] : {std::tuple(16, 16, 16), std::tuple(3, 5, 7), std::tuple(1, 16, 2)}) {
    checkBytes<int8_t, int8_t>([] { _tile_dpbssd(0, 1, 2); }, m, n, k);
    checkBytes<int8_t, uint8_t>([] { _tile_dpbsud(0, 1, 2); }, m, n, k);
    checkBytes<uint8_t, int8_t>([] { _tile_dpbusd(0, 1, 2); }, m, n, k);
    checkBytes<uint8_t, uint8_t>([] { _tile_dpbuud(0, 1, 2); }, m, n, k);
  }
}

float upper(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
float flushed(float x) { return std::fabs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x; }

/// As Intel's manual says it, on numbers of which some are subnormal or give such sums.
TEST_F(EmulateAMX, addsPairsOfBF16InChainsOfTheirOwn) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> numbers(-2, 2);
  uint16_t x[16][32], y[16][32];
  float start[16][16], sums[16][16];
  auto draw = [&](float scale) {
    return uint16_t(std::bit_cast<uint32_t>(numbers(generator) * scale) >> 16);
  };
  for (float scale : {1.0F, 1e-19F, 1e-38F}) {
    for (int r = 0; r < 16; ++r)
      for (int t = 0; t < 32; ++t) {
        x[r][t] = draw(scale);
        y[r][t] = draw(scale);
        start[r][t / 2] = numbers(generator) * scale * scale;
      }
    const Config config = shaped(16, 16, 16);
    _tile_loadconfig(&config);
    _tile_loadd(0, start, 64);
    _tile_loadd(1, x, 64);
    _tile_loadd(2, y, 64);
    _tile_dpbf16ps(0, 1, 2);
    _tile_stored(0, sums, 64);
    _tile_release();
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < 16; ++c) {
        float chains[2] = {0, 0};
        for (int t = 0; t < 32; ++t)
          chains[t % 2] = flushed(std::fma(flushed(upper(x[r][t])),
                                           flushed(upper(y[t / 2][2 * c + t % 2])), chains[t % 2]));
        const float expected = flushed(flushed(start[r][c]) + flushed(chains[0] + chains[1]));
        ASSERT_EQ(std::bit_cast<uint32_t>(sums[r][c]), std::bit_cast<uint32_t>(expected))
            << r << ", " << c << " of scale " << scale;
      }
  }
}

/// A tile in the middle of rows that are longer; what has no row or column in it stays.
TEST_F(EmulateAMX, movesRowsThatAreApart) {
  const Words from = random(4);
  Words to = {};
  const Config config = shaped(5, 3, 1);
  _tile_loadconfig(&config);
  Config stored;
  _tile_storeconfig(&stored);
  _tile_zero(0);
  _tile_loadd(0, from.bytes[1] + 8, 128);
  _tile_stored(0, to.bytes[2] + 4, 64);
  _tile_release();
  EXPECT_EQ(std::memcmp(&stored, &config, sizeof config), 0);
  for (int r = 0; r < 16; ++r)
    for (int byte = 0; byte < 64; ++byte) {
      const bool isInside = r >= 2 && r < 7 && byte >= 4 && byte < 16;
      ASSERT_EQ(to.bytes[r][byte], isInside ? from.bytes[1 + 2 * (r - 2)][8 + byte - 4] : 0);
    }
}

/// Addresses of all forms: a scale, displacements of one and four bytes, no base, r8 to r15.
TEST_F(EmulateAMX, readsAddresses) {
  alignas(64) static const Config config = shaped(16, 16, 16);
  const Words from = random(5);
  Words to[3] = {};
  asm volatile("ldtilecfg %[config]\n"
               "mov %[from], %%r13\n mov $16, %%r12\n"
               "tileloadd 64(%%r13,%%r12,4), %%tmm0\n"
               "mov %[to], %%rbp\n mov $32, %%rax\n"
               "tilestored %%tmm0, (%%rbp,%%rax,2)\n"
               "tilestored %%tmm0, 1024(%%rbp,%%rax,2)\n"
               "tilerelease"
               :
               : [config] "m"(config), [from] "r"(from.bytes[0] + 0), [to] "r"(&to)
               : "memory", "rax", "rbp", "r12", "r13", "tmm0");
  for (int r = 0; r + 1 < 16; ++r) {
    EXPECT_EQ(std::memcmp(to[0].bytes[r], from.bytes[r + 1], 64), 0) << r;
    EXPECT_EQ(std::memcmp(to[1].bytes[r], from.bytes[r + 1], 64), 0) << r;
  }
}

/// What the processor refuses is refused.
TEST_F(EmulateAMX, refusesWhatDoesNotFit) {
  auto multiplyUnlike = [] {
    Config config = shaped(16, 16, 16);
    config.rows[1] = 8;
    _tile_loadconfig(&config);
    _tile_dpbf16ps(0, 1, 2);
  };
  EXPECT_EXIT(_tile_zero(0), testing::KilledBySignal(SIGILL), "");
  EXPECT_EXIT(multiplyUnlike(), testing::KilledBySignal(SIGILL), "");
}

} // namespace
