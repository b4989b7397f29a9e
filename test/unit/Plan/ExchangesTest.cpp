// Plans of jobs: each rule of their exchanges broken once, with the full text of the answer; what a
// task has of a plan; who moves how many bytes.
#include "SampleJob.h"

#include "gantry/Plan/Exchanges.h"
#include "gantry/Plan/ProveOrder.h"
#include "gantry/Plan/Tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace {
using namespace gantry;
using namespace gantry::plan;
using namespace gantry::plan::test;

std::string refusal(const std::function<void(Sample &)> &change) {
  Sample sample = makeJob();
  change(sample);
  const std::string message = sample.writer.toBytes(sample.plan).status().message();
  const std::string head = "the compiler made an invalid plan: plan metadata: ";
  return message.rfind(head, 0) == 0 ? message.substr(head.size()) : message;
}

using Commands = std::vector<std::unique_ptr<fb::CommandT>>;
Commands &body(Sample &s) { return s.block(0).commands; }
void swapCommands(Sample &s, size_t a, size_t b) { std::swap(body(s)[a], body(s)[b]); }
void drop(Commands &commands, size_t index) {
  commands.erase(commands.begin() + static_cast<ptrdiff_t>(index));
}

void resize(fb::BufferRef &ref, uint64_t size) {
  ref = fb::BufferRef(ref.space(), ref.index(), ref.offset(), size);
}
void moveTo(fb::BufferRef &ref, uint64_t offset) {
  ref = fb::BufferRef(ref.space(), ref.index(), offset, ref.size());
}

TEST(Exchanges, AcceptsTheSample) {
  EXPECT_EQ(refusal([](Sample &) {}), "");
  EXPECT_EQ(refusal([](Sample &s) {
              s.plan.exchanges[2]->rows = {}, s.command(0, 7).buffers[0] = inArena(1, 256, 48);
              for (uint32_t t = 0; t < 3; ++t)
                resize(s.command(0, 6 + t).buffers[1], 3 * s.plan.exchanges[2]->sizes[t]);
            }),
            "");
  // A loop that only task 0 is in has its condition alone.
  EXPECT_EQ(refusal([](Sample &s) {
              s.command(0, 14).conditions = {};
              drop(s.block(1).commands, 1), drop(s.block(1).commands, 1);
              drop(s.block(2).commands, 1);
              s.plan.exchanges.pop_back();
            }),
            "");
}

TEST(Exchanges, AcceptsPartsOfEnds) {
  EXPECT_EQ(refusal([](Sample &s) {
              s.function().inputs.push_back(binding("x/0", {8}));
              fb::BindingT &input = *s.function().inputs[0];
              input.end = std::make_unique<fb::EndT>();
              input.end->of = "x", input.end->begin = 8, input.end->size = 8;
            }),
            "");
}

struct Rule {
  const char *name;
  std::function<void(Sample &)> change;
  const char *message;
};

/// Instead of the loop a branch whose first block has parts of NCCL's in two tasks.
void decideByLibrary(Sample &s) {
  s.command(0, 14).opcode = fb::Opcode::branch;
  s.command(0, 14).library = "nccl";
  s.plan.exchanges.pop_back();
  s.block(1).commands.clear();
  for (uint32_t rank = 0; rank < 2; ++rank) {
    s.plan.kernels.push_back(std::make_unique<fb::KernelT>());
    fb::KernelT &kernel = *s.plan.kernels.back();
    kernel.symbol = "part_" + std::to_string(rank);
    fb::VariantT &variant = addVariant(kernel, "cuda");
    variant.source = fb::KernelSource::library;
    variant.library = "nccl";
    variant.symbol = "all_reduce sum f32 elements 16 rank " + std::to_string(rank) + " of 2";
    s.block(1).commands.push_back(launch({inArena(rank, 0, 64), inArena(rank, 640, 64)}, 1));
    s.block(1).commands.back()->kernel = rank;
    s.block(1).commands.back()->device = rank;
  }
}

