// Global memory as kernels see it: ranges of this process's memory, each with a name. An address on
// the device is the address on the host. Nothing outside of the ranges may be touched.
#pragma once

#include "gantry/Support/Status.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gantry::ptx {

struct Shadow;

struct Region {
  uint64_t begin = 0, size = 0;
  std::string name;
  bool writable = true;
  std::shared_ptr<Shadow> shadow; ///< who touched what, for Checks::all

  uint64_t end() const { return begin + size; }
};

/// Bytes that a launch with Checks::all has touched, as finely as its narrowest access.
struct TouchedRange {
  uint64_t begin = 0, end = 0;
  bool isWritten = false; ///< perhaps read as well
};

class Memory {
public:
  /// The memory must stay until remove(). Errors: INVALID_ARGUMENT when it overlaps a region, or is
  /// empty.
  Status add(const void *address, uint64_t size, std::string name, bool writable = true);
  /// Errors: NOT_FOUND when no region begins there.
  Status remove(const void *address);
  /// The region that holds the byte, or null. Valid until the next add or remove.
  const Region *find(uint64_t address) const;
  /// The last region that begins at or before the address, or null: to say what was overrun.
  const Region *before(uint64_t address) const;

  /// Before a launch that is checked for races: every region gets records of that granularity.
  /// Gives the number that marks records of this launch. Errors: DOES_NOT_FIT.
  Expected<uint64_t> beginTracking(unsigned granule);
  /// What the launch that was tracked last has touched, by address.
  std::vector<TouchedRange> touched() const;

private:
  std::map<uint64_t, Region> regions;
  uint64_t epoch = 0;
};

} // namespace gantry::ptx
