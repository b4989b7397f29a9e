// Constants that live in the process, found again by content (spec M1).
//
// A plan loaded twice, two plans of one model (other batch sizes, another function) and models with
// parts in common have each equal constant once per device, wherever it lies in their arenas. The
// content hash of the plan finds a candidate; where the bytes can be read they are compared, so
// that a collision can never give wrong weights.
#pragma once

#include "gantry/Plan/PlanFile.h"
#include "gantry/Runtime/Device.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <unordered_set>

namespace gantry::runtime {

/// One constant of a device. `data` is read and written under the pool's `placing`.
struct PooledConstant {
  Device *const device;
  const uint64_t contentHash;
  const uint64_t size;
  /// Where the device has it; null until a plan has placed it.
  const uint8_t *data = nullptr;
  /// Memory that holds the data, of this constant or of several small ones; else `file` does.
  std::shared_ptr<const void> keeper;
  /// Of devices that the host can read: the bytes that others are compared with, and their file.
  std::span<const uint8_t> readable;
  std::shared_ptr<const plan::PlanFile> file;
  uint64_t mapped = 0; ///< bytes that count as used in place from the file

  PooledConstant(Device *device, uint64_t contentHash, uint64_t size)
      : device(device), contentHash(contentHash), size(size) {}
  PooledConstant(const PooledConstant &) = delete;
  ~PooledConstant() {
    if (mapped)
      device->countMapped(-static_cast<int64_t>(mapped));
  }
};

/// Thread-safe.
class ConstantPool {
public:
  using Taken = std::unordered_set<const PooledConstant *>;

  /// The constant of that device with the content that a plan file has there: one that is known, or
  /// a new one that has no place yet. It is forgotten when its last user lets it go. Not one that
  /// is in `taken`: a plan has as many constants of equal content as it says that it takes.
  std::shared_ptr<PooledConstant> get(Device *device,
                                      const std::shared_ptr<const plan::PlanFile> &file,
                                      const plan::fb::Constant &constant, const Taken &taken);

  /// Held while constants get their places: of two plans that load the same the second waits.
  std::mutex placing;

private:
  std::mutex mutex;
  std::unordered_multimap<uint64_t, std::weak_ptr<PooledConstant>> constants; ///< by hash
  size_t sweepAt = 1024; ///< entries from which on those that are forgotten are taken out
};

} // namespace gantry::runtime
