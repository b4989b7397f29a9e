// What the simulator finds in plans that the compiler made (spec D6): a wait that is missing, an
// argument in another device's memory; and what holds in every legal order: the bytes.
//
// Plans are compiled here, taken apart, changed in one place and put together again.
#include "gantry-c/compiler.h"
#include "gantry/Drivers/BuiltIn.h"
#include "gantry/Plan/PlanWriter.h"
#include "gantry/Plan/Views.h"
#include "gantry/Runtime/Session.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <optional>

namespace gantry::runtime::test {
namespace {

namespace fb = plan::fb;
constexpr uint32_t computeQueue = 0, uploadQueue = 1;

/// A compiled plan, open for changes.
struct EditablePlan {
  plan::PlanFile file; ///< holds the segments
  fb::PlanT metadata;

  explicit EditablePlan(plan::PlanFile compiled) : file(std::move(compiled)) {
    file.plan().UnPackTo(&metadata);
  }

  Expected<plan::PlanFile> seal(const fb::PlanT &changed) const {
    plan::PlanWriter writer;
    for (uint32_t i = 0; i < file.numSegments(); ++i) {
      bool isConstants = std::any_of(metadata.constants.begin(), metadata.constants.end(),
                                     [&](const auto &constant) { return constant->segment == i; });
      uint32_t segment =
          writer.addSegment(isConstants ? plan::SegmentKind::constants : plan::SegmentKind::code);
      writer.addBlob(segment, file.segment(i)); // as one blob: offsets stay
    }
    Expected<AlignedBuffer> bytes = writer.toBytes(changed);
    if (!bytes)
      return bytes.status();
    return plan::PlanFile::copyOf({bytes->data(), bytes->size()});
  }

  /// A copy to change.
  fb::PlanT copy() const {
    fb::PlanT result;
    file.plan().UnPackTo(&result);
    return result;
  }
};

void printError(void *, gantry_severity_t severity, const char *text) {
  if (severity == GANTRY_SEVERITY_ERROR)
    ADD_FAILURE() << text;
}

EditablePlan compile(const std::string &path, std::vector<std::string> flags) {
  std::vector<const char *> pointers;
  for (const std::string &flag : flags)
    pointers.push_back(flag.c_str());
  gantry_artifact_t *artifact = nullptr;
  gantry_compile_request_t request{};
  request.struct_size = sizeof request;
  request.file = path.c_str();
  request.flags = pointers.data();
  request.num_flags = pointers.size();
  request.log = printError;
  gantry_compile(&request, &artifact);
  size_t size = 0;
  const void *data = artifact ? gantry_artifact_data(artifact, &size) : nullptr;
  auto file = plan::PlanFile::copyOf({static_cast<const uint8_t *>(data), size});
  if (!file) // nothing can go on, and the compiler has said why
    std::abort();
  gantry_artifact_destroy(artifact);
  return EditablePlan(file.take());
}

/// Everything to run a plan's first function with made-up inputs.
struct World {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<Session> session;
  std::shared_ptr<Bindings> bindings;
  std::vector<Tensor> inputs;
  Status status; ///< why it did not come so far

  explicit World(Expected<plan::PlanFile> file) {
    if (!file) {
      status = file.status();
      return;
    }
    runtime = createRuntime({.threads = 1});
    auto loaded = LoadedPlan::load(runtime, file.take(), "plan");
    if (!loaded) {
      status = loaded.status();
      return;
    }
    session = Session::create(*loaded).take();
    bindings = Bindings::create(*loaded, 0u).take();
    const FunctionInfo &function = (*loaded)->functions()[0];
    for (unsigned i = 0; i < function.inputs.size(); ++i) {
      inputs.push_back(Tensor::allocate(function.inputs[i].type).take());
      fill(inputs.back());
      EXPECT_TRUE(bindings->bindInput(i, inputs.back()).ok());
    }
  }

  /// Small numbers of both signs; the passes of the loop: 3.
  static void fill(const Tensor &tensor) {
    uint64_t count = tensor.type().byteSize() / 4;
    for (uint64_t i = 0; i < count; ++i)
      if (tensor.type().element == ElementType::f32)
        tensor.dataAs<float>()[i] = static_cast<float>(int(i * 7 % 23) - 11) / 16;
      else
        tensor.dataAs<int32_t>()[i] = 3;
  }

  Status run(CommandOrder order) {
    if (!status.ok())
      return status;
    session->setCommandOrder(order);
    return session->run(*bindings);
  }
  std::vector<uint8_t> output() {
    Tensor tensor = bindings->output(0u).take();
    auto *data = static_cast<const uint8_t *>(tensor.data());
    return {data, data + tensor.type().byteSize()};
  }
};

/// Where a command is.
struct Place {
  size_t block, command;
};

std::vector<Place> commandsOf(const fb::PlanT &plan, fb::Opcode opcode) {
  std::vector<Place> places;
  const auto &blocks = plan.functions[0]->blocks;
  for (size_t b = 0; b < blocks.size(); ++b)
    for (size_t c = 0; c < blocks[b]->commands.size(); ++c)
      if (blocks[b]->commands[c]->opcode == opcode)
        places.push_back({b, c});
  return places;
}

/// A graph beside this file, or a shared model, and where its ops go.
struct Case {
  const char *name;
  const char *graph;
  std::vector<std::string> flags;
};
void PrintTo(const Case &it, std::ostream *out) { *out << it.name; }

std::string pathOf(const Case &it) {
  if (std::filesystem::path path = std::string(GANTRY_INPUTS "/") + it.graph;
      std::filesystem::exists(path))
    return path;
  const char *models = std::getenv("GANTRY_MODELS_DIR");
  return std::string(models ? models : GANTRY_MODELS) + "/" + it.graph;
}

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
  std::optional<EditablePlan> plan;
};

TEST_P(SimPlans, everyLegalOrderGivesTheSameBytes_d6) {
  World world(plan->file);
  ASSERT_TRUE(world.run(CommandOrder::virtualTime()).ok());
  std::vector<uint8_t> expected = world.output();
  EXPECT_TRUE(std::any_of(expected.begin(), expected.end(), [](uint8_t b) { return b != 0; }));
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Status status = world.run(CommandOrder::random(seed));
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.message();
    ASSERT_EQ(world.output(), expected) << "seed " << seed;
  }
}

TEST_P(SimPlans, everyWaitIsNeededAndItsLackIsNamed_d6) {
  std::vector<Place> waits = commandsOf(plan->metadata, fb::Opcode::wait);
  ASSERT_GE(waits.size(), 4u) << "a plan over several devices has waits";
  for (Place at : waits) {
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
