// Constants arenas that live in the process, found again by content (spec M1).
//
// A plan loaded twice, or two plans with the same weights at the same offsets (the same model
// compiled for several batch sizes), use one arena. The content hashes of the plan find a
// candidate; where the bytes can be read they are compared, so that a collision can never give
// wrong weights.
#pragma once

#include "gantry/Runtime/Device.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace gantry::runtime {

/// One constant inside an arena.
struct ConstantRange {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t contentHash = 0;
  bool operator==(const ConstantRange &) const = default;
};

/// A filled constants arena. Either `memory` holds copies, or `data` points into a mapped plan file
/// that `file` keeps mapped.
struct ConstantArena {
  Device *device = nullptr;
  const uint8_t *data = nullptr;
  uint64_t size = 0;
  std::vector<ConstantRange> ranges; ///< sorted by offset
  Allocation memory;
  std::shared_ptr<const void> file;

  ConstantArena() = default;
  ConstantArena(const ConstantArena &) = delete;
  ~ConstantArena() {
    if (file && device)
      device->countMapped(-static_cast<int64_t>(size));
  }
};

class ConstantPool {
public:
  /// An arena of the pool for `device` whose ranges equal `ranges` and whose bytes equal those at
  /// `bytes[i]`; null when there is none.
  std::shared_ptr<const ConstantArena> find(Device *device,
                                            const std::vector<ConstantRange> &ranges,
                                            const std::vector<const uint8_t *> &bytes);

  /// Offers an arena to later loads; it is forgotten when its last user lets it go.
  void add(const std::shared_ptr<const ConstantArena> &arena);

private:
  std::mutex mutex;
  std::vector<std::weak_ptr<const ConstantArena>> arenas;
};

} // namespace gantry::runtime
