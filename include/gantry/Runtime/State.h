// The variables of a plan: one set of values that sessions share.
#pragma once

#include "gantry/Runtime/Array.h"
#include "gantry/Runtime/LoadedPlan.h"
#include "gantry/Runtime/RunLock.h"
#include "gantry/Runtime/Tensor.h"

#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

namespace gantry::runtime {

/// Owns the memory of its variables. Variables start with the values that the plan has for them,
/// else as zeros; a function of the plan, or write(), gives them others. Sessions lock it for the
/// length of a run: shared, or alone when the function writes.
class State {
public:
  struct Variable {
    std::string name;
    TensorType type;
    Device *device = nullptr;
    uint8_t *data = nullptr;
    std::string mirrorOf;                ///< of a replica's copy: the variable it is a copy of
    std::shared_ptr<const Array> memory; ///< of one that was added; else it lies in an arena
  };

  static Expected<std::shared_ptr<State>> create(std::shared_ptr<const LoadedPlan> plan);

  /// Without variables, for programs that make them before the plans that use them.
  static std::shared_ptr<State> createEmpty(std::shared_ptr<Runtime> runtime);

  /// Adds a variable with the array's type, device and contents, of which it has a copy.
  /// INVALID_ARGUMENT when there is one of that name; DOES_NOT_FIT. Of the calls of a state these
  /// three alone need others to be over, but runs may go on.
  Status add(const std::string &name, const Array &array);
  /// Takes out a variable that was added; programs that use it keep its memory. FAILED_PRECONDITION
  /// for one of the plan.
  Status remove(std::string_view name);
  /// Adds those variables of the plan that the state lacks, with the plan's values.
  /// INVALID_ARGUMENT when one is there with another type or on another device.
  Status extend(const std::shared_ptr<const LoadedPlan> &other);

  /// A copy of the variable's value, on its device. NOT_FOUND lists the variables.
  Expected<std::shared_ptr<Array>> copyOf(std::string_view name) const;

  std::span<const Variable> variables() const { return all; }

  /// Copies a variable's bytes out to, or in from, host memory of type.byteSize() bytes. Waits for
  /// running sessions. What is written to a variable is written to its mirrors. NOT_FOUND lists the
  /// variables.
  Status read(std::string_view name, void *data) const;
  Status write(std::string_view name, const void *data);

  /// A variable with memory of the host for its value, of exactly the variable's type.
  struct Value {
    std::string_view name;
    Tensor tensor;
  };
  /// The same for many, with no run in between: what is read is of one moment. All are checked
  /// before the first is copied, so that none is when one is wrong; only a device that fails leaves
  /// some written. Errors: NOT_FOUND lists the variables; INVALID_ARGUMENT for another type, no
  /// memory, a variable given twice, or writing a mirror, which gets what its variable gets.
  Status read(std::span<const Value> values) const;
  Status write(std::span<const Value> values);

  /// Gives `take` the bytes of each variable, one after the other, with no run that writes them in
  /// between, in place where they are memory of the host, else copied there one at a time. Ends
  /// with the first failure of `take`. Errors: NOT_FOUND; DOES_NOT_FIT, no memory for a copy.
  Status readEach(std::span<const std::string_view> names,
                  const std::function<Status(std::span<const uint8_t>)> &take) const;

  /// Where bytes lie, and what keeps them there where the state itself does not.
  struct Place {
    uint8_t *data;
    std::shared_ptr<const Array> memory;
  };
  /// Place of `size` bytes of the plan's variables at `offset` in `arena`. The plan may be
  /// another one than the state was made for, as long as it has the same variables (by name and
  /// type); then the bytes lie in one of them.
  Expected<Place> resolve(const LoadedPlan &other, uint32_t arena, uint64_t offset,
                          uint64_t size) const;

  /// Held by a run until it is over, which may be on another thread.
  RunLock &lock() const { return mutex; }

private:
  explicit State(std::shared_ptr<Runtime> runtime) : runtime(std::move(runtime)) {}
  const Variable *lookUp(std::string_view name) const;
  Expected<const Variable *> find(std::string_view name) const;
  /// The variables that `values` name, in their order, after all checks that both ways share.
  Expected<std::vector<const Variable *>> match(std::span<const Value> values) const;
  Status upload(const Variable &variable, const void *data);
  Status checkSame(const Variable &mine, const LoadedPlan &other,
                   const plan::fb::Variable &theirs) const;
  Status addFrom(const LoadedPlan &other, const plan::fb::Variable &variable, uint8_t *data,
                 std::shared_ptr<const Array> memory = {});
  Status fillMirror(const Variable &mirror);

  std::shared_ptr<Runtime> runtime;       // first: keeps the devices alive
  std::shared_ptr<const LoadedPlan> plan; // whose variables arenas these are; may be null
  std::vector<Allocation> arenas;         // by arena of the plan
  std::vector<Variable> all;
  mutable RunLock mutex;
  mutable std::mutex changing; // `all`, while it grows or shrinks beside runs that look it up
};

} // namespace gantry::runtime
