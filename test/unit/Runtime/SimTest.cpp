// Simulated devices: separate memory, queues, virtual time, legal orders, missing waits (spec D6).
#include "gantry/Device/CostModel.h"
#include "gantry/Drivers/SimDriver.h"
#include "gantry/Plan/CommandClock.h"
#include "gantry/Plan/Views.h"
#include "gantry/Runtime/ImmediateDevice.h"
#include "gantry/Runtime/Session.h"
#include "gantry/Runtime/ThreadPool.h"

#include "Runtime/PlanBuilder.h"

#include <map>
#include <set>

namespace gantry::runtime::test {
namespace {

constexpr uint64_t n = 256, bytes = n * sizeof(float);
constexpr uint32_t computeQueue = 0, copyQueue = 1;
const std::string task = "/job:localhost/replica:0/task:0/device:";

/// A plan builder with a host and simulated devices, whose commands have a device and a queue.
struct SimBuilder : PlanBuilder {
  static constexpr uint32_t cpu = 0;
  uint32_t code = addCode(testKernels());
  uint32_t add = addKernel("add_f32", code), twice = addKernel("double_f32", code);
  uint32_t less = addKernel("less_f32", code), nothing = addKernel("nothing", code);
  int waitToDrop = -1; ///< leaves out the wait of that number
  int numWaits = 0;

  explicit SimBuilder(unsigned devices) {
    for (unsigned i = 0; i < devices; ++i)
      addDevice(task + "GPU:" + std::to_string(i), "sim");
  }

  fb::CommandT &on(uint32_t device, uint32_t queue, fb::CommandT &command) {
    command.device = device;
    command.queue = queue;
    function().num_queues = 2;
    return command;
  }
  fb::CommandT &move(const std::string &name, fb::CopyKind kind, uint32_t device, uint32_t queue,
                     fb::BufferRef from, fb::BufferRef to, uint32_t block = 0) {
    fb::CommandT &command = on(device, queue, copy(from, to, block));
    command.copy_kind = kind;
    command.name = name;
    return command;
  }
  fb::CommandT &compute(const std::string &name, uint32_t kernel, uint32_t device,
                        std::vector<fb::BufferRef> operands, fb::BufferRef result,
                        uint32_t block = 0, uint64_t items = n) {
    fb::CommandT &command =
        on(device, computeQueue, launch(kernel, std::move(operands), {result}, items, 1, block));
    command.name = name;
    return command;
  }
  /// Lets a queue wait for what another one has done so far.
  void order(uint32_t fromDevice, uint32_t fromQueue, uint32_t toDevice, uint32_t toQueue,
             uint32_t block = 0) {
    uint32_t semaphore = function().num_semaphores++;
    on(fromDevice, fromQueue, addCommand(fb::Opcode::signal, block)).signal = semaphore;
    if (numWaits++ != waitToDrop)
      on(toDevice, toQueue, addCommand(fb::Opcode::wait, block)).signal = semaphore;
  }
};

struct World {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const LoadedPlan> plan;
  std::shared_ptr<Session> session;
  std::shared_ptr<Bindings> bindings;

