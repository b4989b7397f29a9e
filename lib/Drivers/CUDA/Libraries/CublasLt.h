// cuBLASLt, opened at run time as libcuda is: a pointer for each function, and what its failures
// mean.
#pragma once

#include "CUDA/Context.h"
#include "CublasLtApi.h"
#include "gantry/Support/Status.h"

#include <memory>
#include <string>

namespace gantry::runtime::cuda::cublaslt {

/// Never closed, as what it has started bears no end.
struct CublasLt {
#define GANTRY_CUBLASLT_FUNCTION(name, symbol, ...) Result (*name)(__VA_ARGS__) = nullptr;
#define GANTRY_CUBLASLT_QUESTION(name, symbol, answer, ...) answer (*name)(__VA_ARGS__) = nullptr;
#include "CublasLtFunctions.def"

  std::string path;   ///< what was opened
  size_t version = 0; ///< 130100 is 13.1.0

  /// The library that GANTRY_CUBLASLT_LIB names, else libcublasLt.so.13 or .12; only the named one
  /// where GANTRY_CUDA_LIB names another libcuda, since the usual ones would not work with that.
  /// UNAVAILABLE says what is missing. Asks nothing of a GPU.
  static Expected<std::unique_ptr<CublasLt>> open();

  /// "13.1.0"
  std::string versionText() const;
  /// Whether it is at least "12.4".
  bool isAtLeast(std::string_view oldest) const;

  /// `result` of a call in a context: success, or a failure that names the call. The library hides
  /// what CUDA told it, so that CUDA is asked whether the context is lost.
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
