// The end of a run that was submitted.
//
// A fence may be pending. It keeps all that its run uses: the session with its plan and memory, the
// bindings, and the locks of session and state, which are free again the moment the run is over,
// whether anybody waits or not.
#pragma once

#include "gantry/Support/Status.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

namespace gantry::runtime {

class PendingRun;

/// All calls may come from any thread, at once too; moving and destroying are for one thread.
class Fence {
public:
  /// Of a run that was over when submit returned.
  explicit Fence(Status outcome) : outcome(std::move(outcome)) {}
  explicit Fence(std::shared_ptr<PendingRun> run) : run(std::move(run)) {}
  Fence(Fence &&) = default;
  Fence &operator=(Fence &&) = delete;
  /// Waits for the run: nothing that it uses goes before it is over.
  ~Fence();

  bool done() const { return poll().has_value(); }
  /// How the run ended; nothing while it goes on.
  std::optional<Status> poll() const;
  /// Waits for the run and says how it ended; may be called more than once.
  Status wait() const;
  /// The same, but gives nothing when the run is not over by then.
  std::optional<Status> waitFor(std::chrono::nanoseconds time) const;
  /// Calls `callback` once with the outcome: now when the run is over, else at its end, on a thread
  /// of the driver's, where no driver may be called. Several are called in the order given.
  void onDone(std::function<void(const Status &)> callback) const;

private:
  Status outcome;
  std::shared_ptr<PendingRun> run; ///< null when it was over at once
};

} // namespace gantry::runtime