const Rule rules[] = {
    {"NoGroups", [](Sample &s) { s.plan.groups.clear(); },
     "exchanges: there are no groups of members"},
    {"OneMember", [](Sample &s) { s.plan.groups[1]->devices = {1}; },
     "groups[1]: 1 members, expected two or more"},
    {"MemberDevice", [](Sample &s) { s.plan.groups[1]->devices[0] = 3; },
     "groups[1]: device 3 of 3"},
    {"TwoOfOneTask", [](Sample &s) { s.plan.groups[0]->devices[2] = 1; },
     "groups[0]: two members in task '/job:worker/replica:0/task:1', expected each in a task of "
     "its "
     "own"},
    {"Kind", [](Sample &s) { s.plan.exchanges[0]->kind = fb::ExchangeKind(4); },
     "exchanges[0]: unknown kind 4"},
    {"Group", [](Sample &s) { s.plan.exchanges[0]->group = 2; }, "exchanges[0]: group 2 of 2"},
    {"MessageOfThree", [](Sample &s) { s.plan.exchanges[0]->group = 0; },
     "exchanges[0]: a message between 3 members, expected two"},
    {"Sizes", [](Sample &s) { s.plan.exchanges[1]->sizes.pop_back(); },
     "exchanges[1]: 2 sizes, expected 3"},
    {"SizesOfMessage", [](Sample &s) { s.plan.exchanges[0]->sizes = {32, 32}; },
     "exchanges[0]: 2 sizes, expected 1"},
    {"Rows", [](Sample &s) { s.plan.exchanges[2]->rows.pop_back(); },
     "exchanges[2]: rows of 2 members, expected none or 3"},
    {"RowsOfGather", [](Sample &s) { s.plan.exchanges[1]->rows = {1, 1, 1}; },
     "exchanges[1]: rows of 3 members, expected none"},
    {"Cause", [](Sample &s) { s.plan.exchanges[1]->cause = 9; }, "exchanges[1]: cause 9 of 1"},
    {"SumOfSizes", [](Sample &s) { s.plan.exchanges[1]->sizes = {UINT64_MAX, 1, 0}; },
     "exchanges[1]: over 2^63 bytes"},
    {"SizesTimesRows", [](Sample &s) { s.plan.exchanges[2]->sizes[0] = uint64_t(1) << 61; },
     "exchanges[2]: over 2^63 bytes"},
    {"ExchangeIndex", [](Sample &s) { s.command(0, 1).exchange = 5; },
     "function 'main', block 0, command 1 (send 'e0'): exchange 5 of 5"},
    {"Rank", [](Sample &s) { s.command(0, 2).rank = 2; },
     "function 'main', block 0, command 2 (receive 'e0'): member 2 of 2"},
    {"BufferOutside", [](Sample &s) { moveTo(s.command(0, 2).buffers[0], 1000); },
     "function 'main', block 0, command 2 (receive 'e0'): 64 bytes at 1000 of arena 1, which has "
     "1024"},
    {"ReceiveIntoInput",
     [](Sample &s) {
       s.function().inputs.push_back(binding("x", {16}));
       s.function().inputs[0]->device = 1;
       s.command(0, 2).buffers[0] = inInput(0, 0, 64);
     },
     "function 'main', block 0, command 2 (receive 'e0'): it writes input 0"},
    {"BroadcastIntoConstants",
     [](Sample &s) {
       addArena(s.plan, 1, fb::ArenaKind::constants, 64);
       s.command(0, 10).buffers[0] = inArena(3, 0, 40);
     },
     "function 'main', block 0, command 10 (part 'e3'): it writes the constants in arena 3"},
    {"FirstMissing", [](Sample &s) { drop(body(s), 1); },
     "function 'main', block 0, command 1 (receive 'e0'): member 0 of exchange 0 does not stand "
     "before it"},
    {"LastMissing", [](Sample &s) { drop(body(s), 5); },
     "function 'main', block 0, command 4 (part 'e1'): member 2 of exchange 1 does not stand "
     "behind "
     "it"},
    {"LastOfBlockMissing", [](Sample &s) { s.block(1).commands.pop_back(); },
     "function 'main', block 1, command 1 (send 'e4'): member 1 of exchange 4 does not stand "
     "behind "
     "it"},
    {"MiddleMissing", [](Sample &s) { drop(body(s), 4); },
     "function 'main', block 0, command 3 (part 'e1'): member 1 of exchange 1 does not stand "
     "behind "
     "it"},
    {"OtherOrder", [](Sample &s) { swapCommands(s, 3, 4); },
     "function 'main', block 0, command 3 (part 'e1'): member 0 of exchange 1 does not stand "
     "before "
     "it"},
    {"Between", [](Sample &s) { swapCommands(s, 0, 1); },
     "function 'main', block 0, command 0 (send 'e0'): member 1 of exchange 0 does not stand "
     "behind "
     "it"},
    {"OtherBlock",
     [](Sample &s) {
       s.block(1).commands.push_back(std::move(body(s)[2]));
       drop(body(s), 2);
     },
     "function 'main', block 0, command 1 (send 'e0'): member 1 of exchange 0 does not stand "
     "behind "
     "it"},
    {"Twice",
     [](Sample &s) {
       for (int i = 1; i < 3; ++i)
         body(s).push_back(std::make_unique<fb::CommandT>(s.command(0, i)));
     },
     "function 'main', block 0, command 15 (send 'e0'): exchange 0 is there twice"},
    {"Never", [](Sample &s) { addExchange(s.plan, fb::ExchangeKind::message, 1, {8}); },
     "exchanges[5]: no command has a part in it"},
    {"OtherDevice",
     [](Sample &s) {
       s.command(0, 2).device = 2;
       s.command(0, 2).buffers[0] = inArena(2, 0, 64);
     },
     "function 'main', block 0, command 2 (receive 'e0'): it is on device 2, member 1 of its group "
     "is device 1"},
    {"OtherOpcode", [](Sample &s) { s.command(0, 2).opcode = fb::Opcode::send; },
     "function 'main', block 0, command 2 (send 'e0'): member 1 of exchange 0, expected a receive"},
    {"CopyKind", [](Sample &s) { s.command(0, 2).copy_kind = fb::CopyKind::deviceToDevice; },
     "function 'main', block 0, command 2 (receive 'e0'): the copy kind is not that between tasks"},
    {"BytesOfMessage", [](Sample &s) { resize(s.command(0, 2).buffers[0], 60); },
     "function 'main', block 0, command 2 (receive 'e0'): buffer 0 has 60 bytes, the exchange has "
     "64 for it"},
    {"BytesOfRows", [](Sample &s) { resize(s.command(0, 7).buffers[0], 48); },
     "function 'main', block 0, command 7 (part 'e2'): buffer 0 has 48 bytes, the exchange has 96 "
     "for it"},
    {"BytesOfGathered", [](Sample &s) { s.plan.exchanges[1]->sizes[2] = 1; },
     "function 'main', block 0, command 3 (part 'e1'): buffer 1 has 96 bytes, the exchange has 97 "
     "for it"},
    {"BuffersOfBroadcast",
     [](Sample &s) { s.command(0, 10).buffers.push_back(inArena(1, 900, 40)); },
     "function 'main', block 0, command 10 (part 'e3'): 2 buffers, expected 1"},
    {"BuffersOfGather", [](Sample &s) { s.command(0, 3).buffers.pop_back(); },
     "function 'main', block 0, command 3 (part 'e1'): 1 buffers, expected 2"},
    {"Overlap", [](Sample &s) { moveTo(s.command(0, 3).buffers[1], 120); },
     "function 'main', block 0, command 3 (part 'e1'): source and destination overlap"},
    {"BufferOfOtherTask", [](Sample &s) { s.command(0, 2).buffers[0] = inArena(0, 0, 64); },
     "function 'main', block 0, command 2 (receive 'e0'): a buffer is in task "
     "'/job:worker/replica:0/task:0', the command in '/job:worker/replica:0/task:1'"},
    {"CopyBetweenTasks",
     [](Sample &s) {
       body(s).push_back(
           copy(inArena(0, 0, 64), inArena(1, 0, 64), fb::CopyKind::deviceToDevice, 1));
     },
     "function 'main', block 0, command 15 (copy): a buffer is in task "
     "'/job:worker/replica:0/task:0', the command in '/job:worker/replica:0/task:1'"},
    {"WaitForAnotherTask", [](Sample &s) { s.command(0, 13).device = 1; },
     "function 'main', block 0, command 13 (wait): semaphore 0 is signalled in task "
     "'/job:worker/replica:0/task:0', the command is in '/job:worker/replica:0/task:1'"},
    {"NoConditionThere", [](Sample &s) { s.command(0, 14).conditions = {}; },
     "function 'main', block 0, command 14 (loop): it has commands of task "
     "'/job:worker/replica:0/task:1' inside, and no condition there"},
    {"ConditionTooMany",
     [](Sample &s) { s.command(0, 14).conditions.push_back(inArena(2, 600, 1)); },
     "function 'main', block 0, command 14 (loop): its conditions are not those of the tasks that "
     "have commands inside, in their order"},
    {"ConditionsInAnotherOrder",
     [](Sample &s) {
       fb::CommandT &loop = s.command(0, 14);
       std::swap(loop.conditions[0], loop.conditions[1]);
       *loop.condition = loop.conditions[0];
     },
     "function 'main', block 0, command 14 (loop): its conditions are not those of the tasks that "
     "have commands inside, in their order"},
    {"ConditionNotTheFirst", [](Sample &s) { moveTo(*s.command(0, 14).condition, 601); },
     "function 'main', block 0, command 14 (loop): its condition is not the first of its "
     "conditions"},
    {"ConditionBytes", [](Sample &s) { resize(s.command(0, 14).conditions[1], 4); },
     "function 'main', block 0, command 14 (loop): the condition has 4 bytes, expected 1"},
    {"ConditionsOfNoBranch", [](Sample &s) { s.command(0, 0).conditions = {inArena(0, 0, 1)}; },
     "function 'main', block 0, command 0 (fill): it has a condition"},
    {"LibraryDecides", decideByLibrary,
     "function 'main', block 0, command 14 (branch): a library decides it, and it has commands of "
     "2 "
     "tasks inside"},
    {"ConditionsWithoutExchanges",
     [](Sample &s) {
       body(s).erase(body(s).begin() + 1, body(s).begin() + 12);
       s.block(1).commands.resize(1);
       s.plan.exchanges.clear();
     },
     "function 'main', block 0, command 3 (loop): it has conditions of several tasks, and nothing "
     "is exchanged between them"},
    {"EndUnnamed",
     [](Sample &s) {
       s.function().inputs.push_back(binding("x", {8}));
       s.function().inputs[0]->end = std::make_unique<fb::EndT>();
     },
     "function 'main', input 0: it is a part of an end without a name"},
};

