// A run between its start and its end: what Fence and executor share.
#pragma once

#include "gantry/Runtime/Bindings.h"
#include "gantry/Runtime/Executor.h"
#include "gantry/Runtime/RunLock.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

namespace gantry::runtime {

class Session;

/// Of the session; and of its state: neither, shared or alone.
struct RunLocks {
  std::unique_lock<RunLock> session;
  std::unique_lock<RunLock> writing;
  std::shared_lock<RunLock> reading;
};

/// Its end comes from a thread of a driver, where no memory of a device may be given back. So the
/// locks are freed there, and what the run keeps alive goes with the fence.
class PendingRun final : public RunCompletion {
public:
  PendingRun(std::shared_ptr<Session> session, std::shared_ptr<Bindings> bindings, RunLocks locks)
      : session(std::move(session)), bindings(std::move(bindings)), locks(std::move(locks)) {}

  /// To be called once before the run starts: it lives until its end even when the fence does not.
  void keep(std::shared_ptr<PendingRun> itself) { self = std::move(itself); }

  void runFinished(Status status) override;

  std::optional<Status> poll() const;
  Status wait() const;
  std::optional<Status> waitFor(std::chrono::nanoseconds time) const;
  void onDone(std::function<void(const Status &)> callback);
  /// Waits, then lets go of session and bindings on this thread.
  void release();

private:
  std::shared_ptr<Session> session;
  std::shared_ptr<Bindings> bindings;
  RunLocks locks;
  std::shared_ptr<PendingRun> self;
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::optional<Status> outcome;
  std::vector<std::function<void(const Status &)>> callbacks; ///< until the outcome is known
};

} // namespace gantry::runtime
