// NCCL, opened at run time as cuBLASLt is: a pointer for each function, and what its failures mean.
#pragma once

#include "Common.h"
#include "NcclApi.h"

#include <memory>

namespace gantry::runtime::cuda::nccl {

struct Nccl {
#define GANTRY_NCCL_FUNCTION(name, symbol, ...) Result (*name)(__VA_ARGS__) = nullptr;
#define GANTRY_NCCL_QUESTION(name, symbol, answer, ...) answer (*name)(__VA_ARGS__) = nullptr;
#include "NcclFunctions.def"

  std::string path; ///< what was opened
  std::array<size_t, 3> version = {};

  /// The library that GANTRY_NCCL_LIB names, else libnccl.so.2, by the rules of openLibrary.
  /// UNAVAILABLE says what is missing. Asks nothing of a GPU.
  static Expected<std::unique_ptr<Nccl>> open();

  /// `result` of a call that concerns a context: success, or a failure that names the call.
  Status check(Context &context, Result result, const char *call) const;
};

#define GANTRY_NCCL_FUNCTION(name, symbol, ...)                                                    \
  inline constexpr const char *symbolOf_##name = #symbol;
#include "NcclFunctions.def"

/// Calls a function of the table for a context, and names it when it fails.
#define GANTRY_NCCL_IN(library, context, name, ...)                                                \
  ((library).check((context), (library).name(__VA_ARGS__),                                         \
                   ::gantry::runtime::cuda::nccl::symbolOf_##name))

} // namespace gantry::runtime::cuda::nccl
