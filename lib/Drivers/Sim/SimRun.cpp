#include "SimRun.h"

#include "gantry/Plan/Views.h"
#include "gantry/Runtime/ThreadPool.h"
#include "gantry/Support/Format.h"

#include <algorithm>

namespace gantry::runtime {

namespace fb = plan::fb;
using plan::countOf;
using plan::deviceOf;

namespace {

/// "bytes 64 to 128 of arena 2"
std::string describeBuffer(const fb::BufferRef &buffer) {
  const char *space = buffer.space() == fb::Space::arena   ? "arena"
                      : buffer.space() == fb::Space::input ? "input"
                                                           : "output";
  return format("bytes %llu to %llu of %s %u", static_cast<unsigned long long>(buffer.offset()),
                static_cast<unsigned long long>(buffer.offset() + buffer.size()), space,
                buffer.index());
}

} // namespace

SimRun::SimRun(const Program &program, SimDriver &machine, ThreadPool &pool, CommandOrder order,
               std::vector<CommandEvent> &timeline)
    : program(program), machine(machine), pool(pool), wanted(order), timeline(timeline),
      metadata(program.plan().metadata()), function(program.function()), clock(metadata, function),
      tasks(program.numTasks()), semaphores(function.num_semaphores()), random(order.seed) {
  makeQueues();
}

void SimRun::makeQueues() {
  for (StepIndex index = 0; index < program.steps().size(); ++index) {
    const Step &step = stepAt(index);
    const fb::Command &command = commandOf(step);
    Task &task = tasks[step.task];
    task.steps.push_back(index);
    if (!isJoin(step) &&
        queueIndex.try_emplace({command.device(), command.queue()}, queues.size()).second)
      queues.push_back({command.device(), command.queue(), step.task, task.numQueues++, 0, {}, 0});
  }
  for (Task &task : tasks)
    task.races = RaceCheck(task.numQueues, semaphores.size());
}

bool SimRun::isJoin(const Step &step) {
  return step.kind == Step::Kind::join || step.kind == Step::Kind::jump ||
         step.kind == Step::Kind::jumpIfFalse;
}

SimRun::Queue &SimRun::queueOf(const Step &step) {
  const fb::Command &command = commandOf(step);
  return queues[queueIndex.at({command.device(), command.queue()})];
}

Status SimRun::run() {
  for (Task &task : tasks)
    GANTRY_RETURN_IF_ERROR(goOn(task));
  while (Queue *queue = choose())
    GANTRY_RETURN_IF_ERROR(start(*queue));
  return deadlock();
}

/// A task whose queues are empty, up to where they have to be empty again.
Status SimRun::goOn(Task &task) {
  while (task.left == 0 && task.next < task.steps.size()) {
    for (; task.next < task.steps.size() && !isJoin(stepAt(task.steps[task.next])); ++task.next)
      enqueue(task.steps[task.next]);
    if (task.left != 0 || task.next == task.steps.size())
      break;
    const StepIndex at = task.steps[task.next];
    Expected<StepIndex> next = runControl(task, at);
    if (!next)
      return withCommand(metadata, commandOf(stepAt(at)), next.status());
    // Where it goes on there may be steps of others first.
    task.next =
        static_cast<size_t>(std::ranges::lower_bound(task.steps, *next) - task.steps.begin());
  }
  return {};
}

void SimRun::enqueue(StepIndex index) {
  const Step &step = stepAt(index);
  Queue &queue = queueOf(step);
  if (queue.next == queue.todo.size()) {
    queue.todo.clear();
    queue.next = 0;
  }
  queue.todo.push_back(index);
  ++tasks[queue.task].left;
  // In a later pass of a loop the signal of the pass before must not count.
  if (step.kind == Step::Kind::signal)
    semaphores[step.target].signalled = false;
}

/// Joins the task's queues, and decides where to go on.
Expected<SimRun::StepIndex> SimRun::runControl(Task &task, StepIndex index) {
  join(task);
  const Step &step = stepAt(index);
  if (step.kind == Step::Kind::join)
    return index + 1;
  if (step.kind == Step::Kind::jump)
    return step.target;
  GANTRY_RETURN_IF_ERROR(checkArguments(step));
  Expected<bool> condition = program.readCondition(step);
  if (!condition)
    return condition.status();
  return *condition ? index + 1 : step.target;
}

void SimRun::join(Task &task) {
  double latest = 0;
  auto isOwn = [&](const Queue &queue) { return &tasks[queue.task] == &task; };
  for (const Queue &queue : queues)
    if (isOwn(queue))
      latest = std::max(latest, queue.time);
  for (Queue &queue : queues)
    if (isOwn(queue))
      queue.time = latest;
  task.races.join();
}

bool SimRun::isHead(const Step &step) {
  const Queue &queue = queueOf(step);
  return queue.next < queue.todo.size() && &stepAt(queue.todo[queue.next]) == &step;
}

bool SimRun::mayStart(const Queue &queue) {
  if (queue.next == queue.todo.size())
    return false;
  const Step &step = stepAt(queue.todo[queue.next]);
  if (step.kind == Step::Kind::exchange) // the first stands for all
    return step.target == 0 && std::ranges::all_of(program.membersOf(step),
                                                   [&](const Step &each) { return isHead(each); });
  return step.kind != Step::Kind::wait || semaphores[step.target].signalled;
}

/// When the head of the queue can start: the queue is done with what came before, and what the
/// command needs is free.
double SimRun::startOf(const Queue &queue) {
  const Step &step = stepAt(queue.todo[queue.next]);
  if (step.kind == Step::Kind::signal)
    return queue.time;
  if (step.kind == Step::Kind::wait)
    return std::max(queue.time, semaphores[step.target].time);
  if (step.kind != Step::Kind::exchange)
    return std::max(queue.time, busyUntil[clock.resource(commandOf(step))]);
  double begin = 0;
  for (const Step &member : program.membersOf(step))
    begin = std::max(begin, queueOf(member).time);
  for (const plan::CommandClock::Resource &way : clock.waysOf(commandOf(step)))
    begin = std::max(begin, busyUntil[way]);
  return begin;
}

SimRun::Queue *SimRun::choose() {
  std::vector<Queue *> ready;
  for (Queue &queue : queues)
    if (mayStart(queue))
      ready.push_back(&queue);
  if (ready.empty())
    return nullptr;
  if (wanted.isRandom)
    return ready[random() % ready.size()];
  // Ties go by the plan's order, so that the timeline is the same every time.
  auto key = [&](Queue *queue) { return std::pair(startOf(*queue), queue->todo[queue->next]); };
  return *std::min_element(ready.begin(), ready.end(),
                           [&](Queue *a, Queue *b) { return key(a) < key(b); });
}

Status SimRun::start(Queue &queue) {
  const Step &step = stepAt(queue.todo[queue.next]);
  GANTRY_RETURN_IF_ERROR(program.checkCancelled(step));
  const double begin = startOf(queue);
  if (step.kind == Step::Kind::exchange)
    return exchange(step, begin);
  tasks[queue.task].races.begin(queue.local);
  if (step.kind == Step::Kind::signal || step.kind == Step::Kind::wait)
    return order(queue, begin);
  return runCommand(queue, begin);
}

Status SimRun::order(Queue &queue, double begin) {
  const Step &step = stepAt(queue.todo[queue.next]);
  RaceCheck &races = tasks[queue.task].races;
  if (step.kind == Step::Kind::signal) {
    semaphores[step.target] = {true, begin};
    races.signal(queue.local, step.target);
  } else {
    races.wait(queue.local, step.target);
  }
  return finish(queue, begin);
}

Status SimRun::runCommand(Queue &queue, double begin) {
  const fb::Command &command = commandOf(stepAt(queue.todo[queue.next]));
  const double end = begin + clock.duration(command);
  GANTRY_RETURN_IF_ERROR(performHead(queue, begin, end));
  busyUntil[clock.resource(command)] = end;
  return finish(queue, end);
}

/// The head of the queue, once its arguments and its order were found to be right.
Status SimRun::performHead(Queue &queue, double begin, double end) {
  const StepIndex index = queue.todo[queue.next];
  const Step &step = stepAt(index);
  const fb::Command &command = commandOf(step);
  Status status = checkArguments(step);
  if (status.ok()) {
    GANTRY_RETURN_IF_ERROR(checkOrder(queue, index));
    status = perform(step);
  }
  if (!status.ok())
    return withCommand(metadata, command, std::move(status));
  timeline.push_back({&command, program.plan().device(command.device()), queue.number, begin, end});
  return {};
}

/// All members at once; the bytes move with the last one.
Status SimRun::exchange(const Step &first, double begin) {
  const fb::Command &command = commandOf(first);
  const double end = begin + clock.duration(command);
  for (const Step &member : program.membersOf(first)) {
    Queue &queue = queueOf(member);
    tasks[queue.task].races.begin(queue.local);
    GANTRY_RETURN_IF_ERROR(performHead(queue, begin, end));
  }
  for (const plan::CommandClock::Resource &way : clock.waysOf(command))
    busyUntil[way] = end;
  for (const Step &member : program.membersOf(first))
    GANTRY_RETURN_IF_ERROR(finish(queueOf(member), end));
  return {};
}

/// The head of the queue is done.
Status SimRun::finish(Queue &queue, double end) {
  Task &task = tasks[queue.task];
  queue.time = end;
  ++queue.next;
  return --task.left == 0 ? goOn(task) : Status();
}

/// Commands of the host run while no device's memory is open; drivers open their own.
Status SimRun::perform(const Step &step) {
  if (step.kind == Step::Kind::call)
    return machine.runOnHost([&] {
      pool.parallelFor(reinterpret_cast<KernelFn>(step.kernel), step.buffers, step.items,
                       step.grain);
      return Status();
    });
  bool onHost = step.queue->device().runsInline();
  return onHost ? machine.runOnHost([&] { return program.perform(step); }) : program.perform(step);
}

/// Every argument lies in memory of the device that is to use it.
Status SimRun::checkArguments(const Step &step) const {
  const fb::Command &command = commandOf(step);
  for (uint32_t i = 0; i < step.numBuffers; ++i) {
    const fb::BufferRef &buffer =
        command.condition() ? program.conditionOf(step) : *command.buffers()->Get(i);
    if (buffer.size() == 0)
      continue;
    bool isLaunch = command.opcode() == fb::Opcode::launch;
    Device &wanted =
        *program.plan().device(isLaunch ? command.device() : deviceOf(metadata, function, buffer));
    std::string owner = machine.ownerOf(step.buffers[i]);
    bool simulated = machine.owns(wanted);
    if (simulated ? machine.holds(wanted, step.buffers[i], buffer.size()) : owner.empty())
      continue;
    const bool isOutside = simulated && owner == wanted.name();
    const std::string where = owner.empty() ? "the host" : "'" + owner + "'";
    return Status::invalidArgument(
        format("argument %u (%s) lies in the memory of %s%s; expected an arena of '%s'", i,
               describeBuffer(buffer).c_str(), where.c_str(),
               isOutside ? ", but outside of what is allocated there" : "", wanted.name().c_str()));
  }
  return {};
}

Status SimRun::checkOrder(const Queue &queue, StepIndex index) {
  const Step &step = stepAt(index);
  const fb::Command &command = commandOf(step);
  for (uint32_t i = 0; i < step.numBuffers; ++i) {
    RaceCheck::Use use{index, i, plan::writes(command, i)};
    auto begin = reinterpret_cast<uintptr_t>(step.buffers[i]);
    uint64_t size = command.buffers()->Get(i)->size();
    if (auto other = tasks[queue.task].races.access(queue.local, use, begin, begin + size))
      return missingWait(*other, use);
  }
  return {};
}

/// Names the two in the plan's order, whichever came first in this run.
Status SimRun::missingWait(RaceCheck::Use a, RaceCheck::Use b) const {
  if (b.step < a.step)
    std::swap(a, b);
  auto name = [&](const RaceCheck::Use &each) {
    return describeCommand(metadata, commandOf(stepAt(each.step)));
  };
  auto use = [&](const RaceCheck::Use &each) {
    const fb::Command &command = commandOf(stepAt(each.step));
    return format("%s (queue %u) %s %s", name(each).c_str(), command.queue(),
                  each.writes ? "writes" : "reads",
                  describeBuffer(*command.buffers()->Get(each.buffer)).c_str());
  };
  return Status::corrupt(
      format("missing wait: %s, %s, and nothing orders them; signal after %s and "
             "wait before %s",
             use(a).c_str(), use(b).c_str(), name(a).c_str(), name(b).c_str()));
}

Status SimRun::deadlock() const {
  for (const Queue &queue : queues)
    if (queue.next < queue.todo.size()) {
      const Step &step = stepAt(queue.todo[queue.next]);
      return withCommand(metadata, commandOf(step),
                         Status::corrupt(step.kind == Step::Kind::exchange
                                             ? "it waits for members that do not come"
                                             : format("it waits for semaphore %u, which nothing "
                                                      "signals",
                                                      step.target)));
    }
  return {};
}

} // namespace gantry::runtime
