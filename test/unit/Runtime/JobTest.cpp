// Jobs of several tasks in one process: on simulated devices, whose memory is closed to other
// tasks, in any order of commands, and on the host.
#include "gantry/Drivers/SimDriver.h"
#include "gantry/Plan/CommandClock.h"
#include "gantry/Plan/Ledger.h"
#include "gantry/Runtime/Session.h"

#include "Runtime/PlanBuilder.h"

namespace gantry::runtime::test {
namespace {

constexpr uint64_t n = 64, bytes = n * sizeof(float);
constexpr uint32_t numTasks = 3, messages = 1;

/// Three tasks with a CPU each; arenas have the numbers of their tasks.
struct JobBuilder : PlanBuilder {
  uint32_t code = addCode(testKernels());
  uint32_t add = addKernel("add_f32", code), twice = addKernel("double_f32", code);
  uint32_t less = addKernel("less_f32", code);

  explicit JobBuilder(const std::string &driver) {
    plan.devices.clear();
    for (uint32_t task = 0; task < numTasks; ++task) {
      auto device = std::make_unique<fb::DeviceT>();
      device->name = "/job:worker/replica:0/task:" + std::to_string(task) + "/device:CPU:0";
      device->driver = driver;
      plan.devices.push_back(std::move(device));
      addArena(fb::ArenaKind::transient, 16 * bytes, task);
    }
    addGroup({0, 1, 2});
    addGroup({0, 1});
    addGroup({2, 0});
  }

  void addGroup(std::vector<uint32_t> devices) {
    plan.groups.push_back(std::make_unique<fb::GroupT>());
    plan.groups.back()->devices = std::move(devices);
  }

  fb::CommandT &on(uint32_t task, uint32_t queue, fb::CommandT &command) {
    command.device = task;
    command.queue = queue;
    function().num_queues = 2;
    return command;
  }

  /// What a queue does behind what another one of its task has done so far.
  void order(uint32_t task, uint32_t from, uint32_t to, uint32_t block = 0) {
    const uint32_t semaphore = function().num_semaphores++;
    on(task, from, addCommand(fb::Opcode::signal, block)).signal = semaphore;
    on(task, to, addCommand(fb::Opcode::wait, block)).signal = semaphore;
  }

  /// All members, side by side; buffers of each, in the order of the group.
  void exchange(fb::ExchangeKind kind, uint32_t group, std::vector<uint64_t> sizes,
                std::vector<std::vector<fb::BufferRef>> buffers, uint32_t block = 0,
                std::vector<uint32_t> rows = {}) {
    const std::vector<uint32_t> devices = plan.groups[group]->devices;
    for (uint32_t device : devices)
      order(device, 0, messages, block);
    auto about = std::make_unique<fb::ExchangeT>();
    about->kind = kind, about->group = group;
    about->sizes = std::move(sizes), about->rows = std::move(rows);
    about->name = "e" + std::to_string(plan.exchanges.size());
    plan.exchanges.push_back(std::move(about));
    for (uint32_t rank = 0; rank < devices.size(); ++rank) {
      fb::Opcode opcode = fb::Opcode::part;
      if (kind == fb::ExchangeKind::message)
        opcode = rank == 0 ? fb::Opcode::send : fb::Opcode::receive;
      fb::CommandT &command = on(devices[rank], messages, addCommand(opcode, block));
      command.buffers = buffers[rank];
      command.copy_kind = fb::CopyKind::betweenTasks;
      command.exchange = static_cast<uint32_t>(plan.exchanges.size() - 1);
      command.rank = rank;
    }
    for (uint32_t device : devices)
      order(device, messages, 0, block);
  }

