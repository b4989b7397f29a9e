// What one caller gives to and takes from the runs of a function: its inputs and outputs.
//
// Bindings are apart from the session so that threads can share one: each thread has its own. They
// are checked when bound, and a run only patches addresses.
//
// Kernels rely on 64-byte alignment and on memory of the right device. An array that has both is
// used in place. Any other goes through an aligned buffer, allocated at the bind call and copied at
// each run; DeviceStats::stagedCopies counts those. An output that is not bound gets memory of the
// Bindings' own, allocated before the first run. Arrays on a GPU are used in place or not at all.
#pragma once

#include "gantry/Runtime/Executor.h"
#include "gantry/Runtime/LoadedPlan.h"
#include "gantry/Support/Cancel.h"

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

namespace gantry::runtime {

/// For one function of one plan, usable with every session of it, by one thread and for one run at
/// a time: while a run that was submitted goes on, nothing can be bound (FAILED_PRECONDITION).
class Bindings : public std::enable_shared_from_this<Bindings> {
public:
  /// NOT_FOUND for an unknown function.
  static Expected<std::shared_ptr<Bindings>> create(std::shared_ptr<const LoadedPlan> plan,
                                                    std::string_view function);
  static Expected<std::shared_ptr<Bindings>> create(std::shared_ptr<const LoadedPlan> plan,
                                                    unsigned function);

  /// Binds an array of exactly the declared type; it must stay until it is bound anew or the last
  /// run is over. INVALID_ARGUMENT says expected against actual.
  Status bindInput(unsigned index, const Tensor &tensor);
  Status bindInput(std::string_view name, const Tensor &tensor);
  /// An output that the plan lets lie over an input (BindingInfo::over) may be bound to the input's
  /// array: the run then leaves the output in the place of what it read.
  Status bindOutput(unsigned index, const Tensor &tensor);
  Status bindOutput(std::string_view name, const Tensor &tensor);

  /// Lets go of all arrays that are bound: what they held goes with its other owners, and the next
  /// run needs its inputs bound again.
  Status unbind();

  /// Runs look at it before each command; null: they do not. It must outlive them.
  void setCancel(const Cancel *token) { cancel = token; }

  /// Work on GPUs comes after what is on this stream of the caller's when a run starts, and what is
  /// put on it after submit comes after the run; null: none. What it is, the driver knows.
  Status setStream(void *callersStream);

  /// The bound array, or a view of the Bindings' own memory that is valid until the next run with
  /// these bindings (it may be asked for before the first run).
  Expected<Tensor> output(unsigned index);
  Expected<Tensor> output(std::string_view name);

  const LoadedPlan &plan() const { return *loaded; }
  unsigned function() const { return functionNumber; }
  const FunctionInfo &info() const { return loaded->functions()[functionNumber]; }

private:
  friend class PendingRun;
  friend class Session;

  struct Slot {
    Tensor tensor;
    bool bound = false;
    bool staged = false;
    std::shared_ptr<Allocation> memory; ///< staging, or the unbound output
    uint8_t *address = nullptr;         ///< what kernels get
  };

  Bindings(std::shared_ptr<const LoadedPlan> plan, unsigned function);
  Status bind(Slot &slot, const BindingInfo &info, const char *kind, const Tensor &tensor);
  Status allocateOwn(Slot &slot, const BindingInfo &info);
  /// Everything bound, nothing overlapping, all addresses known. Cheap when nothing was bound anew.
  Status prepare();
  Status checkOverlaps() const;
  Status copyIn();
  enum class Where { everywhere, inlineDevices };
  Status copyOut(Where where = Where::everywhere);

  /// FAILED_PRECONDITION while a run that was submitted goes on.
  Status checkIdle() const;
  /// Begins such a run; gives what is to be copied behind its commands.
  std::vector<OutputCopy> startLater();
  /// Ends it, on whichever thread.
  Status finishLater();

  std::shared_ptr<const LoadedPlan> loaded;
  unsigned functionNumber;
  std::vector<Slot> inputs, outputs;
  const Cancel *cancel = nullptr;
  void *stream = nullptr;
  bool ready = false;
  std::atomic<bool> isRunning{false}; ///< a submitted run goes on
};

} // namespace gantry::runtime