class ExchangeRules : public testing::TestWithParam<Rule> {};
TEST_P(ExchangeRules, Refuses) { EXPECT_EQ(refusal(GetParam().change), GetParam().message); }
INSTANTIATE_TEST_SUITE_P(All, ExchangeRules, testing::ValuesIn(rules),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Exchanges, RefusesPartsThatAreNone) {
  auto end = [](uint32_t axis, uint64_t begin, uint64_t size) {
    return refusal([=](Sample &s) {
      s.function().outputs.push_back(binding("y", {8}));
      auto &end = s.function().outputs[0]->end = std::make_unique<fb::EndT>();
      end->of = "y", end->axis = axis, end->begin = begin, end->size = size;
    });
  };
  const std::string head = "function 'main', output 0: it is a part ";
  EXPECT_EQ(end(1, 0, 8), head + "along axis 1 of 1");
  EXPECT_EQ(end(0, 0, 9), head + "of 9 elements, and has 8");
  EXPECT_EQ(end(0, INT64_MAX - 7, 8), head + "that begins at 9223372036854775800");
  EXPECT_EQ(end(0, INT64_MAX - 8, 8), "");
}

/// The file of a sample, and what the judge says of it.
std::string proof(const Sample &sample) {
  Expected<PlanFile> file = PlanFile::copyOf(sample.bytes());
  return file ? proveOrder(file->plan()).message() : file.status().message();
}

