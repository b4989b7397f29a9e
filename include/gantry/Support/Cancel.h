// A wish to stop, set from any thread or signal handler and looked at where stopping is easy.
#pragma once

#include <atomic>

namespace gantry {

class Cancel {
public:
  void set() { flag.store(true, std::memory_order_relaxed); }
  void reset() { flag.store(false, std::memory_order_relaxed); }
  bool isSet() const { return flag.load(std::memory_order_relaxed); }

private:
  std::atomic<bool> flag{false};
  static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers set it");
};

} // namespace gantry
