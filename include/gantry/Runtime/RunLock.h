// A lock that one thread may take and another give back: a run holds what it uses from its start to
// its end, and the end of a run on a queue comes on a thread of the driver's.
//
// One word, so that taking and giving back cost what they cost with std::mutex when nobody waits.
// Many may share it or one have it alone; std::lock_guard, unique_lock and shared_lock work with
// it.
#pragma once

#include <atomic>
#include <cstdint>

namespace gantry::runtime {

class RunLock {
public:
  void lock() {
    uint32_t seen = 0;
    while (!users.compare_exchange_weak(seen, alone, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
      if (seen != 0)
        users.wait(seen, std::memory_order_relaxed);
      seen = 0;
    }
  }
  // Sequentially consistent, so that a waiter is either seen by notify_all or sees the change.
  void unlock() {
    users.exchange(0);
    users.notify_all();
  }

  void lock_shared() {
    uint32_t seen = users.load(std::memory_order_relaxed);
    for (;;) {
      if (seen == alone) {
        users.wait(alone, std::memory_order_relaxed);
        seen = users.load(std::memory_order_relaxed);
      } else if (users.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
        return;
      }
    }
  }
  void unlock_shared() {
    if (users.fetch_sub(1) == 1)
      users.notify_all();
  }

private:
  static constexpr uint32_t alone = 0xffffffff;
  std::atomic<uint32_t> users{0}; ///< how many share it, or `alone`
};

} // namespace gantry::runtime