  explicit World(PlanBuilder &builder, RuntimeOptions options = {}) {
    options.threads = 1;
    runtime = createRuntime(std::move(options));
    auto loaded = builder.load(runtime);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    if (!loaded)
      return;
    plan = loaded.take();
    makeSession();
  }
  void makeSession() {
    auto made = Session::create(plan);
    EXPECT_TRUE(made.ok()) << made.status().message();
    session = made.take();
    bindings = Bindings::create(plan, 0u).take();
  }
  void bindRamp(unsigned input) {
    auto tensor = Tensor::allocate({ElementType::f32, {n}});
    for (uint64_t i = 0; i < n; ++i)
      tensor->dataAs<float>()[i] = static_cast<float>(i);
    ASSERT_OK(bindings->bindInput(input, *tensor));
  }
  std::vector<float> output(unsigned index) {
    auto tensor = bindings->output(index);
    float *data = tensor->dataAs<float>();
    return {data, data + n};
  }
  std::string names() {
    std::string all;
    for (const CommandEvent &event : session->timeline())
      all += event.command->name()->str() + ' ';
    return all;
  }
  double end() {
    double latest = 0;
    for (const CommandEvent &event : session->timeline())
      latest = std::max(latest, event.end);
    return latest;
  }
};

/// x goes to GPU:0, is doubled there and goes to GPU:1, where it is doubled again on the way to y0;
/// meanwhile x comes to GPU:0 anew, into the same memory, for y1 = x + x.
void buildPipeline(SimBuilder &b) {
  constexpr uint32_t gpu0 = 1, gpu1 = 2;
  uint32_t a0 = b.addArena(fb::ArenaKind::transient, 3 * bytes, gpu0);
  uint32_t a1 = b.addArena(fb::ArenaKind::transient, 2 * bytes, gpu1);
  b.addFunction("main");
  b.addInput("x", {n});
  b.addOutput("y0", {n});
  b.addOutput("y1", {n});
  auto at = [](uint32_t arena, uint64_t slot) { return memory(arena, slot * bytes, bytes); };
  b.move("up", fb::CopyKind::hostToDevice, gpu0, copyQueue, input(0, bytes), at(a0, 0));
  b.order(gpu0, copyQueue, gpu0, computeQueue);
  b.compute("first", b.twice, gpu0, {at(a0, 0)}, at(a0, 1));
  b.order(gpu0, computeQueue, gpu1, copyQueue);
  b.order(gpu0, computeQueue, gpu0, copyQueue);
  b.move("again", fb::CopyKind::hostToDevice, gpu0, copyQueue, input(0, bytes), at(a0, 0));
  b.move("across", fb::CopyKind::deviceToDevice, gpu1, copyQueue, at(a0, 1), at(a1, 0));
  b.order(gpu0, copyQueue, gpu0, computeQueue);
  b.compute("sum", b.add, gpu0, {at(a0, 0), at(a0, 0)}, at(a0, 2));
  b.order(gpu1, copyQueue, gpu1, computeQueue);
  b.compute("second", b.twice, gpu1, {at(a1, 0)}, at(a1, 1));
  b.order(gpu1, computeQueue, gpu1, copyQueue);
  b.move("down", fb::CopyKind::deviceToHost, gpu1, copyQueue, at(a1, 1), output(0, bytes));
  b.order(gpu0, computeQueue, gpu0, copyQueue);
  b.move("side", fb::CopyKind::deviceToHost, gpu0, copyQueue, at(a0, 2), output(1, bytes));
}

TEST(Sim, runsAPlanOnTwoDevicesAndCountsItsCopies_d6_x3) {
  SimBuilder b(2);
  buildPipeline(b);
  World w(b);
  w.bindRamp(0);
  ASSERT_OK(w.session->run(*w.bindings));
  for (uint64_t i = 0; i < n; ++i) {
    ASSERT_EQ(w.output(0)[i], 4 * static_cast<float>(i));
    ASSERT_EQ(w.output(1)[i], 2 * static_cast<float>(i));
  }
  DeviceStats gpu0 = w.plan->device(1)->stats(), gpu1 = w.plan->device(2)->stats();
  EXPECT_EQ(gpu0.copies, 3u);
  EXPECT_EQ(gpu1.copies, 2u);
  EXPECT_EQ(gpu1.copiedBytes, 2 * bytes);
  plan::Ledger ledger = plan::Ledger::of(w.plan->metadata(), *w.plan->functions()[0].source);
  EXPECT_EQ(gpu0.run, ledger.perRun[1]);
  EXPECT_EQ(gpu1.run, ledger.perRun[2]);
  EXPECT_EQ(gpu0.run[fb::CopyKind::hostToDevice], (plan::CopyCount{2, 2 * bytes}));
  EXPECT_EQ(gpu1.run[fb::CopyKind::deviceToDevice], (plan::CopyCount{1, bytes}));
  EXPECT_EQ(gpu0.bytesInUse, 3 * bytes);
  EXPECT_EQ(gpu1.bytesInUse, 2 * bytes);
}

/// One constant on the host's wish, one on GPU:1's, both used on GPU:0; a third without a wish.
TEST(Sim, countsConstantsThatAreWantedElsewhereOncePerArena_x3) {
  SimBuilder b(2);
  uint32_t arena = b.addArena(fb::ArenaKind::constants, 3 * 64, 1);
  for (uint64_t i = 0; i < 3; ++i)
    b.addConstant(arena, i * 64, std::vector<float>(8, static_cast<float>(i)));
  b.plan.constants[0]->home = 0;
  b.plan.constants[1]->home = 2;
  b.addFunction("main");
  auto runtime = createRuntime();
  auto first = b.load(runtime), again = b.load(runtime);
  ASSERT_TRUE(first.ok() && again.ok());
  std::vector<plan::CopyTally> ledger = plan::copiesAtLoad((*first)->metadata());
  for (uint32_t device : {1, 2})
    EXPECT_EQ((*first)->device(device)->stats().load, ledger[device]) << device;
  DeviceStats gpu0 = (*first)->device(1)->stats();
  EXPECT_EQ(gpu0.load[fb::CopyKind::hostToDevice], (plan::CopyCount{1, 32}));
  EXPECT_EQ(gpu0.load[fb::CopyKind::deviceToDevice], (plan::CopyCount{1, 32}));
  EXPECT_EQ(gpu0.run, plan::CopyTally());
}

/// What the plan layer predicts of a run is what the virtual clock then shows.
TEST(Sim, aRunIsPredicted_d6) {
  SimBuilder b(2);
  buildPipeline(b);
  World w(b);
  w.bindRamp(0);
  ASSERT_OK(w.session->run(*w.bindings));
  const auto predicted = plan::predictRun(w.plan->metadata(), *w.plan->functions()[0].source);
  std::map<const fb::Command *, std::pair<double, double>> ran;
  for (const CommandEvent &event : w.session->timeline())
    ran[event.command] = {event.start, event.end};
  ASSERT_EQ(predicted.size(), ran.size());
  for (const plan::Moment &moment : predicted) {
    EXPECT_DOUBLE_EQ(moment.start, ran.at(moment.command).first);
    EXPECT_DOUBLE_EQ(moment.end, ran.at(moment.command).second);
  }
}

/// The longer of the two ways counts, and a loop once.
TEST(Sim, branchesAndLoopsArePredicted_d6) {
  SimBuilder b(1);
  const uint32_t gpu0 = 1, arena = b.addArena(fb::ArenaKind::transient, 3 * bytes, gpu0);
  b.addFunction("main");
  b.addInput("c", {1}, fb::ElementType::i1);
  for (int block = 1; block <= 4; ++block)
    b.addBlock();
  auto at = [&](uint64_t slot) { return memory(arena, slot * bytes, bytes); };
  auto twice = [&](const char *name, uint32_t block) {
    b.compute(name, b.twice, gpu0, {at(0)}, at(1), block);
  };
  auto nest = [&](fb::Opcode opcode, std::vector<uint32_t> blocks) {
    fb::CommandT &command = b.addCommand(opcode);
    command.condition = std::make_unique<fb::BufferRef>(input(0, 1));
    command.blocks = std::move(blocks);
  };
  nest(fb::Opcode::branch, {1, 2});
  twice("short", 1);
  twice("long", 2), twice("long", 2);
  nest(fb::Opcode::loop, {3, 4});
  twice("look", 3);
  twice("go", 4);
  const plan::PlanFile file = b.file();
  std::string names;
  double end = 0;
  for (const plan::Moment &moment :
       plan::predictRun(file.plan(), *file.plan().functions()->Get(0))) {
    EXPECT_EQ(moment.start, end);
    end = moment.end;
    names += moment.command->name()->str() + ' ';
  }
  EXPECT_EQ(names, "long long look go ");
}

/// Both halves of x go to GPU:0 in one transfer, are added there, and the sum comes back.
void buildTransfer(SimBuilder &b) {
  constexpr uint32_t gpu0 = 1;
  const uint64_t half = bytes / 2;
  uint32_t a0 = b.addArena(fb::ArenaKind::transient, 3 * half, gpu0);
  b.addFunction("main");
  b.addInput("x", {n});
  b.addOutput("y", {n / 2});
  auto at = [&](uint32_t slot) { return memory(a0, slot * half, half); };
  fb::BufferRef upper(fb::Space::input, 0, half, half);
  fb::CommandT &up =
      b.move("lower", fb::CopyKind::hostToDevice, gpu0, copyQueue, input(0, half), at(0));
  up.buffers.insert(up.buffers.end(), {upper, at(1)});
  up.also.push_back(std::make_unique<fb::CopiedValueT>());
  b.order(gpu0, copyQueue, gpu0, computeQueue);
  b.compute("sum", b.add, gpu0, {at(0), at(1)}, at(2), 0, n / 2);
  b.order(gpu0, computeQueue, gpu0, copyQueue);
  b.move("down", fb::CopyKind::deviceToHost, gpu0, copyQueue, at(2), output(0, half));
}

TEST(Sim, severalValuesAreOneTransfer_x5) {
  SimBuilder b(1);
  buildTransfer(b);
  World w(b);
  w.bindRamp(0);
  ASSERT_OK(w.session->run(*w.bindings));
  const float *sum = w.bindings->output(0)->dataAs<float>();
  for (uint64_t i = 0; i < n / 2; ++i)
    ASSERT_EQ(sum[i], 2 * static_cast<float>(i) + n / 2);
  DeviceStats gpu = w.plan->device(1)->stats();
  EXPECT_EQ(gpu.run[fb::CopyKind::hostToDevice], (plan::CopyCount{2, bytes, 1}));
  EXPECT_EQ(gpu.run,
            plan::Ledger::of(w.plan->metadata(), *w.plan->functions()[0].source).perRun[1]);
  // One latency, and all bytes.
  EXPECT_EQ(w.names(), "lower sum down ");
  const CommandEvent up = w.session->timeline().front();
  EXPECT_DOUBLE_EQ(up.end - up.start, StandInRates::linkLatency +
                                          static_cast<double>(bytes) / StandInRates::linkBandwidth);
}

TEST(Sim, eachValueOfATransferHasToBeWaitedFor_x5) {
  SimBuilder b(1);
  b.waitToDrop = 0;
  buildTransfer(b);
  World w(b);
  w.bindRamp(0);
  Status status = w.session->run(*w.bindings);
  EXPECT_EQ(status.code(), StatusCode::corrupt);
  EXPECT_NE(status.message().find("'lower' and 1 more on GPU:0 (queue 1) writes"),
            std::string::npos)
      << status.message();
}

TEST(Sim, everyLegalOrderGivesTheSameBytes_d6) {
  SimBuilder b(2);
  buildPipeline(b);
  World w(b);
  w.bindRamp(0);
  ASSERT_OK(w.session->run(*w.bindings));
  std::vector<float> y0 = w.output(0), y1 = w.output(1);
  std::set<std::string> orders;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::fill_n(w.bindings->output(0u)->dataAs<float>(), n, -1.0f);
    w.session->setCommandOrder(CommandOrder::random(seed));
    ASSERT_OK(w.session->run(*w.bindings));
    ASSERT_EQ(w.output(0), y0) << seed;
    ASSERT_EQ(w.output(1), y1) << seed;
    orders.insert(w.names());
  }
  EXPECT_GT(orders.size(), 5u); // or the orders were not explored
}

TEST(Sim, theSameSeedGivesTheSameOrder) {
  SimBuilder b(2);
  buildPipeline(b);
  RuntimeOptions options;
  options.commandOrder = CommandOrder::random(7);
  World w(b, options), other(b, options);
  for (World *each : {&w, &other}) {
    each->bindRamp(0);
    ASSERT_OK(each->session->run(*each->bindings));
  }
  EXPECT_EQ(w.names(), other.names());
}

TEST(Sim, namesEachMissingWaitInEveryOrder_d6) {
  const std::string expected[] = {
      "missing wait: 'up' on GPU:0 (queue 1) writes bytes 0 to 1024 of arena 0, 'first' on GPU:0 "
      "(queue 0) reads bytes 0 to 1024 of arena 0, and nothing orders them; signal after 'up' on "
      "GPU:0 and wait before 'first' on GPU:0",
      "'first' on GPU:0 (queue 0) writes bytes 1024 to 2048 of arena 0, 'across' on GPU:1 (queue "
      "1) reads",
      "'first' on GPU:0 (queue 0) reads bytes 0 to 1024 of arena 0, 'again' on GPU:0 (queue 1) "
      "writes",
      "'again' on GPU:0 (queue 1) writes bytes 0 to 1024 of arena 0, 'sum' on GPU:0 (queue 0) "
      "reads",
      "'across' on GPU:1 (queue 1) writes bytes 0 to 1024 of arena 1, 'second' on GPU:1 (queue 0) "
      "reads",
      "'second' on GPU:1 (queue 0) writes bytes 1024 to 2048 of arena 1, 'down' on GPU:1 (queue 1) "
      "reads",
      "'sum' on GPU:0 (queue 0) writes bytes 2048 to 3072 of arena 0, 'side' on GPU:0 (queue 1) "
      "reads"};
  for (int dropped = 0; dropped < 7; ++dropped) {
    SimBuilder b(2);
    b.waitToDrop = dropped;
    buildPipeline(b);
    ASSERT_EQ(b.numWaits, 7);
    World w(b);
    w.bindRamp(0);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      w.session->setCommandOrder(seed ? CommandOrder::random(seed) : CommandOrder::virtualTime());
      Status status = w.session->run(*w.bindings);
      ASSERT_EQ(status.code(), StatusCode::corrupt) << dropped;
      EXPECT_NE(status.message().find(expected[dropped]), std::string::npos)
          << "seed " << seed << ": " << status.message();
    }
  }
}

