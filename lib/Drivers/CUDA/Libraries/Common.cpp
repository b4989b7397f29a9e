#include "Common.h"

#include "gantry/Support/Environment.h"

#include <charconv>
#include <dlfcn.h>
#include <vector>

namespace gantry::runtime::cuda {

Expected<OpenedLibrary> openLibrary(const char *name, const char *variable,
                                    std::initializer_list<const char *> usual) {
  std::vector<std::string> files(usual.begin(), usual.end());
  if (std::string named = environment(variable); !named.empty())
    files = {std::move(named)};
  else if (!environment("GANTRY_CUDA_LIB").empty())
    return Status::unavailable("GANTRY_CUDA_LIB names a libcuda, and " + std::string(variable) +
                               " no " + name + " that works with it");
  std::string why;
  for (const std::string &file : files) {
    if (void *opened = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL))
      return OpenedLibrary{opened, file};
    const char *said = ::dlerror();
    if (why.empty())
      why = said ? said : file;
  }
  return Status::unavailable(std::string(name) + " cannot be opened: " + why);
}

bool isAtLeast(std::array<size_t, 3> version, std::string_view oldest) {
  for (size_t own : version) {
    size_t wanted = 0;
    auto [end, error] = std::from_chars(oldest.data(), oldest.data() + oldest.size(), wanted);
    if (error != std::errc())
      return true;
    if (own != wanted)
      return own > wanted;
    oldest.remove_prefix(static_cast<size_t>(end - oldest.data()));
    oldest.remove_prefix(oldest.empty() ? 0 : 1); // the dot
  }
  return true;
}

std::string versionText(std::array<size_t, 3> version) {
  return std::to_string(version[0]) + "." + std::to_string(version[1]) + "." +
         std::to_string(version[2]);
}

Status libraryFailure(Context &context, StatusCode code, const char *call,
                      const std::string &what) {
  GANTRY_RETURN_IF_ERROR(context.lost());
  size_t free = 0, total = 0;
  const Result asked = context.api().memoryInfo(&free, &total);
  if (isSticky(asked))
    return context.check(asked, call);
  return Status(code, std::string(call) + ": " + what);
}

Status afterCapture(Context &context, StreamHandle stream, Status status) {
  if (status.ok())
    return status;
  CaptureStatus capture = CaptureStatus::none;
  const bool isBroken = context.api().isCapturing(stream, &capture) != Result::success ||
                        capture == CaptureStatus::invalidated;
  return isBroken ? Status(StatusCode::unsupported, status.message()) : status;
}

} // namespace gantry::runtime::cuda
