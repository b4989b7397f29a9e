#include "Nccl.h"

#include <dlfcn.h>

namespace gantry::runtime::cuda::nccl {

namespace {

Status findSymbols(void *opened, Nccl &library) {
#define GANTRY_NCCL_FIND(name, symbol)                                                             \
  library.name = reinterpret_cast<decltype(library.name)>(::dlsym(opened, #symbol));               \
  if (!library.name)                                                                               \
    return Status::unavailable("'" + library.path +                                                \
                               "' has no function " #symbol ": NCCL 2.10 or newer is needed");
#define GANTRY_NCCL_FUNCTION(name, symbol, ...) GANTRY_NCCL_FIND(name, symbol)
#define GANTRY_NCCL_QUESTION(name, symbol, answer, ...) GANTRY_NCCL_FIND(name, symbol)
#include "NcclFunctions.def"
#undef GANTRY_NCCL_FIND
  return {};
}

StatusCode codeOf(Result result) {
  switch (result) {
  case Result::systemError:
    return StatusCode::unavailable;
  case Result::invalidUsage:
    return StatusCode::unsupported;
  default:
    return StatusCode::internal;
  }
}

} // namespace

Expected<std::unique_ptr<Nccl>> Nccl::open() {
  Expected<OpenedLibrary> opened = openLibrary("NCCL", "GANTRY_NCCL_LIB", {"libnccl.so.2"});
  if (!opened)
    return opened.status();
  auto library = std::make_unique<Nccl>();
  library->path = opened->path;
  GANTRY_RETURN_IF_ERROR(findSymbols(opened->handle, *library));
  int version = 0;
  if (library->askVersion(&version) != Result::success || version < 10000)
    return Status::unavailable("'" + library->path + "' is too old: NCCL 2.10 or newer is needed");
  const auto number = static_cast<size_t>(version);
  library->version = {number / 10000, number / 100 % 100, number % 100};
  return library;
}

Status Nccl::check(Context &context, Result result, const char *call) const {
  if (result == Result::success)
    return {};
  const char *text = errorString(result);
  return libraryFailure(context, codeOf(result), call,
                        text ? text : "error " + std::to_string(static_cast<int>(result)));
}

} // namespace gantry::runtime::cuda::nccl
