// Races in shared and global memory against a model that remembers every reader: random accesses
// of two warps, and of two blocks, with barriers in between. The kernel's narrowest access is one
// word, so that a word is what both keep records of.
#include "PTX/RunText.h"

#include <array>
#include <map>
#include <optional>
#include <random>
#include <set>

using namespace gantry::ptx;
using namespace gantry::ptx::test;

namespace {

constexpr unsigned lanes = 32, threads = 64, words = 64;
using Random = std::mt19937_64;

struct Step {
  bool barrier = false, store = false;
  unsigned count = 1;                      ///< words of a lane
  uint32_t active = ~0u;                   ///< lanes of each warp
  std::array<unsigned, threads> word = {}; ///< the first one
};

Step draw(Random &random) {
  Step step;
  step.barrier = random() % 3 == 0;
  step.store = random() % 3 == 0;
  step.count = 1u << random() % 3;
  if (random() % 4 == 0)
    step.active = uint32_t(random() | 1);
  unsigned kind = unsigned(random() % 6), first = unsigned(random()), side = 1u << random() % 5;
  for (unsigned thread = 0; thread < threads; ++thread) {
    unsigned lane = thread % lanes, warp = thread / lanes;
    unsigned at = kind == 0   ? first
                  : kind == 1 ? first + lane
                  : kind == 2 ? first + thread
                  : kind == 3 ? first + lane / side
                  : kind == 4 ? first + lane % side + warp * 16
                              : unsigned(random());
    step.word[thread] = at % (words / step.count) * step.count;
  }
  return step;
}

struct Who {
  unsigned block, thread, tick;
  auto operator<=>(const Who &) const = default;
};

/// What is known of a word.
struct Word {
  std::optional<Who> writer;
  std::set<Who> readers;
};

class Model {
public:
  std::map<FaultKind, uint64_t> faults;

  explicit Model(FaultKind inBlock) : inBlock(inBlock) {}

