// A function of a plan as the executor runs it: one flat array of steps with absolute addresses.
//
// Made once per session. Branches and loops become jumps. On real devices signals and waits between
// queues vanish, since those so far do everything in program order (and the plan's validator has
// checked that the order of commands is one in which every wait comes after its signal); a plan
// with simulated devices keeps them for drivers/sim/SimExecutor.h. A run touches nothing but steps,
// buffer pointers and, where inputs and outputs moved since the last run, patches.
#pragma once

#include "gantry/Runtime/Session.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace gantry::runtime {

/// One thing to do, in one cache line.
struct Step {
  enum class Kind : uint8_t {
    call,   ///< a KernelFn on the thread pool
    launch, ///< a kernel of a driver that does not run inline
    copy,   ///< inside a device, or between devices that run inline
    upload,
    download,
    copyFrom, ///< between devices of one driver that do not run inline
    fill,
    jumpIfFalse, ///< when the byte at buffers[0] is 0
    jump,
    // Of simulated plans only:
    signal, ///< `target`: the semaphore
    wait,   ///< `target`: the semaphore
    join,   ///< where blocks begin and end: all queues come together
  };
  Kind kind = Kind::call;
  uint8_t value = 0;   ///< fill
  uint32_t target = 0; ///< jump: index of a step
  uint32_t numBuffers = 0;
  uint32_t command = 0; ///< index into Program::commands
  KernelHandle kernel = nullptr;
  void **buffers = nullptr;
  int64_t items = 0; ///< work items, or bytes of a fill
  int64_t grain = 1;
  Device *device = nullptr;
  Device *source = nullptr; ///< copyFrom
};
static_assert(sizeof(Step) <= 64);

class Program {
public:
  /// Where transient arenas begin, by arena; null for arenas of other kinds.
  using ArenaStarts = std::vector<uint8_t *>;

  /// Flattens a function. `state` may be null when the plan has no variables.
  static Expected<std::unique_ptr<Program>> build(const LoadedPlan &plan, unsigned function,
                                                  const ArenaStarts &transient, const State *state);

  /// Sets where an input or output is; free when it is where it was in the last run.
  void setInput(unsigned index, uint8_t *address) { patch(inputs[index], address); }
  void setOutput(unsigned index, uint8_t *address) { patch(outputs[index], address); }

  bool readsVariables() const { return usesVariables; }

  /// Runs all steps. An error names the command.
  Status run(ThreadPool &pool);
  /// The same with a clock around each step; `times` gets one entry per command that ran.
  Status runTimed(ThreadPool &pool, std::vector<CommandTime> &times);

  /// Whether the plan has simulated devices: then a SimExecutor runs the steps, not this.
  bool isSimulated() const { return simulated; }

private:
  struct BoundSlots {
    struct Use {
      uint32_t slot;
      uint64_t offset;
    };
    std::vector<Use> uses;
    uint8_t *address = nullptr;
  };
  friend class Flattener;
  friend class SimExecutor;

  explicit Program(const LoadedPlan &plan) : plan(plan) {}
  void patch(BoundSlots &bound, uint8_t *address);
  template <typename Observe>
  Status execute(ThreadPool &pool, Observe observe);
  Status perform(const Step &step);
  Status performCopy(const Step &step);

  const LoadedPlan &plan;
  const plan::fb::Function *source = nullptr;
  std::vector<Step> steps;
  std::vector<void *> slots; ///< buffer pointers of all steps, one after the other
  std::vector<const plan::fb::Command *> commands;
  std::vector<BoundSlots> inputs, outputs;
  bool usesVariables = false;
  bool simulated = false;
};

} // namespace gantry::runtime
