// A program in segments: stretches of commands that go to GPUs without the host in between. Each is
// issued as one, and captured as one graph.
//
// What ends a segment: commands of the host, branches and loops, a signal that the host waits for,
// and a copy to the device of what a copy of the same segment brings from there, since the host has
// a part in both. A branch's condition, and what a check looks at, is brought to the host at the
// end of the segment before it.
#pragma once

#include "gantry/Runtime/Program.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace gantry::runtime::cuda {

class StreamQueue;

/// A copy between host and device, through pinned memory at an offset that is its own.
struct PinnedCopy {
  uint32_t step = 0;
  uint32_t buffer = 0; ///< of the step: source, target behind it
  uint64_t slot = 0;   ///< offset into the pinned memory
  uint64_t bytes = 0;
};

struct Segment {
  uint32_t begin = 0, end = 0; ///< steps; none where only something is read
  std::vector<PinnedCopy> uploads, downloads;
  /// A step behind the end whose first buffer the host looks at: a branch, or a check.
  std::optional<PinnedCopy> read;
  std::vector<StreamQueue *> queues; ///< that its steps use, each once
  bool isAwaited = false;            ///< the host waits for one of its signals
};

struct Segments {
  static constexpr uint32_t none = ~uint32_t(0);

  std::vector<Segment> all;
  std::vector<uint32_t> startingAt; ///< by step; none where no segment starts
  std::vector<bool> isInside;       ///< by step: a signal or wait between queues of one segment
  std::vector<bool> isDirect;       ///< by step: a copyFrom inside of a segment
  std::vector<uint32_t> segmentOfSignal; ///< by semaphore; none where the host signals
  uint64_t pinnedBytes = 0;
};

/// Copies of more bytes go piece by piece, and so do those for which there is no room any more.
/// What goes up by pieces is on its way while the host fills the next; what comes down by pieces is
/// waited for, which a run that goes on without its caller should not do.
inline constexpr uint64_t maxPinnedUpload = uint64_t(4) << 20,
                          maxPinnedDownload = uint64_t(16) << 20,
                          maxPinnedBytes = uint64_t(64) << 20;

Segments splitProgram(const Program &program);

} // namespace gantry::runtime::cuda
