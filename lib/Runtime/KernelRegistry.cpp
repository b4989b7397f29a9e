// A map and its two error messages.
#include "gantry/Runtime/KernelRegistry.h"

namespace gantry::runtime {

Status KernelRegistry::add(const std::string &name, KernelFn fn) {
  if (name.empty())
    return Status::invalidArgument("a kernel needs a name");
  if (!fn)
    return Status::invalidArgument("kernel '" + name + "' has no function");
  std::lock_guard lock(mutex);
  auto [entry, isNew] = kernels.emplace(name, fn);
  if (!isNew && entry->second != fn)
    return Status::invalidArgument("kernel '" + name +
                                   "' is registered already, with another function");
  return {};
}

Expected<KernelFn> KernelRegistry::find(const std::string &name) const {
  std::lock_guard lock(mutex);
  if (auto entry = kernels.find(name); entry != kernels.end())
    return entry->second;
  std::string known;
  for (auto &[knownName, fn] : kernels)
    known += (known.empty() ? "'" : ", '") + knownName + "'";
  return Status::notFound("no kernel '" + name + "' is registered" +
                          (known.empty() ? std::string() : "; there are " + known) +
                          "; register it before loading the plan (gantry_kernel_register)");
}

} // namespace gantry::runtime