  void touch(unsigned word, const Who &who, bool store) {
    Word &at = memory[word];
    bool other = at.writer && at.writer->block != who.block;
    if (other)
      ++faults[FaultKind::blockRace];
    else if (at.writer && isUnordered(*at.writer, who))
      ++faults[inBlock];
    if (!store) {
      at.readers.insert(who);
      return;
    }
    bool otherBlock = false, otherThread = false;
    for (const Who &reader : at.readers) {
      otherBlock |= reader.block != who.block;
      otherThread |= isUnordered(reader, who);
    }
    if (otherBlock)
      ++faults[FaultKind::blockRace];
    else if (otherThread)
      ++faults[inBlock];
    at.writer = who;
  }

private:
  static bool isUnordered(const Who &before, const Who &who) {
    return before.block == who.block && before.thread != who.thread && before.tick == who.tick;
  }
  FaultKind inBlock;
  std::array<Word, words> memory;
};

/// Warps of a block run to the barrier one after the other; who came last goes on first.
void runModel(const std::vector<Step> &steps, bool shared, unsigned block, Model &model) {
  unsigned tick = shared ? 2 : 1; // shared memory is filled before
  for (size_t begin = 0; begin < steps.size();) {
    size_t end = begin;
    while (end < steps.size() && !steps[end].barrier)
      ++end;
    for (unsigned turn = 0; turn < 2; ++turn)
      for (size_t i = begin; i < end; ++i)
        for (unsigned lane = 0; lane < lanes; ++lane)
          for (unsigned word = 0; word < steps[i].count; ++word)
            if (steps[i].active >> lane & 1) {
              unsigned thread = (turn ^ (~tick & 1)) * lanes + lane;
              model.touch(steps[i].word[thread] + word, {block, thread, tick}, steps[i].store);
            }
    ++tick;
    begin = end + 1;
  }
}

std::string textOf(const std::vector<Step> &steps, bool shared) {
  std::string text = std::string(header) +
                     ".shared .align 16 .b8 s[256];\n.visible .entry k(.param .u64 table, .param "
                     ".u64 memory)\n{\n" +
                     registers +
                     "ld.param.u64 %rd1, [table];\nld.param.u64 %rd2, [memory];\nmov.u32 %r0, "
                     "%tid.x;\nmov.u32 %r1, s;\nmov.u32 %r3, %ctaid.x;\nmad.lo.u32 %r4, %r3, 64, "
                     "%r0;\nmul.lo.u32 %r4, %r4, 1000;\nmul.wide.u32 %rd3, %r0, 4;\nadd.u64 %rd1, "
                     "%rd1, %rd3;\nmov.u32 %r9, %laneid;\n";
  if (shared)
    text += "mad.lo.u32 %r5, %r0, 4, %r1;\nst.shared.u32 [%r5], 0;\nbar.sync 0;\n";
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step &step = steps[i];
    if (step.barrier) {
      text += "bar.sync 0;\n";
      continue;
    }
    text += "mov.u32 %r6, " + std::to_string(step.active) +
            ";\nshr.u32 %r6, %r6, %r9;\nand.b32 %r6, %r6, 1;\nsetp.eq.u32 %p1, %r6, 1;\nld.global."
            "nc.u32 %r5, [%rd1+" +
            std::to_string(i * threads * 4) + "];\n";
    text +=
        shared ? "add.u32 %r5, %r5, %r1;\n" : "cvt.u64.u32 %rd4, %r5;\nadd.u64 %rd4, %rd4, %rd2;\n";
    std::string values, suffix = step.count > 1 ? ".v" + std::to_string(step.count) : "";
    for (unsigned word = 0; word < step.count; ++word) {
      std::string reg = "%r" + std::to_string(10 + word);
      values += (word ? ", " : "") + reg;
      // No two stores store the same.
      text += "add.u32 " + reg + ", %r4, " + std::to_string(1 + 4 * i + word) + ";\n";
    }
    if (step.count > 1)
      values = "{" + values + "}";
    std::string place = shared ? "[%r5]" : "[%rd4]", space = shared ? "shared" : "global";
    text += step.store ? "@%p1 st." + space + suffix + ".u32 " + place + ", " + values + ";\n"
                       : "@%p1 ld." + space + suffix + ".u32 " + values + ", " + place + ";\n";
  }
  return text + "ret;\n}\n";
}

void runCase(uint64_t seed) {
  Random random(seed);
  bool shared = seed % 2;
  std::vector<Step> steps(1 + random() % 8);
  for (Step &step : steps)
    step = draw(random);
  unsigned blocks = shared ? 1 : 1 + unsigned(random() % 2);
  Model model(shared ? FaultKind::sharedRace : FaultKind::globalRace);
  for (unsigned block = 0; block < blocks; ++block)
    runModel(steps, shared, block, model);

  std::vector<uint32_t> table;
  for (const Step &step : steps)
    for (unsigned word : step.word)
      table.push_back(4 * word);
  alignas(64) std::array<uint32_t, words> memory = {};
  auto loaded = load(textOf(steps, shared));
  ASSERT_NE(loaded, nullptr);
  ASSERT_TRUE(loaded->memory.add(table.data(), table.size() * 4, "table").ok());
  ASSERT_TRUE(loaded->memory.add(memory.data(), sizeof memory, "memory").ok());
  const void *arguments[] = {table.data(), memory.data()};
  Launch launch;
  launch.kernel = "k";
  launch.grid = {blocks, 1, 1};
  launch.block = {threads, 1, 1};
  launch.stepLimit = 100000;
  launch.arguments = std::as_bytes(std::span(arguments));
  auto outcome = gantry::ptx::run(*loaded->image, launch);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  std::map<FaultKind, uint64_t> faults;
  for (const Fault &fault : outcome->faults)
    faults[fault.kind] += fault.count;
  ASSERT_EQ(faults, model.faults) << "seed " << seed << "\n"
                                  << textOf(steps, shared) << texts(*outcome);
}

TEST(RaceTest, randomAccessesRaceAsTheModelSays) {
  for (uint64_t seed = 1; seed <= 2000 && !testing::Test::HasFailure(); ++seed)
    runCase(seed);
}

} // namespace
