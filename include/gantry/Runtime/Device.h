// A device: memory, code and queues as its driver has them, a limit, and the counters that must
// equal the plan.
//
// Every byte that Gantry takes passes through Device::allocate, and every byte that it moves is
// counted here, so the counters are exact (spec M1, X3). A device knows nothing of plans, tensors
// or sessions. No two devices share anything unless their driver says so.
#pragma once

#include "gantry/Plan/Ledger.h"
#include "gantry/Runtime/Kernel.h"
#include "gantry/Runtime/Queue.h"
#include "gantry/Support/Status.h"

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::runtime {

class Budget;

class Device;
class Driver;

/// Memory of a device at this moment, in bytes.
struct MemoryInfo {
  uint64_t total = 0;
  uint64_t free = 0;
};

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

/// How a GPU launches a kernel: blocks, threads of each, shared memory of each besides what the
/// code asks for. CPUs have work items instead.
struct Geometry {
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  uint32_t sharedBytes = 0;
  uint64_t scratchBytes = 0; ///< of the launch's last buffer, which is the kernel's to use
};

/// Machine code that a device has loaded; unloaded when destroyed.
class CodeObject {
public:
  virtual ~CodeObject() = default;
  /// The kernel as a launch names it. NOT_FOUND when the code has no such symbol.
  virtual Expected<KernelHandle> lookup(const std::string &symbol,
                                        const Geometry &geometry = {}) = 0;
};

/// What a variant of a kernel needs of the device that is to run it.
struct VariantNeeds {
  enum class Source { code, library, registered };
  Source source = Source::code;
  std::string_view target;                ///< of code: x86-64, aarch64, sm_90; empty: any
  bool isCubin = false;                   ///< the code is a GPU's own, no text to translate
  std::vector<std::string_view> features; ///< CPU features
  uint32_t archMin = 0, archMax = 0;      ///< architecture of the device; 0: no bound
  std::string_view library;               ///< of source library
  std::string_view libraryVersion;        ///< the oldest that will do; empty: any
};

/// Why a device cannot run a variant; `what` is empty when it can.
struct Unmet {
  std::string what;   ///< "this machine's CPU lacks avx512f"
  std::string remedy; ///< what to do about it; may be empty
  explicit operator bool() const { return !what.empty(); }
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
  /// Host memory that the driver holds ready for copies to and from the device, with what the parts
  /// of a physical device share.
  uint64_t pinnedBytes = 0;
  plan::CopyTally run;    ///< `copies` by kind: what plan::Ledger::perRun says, times the runs
  plan::CopyTally load;   ///< constants that plans want elsewhere: plan::Ledger::atLoad
  plan::CopyTally arrays; ///< arrays that were read, written or copied outside of runs
};

/// Thread-safe. Opened by its driver, which outlives it.
class Device {
public:
  /// `limit` in bytes, 0 for none.
  Device(std::string name, Driver &driver, uint64_t limit)
      : fullName(std::move(name)), owner(driver), memoryLimit(limit) {}
  virtual ~Device() = default;
  Device(const Device &) = delete;

  const std::string &name() const { return fullName; }
  Driver &driver() const { return owner; }
  uint64_t limit() const { return memoryLimit; }

  // ---- what a driver writes ----

  /// Whether the caller can read and write device memory through plain pointers, and a launch is a
  /// call of a KernelFn that an executor may make itself. Everything is then done on return.
  virtual bool runsInline() const = 0;

  virtual Expected<MemoryInfo> memoryInfo() = 0;

  /// Memory of the physical device that this one is a part of, the free part without what Gantry
  /// has taken; nothing when it is known by its parts alone.
  virtual Expected<MemoryInfo> cardMemory() { return MemoryInfo{}; }

  /// Takes bytes of the physical device ahead and keeps them while this device is there: they are
  /// the first that is allocated from. Drivers whose memory nobody else can take have them anyway.
  /// DOES_NOT_FIT when there are not as many.
  virtual Status setAside(uint64_t bytes) {
    (void)bytes;
    return {};
  }

  /// Whether the device could run a variant that needs this.
  virtual Unmet unmet(const VariantNeeds &needs) const = 0;

  /// Loads an object of machine code of the driver's kind; the bytes may go away afterwards.
  /// CORRUPT when they are not that, UNAVAILABLE when the system refuses them.
  virtual Expected<std::unique_ptr<CodeObject>> loadCode(std::span<const uint8_t> code) = 0;

  /// A library of the machine, for variants whose needs were met: symbols say what it is to do.
  /// UNAVAILABLE when it does not start.
  virtual Expected<std::unique_ptr<CodeObject>> openLibrary(std::string_view name) {
    return Status::unavailable("devices of this driver have no library '" + std::string(name) +
                               "'");
  }

  /// Devices that answer the same share code: kernels that one has loaded run on all of them, as
  /// long as one of them is open. Devices have code of their own unless their driver says more.
  virtual const void *codeDomain() const { return this; }

  /// Whether arrays of the caller's are in the device's memory, as far as the driver can tell.
  /// INVALID_ARGUMENT says where they are.
  virtual Status checkOwn(const void *data, uint64_t bytes) {
    (void)data, (void)bytes;
    return {};
  }

  virtual std::unique_ptr<Queue> createQueue() = 0;
  virtual std::unique_ptr<Event> createEvent() = 0;

  /// Done on return, apart from all queues: for what happens outside of runs.
  virtual Status upload(void *destination, const void *source, uint64_t bytes) = 0;
  virtual Status download(void *destination, const void *source, uint64_t bytes) = 0;
  virtual Status fill(void *destination, uint8_t value, uint64_t bytes) = 0;

  // ---- memory and counters, for every driver alike ----

  /// Whether `bytes` more could be allocated: under the limit, and free at this moment (spec M2).
  /// `what` says what for, with its parts: "plan 'x.gantry' (constants 3 MiB, ...)".
  Status checkFits(uint64_t bytes, const std::string &what);

  /// Counted memory, aligned to bufferAlignment, contents undefined; an empty Allocation for 0
  /// bytes. DOES_NOT_FIT names device, asked, in use, limit.
  Expected<Allocation> allocate(uint64_t bytes, const std::string &what);

  DeviceStats stats() const;
  /// From now on DeviceStats::peakBytes is the largest since this call.
  void resetPeak();

  /// What the parts of a physical device may take together; null when there is no setting for it.
  Budget *budget() const { return shared.get(); }
  /// Before anything is allocated.
  void shareBudget(std::shared_ptr<Budget> budget) { shared = std::move(budget); }

  /// One value; with the first of a transfer the transfer counts.
  void countCopy(plan::fb::CopyKind kind, uint64_t bytes, bool isFirst = true) {
    runCopies.add(kind, bytes, isFirst);
  }
  void countLoad(plan::fb::CopyKind kind, uint64_t bytes, bool isFirst = true) {
    loadCopies.add(kind, bytes, isFirst);
  }
  /// To another task, of a run or at load.
  void countSent(uint64_t bytes, bool isAtLoad) { (isAtLoad ? loadCopies : runCopies).send(bytes); }
  void countArray(plan::fb::CopyKind kind, uint64_t bytes) { arrayCopies.add(kind, bytes, true); }
  void countStaged(uint64_t bytes) { add(stagedCopies, 1), add(stagedBytes, bytes); }
  void countMapped(int64_t bytes) { add(mappedBytes, static_cast<uint64_t>(bytes)); }
  void countPinned(int64_t bytes) { add(pinnedBytes, static_cast<uint64_t>(bytes)); }

protected:
  /// `bytes` (more than 0) of device memory. DOES_NOT_FIT when there is not as much.
  virtual Expected<void *> takeMemory(uint64_t bytes) = 0;
  /// Gives back what takeMemory gave, with the same size.
  virtual void giveMemory(void *data, uint64_t bytes) = 0;
  /// Pinned bytes that nobody counts with countPinned.
  virtual uint64_t sharedPinnedBytes() const { return 0; }

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
    Count sent;
    void send(uint64_t bytes) { Device::add(sent.copies, 1), Device::add(sent.bytes, bytes); }
    plan::CopyTally read() const;
  };
  bool reserve(uint64_t bytes);
  void release(void *data, uint64_t bytes);

  std::string fullName;
  Driver &owner;
  uint64_t memoryLimit;
  std::shared_ptr<Budget> shared;
  Counter inUse{0}, peak{0}, mappedBytes{0}, allocations{0};
  Counter stagedCopies{0}, stagedBytes{0}, pinnedBytes{0};
  Tally runCopies, loadCopies, arrayCopies;
};

} // namespace gantry::runtime