/// Whatever two commands change places, or whichever is left out: the plan is refused, or it is one
/// that cannot get stuck.
TEST(Exchanges, RefusesWhatIsMoved) {
  unsigned refused = 0, accepted = 0;
  const size_t count = body(*std::make_unique<Sample>(makeJob())).size();
  for (size_t a = 0; a < count; ++a)
    for (size_t b = a; b < count; ++b) {
      Sample sample = makeJob();
      if (a == b)
        drop(body(sample), a);
      else
        swapCommands(sample, a, b);
      if (sample.bytes().empty()) {
        ++refused;
        continue;
      }
      ++accepted;
      EXPECT_EQ(proof(sample), "") << a << ", " << b;
    }
  EXPECT_GT(refused, 90u);
  EXPECT_GT(accepted, 3u);
}

TEST(Exchanges, TellsTheJudge) {
  Sample sample = makeJob();
  Expected<PlanFile> file = PlanFile::copyOf(sample.bytes());
  ASSERT_TRUE(file.ok()) << file.status().message();
  const fb::Function &function = *file->plan().functions()->Get(0);
  judge::Job job = jobOf(file->plan(), function);
  EXPECT_EQ(job.members, (std::vector<uint32_t>{2, 3, 3, 3, 2}));
  ASSERT_EQ(job.tasks.size(), 3u);
  EXPECT_EQ(job.tasks[0].steps.size(), 13u); // 7, and of the loop 3 with 1 and 2 inside
  EXPECT_EQ(job.tasks[1].steps.size(), 9u);
  EXPECT_EQ(job.tasks[2].steps.size(), 3u);
  EXPECT_FALSE(judge::findStuck(job));
  // In one task the second exchange before the first.
  std::swap(job.tasks[1].steps[1], job.tasks[1].steps[2]);
  EXPECT_TRUE(judge::findStuck(job));
}

