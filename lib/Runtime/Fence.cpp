#include "gantry/Runtime/Fence.h"

#include "PendingRun.h"
#include "gantry/Runtime/Session.h"

namespace gantry::runtime {

void PendingRun::runFinished(Status status) {
  Status copied = bindings->finishLater();
  if (status.ok())
    status = std::move(copied);
  locks = {};
  std::shared_ptr<PendingRun> last; // may be the last to hold this, so it goes last
  std::vector<std::function<void(const Status &)>> waiting;
  {
    std::lock_guard lock(mutex);
    outcome = status;
    waiting.swap(callbacks);
    last.swap(self);
    changed.notify_all();
  }
  for (auto &callback : waiting)
    callback(status);
}

void PendingRun::onDone(std::function<void(const Status &)> callback) {
  {
    std::lock_guard lock(mutex);
    if (!outcome) {
      callbacks.push_back(std::move(callback));
      return;
    }
  }
  callback(*outcome);
}

std::optional<Status> PendingRun::poll() const {
  std::lock_guard lock(mutex);
  return outcome;
}

Status PendingRun::wait() const {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return outcome.has_value(); });
  return *outcome;
}

std::optional<Status> PendingRun::waitFor(std::chrono::nanoseconds time) const {
  std::unique_lock lock(mutex);
  changed.wait_for(lock, time, [&] { return outcome.has_value(); });
  return outcome;
}

void PendingRun::release() {
  (void)wait();
  bindings.reset();
  session.reset();
}

Fence::~Fence() {
  if (run)
    run->release();
}

void Fence::onDone(std::function<void(const Status &)> callback) const {
  if (run)
    run->onDone(std::move(callback));
  else
    callback(outcome);
}

std::optional<Status> Fence::poll() const { return run ? run->poll() : outcome; }

Status Fence::wait() const { return run ? run->wait() : outcome; }

std::optional<Status> Fence::waitFor(std::chrono::nanoseconds time) const {
  return run ? run->waitFor(time) : outcome;
}

} // namespace gantry::runtime
