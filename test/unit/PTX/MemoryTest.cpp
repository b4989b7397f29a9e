// Loads and stores of all widths, vectors and address patterns against a model that moves one byte
// after the other and says itself which accesses are faults.
//
// A random program is a list of accesses to shared or global memory. The addresses of its lanes are
// drawn so that every short way of the machine is taken and left: the same for all, neighbours,
// rows of a tile, two lanes swapped, near the ends, unaligned, some lanes only. Two runs of each
// access in a loop use the pattern that the first one made known.
#include "PTX/RunText.h"

#include <algorithm>
#include <array>
#include <random>
#include <set>

using namespace gantry::ptx;
using namespace gantry::ptx::test;

namespace {

constexpr unsigned lanes = 32;
constexpr uint64_t bytesOfMemory = 4096;

struct AccessCase {
  bool store = false, shared = false, sign = false;
  unsigned width = 4, count = 1, registerBytes = 4;
  int offset = 0;        ///< in the instruction
  uint64_t at[2][lanes]; ///< the first time and the second time
  uint32_t active = ~0u;
};

using Random = std::mt19937_64;

uint64_t below(Random &random, uint64_t bound) { return random() % bound; }

/// Distances of lanes, in units of the access.
std::array<int64_t, lanes> drawPattern(Random &random) {
  std::array<int64_t, lanes> made;
  uint64_t kind = below(random, 9);
  int64_t row = int64_t(1 + below(random, 9)), side = int64_t(1) << below(random, 5);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t at = 0;
    switch (kind) {
    case 0: // the same for all
      break;
    case 1:
    case 2:
      at = lane;
      break;
    case 3: // a column
      at = lane * row;
      break;
    case 4: // rows of a tile, each read by several lanes
      at = lane % side + lane / side * row;
      break;
    case 5:
      at = lane / side;
      break;
    case 6:
      at = lanes - 1 - lane;
      break;
    default:
      at = int64_t(below(random, 64));
    }
    made[size_t(lane)] = at;
  }
  if (kind == 2) // all but one are neighbours
    made[below(random, lanes)] = int64_t(below(random, lanes));
  return made;
}

AccessCase draw(Random &random) {
  AccessCase made;
  made.store = below(random, 2);
  made.shared = below(random, 2);
  made.width = 1u << below(random, 4);
  do
    made.count = 1u << below(random, 4);
  while (made.width * made.count > 32);
  made.sign = below(random, 2);
  made.registerBytes = std::max(2u, made.width);
  while (made.registerBytes < 8 && below(random, 4) == 0)
    made.registerBytes *= 2;
  unsigned bytes = made.width * made.count;
  auto pattern = drawPattern(random);
  int64_t least = *std::min_element(pattern.begin(), pattern.end()),
          most = *std::max_element(pattern.begin(), pattern.end());
  for (auto &at : made.at) {
    int64_t room = int64_t(bytesOfMemory / bytes) - (most - least);
    int64_t first = room > 0 ? int64_t(below(random, uint64_t(room))) : 0;
    if (below(random, 6) == 0) // up to the end, or over it
      first = std::max<int64_t>(0, room - 1 + int64_t(below(random, 2)));
    for (unsigned lane = 0; lane < lanes; ++lane)
      at[lane] = uint64_t(first + pattern[lane] - least) % (bytesOfMemory / bytes + 1) * bytes;
    if (below(random, 12) == 0)
      at[below(random, lanes)] += below(random, bytes);
  }
  made.offset = int(below(random, 3)) * int(bytes);
  for (auto &at : made.at)
    for (uint64_t &each : at)
      each -= each >= uint64_t(made.offset) ? uint64_t(made.offset) : 0;
  if (below(random, 4) == 0)
    made.active = uint32_t(random() | 1u << below(random, lanes));
  return made;
}

struct Model {
  std::vector<uint8_t> shared, global;
  uint64_t faults = 0;
  std::set<unsigned> kinds;

  /// False: a fault, and nothing is moved.
  bool allows(const AccessCase &access, uint64_t at) {
    unsigned bytes = access.width * access.count;
    bool aligned = at % bytes == 0, inside = at <= bytesOfMemory - bytes;
    faults += !aligned || !inside;
    if (!aligned)
      kinds.insert(unsigned(FaultKind::misaligned));
    else if (!inside)
      kinds.insert(unsigned(FaultKind::outOfBounds));
    return aligned && inside;
  }
};

