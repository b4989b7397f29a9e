// mma of each shape and type against sums made one after the other, and ldmatrix and stmatrix
// against matrices copied element by element. Fragments are laid out here lane by lane, as the
// figures of the PTX manual have them.
#include "PTX/RunText.h"

#include <array>
#include <bit>
#include <cmath>
#include <random>

using namespace gantry::ptx;
using namespace gantry::ptx::test;

namespace {

constexpr unsigned lanes = 32;
using Random = std::mt19937_64;
using Words = std::vector<std::array<uint32_t, lanes>>; ///< by register, by lane

/// Runs `body` for a warp: %r0… of it hold the words of `in`, what it leaves in %s0… is the result.
Words runWarp(const std::string &body, const Words &in, size_t results) {
  std::string text = std::string(header) +
                     ".shared .align 16 .b8 m[2048];\n.visible .entry k(.param .u64 in, .param "
                     ".u64 out)\n{\n.reg .b32 %r<40>; .reg .b32 %s<40>; .reg .b32 %t<20>; .reg "
                     ".b64 %rd<9>;\nld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nmov.u32 "
                     "%t0, %laneid;\nmul.wide.u32 %rd3, %t0, 4;\nadd.u64 %rd1, %rd1, %rd3;\n"
                     "add.u64 %rd2, %rd2, %rd3;\nmov.u32 %t1, m;\n";
  for (size_t i = 0; i < in.size(); ++i)
    text += "ld.global.b32 %r" + std::to_string(i) + ", [%rd1+" + std::to_string(128 * i) + "];\n";
  text += body + "\n";
  for (size_t i = 0; i < results; ++i)
    text += "st.global.b32 [%rd2+" + std::to_string(128 * i) + "], %s" + std::to_string(i) + ";\n";
  Words out(results), from = in;
  from.resize(std::max<size_t>(1, in.size()));
  auto loaded = load(text + "ret;\n}\n");
  if (!loaded)
    return out;
  EXPECT_TRUE(loaded->memory.add(from.data(), from.size() * 128, "in").ok());
  EXPECT_TRUE(loaded->memory.add(out.data(), out.size() * 128, "out").ok());
  const void *arguments[] = {from.data(), out.data()};
  Launch launch;
  launch.kernel = "k";
  launch.block = {lanes, 1, 1};
  launch.arguments = std::as_bytes(std::span(arguments));
  auto outcome = gantry::ptx::run(*loaded->image, launch);
  EXPECT_TRUE(outcome.ok()) << outcome.status().message();
  if (outcome)
    EXPECT_EQ(texts(*outcome), "");
  return out;
}

std::string registersOf(const char *file, size_t first, size_t count) {
  std::string made;
  for (size_t i = 0; i < count; ++i)
    made += (i ? ", " : "") + (file + std::to_string(first + i));
  return "{" + made + "}";
}

// Numbers.

double valueOf(const std::string &type, uint32_t bits) {
  if (type == "f16")
    return double(std::bit_cast<_Float16>(uint16_t(bits)));
  if (type == "bf16")
    return std::bit_cast<float>(bits << 16);
  if (type == "tf32")
    return std::bit_cast<float>(bits & 0xffffe000u);
  if (type == "s8")
    return int8_t(bits);
  if (type == "u8")
    return uint8_t(bits);
  return type == "s32" ? double(int32_t(bits)) : double(std::bit_cast<float>(bits));
}

unsigned bitsOf(const std::string &type) {
  return type.back() == '8' ? 8 : type == "f16" || type == "bf16" ? 16 : 32;
}

/// Mostly numbers of common sizes, some at the ends: zeros, subnormal, infinite, NaN.
uint32_t draw(Random &random, const std::string &type) {
  if (type.back() == '8' || type == "s32")
    return uint32_t(random());
  bool anything = random() % 40 == 0;
  if (type == "f16")
    return anything ? uint16_t(random())
                    : uint16_t(0x3400 + random() % 0x1000) | (random() & 0x8000);
  uint32_t bits =
      anything ? uint32_t(random())
               : uint32_t(0x3e800000 + random() % 0x02000000) | (uint32_t(random()) & 0x80000000u);
  return type == "bf16" ? bits >> 16 : bits;
}

/// The sum's bits after all its products, in the order of k.
uint32_t sumOf(const std::string &type, uint32_t start, const std::vector<double> &a,
               const std::vector<double> &b) {
  if (type == "s32") {
    uint32_t sum = start;
    for (size_t k = 0; k < a.size(); ++k)
      sum += uint32_t(int32_t(a[k]) * int32_t(b[k]));
    return sum;
  }
  if (type == "f16") {
    _Float16 sum = std::bit_cast<_Float16>(uint16_t(start));
    for (size_t k = 0; k < a.size(); ++k)
      sum = _Float16(a[k] * b[k] + double(sum));
    return std::isnan(float(sum)) ? 0x7fff : std::bit_cast<uint16_t>(sum);
  }
  float sum = std::bit_cast<float>(start);
  for (size_t k = 0; k < a.size(); ++k)
    sum = std::fma(float(a[k]), float(b[k]), sum);
  return std::isnan(sum) ? 0x7fffffff : std::bit_cast<uint32_t>(sum);
}

struct Shape {
  unsigned k;
  const char *d, *a, *b;
};

void checkShape(const Shape &shape, uint64_t seed) {
  const unsigned m = 16, n = 8, k = shape.k;
  unsigned bits = bitsOf(shape.a), each = 32 / bits, sumBits = bitsOf(shape.d),
           sumEach = 32 / sumBits;
  Random random(seed);
  std::vector<uint32_t> a(m * k), b(k * n), c(m * n);
  for (auto &[values, type] : {std::pair(&a, shape.a), {&b, shape.b}, {&c, shape.d}})
    for (uint32_t &value : *values)
      value = draw(random, type) & uint32_t((uint64_t(1) << bitsOf(type)) - 1);
  // Registers: a is by halves of rows, then along k; b along k; c by pairs of columns, then halves.
  Words in(m * k * bits / 1024 + k * n * bits / 1024 + m * n * sumBits / 1024);
  size_t regsA = m * k * bits / 1024, regsB = k * n * bits / 1024, regsC = m * n * sumBits / 1024;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    unsigned group = lane / 4, thread = lane % 4;
    for (unsigned reg = 0; reg < regsA; ++reg)
      for (unsigned j = 0; j < each; ++j) {
        unsigned row = group + reg % 2 * 8, column = reg / 2 * 4 * each + thread * each + j;
        in[reg][lane] |= a[row * k + column] << (j * bits);
      }
    for (unsigned reg = 0; reg < regsB; ++reg)
      for (unsigned j = 0; j < each; ++j)
        in[regsA + reg][lane] |= b[(reg * 4 * each + thread * each + j) * n + group] << (j * bits);
    for (unsigned i = 0; i < 4; ++i)
      in[regsA + regsB + i / sumEach][lane] |= c[(group + i / 2 * 8) * n + thread * 2 + i % 2]
                                               << (i % sumEach * sumBits);
  }
  std::string opcode = "mma.sync.aligned.m16n8k" + std::to_string(k) + ".row.col." + shape.d + "." +
                       shape.a + "." + shape.b + "." + shape.d;
  Words out = runWarp(opcode + " " + registersOf("%s", 0, regsC) + ", " +
                          registersOf("%r", 0, regsA) + ", " + registersOf("%r", regsA, regsB) +
                          ", " + registersOf("%r", regsA + regsB, regsC) + ";",
                      in, regsC);
  for (unsigned lane = 0; lane < lanes; ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      std::vector<double> left, right;
      for (unsigned step = 0; step < k; ++step) {
        left.push_back(valueOf(shape.a, a[row * k + step]));
        right.push_back(valueOf(shape.b, b[step * n + column]));
      }
      uint32_t made = out[i / sumEach][lane] >> (i % sumEach * sumBits) &
                      uint32_t((uint64_t(1) << sumBits) - 1);
      ASSERT_EQ(made, sumOf(shape.d, c[row * n + column], left, right))
          << opcode << ", seed " << seed << ", row " << row << ", column " << column;
    }
}

