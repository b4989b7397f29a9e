#include "CublasLt.h"

#include <charconv>
#include <cstdlib>
#include <dlfcn.h>
#include <vector>

namespace gantry::runtime::cuda::cublaslt {

namespace {

std::string variable(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

/// The files to try, in that order.
std::vector<std::string> candidates() {
  if (std::string named = variable("GANTRY_CUBLASLT_LIB"); !named.empty())
    return {named};
  if (!variable("GANTRY_CUDA_LIB").empty())
    return {};
  return {"libcublasLt.so.13", "libcublasLt.so.12"};
}

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
  const std::vector<std::string> files = candidates();
  if (files.empty())
    return Status::unavailable("GANTRY_CUDA_LIB names a libcuda, and GANTRY_CUBLASLT_LIB no "
                               "cuBLASLt that works with it");
  std::string why;
  for (const std::string &file : files) {
    void *opened = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!opened) {
      const char *said = ::dlerror();
      if (why.empty())
        why = said ? said : file;
      continue;
    }
    auto library = std::make_unique<CublasLt>();
    library->path = file;
    GANTRY_RETURN_IF_ERROR(findSymbols(opened, *library));
    library->version = library->askVersion();
    return library;
  }
  return Status::unavailable("cuBLASLt cannot be opened: " + why);
}

std::string CublasLt::versionText() const {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

bool CublasLt::isAtLeast(std::string_view oldest) const {
  for (size_t own : {version / 10000, version / 100 % 100, version % 100}) {
    size_t wanted = 0;
    auto [end, error] = std::from_chars(oldest.data(), oldest.data() + oldest.size(), wanted);
    if (error != std::errc()) // what is not said is 0
      return true;
    if (own != wanted)
      return own > wanted;
    oldest.remove_prefix(static_cast<size_t>(end - oldest.data()));
    oldest.remove_prefix(oldest.empty() ? 0 : 1); // the dot
  }
  return true;
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
  GANTRY_RETURN_IF_ERROR(context.lost());
  size_t free = 0, total = 0;
  const auto asked = context.api().memoryInfo(&free, &total);
  if (isSticky(asked))
    return context.check(asked, call);
  const char *name = statusName(result);
  return Status(codeOf(result), std::string(call) + ": " +
                                    (name ? std::string(name)
                                          : "error " + std::to_string(static_cast<int>(result))));
}

} // namespace gantry::runtime::cuda::cublaslt