/// Bytes of the value of a lane's element in a store.
uint64_t storedValue(unsigned index, unsigned time, unsigned lane, unsigned element) {
  uint64_t z = (uint64_t(index) << 32 | time << 16 | lane << 8 | element) * 0x9e3779b97f4a7c15u;
  return z ^ z >> 29;
}

std::string registerOf(const AccessCase &access, unsigned element) {
  const char *file = access.registerBytes == 2 ? "%h" : access.registerBytes == 4 ? "%r" : "%rd";
  return file + std::to_string(10 + element);
}

/// The kernel: for each access, twice: addresses and values come from tables in global memory, what
/// is loaded goes to another one.
std::string textOf(const std::vector<AccessCase> &accesses) {
  std::string text = std::string(header) + ".shared .align 32 .b8 s[" +
                     std::to_string(bytesOfMemory) +
                     "];\n.visible .entry k(.param .u64 at, .param .u64 values, .param .u64 out, "
                     ".param .u64 memory)\n{\n" +
                     registers +
                     "ld.param.u64 %rd1, [at];\nld.param.u64 %rd2, [values];\nld.param.u64 %rd3, "
                     "[out];\nld.param.u64 %rd4, [memory];\nmov.u32 %r0, %laneid;\nmov.u32 %r1, "
                     "s;\nmov.u32 %r8, 0;\nmad.wide.u32 %rd5, %r0, 8, %rd1;\nmad.wide.u32 %rd6, "
                     "%r0, 64, %rd2;\nmad.wide.u32 %rd7, %r0, 64, %rd3;\n"
                     // Shared memory begins as global memory does.
                     "mov.u32 %r2, 0;\nC: mad.lo.u32 %r3, %r0, 4, %r2;\nadd.u32 %r4, %r3, "
                     "%r1;\ncvt.u64.u32 %rd8, %r3;\nadd.u64 %rd8, %rd8, %rd4;\nld.global.u32 %r5, "
                     "[%rd8];\nst.shared.u32 [%r4], %r5;\nadd.u32 %r2, %r2, 128;\nsetp.lt.u32 "
                     "%p1, %r2, " +
                     std::to_string(bytesOfMemory) + ";\n@%p1 bra C;\nL:\n";
  for (size_t i = 0; i < accesses.size(); ++i) {
    const AccessCase &access = accesses[i];
    std::string values, suffix = access.count > 1 ? ".v" + std::to_string(access.count) : "";
    for (unsigned e = 0; e < access.count; ++e)
      values += (e ? ", " : "") + registerOf(access, e);
    if (access.count > 1)
      values = "{" + values + "}";
    std::string reg = access.registerBytes == 2 ? "u16" : access.registerBytes == 4 ? "u32" : "u64";
    std::string move = access.registerBytes == 2   ? "b16"
                       : access.registerBytes == 4 ? "b32"
                                                   : "b64";
    text += "mov.u32 %r6, " + std::to_string(access.active) +
            ";\nshr.u32 %r6, %r6, %r0;\nand.b32 %r6, %r6, 1;\nsetp.eq.u32 %p2, %r6, 1;\n";
    text += "ld.global.u64 %rd8, [%rd5];\nadd.u64 %rd5, %rd5, 256;\n";
    std::string base;
    if (access.shared) {
      text += "cvt.u32.u64 %r7, %rd8;\nadd.u32 %r7, %r7, %r1;\n";
      base = "%r7";
    } else {
      text += "add.u64 %rd8, %rd8, %rd4;\n";
      base = "%rd8";
    }
    for (unsigned e = 0; e < access.count; ++e)
      text += access.store ? "ld.global." + reg + " " + registerOf(access, e) + ", [%rd6+" +
                                 std::to_string(8 * e) + "];\n"
                           : "mov." + move + " " + registerOf(access, e) + ", -1;\n";
    std::string type = std::string(access.sign ? "s" : "u") + std::to_string(8 * access.width);
    std::string space = access.shared ? "shared" : "global";
    std::string place = "[" + base + "+" + std::to_string(access.offset) + "]";
    text += access.store
                ? "@%p2 st." + space + suffix + "." + type + " " + place + ", " + values + ";\n"
                : "@%p2 ld." + space + suffix + "." + type + " " + values + ", " + place + ";\n";
    if (!access.store)
      for (unsigned e = 0; e < access.count; ++e)
        text += "st.global." + reg + " [%rd7+" + std::to_string(8 * e) + "], " +
                registerOf(access, e) + ";\n";
    text += "add.u64 %rd6, %rd6, 2048;\nadd.u64 %rd7, %rd7, 2048;\n";
  }
  text += "add.u32 %r8, %r8, 1;\nsetp.lt.u32 %p1, %r8, 2;\n@%p1 bra L;\n"
          // What shared memory is at the end goes behind the results.
          "mov.u32 %r2, 0;\nmul.wide.u32 %rd8, %r0, 60;\nsub.u64 %rd7, %rd7, %rd8;\nD: mad.lo.u32 "
          "%r3, %r0, 4, %r1;\nadd.u32 %r3, %r3, %r2;\nld.shared.u32 %r5, [%r3];\nst.global.u32 "
          "[%rd7], %r5;\nadd.u64 %rd7, %rd7, 128;\nadd.u32 %r2, %r2, 128;\nsetp.lt.u32 %p1, %r2, " +
          std::to_string(bytesOfMemory) + ";\n@%p1 bra D;\nret;\n}\n";
  return text;
}

