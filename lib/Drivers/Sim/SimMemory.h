// The memory of one simulated device: a range of addresses of its own, closed unless it is the
// device's turn.
#pragma once

#include "gantry/Support/Status.h"

#include <cstdint>
#include <map>
#include <string>

namespace gantry::runtime {

/// Not thread-safe: the SimMachine's lock guards it.
class SimMemory {
public:
  /// Reserves addresses at the first allocation; `capacity` in bytes.
  SimMemory(std::string name, uint64_t capacity) : name(std::move(name)), capacity(capacity) {}
  ~SimMemory();
  SimMemory(const SimMemory &) = delete;

  const std::string &deviceName() const { return name; }
  uint64_t total() const { return capacity; }
  uint64_t free() const { return capacity - used; }

  /// DOES_NOT_FIT when fewer bytes are free. Each allocation starts at a page.
  Expected<void *> allocate(uint64_t bytes);
  void release(void *data, uint64_t bytes);

  /// Whether the address belongs to the device, allocated or not.
  bool covers(const void *data) const;
  /// Whether the range lies in one live allocation.
  bool holds(const void *data, uint64_t bytes) const;

  /// Makes the memory accessible, or not.
  Status setOpen(bool wanted);

private:
  Status reserve();
  Status protect(uint64_t offset, uint64_t bytes, bool accessible);
  uint64_t findGap(uint64_t bytes) const;

  std::string name;
  uint64_t capacity;
  uint64_t used = 0;                   ///< sum of the sizes that were asked for
  uint8_t *base = nullptr;             ///< of the reserved addresses
  uint64_t reserved = 0;               ///< their number
  uint64_t touched = 0;                ///< bytes from base that have ever been allocated
  std::map<uint64_t, uint64_t> ranges; ///< live allocations: offset to size
  bool isOpen = false;
};

} // namespace gantry::runtime
