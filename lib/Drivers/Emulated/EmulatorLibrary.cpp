#include "EmulatorLibrary.h"

#include "gantry/Support/Environment.h"
#include "gantry/Support/Version.h"

#include <dlfcn.h>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/auxv.h>

namespace gantry::runtime {

namespace {

constexpr const char *libraryName = "libgantry-emulator.so";

/// The file that this code is in: a library, or the program, whose name the loader does not know.
std::filesystem::path ownFile() {
  Dl_info here, program;
  std::error_code error;
  if (!::dladdr(reinterpret_cast<const void *>(&openEmulator), &here))
    return {};
  const auto *entry = reinterpret_cast<const void *>(::getauxval(AT_ENTRY));
  if (::dladdr(entry, &program) && program.dli_fbase == here.dli_fbase)
    return std::filesystem::read_symlink("/proc/self/exe", error);
  return std::filesystem::weakly_canonical(here.dli_fname, error);
}

std::string libraryPath() {
  if (std::string exact = environment("GANTRY_EMULATOR"); !exact.empty())
    return exact;
  const std::filesystem::path folder = ownFile().parent_path();
  std::error_code error;
  for (const auto &beside :
       {folder, folder.parent_path() / "lib", folder.parent_path() / GANTRY_LIBDIR})
    if (beside.is_absolute() && std::filesystem::exists(beside / libraryName, error))
      return (beside / libraryName).string();
  return libraryName;
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

Expected<const gantry_emulator_t *> openEmulator() { return open(libraryPath()); }

} // namespace gantry::runtime
