#include "SimRun.h"

#include "gantry/Plan/Views.h"
#include "gantry/Runtime/ThreadPool.h"
#include "gantry/Support/Bytes.h"

#include <algorithm>

namespace gantry::runtime {

namespace fb = plan::fb;
using plan::countOf;
using plan::deviceOf;

namespace {

/// "bytes 64 to 128 of arena 2"
std::string describeBuffer(const fb::BufferRef &buffer) {
  const char *space = buffer.space() == fb::Space::arena   ? "arena "
                      : buffer.space() == fb::Space::input ? "input "
                                                           : "output ";
  return "bytes " + std::to_string(buffer.offset()) + " to " +
         std::to_string(buffer.offset() + buffer.size()) + " of " + space +
         std::to_string(buffer.index());
}

} // namespace

SimRun::SimRun(const Program &program, SimDriver &machine, ThreadPool &pool, CommandOrder order,
               std::vector<CommandEvent> &timeline)
    : program(program), machine(machine), pool(pool), order(order), timeline(timeline),
      metadata(program.plan().metadata()), function(program.function()), clock(metadata, function),
      semaphores(function.num_semaphores()), random(order.seed), races(0, 0) {
  for (const Step &step : program.steps()) {
    const fb::Command &command = commandOf(step);
    if (queueIndex.try_emplace({command.device(), command.queue()}, queues.size()).second)
      queues.push_back({command.device(), command.queue(), 0, {}, 0});
  }
  races = RaceCheck(queues.size(), semaphores.size());
}

bool SimRun::isJoin(const Step &step) {
  return step.kind == Step::Kind::join || step.kind == Step::Kind::jump ||
         step.kind == Step::Kind::jumpIfFalse;
}

Status SimRun::run() {
  auto end = static_cast<StepIndex>(program.steps().size());
  for (StepIndex at = 0; at < end;) {
    for (; at < end && !isJoin(stepAt(at)); ++at)
      enqueue(at);
    GANTRY_RETURN_IF_ERROR(runQueues());
    if (at == end)
      break;
    Expected<StepIndex> next = runControl(at);
    if (!next)
      return withCommand(metadata, commandOf(stepAt(at)), next.status());
    at = *next;
  }
  return {};
}

void SimRun::enqueue(StepIndex index) {
  const fb::Command &command = commandOf(stepAt(index));
  queues[queueIndex[{command.device(), command.queue()}]].todo.push_back(index);
  // In a later pass of a loop the signal of the pass before must not count.
  if (command.opcode() == fb::Opcode::signal)
    semaphores[command.signal()].signalled = false;
}

/// Joins all queues, and decides where to go on.
Expected<SimRun::StepIndex> SimRun::runControl(StepIndex index) {
  join();
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

void SimRun::join() {
  double latest = 0;
  for (const Queue &queue : queues)
    latest = std::max(latest, queue.time);
  for (Queue &queue : queues)
    queue.time = latest;
  races.join();
}

Status SimRun::runQueues() {
  size_t left = 0;
  for (const Queue &queue : queues)
    left += queue.todo.size();
  for (; left > 0; --left) {
    Queue *queue = choose();
    if (!queue)
      return deadlock();
    GANTRY_RETURN_IF_ERROR(start(*queue));
  }
  for (Queue &queue : queues) {
    queue.todo.clear();
    queue.next = 0;
  }
  return {};
}

bool SimRun::mayStart(const Queue &queue) const {
  if (queue.next == queue.todo.size())
    return false;
  const Step &step = stepAt(queue.todo[queue.next]);
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
  return std::max(queue.time, busyUntil[clock.resource(commandOf(step))]);
}

SimRun::Queue *SimRun::choose() {
  std::vector<Queue *> ready;
  for (Queue &queue : queues)
    if (mayStart(queue))
      ready.push_back(&queue);
  if (ready.empty())
    return nullptr;
  if (order.isRandom)
    return ready[random() % ready.size()];
  // Ties go by the plan's order, so that the timeline is the same every time.
  auto key = [&](Queue *queue) { return std::pair(startOf(*queue), queue->todo[queue->next]); };
  return *std::min_element(ready.begin(), ready.end(),
                           [&](Queue *a, Queue *b) { return key(a) < key(b); });
}

Status SimRun::start(Queue &queue) {
  StepIndex index = queue.todo[queue.next];
  const Step &step = stepAt(index);
  GANTRY_RETURN_IF_ERROR(program.checkCancelled(step));
  const fb::Command &command = commandOf(step);
  double begin = startOf(queue);
  auto number = static_cast<size_t>(&queue - queues.data());
  races.begin(number);
  if (step.kind == Step::Kind::signal) {
    semaphores[step.target] = {true, begin};
    races.signal(number, step.target);
  } else if (step.kind == Step::Kind::wait) {
    races.wait(number, step.target);
  } else {
    Status status = checkArguments(step);
    if (!status.ok())
      return withCommand(metadata, command, std::move(status));
    GANTRY_RETURN_IF_ERROR(checkOrder(queue, index));
    status = perform(step);
    if (!status.ok())
      return withCommand(metadata, command, std::move(status));
    double end = begin + clock.duration(command);
    busyUntil[clock.resource(command)] = end;
    timeline.push_back(
        {&command, program.plan().device(command.device()), queue.number, begin, end});
    queue.time = end;
    ++queue.next;
    return {};
  }
  queue.time = begin;
  ++queue.next;
  return {};
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
        command.condition() ? *command.condition() : *command.buffers()->Get(i);
    if (buffer.size() == 0)
      continue;
    bool isLaunch = command.opcode() == fb::Opcode::launch;
    Device &wanted =
        *program.plan().device(isLaunch ? command.device() : deviceOf(metadata, function, buffer));
    std::string owner = machine.ownerOf(step.buffers[i]);
    bool simulated = machine.owns(wanted);
    if (simulated ? machine.holds(wanted, step.buffers[i], buffer.size()) : owner.empty())
      continue;
    std::string where = owner.empty() ? "the host" : "'" + owner + "'";
    if (simulated && owner == wanted.name())
      where += ", but outside of what is allocated there";
    return Status::invalidArgument("argument " + std::to_string(i) + " (" + describeBuffer(buffer) +
                                   ") lies in the memory of " + where + "; expected an arena of '" +
                                   wanted.name() + "'");
  }
  return {};
}

Status SimRun::checkOrder(const Queue &queue, StepIndex index) {
  const Step &step = stepAt(index);
  const fb::Command &command = commandOf(step);
  auto number = static_cast<size_t>(&queue - queues.data());
  for (uint32_t i = 0; i < step.numBuffers; ++i) {
    RaceCheck::Use use{index, i, plan::writes(command, i)};
    auto begin = reinterpret_cast<uintptr_t>(step.buffers[i]);
    uint64_t size = command.buffers()->Get(i)->size();
    if (auto other = races.access(number, use, begin, begin + size))
      return missingWait(*other, use);
  }
  return {};
}

/// Names the two in the plan's order, whichever came first in this run.
Status SimRun::missingWait(RaceCheck::Use a, RaceCheck::Use b) const {
  if (b.step < a.step)
    std::swap(a, b);
  auto use = [&](const RaceCheck::Use &each) {
    const fb::Command &command = commandOf(stepAt(each.step));
    return describeCommand(metadata, command) + " (queue " + std::to_string(command.queue()) +
           ") " + (each.writes ? "writes " : "reads ") +
           describeBuffer(*command.buffers()->Get(each.buffer));
  };
  std::string first = describeCommand(metadata, commandOf(stepAt(a.step)));
  std::string second = describeCommand(metadata, commandOf(stepAt(b.step)));
  return Status::corrupt("missing wait: " + use(a) + ", " + use(b) +
                         ", and nothing orders them; signal after " + first + " and wait before " +
                         second);
}

Status SimRun::deadlock() const {
  for (const Queue &queue : queues)
    if (queue.next < queue.todo.size()) {
      const Step &step = stepAt(queue.todo[queue.next]);
      return withCommand(metadata, commandOf(step),
                         Status::corrupt("it waits for semaphore " + std::to_string(step.target) +
                                         ", which nothing signals"));
    }
  return {};
}

} // namespace gantry::runtime
