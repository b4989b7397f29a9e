// libcuda, opened at run time: one pointer for each function of Functions.def, and what its errors
// mean to Gantry.
#pragma once

#include "Api.h"
#include "gantry/Support/Status.h"

#include <memory>
#include <string>

namespace gantry::runtime::cuda {

/// Never closed: libcuda does not bear it.
struct Library {
#define GANTRY_CUDA_FUNCTION(name, symbol, ...) Result (*name)(__VA_ARGS__) = nullptr;
#include "Functions.def"

  std::string path;   ///< what was opened
  int version = 0;    ///< of CUDA that the driver is for: 13000
  int numDevices = 0; ///< GPUs that CUDA_VISIBLE_DEVICES lets through

  /// The library that GANTRY_CUDA_LIB names, else libcuda.so.1, started, with at least one GPU. No
  /// context is made. UNAVAILABLE names what is missing and what to do.
  static Expected<std::unique_ptr<Library>> open();

  /// Success, or a failure that names the call: "cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY (out of
  /// memory)".
  Status check(Result result, const char *call) const;
  /// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)"
  std::string describe(Result result) const;
};

/// Whether this process was forked from one that had opened the library: CUDA works in the parent
/// only, and what is there is the parent's.
bool wasForked();
/// FAILED_PRECONDITION says so.
Status checkNotForked();

/// Whether the context is lost with it: every call that follows fails as well.
bool isSticky(Result result);

/// Calls a function of the table and names it when it fails.
#define GANTRY_CUDA_CALL(library, name, ...)                                                       \
  ((library).check((library).name(__VA_ARGS__), ::gantry::runtime::cuda::symbolOf_##name))

#define GANTRY_CUDA_FUNCTION(name, symbol, ...)                                                    \
  inline constexpr const char *symbolOf_##name = #symbol;
#include "Functions.def"

} // namespace gantry::runtime::cuda
