// The variables of a plan: one set of values that sessions share.
#pragma once

#include "gantry/Runtime/LoadedPlan.h"
#include "gantry/Runtime/RunLock.h"
#include "gantry/Runtime/Tensor.h"

#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

namespace gantry::runtime {

/// Owns the variables arenas. Variables start with the values that the plan has for them, else as
/// zeros; a function of the plan, or write(), gives them others. Sessions lock it for the length of
/// a run: shared, or alone when the function writes.
class State {
public:
  struct Variable {
    std::string name;
    TensorType type;
    Device *device = nullptr;
    uint8_t *data = nullptr;
    std::string mirrorOf; ///< of a replica's copy: the variable it is a copy of
  };

  static Expected<std::shared_ptr<State>> create(std::shared_ptr<const LoadedPlan> plan);

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

  /// Address of the plan's variable byte `offset` in `arena`. The plan may be another one than the
  /// state was made for, as long as it has the same variables (by name and type).
  Expected<uint8_t *> resolve(const LoadedPlan &other, uint32_t arena, uint64_t offset) const;

  /// Held by a run until it is over, which may be on another thread.
  RunLock &lock() const { return mutex; }

private:
  explicit State(std::shared_ptr<const LoadedPlan> plan) : plan(std::move(plan)) {}
  Expected<const Variable *> find(std::string_view name) const;
  /// The variables that `values` name, in their order, after all checks that both ways share.
  Expected<std::vector<const Variable *>> match(std::span<const Value> values) const;
  Status upload(const Variable &variable, const void *data);

  std::shared_ptr<const LoadedPlan> plan; // keeps the devices alive
  std::vector<Allocation> arenas;         // by arena
  std::vector<Variable> all;
  mutable RunLock mutex;
};

} // namespace gantry::runtime