TEST(MatrixTest, productsOfEachShape) {
  constexpr Shape shapes[] = {{16, "f32", "f16", "f16"},   {8, "f32", "f16", "f16"},
                              {16, "f16", "f16", "f16"},   {8, "f16", "f16", "f16"},
                              {16, "f32", "bf16", "bf16"}, {8, "f32", "bf16", "bf16"},
                              {8, "f32", "tf32", "tf32"},  {4, "f32", "tf32", "tf32"},
                              {32, "s32", "s8", "s8"},     {16, "s32", "u8", "s8"}};
  for (const Shape &shape : shapes)
    for (uint64_t seed = 1; seed <= 20 && !HasFatalFailure(); ++seed)
      checkShape(shape, seed);
}

/// The element of a register's half.
uint32_t elementOf(unsigned matrix, unsigned lane, unsigned half, bool transposed) {
  unsigned row = lane / 4, column = lane % 4 * 2 + half;
  return transposed ? matrix * 64 + column * 8 + row : matrix * 64 + row * 8 + column;
}

/// Shared memory is filled with rows of 8 numbers, row r of all matrices at 16 * (r * 5 % 32).
std::string fillRows() {
  std::string text =
      "mul.lo.u32 %t2, %t0, 5;\nand.b32 %t2, %t2, 31;\nshl.b32 %t2, %t2, 4;\nadd.u32 "
      "%t2, %t2, %t1;\nshl.b32 %t3, %t0, 3;\n";
  for (int i = 0; i < 4; ++i)
    text += "mad.lo.u32 %t4, %t3, 65537, " + std::to_string((2 * i + 1) << 16 | 2 * i) +
            ";\nst.shared.b32 [%t2+" + std::to_string(4 * i) + "], %t4;\n";
  return text + "bar.sync 0;\n";
}

