// The placement library: P3 to P6, P12, the table of conflicts, why-not.
#include "gantry/Placement/Placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

namespace gantry::placement {
namespace {

Topology topology(const std::string &text) { return *Topology::fromFlag(text, Driver::sim); }

DeviceName name(const std::string &text) { return *DeviceName::parse(text); }

/// A problem that is easy to write down.
struct Builder {
  Problem problem;

  explicit Builder(const std::string &devices = "CPU:0,GPU:0,GPU:1") : problem(topology(devices)) {}

  uint32_t op(std::vector<uint32_t> groups = {}) {
    problem.ops.emplace_back().groups = std::move(groups);
    return static_cast<uint32_t>(problem.ops.size() - 1);
  }
  /// Only on devices of that type there is a kernel for it.
  void only(uint32_t op, DeviceType type) {
    DeviceSet set;
    for (const DeviceName &device : problem.devices)
      set.push_back(device.type == type);
    problem.ops[op].kernels = problem.intern(set);
  }
  void want(uint32_t op, Kind kind, const std::string &device,
            Softness softness = Softness::strict) {
    problem.ops[op].constraints.push_back({kind, softness, problem.intern(name(device)), none});
  }
  uint32_t asking(const std::string &device, Softness softness = Softness::strict) {
    uint32_t made = op();
    want(made, Kind::requested, device, softness);
    return made;
  }
  void reads(uint32_t op, uint32_t maker, uint64_t bytes) {
    problem.ops[op].operands.push_back({maker, none, bytes});
  }
  void readsFrom(uint32_t op, uint32_t device, uint64_t bytes) {
    problem.ops[op].operands.push_back({none, device, bytes});
  }

