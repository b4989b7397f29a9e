#include "EmulatorLibrary.h"

#include "gantry/Support/Version.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::runtime {

namespace {

constexpr const char *libraryName = "libgantry-emulator.so";

std::vector<std::string> places() {
  if (const char *exact = std::getenv("GANTRY_EMULATOR"); exact && *exact)
    return {exact};
  std::vector<std::string> found;
  Dl_info here;
  std::error_code error;
  if (::dladdr(reinterpret_cast<const void *>(&openEmulator), &here) && here.dli_fname) {
    const auto folder = std::filesystem::weakly_canonical(here.dli_fname, error).parent_path();
    for (const auto &candidate : {folder / libraryName, folder.parent_path() / "lib" / libraryName,
                                  folder.parent_path() / GANTRY_LIBDIR / libraryName})
      if (std::filesystem::exists(candidate, error))
        found.push_back(candidate.string());
  }
  found.push_back(libraryName);
  return found;
}

Expected<const gantry_emulator_t *> open(const std::string &path) {
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Status::unavailable("emulating a GPU needs the library '" + std::string(libraryName) +
                               "', which cannot be opened: " + ::dlerror() +
                               "; set GANTRY_EMULATOR to its path");
  const auto *emulator =
      static_cast<const gantry_emulator_t *>(::dlsym(library, "gantry_emulator"));
  if (!emulator || emulator->version() != std::string_view(GANTRY_VERSION_STRING)) {
    const std::string what = emulator ? std::string("of version ") + emulator->version() : "none";
    ::dlclose(library);
    return Status::unavailable(
        "'" + path + "' is no emulator of version " GANTRY_VERSION_STRING ", but " + what);
  }
  return emulator;
}

} // namespace

Expected<const gantry_emulator_t *> openEmulator() { return open(places().front()); }

} // namespace gantry::runtime
