// A function of a plan as executors run it: one flat array of steps with absolute addresses.
//
// Made once per session. Branches and loops become jumps. Where all devices run inline, signals and
// waits between queues vanish, since everything is done in program order (and the plan's validator
// has checked that the order of commands is one in which every wait comes after its signal). A run
// touches nothing but steps, buffer pointers and, where inputs and outputs moved since the last
// run, patches.
#pragma once

#include "gantry/Runtime/Array.h"
#include "gantry/Runtime/LoadedPlan.h"
#include "gantry/Runtime/Queue.h"
#include "gantry/Support/Cancel.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gantry::runtime {

class State;

/// One thing to do, in one cache line.
struct Step {
  enum class Kind : uint8_t {
    call,   ///< a KernelFn on the thread pool
    launch, ///< a kernel of a device that does not run inline
    copy,   ///< inside a device, or between devices that run inline
    upload,
    download,
    copyFrom, ///< between devices of one driver that do not run inline
    fill,
    exchange,    ///< a member's part in an exchange between tasks; `items`: its members
    check,       ///< ends the run when the two i64 at buffers[0] tell of a bad index
    jumpIfFalse, ///< when the byte at buffers[0] is 0
    jump,
    // Where not all devices run inline:
    signal, ///< `target`: the semaphore
    wait,   ///< `target`: the semaphore
    join,   ///< where blocks begin and end: all queues come together
  };
  Kind kind = Kind::call;
  uint8_t value = 0;   ///< fill
  uint16_t task = 0;   ///< of a job, who does it; 0 where the plan has no exchanges
  uint32_t target = 0; ///< jump: index of a step; exchange: which member it is
  uint32_t numBuffers = 0;
  uint32_t command = 0; ///< index of its command in the program
  KernelHandle kernel = nullptr;
  void **buffers = nullptr;
  int64_t items = 0; ///< work items, or bytes of a fill
  int64_t grain = 1;
  Queue *queue = nullptr;   ///< of the device that does it
  Device *source = nullptr; ///< copyFrom
};
static_assert(sizeof(Step) <= 64);

/// How bytes get from one device to another: a download is the giver's to do, all else the taker's.
Step::Kind copyBetween(const Device &giver, const Device &taker);

class Program {
public:
  /// Where transient arenas begin, by arena; null for arenas of other kinds.
  using ArenaStarts = std::vector<uint8_t *>;

  /// Flattens a function. `state` may be null when the plan has no variables.
  static Expected<std::unique_ptr<Program>> build(const LoadedPlan &plan,
                                                  const FunctionInfo &function,
                                                  const ArenaStarts &transient, const State *state);

  /// Sets where an input or output is; free when it is where it was in the last run.
  void setInput(unsigned index, uint8_t *address) { patch(inputs[index], address); }
  void setOutput(unsigned index, uint8_t *address) { patch(outputs[index], address); }

  /// What the next runs look at before each command; null: nothing.
  void setCancel(const Cancel *token) { cancel = token; }
  /// CANCELLED, naming the step that was not taken, once that is set.
  Status checkCancelled(const Step &step) const {
    return cancel && cancel->isSet() ? cancelledAt(step) : Status();
  }

  /// The caller's stream that the next runs are ordered with; null: none.
  void setStream(void *callersStream) { caller = callersStream; }
  void *stream() const { return caller; }

  bool readsVariables() const { return usesVariables; }
  /// Tasks that its steps are of; 1 where the plan has no exchanges.
  uint32_t numTasks() const { return taskCount; }
  /// Whether every device of the plan runs inline.
  bool runsInline() const { return isInline; }

  const LoadedPlan &plan() const { return loaded; }
  const plan::fb::Function &function() const { return *source; }
  std::span<const Step> steps() const { return allSteps; }
  const plan::fb::Command &commandOf(const Step &step) const { return *commands[step.command]; }
  /// What a jumpIfFalse step of a branch or loop looks at, which each task has its own of.
  const plan::fb::BufferRef &conditionOf(const Step &step) const;
  /// All members of the exchange that the step is one of; they stand side by side.
  std::span<const Step> membersOf(const Step &step) const {
    return {&step - step.target, static_cast<size_t>(step.items)};
  }
  /// The queues that its steps use, each once.
  std::vector<Queue *> queues() const;

  /// What a jumpIfFalse step looks at, wherever its device has it; what comes before must be over.
  Expected<bool> readCondition(const Step &step) const;

  /// Puts a launch, copy or fill on its queue; does a check. Copies are counted. An exchange is
  /// done with its last member, when what all of them wait for has to be over.
  Status perform(const Step &step) const;
  /// The two halves of performing a launch, copy or fill, for executors that put a step on its
  /// queue once and have it run many times: what is enqueued, and what is counted of each run.
  Status enqueue(const Step &step) const;
  void countCopies(const Step &step) const;
  /// What a check says of the position and value that it found; a position below 0 is none.
  Status judgeCheck(const Step &step, int64_t position, int64_t value) const;
  /// `status` with the step's command in front of its message; a success stays one.
  Status withStep(const Step &step, Status status) const;

private:
  struct BoundSlots {
    struct Use {
      uint32_t slot;
      uint64_t offset;
    };
    std::vector<Use> uses;
    uint8_t *address = nullptr;
  };
  /// Commands of one device and queue of the plan that one device carries out.
  struct OwnQueue {
    Device *device;
    uint32_t plannedDevice, plannedQueue;
    std::unique_ptr<Queue> queue;
  };
  friend class Flattener;

  explicit Program(const LoadedPlan &plan) : loaded(plan) {}
  void patch(BoundSlots &bound, uint8_t *address);
  Status cancelledAt(const Step &step) const;
  Status enqueueCopy(const Step &step) const;
  Status performCheck(const Step &step) const;
  Status performExchange(const Step &last) const;
  Status transfer(const Step &from, const Step &to, const void *source, void *target,
                  uint64_t bytes) const;

  const LoadedPlan &loaded;
  const plan::fb::Function *source = nullptr;
  std::vector<OwnQueue> ownQueues;
  std::vector<Step> allSteps;
  std::vector<void *> slots;   ///< buffer pointers of all steps, one after the other
  std::vector<uint64_t> sizes; ///< of the buffers in the slots
  std::vector<const plan::fb::Command *> commands;
  std::vector<BoundSlots> inputs, outputs;
  const Cancel *cancel = nullptr;
  void *caller = nullptr;
  uint32_t taskCount = 1;
  bool usesVariables = false;
  std::vector<std::shared_ptr<const Array>> variables; ///< keeps those that a state lets go of
  bool isInline = true;
};

} // namespace gantry::runtime
