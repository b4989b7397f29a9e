// A device as the runtime uses it: a driver, a limit, and the counters that must equal the plan.
//
// Every byte that Gantry takes passes through Device::allocate, and every byte that it moves
// through copy, upload or download, so the counters are exact (spec M1, X3).
#pragma once

#include "gantry/Plan/Ledger.h"
#include "gantry/Runtime/Driver.h"
#include "gantry/Support/Status.h"

#include <array>
#include <atomic>
#include <string>

namespace gantry::runtime {

class Device;

/// Device memory that is given back when the object goes. Move only; empty when default-made.
class Allocation {
public:
  Allocation() = default;
  Allocation(Device *device, void *data, uint64_t bytes)
      : device(device), start(data), length(bytes) {}
  Allocation(Allocation &&other) noexcept { swap(other); }
  Allocation &operator=(Allocation &&other) noexcept {
    Allocation taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Allocation();

  uint8_t *data() const { return static_cast<uint8_t *>(start); }
  uint64_t size() const { return length; }

private:
  void swap(Allocation &other) noexcept {
    std::swap(device, other.device);
    std::swap(start, other.start);
    std::swap(length, other.length);
  }
  Device *device = nullptr;
  void *start = nullptr;
  uint64_t length = 0;
};

/// A snapshot of a device's counters, since the runtime was created.
struct DeviceStats {
  uint64_t bytesInUse = 0;  ///< allocated by Gantry now
  uint64_t peakBytes = 0;   ///< largest bytesInUse
  uint64_t mappedBytes = 0; ///< constants used in place from plan files, not counted above
  uint64_t allocations = 0; ///< calls that took memory
  uint64_t copies = 0;      ///< values that commands of plans copied, of all kinds
  uint64_t copiedBytes = 0;
  uint64_t stagedCopies = 0; ///< inputs and outputs that were not aligned, see Bindings
  uint64_t stagedBytes = 0;
  plan::CopyTally run;  ///< `copies` by kind: what plan::Ledger::perRun says, times the runs
  plan::CopyTally load; ///< constants that plans want elsewhere: plan::Ledger::atLoad
};

class Device {
public:
  /// `limit` in bytes, 0 for none.
  Device(std::string name, Driver &driver, uint64_t limit)
      : fullName(std::move(name)), deviceDriver(driver), memoryLimit(limit) {}

  const std::string &name() const { return fullName; }
  Driver &driver() const { return deviceDriver; }
  uint64_t limit() const { return memoryLimit; }

  /// Whether `bytes` more could be allocated: under the limit, and free at this moment (spec M2).
  /// `what` says what for, with its parts: "plan 'x.gantry' (constants 3 MiB, ...)".
  Status checkFits(uint64_t bytes, const std::string &what);

  /// Counted memory; an empty Allocation for 0 bytes. DOES_NOT_FIT names device, asked, in use,
  /// limit.
  Expected<Allocation> allocate(uint64_t bytes, const std::string &what);

  DeviceStats stats() const;

  /// One value; with the first of a transfer the transfer counts.
  void countCopy(plan::fb::CopyKind kind, uint64_t bytes, bool isFirst = true) {
    runCopies.add(kind, bytes, isFirst);
  }
  void countLoad(plan::fb::CopyKind kind, uint64_t bytes) { loadCopies.add(kind, bytes, true); }
  void countStaged(uint64_t bytes) { add(stagedCopies, 1), add(stagedBytes, bytes); }
  void countMapped(int64_t bytes) { add(mappedBytes, static_cast<uint64_t>(bytes)); }

private:
  friend class Allocation;
  using Counter = std::atomic<uint64_t>;
  static void add(Counter &counter, uint64_t n) { counter.fetch_add(n, std::memory_order_relaxed); }
  /// A plan::CopyTally that threads can add to.
  struct Tally {
    struct Count {
      Counter copies{0}, bytes{0}, transfers{0};
    };
    std::array<Count, plan::numCopyKinds> counts; ///< by kind
    void add(plan::fb::CopyKind kind, uint64_t bytes, bool isFirst) {
      Count &count = counts[static_cast<size_t>(kind)];
      Device::add(count.copies, 1), Device::add(count.bytes, bytes);
      Device::add(count.transfers, isFirst);
    }
    plan::CopyTally read() const;
  };
  bool reserve(uint64_t bytes);
  void release(void *data, uint64_t bytes);

  std::string fullName;
  Driver &deviceDriver;
  uint64_t memoryLimit;
  Counter inUse{0}, peak{0}, mappedBytes{0}, allocations{0};
  Counter stagedCopies{0}, stagedBytes{0};
  Tally runCopies, loadCopies;
};

} // namespace gantry::runtime
