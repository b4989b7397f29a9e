// Which commands have to wait for which, when several queues run at the same time.
//
// The commands stand in the order in which one queue would run them; that order says what every
// byte must hold. Two commands conflict when they use a byte that one of them writes: a value made
// and then read, or memory that is used again. Conflicts within a queue are in order by themselves;
// the others need a signal after the one and a wait before the other, unless commands and waits
// between them imply it. What is left is as few waits as there can be. Knows nothing of graphs; std
// only.
#pragma once

#include <cstdint>
#include <vector>

namespace gantry::queues {

/// Use of bytes begin..end-1 of a space: an arena, or a caller's array. Spaces share no byte.
struct Access {
  uint32_t space = 0;
  uint64_t begin = 0, end = 0;
  bool writes = false;
};

struct Command {
  uint32_t queue = 0;
  std::vector<Access> accesses; ///< bytes that nobody writes may be left out
};

/// Command `before` signals when it is done, command `after` waits for that.
struct Wait {
  uint32_t before = 0, after = 0;
  bool operator==(const Wait &) const = default;
};

/// The waits that keep every conflict in the order of the commands, none of which can be left out;
/// by `after`, then `before`. Queues are numbered from 0 without gaps. The work is that of an
/// ordered map of the ranges in use, and of one clock per command with an entry for each queue that
/// it has ever waited for, by others or itself.
std::vector<Wait> orderQueues(const std::vector<Command> &commands);

} // namespace gantry::queues