/// Fills of one arena on two queues; whether they conflict goes by their bytes. Queue 1 fills the
/// middle after queue 0 has filled everything; then queue 0 fills `offset` to `offset + size`
/// without waiting for it.
Status fillAroundTheMiddle(uint64_t offset, uint64_t size) {
  SimBuilder b(1);
  uint32_t arena = b.addArena(fb::ArenaKind::transient, 1024, 1);
  b.addFunction("main");
  auto fill = [&](const char *name, uint32_t queue, uint64_t at, uint64_t length) {
    fb::CommandT &command = b.on(1, queue, b.addCommand(fb::Opcode::fill));
    command.name = name;
    command.buffers = {memory(arena, at, length)};
  };
  fill("all", 0, 0, 1024);
  b.order(1, 0, 1, 1);
  fill("middle", 1, 256, 256);
  fill("late", 0, offset, size);
  World w(b);
  return w.session->run(*w.bindings);
}

TEST(Sim, conflictsGoByBytes_d6) {
  EXPECT_OK(fillAroundTheMiddle(0, 256));
  EXPECT_OK(fillAroundTheMiddle(512, 512));
  for (auto [offset, size] : {std::pair(0, 257), std::pair(511, 1), std::pair(256, 1),
                              std::pair(300, 10), std::pair(0, 1024), std::pair(511, 200)})
    EXPECT_EQ(fillAroundTheMiddle(static_cast<uint64_t>(offset), static_cast<uint64_t>(size))
                  .message()
                  .substr(0, 103),
              "missing wait: 'middle' on GPU:0 (queue 1) writes bytes 256 to 512 of arena 0, "
              "'late' on GPU:0 (queue 0)")
        << offset;
}

