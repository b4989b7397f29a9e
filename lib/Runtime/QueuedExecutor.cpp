// Runs a program on the queues of its devices: everything is enqueued in the program's order, and
// the run is over when all queues are.
//
// Commands of devices that run inline are done where they stand, after the waits before them. At a
// branch or loop the host waits for all queues, since it reads the condition. The order of the
// program is one in which every wait comes after its signal, so an event is recorded before it is
// waited for.
#include "Executors.h"

#include "gantry/Plan/Views.h"
#include "gantry/Runtime/CommandRecorder.h"
#include "gantry/Runtime/Program.h"
#include "gantry/Runtime/ThreadPool.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

namespace gantry::runtime {

namespace {

class QueuedExecutor final : public Executor, Completion {
public:
  QueuedExecutor(const Program &program, ThreadPool &pool)
      : program(program), pool(pool), semaphores(program.function().num_semaphores()) {
    for (Queue *queue : program.queues())
      if (!queue->isOverOnReturn())
        queues.push_back({queue, queue->device().createEvent()});
    for (const Step &step : program.steps())
      if (step.kind == Step::Kind::signal && !step.queue->isOverOnReturn())
        semaphores[step.target] = step.queue->device().createEvent();
  }

  bool runsLater() const override { return true; }

  void start(CommandOrder, std::span<const OutputCopy> outputs,
             RunCompletion &completion) override {
    whole = &completion;
    failure = {};
    Status status = enqueueSteps([](const Step &, auto run) { return run(); });
    std::vector<Queue *> used;
    for (const Own &own : queues)
      used.push_back(own.queue);
    if (status.ok())
      status = enqueueOutputs(outputs, used);
    // One more than there are queues, so that none of them ends the run before all were asked.
    left.store(used.size() + 1);
    for (Queue *queue : used)
      queue->notify(*this);
    // What was wrong with a call came before anything that fails later.
    end(std::move(status));
  }

  Status run(CommandOrder order) override {
    RunWaiter waiter;
    start(order, {}, waiter);
    return waiter.wait();
  }

  /// Each command is waited for, or its time would be that of enqueueing it.
  Status runTimed(CommandOrder, std::vector<CommandEvent> &events) override {
    CommandRecorder recorder(program, events);
    Status status = enqueueSteps([&](const Step &step, auto run) -> Status {
      const double start = recorder.now();
      GANTRY_RETURN_IF_ERROR(run());
      Outcome outcome = step.queue->finish();
      recorder.add(step, start);
      return outcome.status;
    });
    Status rest = joinQueues();
    return status.ok() ? rest : status;
  }

private:
  class RunWaiter final : public RunCompletion {
  public:
    void runFinished(Status status) override {
      std::lock_guard lock(mutex);
      outcome = std::move(status);
      changed.notify_all();
    }
    Status wait() {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return outcome.has_value(); });
      return std::move(*outcome);
    }

  private:
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Status> outcome;
  };

  /// `observe(step, run)` enqueues a launch, copy or fill by run(), whose status it gives.
  template <typename Observe>
  Status enqueueSteps(Observe observe) {
    std::span<const Step> steps = program.steps();
    for (size_t at = 0; at < steps.size();) {
      const Step &step = steps[at];
      GANTRY_RETURN_IF_ERROR(program.checkCancelled(step));
      Status status;
      bool jumps = false;
      switch (step.kind) {
      case Step::Kind::signal:
        status = signal(step);
        break;
      case Step::Kind::wait:
        status = wait(step);
        break;
      case Step::Kind::join:
        GANTRY_RETURN_IF_ERROR(joinQueues());
        break;
      case Step::Kind::jump:
        jumps = true;
        break;
      case Step::Kind::jumpIfFalse: {
        GANTRY_RETURN_IF_ERROR(joinQueues());
        Expected<bool> condition = program.readCondition(step);
        status = condition.status();
        jumps = condition && !*condition;
        break;
      }
      default:
        status = observe(step, [&] { return enqueue(step); });
      }
      if (!status.ok())
        return program.withStep(step, std::move(status));
      at = jumps ? step.target : at + 1;
    }
    return {};
  }

