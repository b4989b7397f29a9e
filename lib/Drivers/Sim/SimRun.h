// Runs a function of a plan that has simulated devices: discrete events, one command at a time.
//
// Commands of one (device, queue) run in the plan's order; a wait holds its queue until the
// semaphore is signalled. Of the commands at the heads of their queues the one that can start first
// on the virtual clock runs next, or with CommandOrder::random any of those that may.
//
// A branch or loop joins all queues, where its condition is read and where its blocks end: this is
// what the plan's validator assumes when it lets no wait rely on a signal of a block that has
// ended. Between joins all order comes from queues, signals and waits, and a conflict that they
// leave open is an error that names both commands.
//
// The tasks of a job are each at a place of its own in branches and loops, on one clock. They meet
// in exchanges alone, which happen when all members are at the heads of their queues, and take the
// network's time.
#pragma once

#include "RaceCheck.h"
#include "SimDriver.h"
#include "gantry/Plan/CommandClock.h"
#include "gantry/Runtime/Executor.h"
#include "gantry/Runtime/Program.h"

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace gantry::runtime {

/// One run of one program; made for it and then dropped.
class SimRun {
public:
  SimRun(const Program &program, SimDriver &machine, ThreadPool &pool, CommandOrder order,
         std::vector<CommandEvent> &timeline);

  /// CORRUPT for a missing wait, INVALID_ARGUMENT for an argument in foreign memory; both before
  /// the command runs. `timeline` gets what ran, in the order in which it did.
  Status run();

private:
  using StepIndex = uint32_t;
  struct Queue {
    uint32_t device = 0, number = 0;
    size_t task = 0;  ///< of `tasks`
    size_t local = 0; ///< its place among those of the task
    double time = 0;  ///< when its last command ended
    std::vector<StepIndex> todo;
    size_t next = 0;
  };
  struct Task {
    std::vector<StepIndex> steps; ///< of the program, those that are its own
    size_t next = 0;              ///< of these, the first that is not on a queue yet
    size_t left = 0;              ///< on its queues
    size_t numQueues = 0;
    RaceCheck races{0, 0};
  };
  struct Semaphore {
    bool signalled = false;
    double time = 0;
  };

  static bool isJoin(const Step &step);
  const plan::fb::Command &commandOf(const Step &step) const { return program.commandOf(step); }
  const Step &stepAt(StepIndex index) const { return program.steps()[index]; }

  void makeQueues();
  void enqueue(StepIndex index);
  Status goOn(Task &task);
  Expected<StepIndex> runControl(Task &task, StepIndex index);
  Queue &queueOf(const Step &step);
  Queue *choose();
  bool isHead(const Step &step);
  bool mayStart(const Queue &queue);
  double startOf(const Queue &queue);
  Status start(Queue &queue);
  Status order(Queue &queue, double begin);
  Status runCommand(Queue &queue, double begin);
  Status performHead(Queue &queue, double begin, double end);
  Status exchange(const Step &step, double begin);
  Status finish(Queue &queue, double end);
  Status perform(const Step &step);
  Status checkArguments(const Step &step) const;
  Status checkOrder(const Queue &queue, StepIndex index);
  Status missingWait(RaceCheck::Use a, RaceCheck::Use b) const;
  Status deadlock() const;
  void join(Task &task);

  const Program &program;
  SimDriver &machine;
  ThreadPool &pool;
  CommandOrder wanted;
  std::vector<CommandEvent> &timeline;
  const plan::fb::Plan &metadata;
  const plan::fb::Function &function;
  plan::CommandClock clock;
  std::vector<Task> tasks;
  std::vector<Queue> queues;
  std::map<std::pair<uint32_t, uint32_t>, size_t> queueIndex; ///< by device and number
  std::vector<Semaphore> semaphores;
  std::map<plan::CommandClock::Resource, double> busyUntil;
  std::mt19937_64 random;
};

} // namespace gantry::runtime