/// The host checks indices; the next value of a variable of the GPU has to wait for it.
TEST(Sim, aCheckHoldsVariablesBack_d6) {
  for (bool isOrdered : {true, false}) {
    SimBuilder b(1);
    b.waitToDrop = isOrdered ? -1 : 0;
    uint32_t variables = b.addArena(fb::ArenaKind::variables, bytes, 1);
    b.addVariable("v", variables, 0, {n});
    b.addFunction("main", /*writesVariables=*/true);
    b.addInput("found", {2}, fb::ElementType::i64);
    b.addInput("x", {n});
    fb::CommandT &check = b.on(0, computeQueue, b.addCommand(fb::Opcode::check));
    check.name = "pick";
    check.buffers = {input(0, 16), memory(variables, 0, bytes)};
    check.index_check = std::make_unique<fb::IndexCheckT>();
    check.index_check->source_op = "Gather", check.index_check->operand = "ids";
    check.index_check->sizes = {9};
    b.order(0, computeQueue, 1, copyQueue);
    b.move("next", fb::CopyKind::hostToDevice, 1, copyQueue, input(1, bytes),
           memory(variables, 0, bytes));
    World w(b);
    alignas(64) int64_t found[2] = {-1, 0};
    ASSERT_OK(w.bindings->bindInput(0, Tensor::borrow({ElementType::i64, {2}}, found)));
    w.bindRamp(1);
    for (uint64_t seed = 0; seed < 10; ++seed) {
      w.session->setCommandOrder(seed ? CommandOrder::random(seed) : CommandOrder::virtualTime());
      Status status = w.session->run(*w.bindings);
      if (isOrdered) {
        EXPECT_OK(status);
        continue;
      }
      EXPECT_EQ(status.code(), StatusCode::corrupt);
      EXPECT_EQ(status.message().substr(0, 53),
                "missing wait: 'pick' (Gather) (queue 0) reads bytes 0");
    }
    found[0] = 0, found[1] = 9;
    if (isOrdered)
      EXPECT_EQ(w.session->run(*w.bindings).message(),
                "'pick' (Gather): reads index 9 of operand 'ids', which must be in [-9, 9)");
  }
}