/// What the kernel does, byte by byte; the results as they stand in `out`.
std::vector<uint8_t> expect(const std::vector<AccessCase> &accesses, Model &model) {
  std::vector<uint8_t> out(accesses.size() * 2 * lanes * 64 + bytesOfMemory);
  for (unsigned time = 0; time < 2; ++time)
    for (size_t i = 0; i < accesses.size(); ++i) {
      const AccessCase &access = accesses[i];
      std::vector<uint8_t> &memory = access.shared ? model.shared : model.global;
      for (unsigned lane = 0; lane < lanes; ++lane) {
        bool active = access.active >> lane & 1;
        uint64_t at = access.at[time][lane] + uint64_t(access.offset);
        bool good = active && model.allows(access, at);
        uint8_t *result = out.data() + ((time * accesses.size() + i) * lanes + lane) * 64;
        for (unsigned e = 0; e < access.count; ++e) {
          uint64_t value = access.store ? storedValue(unsigned(i), time, lane, e) : 0;
          for (unsigned b = 0; b < access.width && good; ++b) {
            uint8_t &byte = memory[size_t(at + e * access.width + b)];
            if (access.store)
              byte = uint8_t(value >> 8 * b);
            else
              value |= uint64_t(byte) << 8 * b;
          }
          if (access.store)
            continue;
          if (access.sign && access.width < 8 && value >> (8 * access.width - 1) & 1)
            value |= ~uint64_t(0) << 8 * access.width;
          if (!active)
            value = ~uint64_t(0);
          std::memcpy(result + 8 * e, &value, access.registerBytes);
        }
      }
    }
  std::memcpy(out.data() + out.size() - bytesOfMemory, model.shared.data(), bytesOfMemory);
  return out;
}

std::string describe(const AccessCase &access) {
  std::string made = std::string(access.store ? "st." : "ld.") +
                     (access.shared ? "shared" : "global") + ".v" + std::to_string(access.count) +
                     (access.sign ? ".s" : ".u") + std::to_string(8 * access.width) +
                     ", registers of " + std::to_string(access.registerBytes) + " bytes, at";
  for (const auto &at : access.at)
    for (unsigned lane = 0; lane < lanes; ++lane)
      made += (access.active >> lane & 1 ? " " : " -") +
              std::to_string(at[lane] + uint64_t(access.offset));
  return made;
}

