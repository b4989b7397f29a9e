#include "gantry/Runtime/Queue.h"

#include "gantry/Runtime/Device.h"

#include <condition_variable>
#include <mutex>
#include <optional>

namespace gantry::runtime {

namespace {

/// Holds a thread until the queue has told.
class Waiter final : public Completion {
public:
  void finished(Outcome outcome) override {
    std::lock_guard lock(mutex);
    told = std::move(outcome);
    changed.notify_all(); // under the lock: the waiter may be gone right after it
  }
  Outcome wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return told.has_value(); });
    return std::move(*told);
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Outcome> told;
};

} // namespace

bool Queue::isOverOnReturn() const { return owner.runsInline(); }

Outcome Queue::finish() {
  Waiter waiter;
  notify(waiter);
  return waiter.wait();
}

} // namespace gantry::runtime
