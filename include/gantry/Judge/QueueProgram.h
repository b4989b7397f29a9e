// Whether commands on several queues can be trusted with the memory they were given.
//
// The judge knows nothing of how queues were ordered or memory was planned: from the commands and
// the bytes of their buffers alone it derives that every two commands that use a byte, one of them
// writing it, are in an order, and that what is read from a buffer is what was last written to that
// buffer, and not another one in the same place. Orders are those of the queues themselves, of
// signals and waits, and of branches and loops, at whose ends all queues come together. It shares
// no code with what it judges. Std only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gantry::judge {

/// Bytes begin..end-1 of a space: an arena, or a caller's array. Spaces share no byte.
struct Buffer {
  uint32_t space = 0;
  uint64_t begin = 0, end = 0;
  bool isGiven = false; ///< holds a value before the first step: inputs, constants, variables
  bool isKept = false;  ///< is read after the last step: outputs, constants, variables
};

/// Of all bytes of a buffer, or of those that lie begin..end-1 in its space.
struct Use {
  uint32_t buffer = 0;
  bool writes = false;
  uint64_t begin = 0, end = UINT64_MAX;
};

/// Nested lists of steps are written flat: `branch`, steps, `otherwise`, steps, `end`; or `loop`,
/// the steps of the condition, `body`, steps, `end`.
struct Step {
  /// exchange: a command that is over when all members of an exchange between tasks have come to
  /// theirs (Judge/Job.h).
  enum class Kind : uint8_t { command, signal, wait, branch, otherwise, loop, body, end, exchange };
  Kind kind = Kind::command;
  uint32_t queue = 0;     ///< of a command, exchange, signal or wait; numbered from 0
  uint32_t semaphore = 0; ///< of a signal or wait; numbered from 0
  /// Of a command. Of a branch or loop what it reads as its condition: before the first list, and
  /// after each run of the condition's steps.
  std::vector<Use> uses;
  /// Of an exchange: which one of the job. Of a branch or loop: its twins in other tasks, which go
  /// the same way, have the same number.
  uint32_t number = 0;
};

struct QueueProgram {
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
};

/// What is wrong, at the first place that is.
struct Fault {
  enum class Kind : uint8_t {
    unordered,     ///< two steps use the bytes, one writes them, and either could be first
    overwritten,   ///< a step reads a buffer where another one has been written since
    unwritten,     ///< a step reads bytes that nothing has written on some way there
    shared,        ///< one step uses two buffers or parts, and writes one of them over the other
    unsignalled,   ///< a wait for what is not signalled on every way there
    signalledTwice ///< a second signal of one semaphore
  };
  /// Stands for the caller: who gives before the first step and reads after the last.
  static constexpr uint32_t caller = UINT32_MAX;

  Kind kind = Kind::unordered;
  uint32_t step = caller;  ///< who was found at it
  uint32_t other = caller; ///< whom it meets: the earlier use, the writer; unordered, overwritten
  uint32_t buffer = 0;     ///< what `step` uses
  uint32_t otherBuffer = 0;
  bool writes = false, otherWrites = false;
  uint64_t begin = 0, end = 0; ///< bytes of the space at which they meet
};

/// Nothing when all is well. A branch is judged for both ways, a loop for any number of rounds.
/// Takes O(n log n) for n steps outside of loops, and once more for each loop around a step; a
/// signal or wait takes time by the number of queues whose commands it tells of.
std::optional<Fault> findFault(const QueueProgram &program);

} // namespace gantry::judge