  fb::CommandT &nest(fb::Opcode opcode, std::vector<fb::BufferRef> conditions,
                     std::vector<uint32_t> blocks, uint32_t block = 0) {
    fb::CommandT &command = addCommand(opcode, block);
    command.device = conditions[0].index();
    command.condition = std::make_unique<fb::BufferRef>(conditions[0]);
    command.conditions = std::move(conditions);
    command.blocks = std::move(blocks);
    return command;
  }
};

fb::BufferRef at(uint32_t task, uint64_t slot, uint64_t size = bytes) {
  return memory(task, slot * bytes, size);
}

/// y0: 2 x0 and 2 x1 and 2 x2, gathered. y1: what task 1 gets of chunks, added to what task 0 sent.
/// y2: x0, broadcast, doubled while its first element is below 100, in a loop of tasks 0 and 2.
void buildJob(JobBuilder &b) {
  b.addFunction("main");
  for (uint32_t task = 0; task < numTasks; ++task) {
    b.addInput("x" + std::to_string(task), {n});
    b.function().inputs.back()->device = task;
    b.addOutput("y" + std::to_string(task), {task == 0 ? 3 * int64_t(n) : int64_t(n)});
    b.function().outputs.back()->device = task;
  }
  b.addInput("limit", {1});
  b.function().inputs.back()->device = 2;
  for (uint32_t task = 0; task < numTasks; ++task)
    b.on(task, 0, b.launch(b.twice, {input(task, bytes)}, {at(task, 0)}, n));
  b.exchange(fb::ExchangeKind::allGather, 0, {bytes, bytes, bytes},
             {{at(0, 0), output(0, 3 * bytes)},
              {at(1, 0), at(1, 1, 3 * bytes)},
              {at(2, 0), at(2, 1, 3 * bytes)}});
  // A chunk of a quarter for each of the first two, none for the last; task 1 brings two rows.
  const uint64_t quarter = bytes / 4;
  b.exchange(fb::ExchangeKind::allToAll, 0, {quarter, quarter, 0},
             {{at(0, 0, 2 * quarter), at(0, 5, 4 * quarter)},
              {at(1, 0, 4 * quarter), at(1, 5, 4 * quarter)},
              {at(2, 0, 2 * quarter), at(2, 5, 0)}},
             0, {1, 2, 1});
  b.exchange(fb::ExchangeKind::message, 1, {bytes}, {{input(0, bytes)}, {at(1, 6)}});
  b.on(1, 0, b.launch(b.add, {at(1, 5), at(1, 6)}, {output(1, bytes)}, n));
  b.exchange(fb::ExchangeKind::broadcast, 0, {bytes}, {{input(0, bytes)}, {at(1, 7)}, {at(2, 7)}});
  const uint32_t condition = b.addBlock(), body = b.addBlock();
  b.nest(fb::Opcode::loop, {at(0, 9, 1), at(2, 9, 1)}, {condition, body});
  b.on(2, 0, b.launch(b.less, {at(2, 7, 4), input(3, 4)}, {at(2, 9, 1)}, 1, 1, condition));
  b.exchange(fb::ExchangeKind::message, 2, {1}, {{at(2, 9, 1)}, {at(0, 9, 1)}}, condition);
  b.on(0, 0, b.launch(b.twice, {at(0, 0)}, {at(0, 10)}, n, 1, body));
  b.on(2, 0, b.launch(b.twice, {at(2, 7)}, {at(2, 8)}, n, 1, body));
  b.on(2, 0, b.copy(at(2, 8), at(2, 7), body));
  b.on(2, 0, b.copy(at(2, 7), output(2, bytes)));
}

struct JobWorld {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const LoadedPlan> plan;
  std::shared_ptr<Session> session;
  std::shared_ptr<Bindings> bindings;
  std::vector<Tensor> outputs;

  explicit JobWorld(PlanBuilder &builder) {
    RuntimeOptions options;
    options.threads = 1;
    runtime = createRuntime(std::move(options));
    auto loaded = builder.load(runtime);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    if (!loaded)
      return;
    plan = loaded.take();
    auto made = Session::create(plan);
    EXPECT_TRUE(made.ok()) << made.status().message();
    session = made.take();
    bindings = Bindings::create(plan, 0u).take();
  }

  void bind(unsigned index, std::vector<float> values) {
    auto tensor = Tensor::allocate({ElementType::f32, {static_cast<int64_t>(values.size())}});
    std::copy(values.begin(), values.end(), tensor->dataAs<float>());
    ASSERT_OK(bindings->bindInput(index, *tensor));
  }

  void bindAll() {
    for (unsigned task = 0; task < numTasks; ++task) {
      std::vector<float> values(n);
      for (uint64_t i = 0; i < n; ++i)
        values[i] = static_cast<float>(i + 1) + 1000 * static_cast<float>(task);
      bind(task, values);
    }
    bind(3, {100});
    // On the host, wherever the outputs are.
    for (unsigned index = 0; index < numTasks; ++index) {
      outputs.push_back(*Tensor::allocate(outputType(index)));
      ASSERT_OK(bindings->bindOutput(index, outputs.back()));
    }
  }
  static TensorType outputType(unsigned index) {
    return {ElementType::f32, {static_cast<int64_t>(index == 0 ? 3 * n : n)}};
  }

  std::vector<float> output(unsigned index, uint64_t count = n) {
    const auto *data = outputs[index].dataAs<float>();
    return {data, data + count};
  }