/// A plan whose tables were damaged behind the validator's back.
TEST(Exchanges, TellsWhoWaitsForWhom) {
  Sample sample = makeJob();
  Bytes bytes = sample.bytes();
  Expected<PlanFile> file = PlanFile::copyOf(bytes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  // Member 1 of exchange 1 takes part in exchange 2 first.
  auto *function = const_cast<fb::Function *>(file->plan().functions()->Get(0));
  const auto *commands = function->blocks()->Get(0)->commands();
  auto mutate = [&](uint32_t index, uint32_t exchange) {
    auto *table =
        reinterpret_cast<flatbuffers::Table *>(const_cast<fb::Command *>(commands->Get(index)));
    ASSERT_TRUE(table->SetField<uint32_t>(fb::Command::VT_EXCHANGE, exchange, 0));
  };
  mutate(4, 2);
  mutate(7, 1);
  EXPECT_EQ(proveOrder(file->plan()).message(),
            "function 'main': /job:worker/task:0 waits at 'e1' for /job:worker/task:1, which waits "
            "at 'e2' for /job:worker/task:0; expected an order in which all of it can be done");
}

TEST(Exchanges, TellsBytesByMember) {
  Sample sample = makeJob();
  Bytes bytes = sample.bytes();
  ASSERT_FALSE(bytes.empty());
  Expected<PlanFile> file = PlanFile::copyOf(bytes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const fb::Plan &plan = file->plan();
  auto traffic = [&](uint32_t exchange) {
    const ExchangeBytes all(plan, *plan.exchanges()->Get(exchange));
    std::vector<uint64_t> list;
    for (uint32_t rank = 0; rank < membersOf(plan, *plan.exchanges()->Get(exchange)).size(); ++rank)
      list.insert(list.end(), {all.sent(rank), all.received(rank)});
    return list;
  };
  EXPECT_EQ(traffic(0), (std::vector<uint64_t>{64, 0, 0, 64}));
  EXPECT_EQ(traffic(1), (std::vector<uint64_t>{128, 32, 64, 64, 0, 96}));
  EXPECT_EQ(traffic(2), (std::vector<uint64_t>{40, 24, 64, 32, 24, 72}));
  EXPECT_EQ(traffic(3), (std::vector<uint64_t>{80, 0, 0, 40, 0, 40}));
}

TEST(Tasks, HaveTheirPartOfAPlan) {
  Sample sample = makeJob();
  addArena(sample.plan, 1, fb::ArenaKind::variables, 64);
  Bytes bytes = sample.bytes();
  Expected<PlanFile> file = PlanFile::copyOf(bytes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const fb::Plan &plan = file->plan();
  const Tasks tasks(plan);
  ASSERT_EQ(tasks.count(), 3u);
  EXPECT_EQ(tasks.names()[2].str(), "/job:worker/replica:0/task:2");
  const TaskView view(plan, tasks, 1);
  EXPECT_EQ(view.devices(), std::vector<uint32_t>{1});
  EXPECT_EQ(view.arenas(), (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(view.constants(), std::vector<uint32_t>{});
  EXPECT_EQ(view.kernels(), std::vector<uint32_t>{});
  EXPECT_EQ(view.peak(1).transient, 1024u);
  EXPECT_EQ(view.peak(1).total(), 1088u);
  const fb::Function &function = *plan.functions()->Get(0);
  auto count = [&](uint32_t task) {
    size_t found = 0;
    for (const fb::Command *command : each(function.blocks()->Get(0)->commands()))
      found += TaskView(plan, tasks, task).has(function, *command);
    return found;
  };
  // A fill, four members, signal and wait, the loop; four and the loop; three.
  EXPECT_EQ(count(0), 8u);
  EXPECT_EQ(count(1), 5u);
  EXPECT_EQ(count(2), 3u);
}

} // namespace
