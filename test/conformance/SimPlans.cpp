// What the simulator finds in plans that the compiler made (spec D6): a wait that is missing, an
// argument in another device's memory; and what holds in every legal order: the bytes.
//
// Plans are taken apart, changed in one place and put together again.
#include "CompiledPlans.h"
#include "LongTests.h"

#include <optional>

namespace gantry::runtime::test {
namespace {

constexpr uint32_t computeQueue = 0, uploadQueue = 1;

class SimPlans : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    const std::string path = pathOf(GetParam());
    if (!std::filesystem::exists(path))
      GTEST_SKIP() << "no shared models (GANTRY_MODELS_DIR)";
    std::vector<std::string> flags = GetParam().flags;
    flags.insert(flags.end(), {"devices=CPU:0,GPU:0,GPU:1", "simulate"});
    plan.emplace(compile(path, flags));
  }
  bool isSmall() const {
    return gantry::test::areLong() || plan->metadata.functions[0]->blocks[0]->commands.size() < 64;
  }
  std::optional<EditablePlan> plan;
};

TEST_P(SimPlans, everyLegalOrderGivesTheSameBytes_d6) {
  World world(plan->file);
  ASSERT_TRUE(world.run(CommandOrder::virtualTime()).ok());
  std::vector<uint8_t> expected = world.output();
  EXPECT_TRUE(std::any_of(expected.begin(), expected.end(), [](uint8_t b) { return b != 0; }));
  // Of larger plans, which run longer, fewer.
  const uint64_t seeds = isSmall() ? 100 : 20;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Status status = world.run(CommandOrder::random(seed));
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.message();
    ASSERT_EQ(world.output(), expected) << "seed " << seed;
  }
}

TEST_P(SimPlans, everyWaitIsNeededAndItsLackIsNamed_d6) {
  std::vector<Place> waits = commandsOf(plan->metadata, fb::Opcode::wait);
  ASSERT_GE(waits.size(), 4u) << "a plan over several devices has waits";
  // Of larger plans some.
  const size_t stride = isSmall() ? 1 : waits.size() / 16 + 1;
  for (size_t i = 0; i < waits.size(); i += stride) {
    const Place at = waits[i];
    fb::PlanT changed = plan->copy();
    auto &commands = changed.functions[0]->blocks[at.block]->commands;
    uint32_t semaphore = commands[at.command]->signal;
    commands.erase(commands.begin() + static_cast<std::ptrdiff_t>(at.command));
    // Not by luck: whatever the order in which the commands happen to run.
    for (CommandOrder order :
         {CommandOrder::virtualTime(), CommandOrder::random(1), CommandOrder::random(2)}) {
      World world(plan->seal(changed));
      Status status = world.run(order);
      ASSERT_FALSE(status.ok()) << "without the wait for semaphore " << semaphore << " in block "
                                << at.block;
      EXPECT_NE(status.message().find("missing wait: "), std::string::npos) << status.message();
      EXPECT_NE(status.message().find("; signal after "), std::string::npos) << status.message();
      EXPECT_NE(status.message().find(" and wait before "), std::string::npos) << status.message();
    }
  }
}

TEST_P(SimPlans, anArgumentInAForeignArenaIsRefused_d6) {
  unsigned tried = 0;
  for (Place at : commandsOf(plan->metadata, fb::Opcode::launch)) {
    const fb::CommandT &command =
        *plan->metadata.functions[0]->blocks[at.block]->commands[at.command];
    for (size_t i = 0; i < command.buffers.size(); ++i) {
      const fb::BufferRef &buffer = command.buffers[i];
      for (uint32_t a = 0; a < plan->metadata.arenas.size(); ++a) {
        const fb::ArenaT &arena = *plan->metadata.arenas[a];
        if (arena.device == command.device || arena.kind != fb::ArenaKind::transient ||
            arena.size < buffer.size())
          continue;
        fb::PlanT changed = plan->copy();
        changed.functions[0]->blocks[at.block]->commands[at.command]->buffers[i] = {
            fb::Space::arena, a, 0, buffer.size()};
        Status status = World(plan->seal(changed)).run(CommandOrder::virtualTime());
        ASSERT_FALSE(status.ok());
        // The file is refused before anything runs; the executor, which would see it too, has its
        // own tests.
        EXPECT_NE(status.message().find("a buffer is on device"), std::string::npos)
            << status.message();
        ++tried;
      }
    }
  }
  EXPECT_GE(tried, 3u);
}

INSTANTIATE_TEST_SUITE_P(, SimPlans,
                         testing::Values(Case{"diamond", "diamond.mlir", {}},
                                         Case{"chain", "chain.mlir", {}},
                                         Case{"loop", "loop.mlir", {}},
                                         Case{"mnist",
                                              "mnist/mnist.onnx",
                                              {"place=op:Conv2D=GPU:0", "place=op:MaxPool=GPU:1"}},
                                         Case{"ultraface",
                                              "ultraface/ultraface.onnx",
                                              {"place=op:Conv2D=GPU:0", "place=op:Relu=GPU:1"}}),
                         [](const auto &info) { return std::string(info.param.name); });

/// The longest command of a kind in a run: when, in seconds.
CommandEvent longestOf(const std::vector<CommandEvent> &timeline, fb::Opcode opcode,
                       uint32_t queue) {
  CommandEvent longest;
  for (const CommandEvent &event : timeline)
    if (event.command->opcode() == opcode && event.queue == queue &&
        event.end - event.start > longest.end - longest.start)
      longest = event;
  return longest;
}

TEST(SimOverlap, aCopyAndAComputeTakeAsLongAsTheLonger_x2) {
  EditablePlan plan =
      compile(GANTRY_INPUTS "/overlap.mlir", {"topology=" GANTRY_INPUTS "/overlap.json"});
  World world(plan.file);
  Status status = world.run(CommandOrder::virtualTime());
  ASSERT_TRUE(status.ok()) << status.message();
  CommandEvent copy = longestOf(world.session->timeline(), fb::Opcode::copy, uploadQueue);
  CommandEvent compute = longestOf(world.session->timeline(), fb::Opcode::launch, computeQueue);
  double longer = std::max(copy.end - copy.start, compute.end - compute.start);
  // Of equal length, or the test would show nothing.
  ASSERT_GT(std::min(copy.end - copy.start, compute.end - compute.start), 0.95 * longer);
  double both = std::max(copy.end, compute.end) - std::min(copy.start, compute.start);
  EXPECT_LE(both, 1.1 * longer);
}

} // namespace
} // namespace gantry::runtime::test