TEST(MatrixTest, matricesAreLoadedByRows) {
  for (unsigned count : {1u, 2u, 4u})
    for (bool transposed : {false, true}) {
      std::string opcode = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(count) +
                           (transposed ? ".trans" : "") + ".shared.b16 ";
      Words out =
          runWarp(fillRows() + opcode + registersOf("%s", 0, count) + ", [%t2];", {}, count);
      for (unsigned i = 0; i < count; ++i)
        for (unsigned lane = 0; lane < lanes; ++lane)
          for (unsigned half = 0; half < 2; ++half)
            ASSERT_EQ(out[i][lane] >> (16 * half) & 0xffff, elementOf(i, lane, half, transposed))
                << opcode << i << ", lane " << lane;
    }
}

TEST(MatrixTest, matricesAreStoredByRows) {
  for (unsigned count : {1u, 2u, 4u})
    for (bool transposed : {false, true}) {
      Words in(count);
      for (unsigned i = 0; i < count; ++i)
        for (unsigned lane = 0; lane < lanes; ++lane)
          in[i][lane] = elementOf(i, lane, 0, transposed) | elementOf(i, lane, 1, transposed) << 16;
      std::string opcode = "stmatrix.sync.aligned.m8n8.x" + std::to_string(count) +
                           (transposed ? ".trans" : "") + ".shared.b16 ";
      Words out = runWarp(fillRows() + opcode + "[%t2], " + registersOf("%r", 0, count) +
                              ";\nbar.sync 0;\nld.shared.v4.b32 {%s0, %s1, %s2, %s3}, [%t2];",
                          in, 4);
      for (unsigned lane = 0; lane < lanes; ++lane)
        for (unsigned column = 0; column < 8; ++column)
          ASSERT_EQ(out[column / 2][lane] >> (16 * (column % 2)) & 0xffff, lane * 8 + column)
              << opcode << "row " << lane;
    }
}

TEST(MatrixTest, rowsOutsideOfSharedMemoryAreNamed) {
  std::string body = "mov.u32 %r1, m;\nmad.lo.u32 %r2, %r0, 16, %r1;\nst.shared.b64 [%r2], "
                     "%rd1;\nst.shared.b64 [%r2+8], %rd1;\nbar.sync 0;\nsetp.eq.u32 %p1, %r0, "
                     "5;\n@%p1 add.u32 %r2, %r2, 512;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 "
                     "{%r3}, [%r2];";
  EXPECT_EQ(texts(run(kernel(body, ".shared .align 16 .b8 m[512];\n"), std::vector<uint64_t>(lanes))
                      .outcome),
            "test.ptx:23:1: error: out-of-bounds: read of 16 bytes at byte 592 of shared memory "
            "(512 bytes)\n  kernel 'k', block (0,0,0), thread (5,0,0), lane 5: "
            "ldmatrix.sync.aligned.m8n8.x1.shared.b16\n");
}

} // namespace