/// While v < 10, v = 2 v on the GPU; the condition is computed on the host. Then y = v, or 0 if
/// another branch is taken.
void buildLoop(SimBuilder &b) {
  constexpr uint32_t gpu = 1;
  uint32_t there = b.addArena(fb::ArenaKind::transient, 128, gpu);
  uint32_t here = b.addArena(fb::ArenaKind::transient, 128);
  b.addFunction("main");
  b.addInput("v", {1});
  b.addInput("limit", {1});
  b.addOutput("y", {1});
  auto v = memory(there, 0, 4), next = memory(there, 64, 4), seen = memory(here, 0, 4);
  auto flag = memory(here, 64, 1);
  b.move("up", fb::CopyKind::hostToDevice, gpu, copyQueue, input(0, 4), v);
  uint32_t test = b.addBlock(), body = b.addBlock(), then = b.addBlock(), otherwise = b.addBlock();
  fb::CommandT &loop = b.addCommand(fb::Opcode::loop);
  loop.name = "while";
  loop.condition = std::make_unique<fb::BufferRef>(flag);
  loop.blocks = {test, body};
  b.move("look", fb::CopyKind::deviceToHost, gpu, copyQueue, v, seen, test);
  b.order(gpu, copyQueue, SimBuilder::cpu, computeQueue, test);
  b.compute("less", b.less, SimBuilder::cpu, {seen, input(1, 4)}, flag, test, 1);
  b.compute("double", b.twice, gpu, {v}, next, body, 1);
  b.order(gpu, computeQueue, gpu, copyQueue, body);
  b.move("back", fb::CopyKind::sameDevice, gpu, copyQueue, next, v, body);
  fb::CommandT &branch = b.addCommand(fb::Opcode::branch);
  branch.name = "if";
  branch.condition = std::make_unique<fb::BufferRef>(flag);
  branch.blocks = {then, otherwise};
  b.on(SimBuilder::cpu, computeQueue, b.addCommand(fb::Opcode::fill, then)).buffers = {
      output(0, 4)};
  b.move("down", fb::CopyKind::deviceToHost, gpu, copyQueue, v, output(0, 4), otherwise);
}

