// Kernels that the program brings along, by name, for the `custom` kernels of plans (spec G5).
#pragma once

#include "gantry/Runtime/Kernel.h"
#include "gantry/Support/Status.h"

#include <map>
#include <mutex>
#include <string>

namespace gantry::runtime {

/// Belongs to a Runtime. Thread-safe.
class KernelRegistry {
public:
  /// Plans loaded from now on find `fn` under `name`. INVALID_ARGUMENT for an empty name, a null
  /// function, or a name that has another function already.
  Status add(const std::string &name, KernelFn fn);

  /// NOT_FOUND lists the registered names.
  Expected<KernelFn> find(const std::string &name) const;

private:
  mutable std::mutex mutex;
  std::map<std::string, KernelFn> kernels;
};

} // namespace gantry::runtime
