// cuBLASLt, opened at run time as libcuda is: a pointer for each function, and what its failures
// mean.
#pragma once

#include "Common.h"
#include "CublasLtApi.h"

#include <memory>

namespace gantry::runtime::cuda::cublaslt {

/// Never closed, as what it has started bears no end.
struct CublasLt {
#define GANTRY_CUBLASLT_FUNCTION(name, symbol, ...) Result (*name)(__VA_ARGS__) = nullptr;
#define GANTRY_CUBLASLT_QUESTION(name, symbol, answer, ...) answer (*name)(__VA_ARGS__) = nullptr;
#include "CublasLtFunctions.def"

  std::string path; ///< what was opened
  std::array<size_t, 3> version = {};

  /// The library that GANTRY_CUBLASLT_LIB names, else libcublasLt.so.13 or .12, by the rules of
  /// openLibrary. UNAVAILABLE says what is missing. Asks nothing of a GPU.
  static Expected<std::unique_ptr<CublasLt>> open();

  /// `result` of a call in a context: success, or a failure that names the call.
  Status check(Context &context, Result result, const char *call) const;
};

#define GANTRY_CUBLASLT_FUNCTION(name, symbol, ...)                                                \
  inline constexpr const char *symbolOf_##name = #symbol;
#include "CublasLtFunctions.def"

/// Calls a function of the table in a context, and names it when it fails.
#define GANTRY_CUBLASLT_IN(library, context, name, ...)                                            \
  ((library).check((context), (library).name(__VA_ARGS__),                                         \
                   ::gantry::runtime::cuda::cublaslt::symbolOf_##name))

} // namespace gantry::runtime::cuda::cublaslt
