// The bytes of a plan's segments against their checksums. Opening a file (PlanFile.h) looks at
// header and metadata; this reads the rest, which may be many GiB, once and on several threads.
#pragma once

#include "gantry/Plan/PlanFile.h"

#include <cstdint>
#include <functional>
#include <span>

namespace gantry::plan {

/// Calls `work` for each index below `count`, in any order, and returns when all are done.
using ParallelFor = std::function<void(size_t count, const std::function<void(size_t)> &work)>;

/// One after the other.
void inOrder(size_t count, const std::function<void(size_t)> &work);

enum class BytesOf : uint8_t {
  everything,      ///< every byte behind the metadata
  allButConstants, ///< code, initial values of variables, and the zeros in between
  constants,
};

/// Reads them. CORRUPT names the first constant or segment that is not what the plan says.
///
/// A byte is read once: what lies in a constant is covered by that constant's hash, and where all
/// else in a segment is zero, the segment's own checksum says nothing more. It is computed for the
/// other segments (code, initial values).
Status verifyBytes(const PlanFile &file, BytesOf which = BytesOf::everything,
                   const ParallelFor &parallel = inOrder);

/// Where the file is mapped: gives back the pages that hold nothing else than these of its bytes,
/// if they are many. They come again when somebody reads them, from the page cache as a rule.
void giveBack(const PlanFile &file, std::span<const uint8_t> bytes);

/// All of them, unless that was done before; `file` and later copies of it know then.
Status verifyOnce(PlanFile &file, const ParallelFor &parallel = inOrder);

} // namespace gantry::plan