TEST(Sim, runsLoopsAndBranchesInEveryOrder) {
  SimBuilder b(1);
  buildLoop(b);
  World w(b);
  float v = 3, limit = 10;
  ASSERT_OK(w.bindings->bindInput(0, Tensor::borrow({ElementType::f32, {1}}, &v)));
  ASSERT_OK(w.bindings->bindInput(1, Tensor::borrow({ElementType::f32, {1}}, &limit)));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    w.session->setCommandOrder(CommandOrder::random(seed));
    ASSERT_OK(w.session->run(*w.bindings));
    EXPECT_EQ(*w.bindings->output(0u)->dataAs<float>(), 12.0f);
  }
  auto times = w.session->runTimed(*w.bindings);
  ASSERT_TRUE(times.ok());
  for (const CommandTime &time : *times)
    EXPECT_EQ(time.calls, time.command->name()->str() == "look"     ? 3u
                          : time.command->name()->str() == "double" ? 2u
                                                                    : time.calls);
  // One by one they are as many, and what they take is what the times are sums of.
  auto events = w.session->runTraced(*w.bindings);
  ASSERT_TRUE(events.ok());
  for (const CommandTime &time : *times) {
    uint64_t calls = 0, nanoseconds = 0;
    for (const CommandEvent &event : *events)
      if (event.command == time.command) {
        EXPECT_LE(event.start, event.end);
        ++calls;
        nanoseconds += static_cast<uint64_t>((event.end - event.start) * 1e9 + 0.5);
      }
    EXPECT_EQ(calls, time.calls);
    EXPECT_EQ(nanoseconds, time.nanoseconds);
  }
}

TEST(Sim, namesMissingWaitsInsideOfLoops) {
  for (int dropped : {0, 1}) {
    SimBuilder b(1);
    b.waitToDrop = dropped;
    buildLoop(b);
    World w(b);
    float v = 3, limit = 10;
    ASSERT_OK(w.bindings->bindInput(0, Tensor::borrow({ElementType::f32, {1}}, &v)));
    ASSERT_OK(w.bindings->bindInput(1, Tensor::borrow({ElementType::f32, {1}}, &limit)));
    Status status = w.session->run(*w.bindings);
    EXPECT_EQ(status.code(), StatusCode::corrupt);
    EXPECT_NE(status.message().find(dropped ? "'double' on GPU:0 (queue 0)" : "'look' on GPU:0"),
              std::string::npos)
        << status.message();
  }
}

/// What the validator refuses in a file must also be caught where it runs: the plan is changed
/// after it was checked.
TEST(Sim, refusesArgumentsInForeignMemory_d6) {
  SimBuilder b(2);
  buildPipeline(b);
  World w(b);
  for (const fb::Command *command :
       plan::each(w.plan->functions()[0].source->blocks()->Get(0)->commands())) {
    if (plan::textOf(command->name()) != "second")
      continue;
    auto &operand = const_cast<fb::BufferRef &>(*command->buffers()->Get(0));
    for (auto [changed, message] :
         {std::pair(memory(0, 64, bytes), "'second' on GPU:1: argument 0 (bytes 64 to 1088 of "
                                          "arena 0) lies in the memory of '" +
                                              task + "GPU:0'; expected an arena of '" + task +
                                              "GPU:1'"),
          std::pair(input(0, bytes), "'second' on GPU:1: argument 0 (bytes 0 to 1024 of input 0) "
                                     "lies in the memory of the host; expected an arena of '" +
                                         task + "GPU:1'"),
          std::pair(memory(1, bytes + 64, bytes),
                    "'second' on GPU:1: argument 0 (bytes 1088 to 2112 of arena 1) lies in the "
                    "memory of '" +
                        task +
                        "GPU:1', but outside of what is allocated there; expected an arena "
                        "of '" +
                        task + "GPU:1'")}) {
      operand = changed;
      w.makeSession();
      w.bindRamp(0);
      EXPECT_EQ(w.session->run(*w.bindings).message(), message);
    }
  }
}

