#include "gantry/Runtime/Process.h"

#include <atomic>
#include <mutex>
#include <pthread.h>

namespace gantry::runtime {

unsigned processGeneration() {
  static std::atomic<unsigned> forks{0};
  static std::once_flag watched;
  std::call_once(watched, [] {
    ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  });
  return forks.load(std::memory_order_relaxed);
}

} // namespace gantry::runtime
