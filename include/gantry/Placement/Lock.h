// Placement locks (spec P13): where every op was, as text that people can read and diff.
//
//   # gantry placement lock 1
//   FUNCTION NAME DEVICE
// One line an op, sorted; the device is full and has no spaces, names may have some. In function
// and name, a line break is written \n, a carriage return \r, a backslash \\, and in the function a
// space
// \s. Further lines that begin with "#" are comments.
#pragma once

#include "gantry/Device/DeviceName.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::placement {

struct LockEntry {
  std::string function;
  std::string op; ///< stable name
  DeviceName device;
  uint32_t line = 0; ///< where it was read, counted from 1

  bool operator==(const LockEntry &) const = default;
};

/// The text of a lock; the order of `entries` does not matter.
std::string formatLock(std::vector<LockEntry> entries);

/// Reads one. Errors: INVALID_ARGUMENT or CORRUPT, with the line.
Expected<std::vector<LockEntry>> parseLock(std::string_view text);

/// A lock that was read, with what messages call it.
struct Lock {
  std::string file; ///< empty: there is none
  std::vector<LockEntry> entries;
};

} // namespace gantry::placement
