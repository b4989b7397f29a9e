// The fake libcuda from a test's side: opens it, makes it the one that drivers open, and asks it.
#pragma once

#include "fake_cuda/Control.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string>

namespace gantry::runtime::test {

inline constexpr int outOfMemory = 2, illegalAddress = 700, launchFailed = 719;

/// `path`: the library where it was built; where a program was carried elsewhere with it,
/// GANTRY_CUDA_LIB names it. The drivers of this process open it from now on.
inline const fake_cuda_control_t &fakeCUDA(const char *path) {
  static const auto *control = [&] {
    void *library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (const char *named = std::getenv("GANTRY_CUDA_LIB"); !library && named)
      library = ::dlopen(path = named, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      std::abort();
    ::setenv("GANTRY_CUDA_LIB", path, 1);
    return static_cast<const fake_cuda_control_t *>(::dlsym(library, "fake_cuda_control"));
  }();
  return *control;
}

/// Two devices of 1 GiB on which everything is checked.
inline fake_cuda_options_t fakeOptions(uint64_t seed = 0) {
  fake_cuda_options_t options{};
  options.devices = 2;
  options.memory = uint64_t(1) << 30;
  options.arch = 90;
  options.seed = seed;
  options.checks_order = 1;
  options.checks_kernels = 2;
  options.has_peers = 1;
  options.has_vmm = 1;
  return options;
}

} // namespace gantry::runtime::test