  Status enqueue(const Step &step) {
    if (step.kind == Step::Kind::call) {
      pool.parallelFor(reinterpret_cast<KernelFn>(step.kernel), step.buffers, step.items,
                       step.grain);
      return {};
    }
    step.queue->mark(static_cast<uint32_t>(&step - program.steps().data()));
    GANTRY_RETURN_IF_ERROR(program.perform(step));
    // A command of the host is over before the host goes on, whoever moves its bytes.
    const Device *wanted = program.plan().device(program.commandOf(step).device());
    const bool waits = wanted->runsInline() && wanted != &step.queue->device();
    return waits ? step.queue->finish().status : Status();
  }

  Status signal(const Step &step) {
    Event *event = semaphores[step.target].get();
    return event ? step.queue->record(*event) : Status();
  }

  /// What a queue has signalled whose work is over on return is over already.
  Status wait(const Step &step) {
    Event *event = semaphores[step.target].get();
    if (!event)
      return {};
    return step.queue->isOverOnReturn() ? event->wait() : step.queue->wait(*event);
  }

  Status joinQueues() {
    Failure first;
    for (const Own &own : queues)
      first.add(own.queue->finish());
    return named(first);
  }

  /// Behind all commands, on a queue for each device that has outputs; those join `used`.
  Status enqueueOutputs(std::span<const OutputCopy> outputs, std::vector<Queue *> &used) {
    std::map<Device *, Queue *> joined;
    for (const OutputCopy &copy : outputs) {
      Queue *&queue = joined[copy.device];
      if (!queue) {
        std::unique_ptr<Queue> &own = outputQueues[copy.device];
        if (!own)
          own = copy.device->createQueue();
        queue = own.get();
        used.push_back(queue);
        GANTRY_RETURN_IF_ERROR(waitForAll(*queue));
      }
      queue->mark(static_cast<uint32_t>(program.steps().size()));
      GANTRY_RETURN_IF_ERROR(queue->download(copy.destination, copy.source, copy.bytes));
    }
    return {};
  }

  Status waitForAll(Queue &queue) {
    for (const Own &own : queues) {
      GANTRY_RETURN_IF_ERROR(own.queue->record(*own.end));
      if (&own.queue->device().driver() == &queue.device().driver())
        GANTRY_RETURN_IF_ERROR(queue.wait(*own.end));
    }
    return {};
  }

  /// The failure of the earliest step.
  struct Failure {
    std::optional<Outcome> outcome;
    void add(Outcome other) {
      if (!other.status.ok() && (!outcome || other.mark < outcome->mark))
        outcome = std::move(other);
    }
  };

  Status named(Failure &first) const {
    if (!first.outcome)
      return {};
    const uint32_t step = first.outcome->mark;
    Status &status = first.outcome->status;
    return step < program.steps().size()
               ? program.withStep(program.steps()[step], std::move(status))
               : std::move(status);
  }

  void finished(Outcome outcome) override {
    {
      std::lock_guard lock(mutex);
      failure.add(std::move(outcome));
    }
    end({});
  }

  /// One of those that the run waits for is over. The last one takes the next run's place, so the
  /// members are read before.
  void end(Status atOnce) {
    if (!atOnce.ok()) {
      std::lock_guard lock(mutex);
      enqueueing = std::move(atOnce);
    }
    if (left.fetch_sub(1) != 1)
      return;
    Status status = enqueueing.ok() ? named(failure) : std::move(enqueueing);
    enqueueing = {};
    whole->runFinished(std::move(status));
  }

  struct Own {
    Queue *queue;
    std::unique_ptr<Event> end; ///< of the commands of a run
  };

  const Program &program;
  ThreadPool &pool;
  std::vector<Own> queues; ///< of devices that do not run inline
  std::map<Device *, std::unique_ptr<Queue>> outputQueues;
  std::vector<std::unique_ptr<Event>> semaphores; ///< null where an inline device signals
  // Of the run that goes on:
  RunCompletion *whole = nullptr;
  std::atomic<size_t> left{0};
  std::mutex mutex; ///< of the next two, until all are over
  Failure failure;
  Status enqueueing;
};

} // namespace

std::unique_ptr<Executor> createQueuedExecutor(const Program &program, ThreadPool &pool) {
  return std::make_unique<QueuedExecutor>(program, pool);
}

} // namespace gantry::runtime