  void checkOutputs() {
    const std::vector<float> y0 = output(0, 3 * n), y1 = output(1), y2 = output(2);
    auto x = [](uint64_t task, uint64_t i) {
      return static_cast<float>(i + 1) + 1000 * static_cast<float>(task);
    };
    // Rows of quarters: task 0's second, both of task 1 for it, task 2's second.
    const std::pair<uint64_t, uint64_t> rows[] = {{0, 16}, {1, 32}, {1, 48}, {2, 16}};
    for (uint64_t i = 0; i < n; ++i) {
      for (uint64_t task = 0; task < numTasks; ++task)
        ASSERT_EQ(y0[task * n + i], 2 * x(task, i));
      const auto &[task, begin] = rows[i / 16];
      ASSERT_EQ(y1[i], 2 * x(task, begin + i % 16) + x(0, i));
      ASSERT_EQ(y2[i], 128 * x(0, i));
    }
  }
};

TEST(Job, runsInAnyOrder_w5) {
  JobBuilder b("sim");
  buildJob(b);
  JobWorld w(b);
  w.bindAll();
  ASSERT_OK(w.session->run(*w.bindings));
  w.checkOutputs();
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    w.session->setCommandOrder(CommandOrder::random(seed));
    ASSERT_OK(w.session->run(*w.bindings));
    w.checkOutputs();
  }
}

/// Without a simulated machine the tasks take turns in the plan's order.
TEST(Job, runsOnTheHost_w5) {
  JobBuilder b("host");
  buildJob(b);
  JobWorld w(b);
  w.bindAll();
  ASSERT_OK(w.session->run(*w.bindings));
  w.checkOutputs();
}

TEST(Job, countsBothEnds_w3) {
  JobBuilder b("sim");
  buildJob(b);
  JobWorld w(b);
  w.bindAll();
  ASSERT_OK(w.session->run(*w.bindings));
  const plan::Ledger ledger = plan::Ledger::of(w.plan->metadata(), *w.plan->functions()[0].source);
  const uint64_t quarter = bytes / 4;
  const uint64_t sent[] = {2 * bytes + quarter + bytes + 2 * bytes, 2 * bytes + 2 * quarter,
                           2 * bytes + 2 * quarter};
  const uint64_t received[] = {2 * bytes + 3 * quarter, 2 * bytes + 2 * quarter + 2 * bytes,
                               2 * bytes + bytes};
  plan::CopyTally total;
  for (uint32_t task = 0; task < numTasks; ++task) {
    const plan::CopyTally &planned = ledger.perRun[task];
    EXPECT_EQ(planned.sent.bytes, sent[task]) << task;
    EXPECT_EQ(planned[fb::CopyKind::betweenTasks].bytes, received[task]) << task;
    // What the loop adds: its condition is tested eight times.
    plan::CopyTally counted = w.plan->device(task)->stats().run;
    counted.sent.bytes -= task == 2 ? 8 : 0;
    counted.sent.copies -= task == 2 ? 8 : 0;
    counted.sent.transfers = counted.sent.copies;
    EXPECT_EQ(counted.sent, planned.sent) << task;
    EXPECT_EQ(counted[fb::CopyKind::betweenTasks].bytes - (task == 0 ? 8 : 0), received[task]);
    EXPECT_EQ(ledger.inside[task].sent.copies, task == 2 ? 1u : 0u);
  }
}

/// An exchange begins when its last member has come, and takes the network's time; the tasks that
/// it does not join go on meanwhile.
TEST(Job, waitsForAllMembers_d6) {
  JobBuilder b("sim");
  buildJob(b);
  JobWorld w(b);
  w.bindAll();
  ASSERT_OK(w.session->run(*w.bindings));
  const plan::CommandClock clock(w.plan->metadata(), *w.plan->functions()[0].source);
  std::map<uint32_t, std::pair<double, double>> first;
  double launched = 0;
  for (const CommandEvent &event : w.session->timeline()) {
    if (event.command->opcode() == fb::Opcode::launch && first.empty())
      launched = std::max(launched, event.end);
    if (!plan::isExchange(*event.command) || event.command->exchange() != 0)
      continue;
    first[event.command->rank()] = {event.start, event.end};
    EXPECT_DOUBLE_EQ(event.end - event.start, clock.duration(*event.command));
  }
  ASSERT_EQ(first.size(), numTasks);
  for (const auto &[rank, time] : first) {
    EXPECT_EQ(time, first[0]);
    EXPECT_GE(time.first, launched);
  }
  EXPECT_GT(first[0].second, first[0].first);
}

TEST(Job, isPredicted_d6) {
  JobBuilder b("sim");
  buildJob(b);
  b.function().blocks[0]->commands.erase(
      std::find_if(b.function().blocks[0]->commands.begin(), b.function().blocks[0]->commands.end(),
                   [](const auto &command) { return command->opcode == fb::Opcode::loop; }));
  b.function().blocks.resize(1);
  b.plan.exchanges.pop_back();
  b.plan.groups.pop_back();
  JobWorld w(b);
  w.bindAll();
  ASSERT_OK(w.session->run(*w.bindings));
  std::map<const fb::Command *, double> ran;
  for (const CommandEvent &event : w.session->timeline())
    ran[event.command] = event.end;
  const auto predicted = plan::predictRun(w.plan->metadata(), *w.plan->functions()[0].source);
  ASSERT_EQ(predicted.size(), ran.size());
  for (const plan::Moment &moment : predicted)
    EXPECT_DOUBLE_EQ(moment.end, ran.at(moment.command));
}

} // namespace
} // namespace gantry::runtime::test