void runCase(uint64_t seed, Checks checks) {
  Random random(seed);
  std::vector<AccessCase> accesses;
  for (uint64_t i = 0, count = 1 + below(random, 6); i < count; ++i)
    accesses.push_back(draw(random));
  std::vector<uint64_t> at, values;
  for (unsigned time = 0; time < 2; ++time)
    for (size_t i = 0; i < accesses.size(); ++i)
      for (unsigned lane = 0; lane < lanes; ++lane) {
        at.push_back(accesses[i].at[time][lane]);
        for (unsigned e = 0; e < 8; ++e)
          values.push_back(storedValue(unsigned(i), time, lane, e));
      }
  // A region begins where shared memory's alignment is kept.
  std::vector<uint8_t> storage(bytesOfMemory + 512);
  uint8_t *memory = storage.data() + (64 - reinterpret_cast<uintptr_t>(storage.data()) % 64);
  for (uint64_t i = 0; i < bytesOfMemory; ++i)
    memory[i] = uint8_t(random());
  Model model;
  model.shared.assign(memory, memory + bytesOfMemory);
  model.global = model.shared;
  std::vector<uint8_t> expected = expect(accesses, model), out(expected.size());

  auto loaded = load(textOf(accesses));
  ASSERT_NE(loaded, nullptr);
  ASSERT_TRUE(loaded->memory.add(at.data(), at.size() * 8, "at").ok());
  ASSERT_TRUE(loaded->memory.add(values.data(), values.size() * 8, "values").ok());
  ASSERT_TRUE(loaded->memory.add(out.data(), out.size(), "out").ok());
  ASSERT_TRUE(loaded->memory.add(memory, bytesOfMemory, "memory").ok());
  const void *arguments[] = {at.data(), values.data(), out.data(), memory};
  Launch launch;
  launch.kernel = "k";
  launch.block = {lanes, 1, 1};
  launch.checks = checks;
  launch.stepLimit = 100000;
  launch.arguments = std::as_bytes(std::span(arguments));
  auto outcome = gantry::ptx::run(*loaded->image, launch);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  auto context = [&] {
    std::string made = "seed " + std::to_string(seed) + "\n";
    for (const AccessCase &access : accesses)
      made += describe(access) + "\n";
    return made + texts(*outcome);
  };
  uint64_t faults = 0;
  std::set<unsigned> kinds;
  for (const Fault &fault : outcome->faults) {
    bool isRace = fault.kind == FaultKind::sharedRace || fault.kind == FaultKind::globalRace;
    if (isRace) // random stores do race; RaceTest is about that
      continue;
    faults += fault.count;
    kinds.insert(unsigned(fault.kind));
  }
  ASSERT_EQ(faults, model.faults) << context();
  ASSERT_EQ(kinds, model.kinds) << context();
  for (size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out[i], expected[i]) << "byte " << i << ", " << context();
  ASSERT_EQ(std::memcmp(memory, model.global.data(), bytesOfMemory), 0) << context();
}

TEST(MemoryTest, randomAccessesMoveTheBytesOfTheModel) {
  for (uint64_t seed = 1; seed <= 1000 && !testing::Test::HasFailure(); ++seed)
    runCase(seed, seed % 2 ? Checks::memory : Checks::all);
}

/// Which bytes of a region the last launch touched, and "w" where it wrote them.
std::string touchesOf(const Memory &memory, const void *region) {
  std::string text;
  for (const TouchedRange &range : memory.touched())
    text += std::to_string(int64_t(range.begin - reinterpret_cast<uint64_t>(region))) + "-" +
            std::to_string(int64_t(range.end - reinterpret_cast<uint64_t>(region))) +
            (range.isWritten ? "w " : " ");
  return text;
}

TEST(MemoryTest, tellsWhatTheLastLaunchTouched) {
  const std::string text = kernel("ld.global.u64 %rd5, [%rd3];\nst.global.u64 [%rd4], %rd5;");
  auto loaded = load(text);
  std::vector<uint64_t> all(4096);
  ASSERT_TRUE(loaded->memory.add(all.data(), all.size() * 8, "all").ok());
  std::vector<uint64_t> other(4096);
  ASSERT_TRUE(loaded->memory.add(other.data(), other.size() * 8, "other").ok());
  const auto launchAt = [&](size_t from, size_t to, unsigned threads) {
    const void *arguments[] = {all.data() + from, all.data() + to};
    Launch launch;
    launch.kernel = "k";
    launch.block = {threads, 1, 1};
    launch.arguments = std::as_bytes(std::span(arguments));
    auto outcome = run(*loaded->image, launch);
    ASSERT_TRUE(outcome.ok()) << outcome.status().message();
    ASSERT_EQ(texts(*outcome), "");
  };
  EXPECT_EQ(touchesOf(loaded->memory, all.data()), "");
  launchAt(4095, 0, 1); // the last byte and the first one
  EXPECT_EQ(touchesOf(loaded->memory, all.data()), "0-8w 32760-32768 ");
  launchAt(100, 164, 64); // several warps; nothing is left of the launch before
  EXPECT_EQ(touchesOf(loaded->memory, all.data()), "800-1312 1312-1824w ");
}

} // namespace
