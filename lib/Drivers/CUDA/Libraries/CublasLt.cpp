#include "CublasLt.h"

#include <dlfcn.h>

namespace gantry::runtime::cuda::cublaslt {

namespace {

Status findSymbols(void *opened, CublasLt &library) {
#define GANTRY_CUBLASLT_FIND(name, symbol)                                                         \
  library.name = reinterpret_cast<decltype(library.name)>(::dlsym(opened, #symbol));               \
  if (!library.name)                                                                               \
    return Status::unavailable("'" + library.path +                                                \
                               "' has no function " #symbol ": cuBLASLt 12 or newer is needed");
#define GANTRY_CUBLASLT_FUNCTION(name, symbol, ...) GANTRY_CUBLASLT_FIND(name, symbol)
#define GANTRY_CUBLASLT_QUESTION(name, symbol, answer, ...) GANTRY_CUBLASLT_FIND(name, symbol)
#include "CublasLtFunctions.def"
#undef GANTRY_CUBLASLT_FIND
  return {};
}

} // namespace

Expected<std::unique_ptr<CublasLt>> CublasLt::open() {
  Expected<OpenedLibrary> opened =
      openLibrary("cuBLASLt", "GANTRY_CUBLASLT_LIB", {"libcublasLt.so.13", "libcublasLt.so.12"});
  if (!opened)
    return opened.status();
  auto library = std::make_unique<CublasLt>();
  library->path = opened->path;
  GANTRY_RETURN_IF_ERROR(findSymbols(opened->handle, *library));
  const size_t version = library->askVersion();
  library->version = {version / 10000, version / 100 % 100, version % 100};
  return library;
}

namespace {

StatusCode codeOf(Result result) {
  switch (result) {
  case Result::allocationFailed:
    return StatusCode::doesNotFit;
  case Result::notInitialized:
  case Result::licenseError:
    return StatusCode::unavailable;
  case Result::architectureMismatch:
  case Result::notSupported:
    return StatusCode::unsupported;
  default:
    return StatusCode::internal;
  }
}

} // namespace

Status CublasLt::check(Context &context, Result result, const char *call) const {
  if (result == Result::success)
    return {};
  const char *name = statusName(result);
  return libraryFailure(context, codeOf(result), call,
                        name ? name : "error " + std::to_string(static_cast<int>(result)));
}

} // namespace gantry::runtime::cuda::cublaslt