TEST(SimDriver, refusesMemoryOfAnotherDevice_d6) {
  ThreadPool pool(1);
  auto driver = createSimDriver(pool);
  auto openedA = driver->open({"GPU:0", 1 << 20}), openedB = driver->open({"GPU:1", 1 << 20});
  auto *a = static_cast<ImmediateDevice *>(openedA->get());
  auto *b = static_cast<ImmediateDevice *>(openedB->get());
  Allocation memoryOfA = a->allocate(64, "test").take(), memoryOfB = b->allocate(64, "test").take();
  void *inA = memoryOfA.data(), *inB = memoryOfB.data();
  float host[16] = {1, 2};
  EXPECT_EQ(a->upload(inB, host, 64).message(),
            "64 bytes lie in the memory of 'GPU:1', expected an allocation of 'GPU:0'");
  EXPECT_EQ(a->copy(inA, inB, 64).code(), StatusCode::invalidArgument);
  EXPECT_EQ(a->fill(host, 0, 64).code(), StatusCode::invalidArgument);
  EXPECT_EQ(a->download(inB, inA, 64).message(),
            "64 bytes lie in the memory of 'GPU:1', expected memory of the host");
  auto code = a->loadCode(testKernels());
  void *buffers[] = {inA, inB};
  EXPECT_EQ(a->launch({*(*code)->lookup("double_f32"), buffers, 2, 16, 1}).message(),
            "argument 1 lies in the memory of 'GPU:1', the kernel runs on 'GPU:0'");
  ASSERT_OK(a->upload(inA, host, 64));
  ASSERT_OK(b->copyFrom(*a, inB, inA, 64));
  float back[16] = {};
  ASSERT_OK(b->download(back, inB, 64));
  EXPECT_EQ(back[1], 2.0f);
  memoryOfA = Allocation();
  EXPECT_EQ(a->upload(inA, host, 64).code(), StatusCode::invalidArgument); // no longer its own
}

TEST(SimDriver, givesNoMoreThanItHas_m5) {
  ThreadPool pool(1);
  auto driver = createSimDriver(pool);
  auto device = driver->open({"GPU:0", 100000}).take();
  Allocation first = device->allocate(60000, "test").take();
  EXPECT_EQ(device->allocate(40001, "test").status().code(), StatusCode::doesNotFit);
  Allocation rest = device->allocate(40000, "test").take(); // exactly full, however the pages fall
  EXPECT_EQ(device->memoryInfo()->free, 0u);
  first = Allocation();
  EXPECT_EQ(device->memoryInfo()->free, 60000u);
}

float *volatile stolen = nullptr;
void steal(void *const *buffers, int64_t, int64_t) { *static_cast<float *>(buffers[0]) = *stolen; }

/// A kernel that reaches past its arguments into a device whose turn it is not ends the program.
TEST(SimDeath, memoryOfOtherDevicesIsInaccessible_d6) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SimBuilder b(1);
  uint32_t kernel = b.addCustomKernel("steal");
  b.addFunction("main");
  b.addOutput("y", {n});
  b.addOutput("there", {n});
  b.function().outputs[1]->device = 1;
  b.on(1, 0, b.addCommand(fb::Opcode::fill)).buffers = {output(1, bytes)};
  b.compute("thief", kernel, SimBuilder::cpu, {}, output(0, bytes), 0, 1);
  RuntimeOptions options;
  options.threads = 1;
  auto runtime = createRuntime(options);
  ASSERT_OK(runtime->kernels().add("steal", steal));
  auto plan = b.load(runtime);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto session = Session::create(*plan).take();
  auto bindings = Bindings::create(*plan, 0u).take();
  float own = 1;
  stolen = &own;
  ASSERT_OK(session->run(*bindings));
  stolen = bindings->output(1u)->dataAs<float>();
  EXPECT_DEATH((void)session->run(*bindings), "");
}

TEST(Sim, enforcesTheLimitOfThePlan_m2) {
  SimBuilder b(1);
  b.addArena(fb::ArenaKind::transient, 3 << 19, 1);
  b.addArena(fb::ArenaKind::variables, 1 << 20, 1);
  b.addFunction("main");
  b.plan.devices[1]->memory_limit = 2 << 20;
  auto runtime = createRuntime();
  auto plan = b.load(runtime);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), StatusCode::doesNotFit);
  EXPECT_EQ(plan.status().message(),
            "'test.gantry': '" + task +
                "GPU:0': the plan (constants 0 bytes, variables 1 MiB, one session 1.5 MiB) needs "
                "2.5 MiB, the limit is 2 MiB and 0 bytes are in use; raise the limit to at least "
                "2.5 MiB");
  SimBuilder fits(1);
  fits.addArena(fb::ArenaKind::transient, 2 << 20, 1);
  fits.addFunction("main");
  fits.plan.devices[1]->memory_limit = 2 << 20;
  World w(fits); // to the last byte
  EXPECT_EQ(Session::create(w.plan).status().code(), StatusCode::doesNotFit);
}