  /// Where each op is, "GPU:0", or "-" for those of a failure; the judge must agree.
  std::string place() {
    Outcome outcome = solve(problem);
    if (outcome.ok()) {
      Status judged = validate(problem, outcome.decisions);
      EXPECT_TRUE(judged.ok()) << judged.message();
    }
    std::string text;
    for (const Decision &decision : outcome.decisions)
      text += (text.empty() ? "" : " ") +
              (decision.device == none ? "-" : problem.devices[decision.device].shortStr());
    return text;
  }
};

//===----------------------------------------------------------------------===//
// Single ops
//===----------------------------------------------------------------------===//

TEST(Placement, P6_DefaultIsTheLowestGPUWithAKernel) {
  Builder b;
  b.op();
  b.only(b.op(), DeviceType::CPU);
  EXPECT_EQ(b.place(), "GPU:0 CPU:0");
  Builder host("CPU:0");
  host.op();
  EXPECT_EQ(host.place(), "CPU:0");
}

TEST(Placement, P3_PartialRequest) {
  Builder b;
  b.asking("GPU");
  b.asking("CPU");
  b.asking("/job:localhost");
  b.asking("GPU:1");
  EXPECT_EQ(b.place(), "GPU:0 CPU:0 GPU:0 GPU:1");
}

TEST(Placement, P5_SoftRequestDropsIdThenType) {
  Builder b;
  b.asking("GPU:7", Softness::prefer);
  b.asking("CPU:3", Softness::prefer);
  uint32_t noKernel = b.asking("GPU:1", Softness::prefer);
  b.only(noKernel, DeviceType::CPU);
  EXPECT_EQ(b.place(), "GPU:0 CPU:0 CPU:0");
  Outcome outcome = solve(b.problem);
  for (const Decision &decision : outcome.decisions) {
    EXPECT_TRUE(decision.fallBack);
    ASSERT_FALSE(decision.rejected.empty());
  }
  EXPECT_EQ(outcome.decisions[0].rejected[0].why, Why::unknown);
  EXPECT_EQ(outcome.decisions[noKernel].rejected[0].why, Why::noKernel);
  Builder host("CPU:0");
  host.asking("GPU:7", Softness::prefer);
  EXPECT_EQ(host.place(), "CPU:0");
}

TEST(Placement, P5_SoftRequestKeepsJobAndTask) {
  Builder b("CPU:0,GPU:0,/task:1/device:GPU:0");
  b.asking("/task:1/device:GPU:4", Softness::prefer);
  uint32_t op = b.asking("/task:2/device:GPU:0", Softness::prefer);
  Outcome outcome = solve(b.problem);
  EXPECT_EQ(b.problem.devices[outcome.decisions[0].device].task, 1u);
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_EQ(outcome.failures[0].op(), op);
  EXPECT_EQ(outcome.failures[0].type, Failure::Type::unknownDevice);
}

TEST(Placement, P5_AnyOnlyBreaksTies) {
  Builder b;
  b.asking("GPU:1", Softness::any);
  b.asking("CPU:0", Softness::any);
  b.asking("GPU:9", Softness::any);
  EXPECT_EQ(b.place(), "GPU:1 GPU:0 GPU:0");
  for (const Decision &decision : solve(b.problem).decisions)
    EXPECT_FALSE(decision.fallBack);
}

TEST(Placement, StrongerKindsWin) {
  // Each op has all kinds weaker than its strongest one, which alone names GPU:1.
  const Kind kinds[] = {Kind::requested, Kind::rule, Kind::inferred, Kind::proposed};
  for (size_t strongest = 0; strongest < std::size(kinds); ++strongest) {
    Builder b;
    uint32_t op = b.op();
    for (size_t k = strongest; k < std::size(kinds); ++k)
      b.want(op, kinds[k], k == strongest ? "GPU:1" : "CPU:0",
             kinds[k] <= Kind::rule ? Softness::strict : Softness::prefer);
    EXPECT_EQ(b.place(), "GPU:1") << kindName(kinds[strongest]);
    const Decision decision = solve(b.problem).decisions[0];
    EXPECT_EQ(b.problem.ops[0].constraints[decision.decider].kind, kinds[strongest]);
  }
}

TEST(Placement, WeakerKindsNarrowWhatStrongerOnesLeave) {
  Builder b;
  uint32_t op = b.asking("GPU");
  b.want(op, Kind::rule, "GPU:1");
  EXPECT_EQ(b.place(), "GPU:1");
}

//===----------------------------------------------------------------------===//
// Follow
//===----------------------------------------------------------------------===//

TEST(Placement, P6_FollowGoesToTheLargestInputs) {
  Builder b;
  b.problem.policy = Policy::follow;
  uint32_t there = b.asking("GPU:1");
  uint32_t small = b.op();
  b.readsFrom(small, 0, 4);
  uint32_t both = b.op();
  b.reads(both, there, 100);
  b.reads(both, small, 4);
  uint32_t chain = b.op();
  b.reads(chain, both, 8);
  b.op(); // reads nothing
  EXPECT_EQ(b.place(), "GPU:1 CPU:0 GPU:1 GPU:1 GPU:0");
  EXPECT_TRUE(solve(b.problem).decisions[chain].followed);
}

TEST(Placement, P6_FollowSumsByDeviceAndStaysWhereKernelsAre) {
  Builder b;
  b.problem.policy = Policy::follow;
  uint32_t op = b.op();
  b.readsFrom(op, 0, 60);
  b.readsFrom(op, 1, 50);
  b.readsFrom(op, 1, 50);
  uint32_t onCPU = b.op();
  b.only(onCPU, DeviceType::CPU);
  b.readsFrom(onCPU, 1, 50);
  EXPECT_EQ(b.place(), "GPU:0 CPU:0");
}

//===----------------------------------------------------------------------===//
// Groups and conflicts
//===----------------------------------------------------------------------===//

TEST(Placement, P8_GroupsGoToOneDevice) {
  Builder b;
  uint32_t first = b.op({0}), second = b.op({0, 1}), third = b.op({1});
  b.op();
  b.only(first, DeviceType::CPU);
  EXPECT_EQ(b.place(), "CPU:0 CPU:0 CPU:0 GPU:0");
  b.problem.ops[first].kernels = 0;
  b.want(third, Kind::requested, "GPU:1");
  EXPECT_EQ(b.place(), "GPU:1 GPU:1 GPU:1 GPU:0");
  EXPECT_EQ(solve(b.problem).decisions[second].deciderOp, third);
}

/// Whether the members alone cannot hold together, and can without any one of them.
void expectMinimal(const Problem &problem, const Failure &failure) {
  auto fails = [&](size_t without) {
    // Only what the failure names, in a problem of its own.
    Problem part = problem;
    for (Op &op : part.ops) {
      op.constraints.clear();
      op.groups.clear();
      op.kernels = 0;
    }
    for (size_t i = 0; i < failure.members.size(); ++i) {
      if (i == without)
        continue;
      const Member &m = failure.members[i];
      if (m.type == Member::Type::constraint)
        part.ops[m.op].constraints.push_back(problem.ops[m.op].constraints[m.index]);
      else if (m.type == Member::Type::kernels)
        part.ops[m.op].kernels = problem.ops[m.op].kernels;
      else
        part.ops[m.op].groups.push_back(m.index);
    }
    return !solve(part).ok();
  };
  EXPECT_TRUE(fails(failure.members.size())) << "the members can hold together";
  for (size_t i = 0; i < failure.members.size(); ++i)
    EXPECT_FALSE(fails(i)) << "member " << i << " of " << failure.members.size()
                           << " is not needed";
}

struct ConflictCase {
  const char *what;
  void (*build)(Builder &);
  Failure::Type type;
  size_t members;
};

class PlacementConflict : public testing::TestWithParam<ConflictCase> {};

TEST_P(PlacementConflict, P8_IsToldMinimally) {
  Builder b;
  GetParam().build(b);
  Outcome outcome = solve(b.problem);
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_EQ(outcome.failures[0].type, GetParam().type);
  EXPECT_EQ(outcome.failures[0].members.size(), GetParam().members);
  expectMinimal(b.problem, outcome.failures[0]);
}

using Type = Failure::Type;
INSTANTIATE_TEST_SUITE_P(
    Table, PlacementConflict,
    testing::Values(
        ConflictCase{"unknown id", [](Builder &b) { b.asking("GPU:2"); }, Type::unknownDevice, 1},
        ConflictCase{"unknown task", [](Builder &b) { b.asking("/task:1/device:CPU:0"); },
                     Type::unknownDevice, 1},
        ConflictCase{"no kernel for the type",
                     [](Builder &b) { b.only(b.asking("GPU:0"), DeviceType::CPU); }, Type::noKernel,
                     2},
        ConflictCase{
            "no kernel at all",
            [](Builder &b) { b.problem.ops[b.op()].kernels = b.problem.intern(DeviceSet(3)); },
            Type::noKernel, 1},
        ConflictCase{"two requests on one op: type",
                     [](Builder &b) {
                       uint32_t op = b.asking("GPU:0");
                       b.want(op, Kind::resource, "CPU:0");
                     },
                     Type::conflict, 2},
        ConflictCase{"two requests in a group: id",
                     [](Builder &b) {
                       b.want(b.op({0}), Kind::requested, "GPU:0");
                       b.want(b.op({0}), Kind::requested, "GPU:1");
                     },
                     Type::conflict, 4},
        ConflictCase{"over two groups, with bystanders",
                     [](Builder &b) {
                       b.want(b.op({0}), Kind::requested, "GPU:0");
                       b.op({0, 1});
                       b.want(b.op({1}), Kind::requested, "CPU");
                       b.want(b.op({0, 1, 2}), Kind::requested, "/job:localhost");
                       b.op({2});
                     },
                     Type::conflict, 6},
        ConflictCase{"three that agree in pairs only",
                     [](Builder &b) {
                       b.want(b.op({0}), Kind::requested, "GPU");
                       b.want(b.op({0}), Kind::requested, "GPU:1");
                       uint32_t op = b.op({0});
                       b.problem.ops[op].kernels = b.problem.intern(DeviceSet{true, true, false});
                     },
                     Type::conflict, 4},
        ConflictCase{"kernels of two ops",
                     [](Builder &b) {
                       b.only(b.op({0}), DeviceType::CPU);
                       b.only(b.op({0}), DeviceType::GPU);
                     },
                     Type::conflict, 4},
        ConflictCase{"request against kernel of another",
                     [](Builder &b) {
                       b.want(b.op({0}), Kind::requested, "GPU");
                       b.only(b.op({0}), DeviceType::CPU);
                     },
                     Type::conflict, 4},
        ConflictCase{"lock against request",
                     [](Builder &b) { b.want(b.asking("GPU:0"), Kind::lock, "GPU:1"); },
                     Type::staleLock, 2},
        ConflictCase{"lock of a device that is gone",
                     [](Builder &b) { b.want(b.op(), Kind::lock, "GPU:5"); }, Type::staleLock, 1},
        ConflictCase{"lock against the kernel",
                     [](Builder &b) {
                       uint32_t op = b.op();
                       b.only(op, DeviceType::CPU);
                       b.want(op, Kind::lock, "GPU:1");
                     },
                     Type::staleLock, 2},
        ConflictCase{
            "lock against a soft request",
            [](Builder &b) { b.want(b.asking("GPU:0", Softness::prefer), Kind::lock, "GPU:1"); },
            Type::staleLock, 2},
        ConflictCase{
            "lock beyond what a soft request falls back to",
            [](Builder &b) { b.want(b.asking("GPU:7", Softness::prefer), Kind::lock, "CPU:0"); },
            Type::staleLock, 2},
        ConflictCase{"lock against the soft request of another op",
                     [](Builder &b) {
                       b.want(b.op({0}), Kind::requested, "GPU:1", Softness::prefer);
                       b.op({0});
                       b.want(b.op({0, 1}), Kind::lock, "GPU:0");
                     },
                     Type::staleLock, 4},
        ConflictCase{"lock against where a soft variable lives",
                     [](Builder &b) {
                       b.want(b.op({0}), Kind::resource, "CPU:0", Softness::prefer);
                       b.want(b.op({0}), Kind::lock, "GPU:0");
                     },
                     Type::staleLock, 4},
        ConflictCase{"a rule for a device that is not there",
                     [](Builder &b) { b.want(b.op(), Kind::rule, "GPU:5"); }, Type::unknownDevice,
                     1},
        ConflictCase{"a rule without a kernel",
                     [](Builder &b) {
                       uint32_t op = b.op();
                       b.only(op, DeviceType::CPU);
                       b.want(op, Kind::rule, "GPU:1");
                     },
                     Type::noKernel, 2},
        ConflictCase{"soft requests never leave their task",
                     [](Builder &b) {
                       b.want(b.op(), Kind::requested, "/task:3/device:GPU:0", Softness::prefer);
                     },
                     Type::unknownDevice, 1}),
    [](const testing::TestParamInfo<ConflictCase> &info) {
      std::string text = info.param.what;
      std::ranges::replace_if(
          text, [](char c) { return !isalnum(static_cast<unsigned char>(c)); }, '_');
      return text;
    });

TEST(Placement, SoftGivesWayInAGroup) {
  Builder b;
  b.want(b.op({0}), Kind::requested, "GPU:1");
  b.want(b.op({0}), Kind::requested, "CPU:0", Softness::prefer);
  EXPECT_EQ(b.place(), "GPU:1 GPU:1");
  const Decision decision = solve(b.problem).decisions[1];
  EXPECT_TRUE(decision.fallBack);
  EXPECT_EQ(decision.rejected[0].why, Why::givesWay);
}

TEST(Placement, P8_AVariableSoftensThenHolds) {
  Builder b;
  b.want(b.op({0}), Kind::resource, "GPU:7", Softness::prefer);  // the declaration
  b.want(b.op({0}), Kind::requested, "CPU:0", Softness::prefer); // an update elsewhere
  EXPECT_EQ(b.place(), "GPU:0 GPU:0");
}

TEST(Placement, P13_ALockMayChooseAmongWhatASoftRequestFallsBackTo) {
  Builder b;
  b.want(b.asking("GPU:7", Softness::prefer), Kind::lock, "GPU:1");
  uint32_t noKernel = b.asking("GPU:1", Softness::prefer);
  b.only(noKernel, DeviceType::CPU);
  b.want(noKernel, Kind::lock, "CPU:0");
  // Gives way to a request that holds, so that the lock is not what it gives way to.
  b.want(b.op({0}), Kind::requested, "CPU:0");
  uint32_t weaker = b.op({0});
  b.want(weaker, Kind::requested, "GPU:1", Softness::prefer);
  b.want(weaker, Kind::lock, "CPU:0");
  b.want(b.asking("GPU:1", Softness::any), Kind::lock, "GPU:0");
  EXPECT_EQ(b.place(), "GPU:1 CPU:0 CPU:0 CPU:0 GPU:0");
}

TEST(Placement, RuleGivesWayToRequestWithoutAFallBack) {
  Builder b;
  uint32_t op = b.asking("CPU:0");
  b.want(op, Kind::rule, "GPU:1", Softness::prefer);
  EXPECT_EQ(b.place(), "CPU:0");
  EXPECT_FALSE(solve(b.problem).decisions[op].fallBack);
}

//===----------------------------------------------------------------------===//
// Why not
//===----------------------------------------------------------------------===//

TEST(WhyNot, ThereAlreadyOrNoKernel) {
  Builder b;
  uint32_t op = b.op();
  EXPECT_TRUE(whyNot(b.problem, op, 1).isThere);
  b.only(op, DeviceType::CPU);
  EXPECT_FALSE(whyNot(b.problem, op, 1).hasKernel);
}

TEST(WhyNot, ARequestIsEnough) {
  Builder b;
  WhyNot answer = whyNot(b.problem, b.op(), 2);
  EXPECT_TRUE(answer.askFor);
  EXPECT_TRUE(answer.drop.empty());
}

TEST(WhyNot, DroppingTheRequestIsEnough) {
  Builder b;
  WhyNot answer = whyNot(b.problem, b.asking("CPU:0"), 1);
  EXPECT_FALSE(answer.askFor);
  ASSERT_EQ(answer.drop.size(), 1u);
  EXPECT_EQ(answer.drop[0].type, Member::Type::constraint);
}

TEST(WhyNot, LeavingTheGroupIsShorterThanMovingIt) {
  Builder b;
  uint32_t op = b.op({0});
  b.want(b.op({0}), Kind::requested, "CPU:0");
  b.want(b.op({0}), Kind::requested, "CPU:0");
  WhyNot answer = whyNot(b.problem, op, 1);
  EXPECT_FALSE(answer.askFor);
  EXPECT_EQ(answer.drop, (std::vector<Member>{{Member::Type::group, op, 0}}));
}

TEST(WhyNot, OpsThatAreAlikeAreNamedOneByOne) {
  Builder b;
  uint32_t first = b.op({0, 1, 2, 3}), op = b.op({0, 1, 2, 3}), last = b.op({0, 1, 2, 3});
  for (uint32_t other : {first, last})
    b.want(other, Kind::requested, "CPU:0");
  WhyNot answer = whyNot(b.problem, op, 1);
  EXPECT_FALSE(answer.askFor);
  EXPECT_EQ(answer.drop, (std::vector<Member>{{Member::Type::constraint, first, 0},
                                              {Member::Type::constraint, last, 0}}));
  // One that asks itself is alike, too, and its own request comes first.
  EXPECT_EQ(whyNot(b.problem, last, 1).drop,
            (std::vector<Member>{{Member::Type::constraint, last, 0},
                                 {Member::Type::constraint, first, 0}}));
}

TEST(WhyNot, AStaleLockIsWhatToRemove) {
  Builder b;
  uint32_t op = b.asking("GPU:0", Softness::prefer);
  b.want(op, Kind::lock, "GPU:1");
  WhyNot there = whyNot(b.problem, op, 1), locked = whyNot(b.problem, op, 2);
  EXPECT_FALSE(there.isThere || there.askFor || locked.isThere || locked.askFor);
  EXPECT_EQ(there.drop, (std::vector<Member>{{Member::Type::constraint, op, 1}}));
  EXPECT_EQ(locked.drop, (std::vector<Member>{{Member::Type::constraint, op, 0}}));
}

TEST(WhyNot, ALockStandsInTheWayOfARequest) {
  Builder b;
  uint32_t op = b.op();
  b.want(op, Kind::lock, "GPU:1");
  b.want(op, Kind::proposed, "GPU:1", Softness::prefer);
  WhyNot answer = whyNot(b.problem, op, 0);
  EXPECT_TRUE(answer.askFor);
  ASSERT_EQ(answer.drop.size(), 1u);
  EXPECT_EQ(b.problem.ops[op].constraints[answer.drop[0].index].kind, Kind::lock);
}

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

/// A random problem; with many constraints that may fail.
Builder randomProblem(std::mt19937 &random, uint32_t count, bool follow) {
  Builder b(random() % 2 ? "CPU:0,GPU:0,GPU:1" : "CPU:0,GPU:0,GPU:1,GPU:2,/task:1/device:GPU:0");
  b.problem.policy = follow ? Policy::follow : Policy::first;
  const char *devices[] = {"GPU",   "CPU",   "GPU:0",   "GPU:1",
                           "CPU:0", "GPU:9", "/task:1", "/job:localhost"};
  const Kind kinds[] = {Kind::resource, Kind::requested, Kind::requested, Kind::lock,
                        Kind::rule,     Kind::inferred,  Kind::proposed};
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t op = b.op();
    if (random() % 4 == 0)
      b.problem.ops[op].groups.push_back(random() % (count / 3 + 1));
    if (random() % 6 == 0)
      b.only(op, random() % 3 ? DeviceType::CPU : DeviceType::GPU);
    for (unsigned n = random() % 3; n; --n)
      b.want(op, kinds[random() % std::size(kinds)], devices[random() % std::size(devices)],
             static_cast<Softness>(random() % 3));
    for (unsigned n = i ? random() % 3 : 0; n; --n)
      b.reads(op, random() % i, random() % 100);
    if (random() % 3 == 0)
      b.readsFrom(op, random() % b.problem.devices.size(), random() % 100);
  }
  return b;
}

/// The same problem with op i at place order[i], groups renumbered, constraints and operands mixed.
Problem shuffled(const Problem &problem, const std::vector<uint32_t> &order, std::mt19937 &random) {
  Problem other = problem;
  std::vector<uint32_t> groups(problem.ops.size() + 1);
  std::iota(groups.begin(), groups.end(), 0);
  std::ranges::shuffle(groups, random);
  for (uint32_t i = 0; i < order.size(); ++i) {
    Op op = problem.ops[i];
    for (uint32_t &group : op.groups)
      group = groups[group];
    for (Operand &operand : op.operands)
      if (operand.op != none)
        operand.op = order[operand.op];
    std::ranges::shuffle(op.operands, random);
    std::ranges::shuffle(op.constraints, random);
    other.ops[order[i]] = std::move(op);
  }
  return other;
}

TEST(PlacementProperty, P12_ShufflesAndRenamingsChangeNothing) {
  std::mt19937 random(7);
  int placed = 0;
  for (int round = 0; round < 1000; ++round) {
    Builder b = randomProblem(random, 4 + random() % 40, round % 2);
    Outcome before = solve(b.problem);
    std::vector<uint32_t> order(b.problem.ops.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    Outcome after = solve(shuffled(b.problem, order, random));
    ASSERT_EQ(before.failures.size(), after.failures.size()) << "round " << round;
    for (uint32_t i = 0; i < order.size(); ++i) {
      const Decision &left = before.decisions[i], &right = after.decisions[order[i]];
      ASSERT_EQ(left.device, right.device) << "round " << round << " op " << i;
      ASSERT_EQ(left.fallBack, right.fallBack) << "round " << round << " op " << i;
      placed += left.device != none;
    }
  }
  EXPECT_GT(placed, 5000);
}

/// What was placed can be locked, whatever is asked for, and changes nothing.
TEST(PlacementProperty, P13_LocksOfAPlacementReproduceIt) {
  std::mt19937 random(17);
  int placed = 0, softened = 0;
  for (int round = 0; round < 1000; ++round) {
    Builder b = randomProblem(random, 2 + random() % 12, round % 2);
    Outcome before = solve(b.problem);
    if (!before.ok())
      continue;
    for (uint32_t op = 0; op < b.problem.ops.size(); ++op) {
      std::erase_if(b.problem.ops[op].constraints,
                    [](const Constraint &c) { return c.kind == Kind::lock; });
      softened += before.decisions[op].fallBack;
    }
    before = solve(b.problem);
    for (uint32_t op = 0; op < b.problem.ops.size(); ++op)
      b.want(op, Kind::lock, b.problem.devices[before.decisions[op].device].str());
    Outcome after = solve(b.problem);
    ASSERT_TRUE(after.ok()) << "round " << round;
    ASSERT_TRUE(validate(b.problem, after.decisions).ok()) << "round " << round;
    for (uint32_t op = 0; op < b.problem.ops.size(); ++op)
      ASSERT_EQ(after.decisions[op].device, before.decisions[op].device) << "round " << round;
    ++placed;
  }
  EXPECT_GT(placed, 100);
  EXPECT_GT(softened, 100);
}

TEST(PlacementProperty, OutcomesAreJudgedRightAndFailuresMinimal) {
  std::mt19937 random(11);
  int failures = 0, placed = 0;
  for (int round = 0; round < 1500; ++round) {
    Builder b = randomProblem(random, 2 + random() % 25, round % 2);
    Outcome outcome = solve(b.problem);
    for (const Failure &failure : outcome.failures)
      // A rule is judged without what is stronger, so that only its own members are compared.
      expectMinimal(b.problem, failure);
    failures += static_cast<int>(outcome.failures.size());
    if (!outcome.ok())
      continue;
    ++placed;
    Status judged = validate(b.problem, outcome.decisions);
    ASSERT_TRUE(judged.ok()) << judged.message() << " round " << round;
  }
  EXPECT_GT(failures, 300);
  EXPECT_GT(placed, 200);
}

TEST(PlacementProperty, WhyNotIsMinimalAndWorks) {
  std::mt19937 random(13);
  int answers = 0;
  for (int round = 0; round < 400; ++round) {
    Builder b = randomProblem(random, 2 + random() % 10, false);
    if (!solve(b.problem).ok())
      continue;
    uint32_t op = random() % b.problem.ops.size(), device = random() % b.problem.devices.size();
    WhyNot answer = whyNot(b.problem, op, device);
    // Asked of several, each is answered as if alone.
    std::vector<uint32_t> both = {uint32_t((op + 1) % b.problem.ops.size()), op};
    std::vector<WhyNot> answered = whyNot(b.problem, both, device);
    ASSERT_EQ(answered.size(), 2u);
    EXPECT_EQ(answered[1].isThere, answer.isThere);
    EXPECT_EQ(answered[1].hasKernel, answer.hasKernel);
    EXPECT_EQ(answered[1].drop, answer.drop);
    EXPECT_EQ(answered[1].askFor, answer.askFor);
    if (answer.isThere || !answer.hasKernel)
      continue;
    auto lands = [&](size_t without, bool ask) {
      Problem changed = b.problem;
      std::vector<Member> drop = answer.drop;
      if (without < drop.size())
        drop.erase(drop.begin() + static_cast<ptrdiff_t>(without));
      // From the back, so that indices stay right.
      std::ranges::sort(drop, std::greater<>());
      for (const Member &m : drop)
        if (m.type == Member::Type::group)
          std::erase(changed.ops[m.op].groups, m.index);
        else
          changed.ops[m.op].constraints.erase(changed.ops[m.op].constraints.begin() + m.index);
      if (ask)
        changed.ops[op].constraints.push_back(
            {Kind::requested, Softness::strict, changed.intern(changed.devices[device]), none});
      Outcome outcome = solve(changed);
      return outcome.ok() && outcome.decisions[op].device == device;
    };
    ++answers;
    EXPECT_TRUE(lands(none, answer.askFor)) << "round " << round;
    for (size_t i = 0; i < answer.drop.size(); ++i)
      EXPECT_FALSE(lands(i, answer.askFor)) << "round " << round << " change " << i;
  }
  EXPECT_GT(answers, 60);
}

TEST(PlacementJudge, FindsWhatIsWrong) {
  Builder b;
  b.asking("GPU:1");
  b.only(b.op(), DeviceType::CPU);
  b.op({0});
  b.op({0});
  b.op();
  b.asking("GPU:9", Softness::prefer);
  const std::vector<Decision> right = solve(b.problem).decisions;
  ASSERT_TRUE(validate(b.problem, right).ok());
  auto wrong = [&](auto change) {
    std::vector<Decision> decisions = right;
    change(decisions);
    return validate(b.problem, decisions).message();
  };
  EXPECT_EQ(wrong([](auto &d) { d[0].device = 1; }),
            "placement: op 0 is not where a strict constraint wants it");
  EXPECT_EQ(wrong([](auto &d) { d[1].device = 1; }), "placement: op 1 has no kernel where it is");
  EXPECT_EQ(wrong([](auto &d) { d[3].device = 0; }), "placement: op 3 is apart from its group 0");
  EXPECT_EQ(wrong([](auto &d) { d[4].device = 2; }),
            "placement: op 4 is free and not on the first device with a kernel");
  EXPECT_EQ(wrong([](auto &d) { d[5].fallBack = false; }),
            "placement: op 5 fell back and does not say so");
  EXPECT_EQ(wrong([](auto &d) { d[2].device = none; }), "placement: op 2 has no device");
  b.want(5, Kind::lock, "CPU:0");
  EXPECT_EQ(wrong([](auto &d) { d[5].device = 0; }),
            "placement: op 5 follows a lock against its request");
}

TEST(PlacementSpeed, AHundredThousandOps) {
  for (bool follow : {false, true}) {
    std::mt19937 random(3);
    Builder b;
    b.problem.policy = follow ? Policy::follow : Policy::first;
    for (uint32_t i = 0; i < 100'000; ++i) {
      uint32_t op = b.op();
      if (i % 3 == 0)
        b.want(op, Kind::requested, i % 2 ? "GPU:1" : "GPU", Softness::prefer);
      if (i % 5 == 0)
        b.problem.ops[op].groups.push_back(i / 50);
      for (unsigned n = i ? 2 : 0; n; --n)
        b.reads(op, i - 1 - random() % std::min(i, 10u), 16);
    }
    auto begin = std::chrono::steady_clock::now();
    Outcome outcome = solve(b.problem);
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_TRUE(outcome.ok());
    EXPECT_TRUE(validate(b.problem, outcome.decisions).ok());
    EXPECT_LT(seconds, 1.0);
    RecordProperty(follow ? "follow_seconds" : "seconds", std::to_string(seconds));
  }
}

} // namespace
} // namespace gantry::placement