TEST(Sim, deviceKeepsItsSize_d8) {
  SimBuilder small(1), large(1);
  for (SimBuilder *b : {&small, &large}) {
    b->addArena(fb::ArenaKind::transient, 64, 1);
    b->addFunction("main");
  }
  small.plan.devices[1]->memory_limit = 1 << 20;
  large.plan.devices[1]->memory_limit = 2 << 20;
  auto runtime = createRuntime();
  auto first = small.load(runtime), second = large.load(runtime);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(second.status().message(),
            "'test.gantry': '" + task +
                "GPU:0' is simulated with 1 MiB of memory by an earlier plan, now with 2 MiB; load "
                "the plan in another runtime");
}

// ---- virtual time ----

/// A copy and a launch of a millisecond each, on two queues.
void buildOverlap(SimBuilder &b, bool ordered) {
  constexpr uint64_t size = 1000000;
  uint32_t arena = b.addArena(fb::ArenaKind::transient, size + 128, 1);
  b.plan.devices[1]->peak_flops = 1e9;
  b.plan.devices[1]->bandwidth = 1e12;
  auto link = std::make_unique<fb::LinkT>();
  link->from = 0;
  link->to = 1;
  link->bandwidth = 1e9;
  b.plan.links.push_back(std::move(link));
  b.addFunction("main");
  b.addInput("x", {size / 4});
  b.move("copy", fb::CopyKind::hostToDevice, 1, copyQueue, input(0, size), memory(arena, 0, size));
  if (ordered)
    b.order(1, copyQueue, 1, computeQueue);
  b.compute("compute", b.nothing, 1, {}, memory(arena, 1000064, 4), 0, 1).flops = 1000000;
}

/// Before a kernel of a GPU computes.
constexpr double kernelStart = StandInRates::gpuLaunch + StandInRates::gpuLatency;

double endOf(bool ordered) {
  SimBuilder b(1);
  buildOverlap(b, ordered);
  World w(b);
  auto x = Tensor::allocate({ElementType::f32, {250000}});
  EXPECT_TRUE(w.bindings->bindInput(0, *x).ok());
  EXPECT_TRUE(w.session->run(*w.bindings).ok());
  for (const CommandEvent &event : w.session->timeline()) {
    EXPECT_NEAR(event.end - event.start, 1e-3, kernelStart + 1e-9);
    EXPECT_EQ(event.device, w.plan->device(1));
    EXPECT_EQ(event.queue, event.command->name()->str() == "copy" ? copyQueue : computeQueue);
  }
  return w.end();
}

TEST(SimClock, copyAndComputeOverlap_d6) {
  EXPECT_LE(endOf(/*ordered=*/false), 1.1e-3);
  EXPECT_NEAR(endOf(/*ordered=*/true), 2e-3 + kernelStart, 1e-9);
}

TEST(SimClock, aDeviceComputesOneThingAtATime) {
  SimBuilder b(1);
  uint32_t arena = b.addArena(fb::ArenaKind::transient, 128, 1);
  b.plan.devices[1]->peak_flops = 1e9;
  b.addFunction("main");
  for (uint64_t i : {0, 1}) {
    fb::CommandT &command = b.compute("c", b.nothing, 1, {}, memory(arena, 64 * i, 4), 0, 1);
    command.flops = 1000000;
    command.queue = static_cast<uint32_t>(i);
  }
  World w(b);
  auto times = w.session->runTimed(*w.bindings);
  ASSERT_TRUE(times.ok());
  EXPECT_NEAR(static_cast<double>((*times)[0].nanoseconds), 1e6 + 1e9 * kernelStart, 1);
  EXPECT_NEAR(w.end(), 2e-3 + 2 * kernelStart, 1e-9);
}

/// Without rates in the plan there are stand-ins.
TEST(SimClock, assumesRates) {
  SimBuilder b(1);
  uint32_t arena = b.addArena(fb::ArenaKind::transient, 16000, 1);
  b.addFunction("main");
  b.addInput("x", {4000});
  b.move("copy", fb::CopyKind::hostToDevice, 1, 0, input(0, 16000), memory(arena, 0, 16000));
  World w(b);
  auto x = Tensor::allocate({ElementType::f32, {4000}});
  ASSERT_OK(w.bindings->bindInput(0, *x));
  ASSERT_OK(w.session->run(*w.bindings));
  EXPECT_NEAR(w.end(), StandInRates::linkLatency + 16000 / StandInRates::linkBandwidth, 1e-12);
}

} // namespace
} // namespace gantry::runtime::test
