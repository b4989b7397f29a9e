#include "Library.h"

#include "gantry/Support/Environment.h"
#include "gantry/Transports/MPI.h"

#include <cctype>
#include <charconv>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <string_view>
#include <vector>

namespace gantry::runtime {

namespace mpi {
namespace {

constexpr const char *kOpenMPI = "libmpi.so.40", *kMPICH = "libmpich.so.12";
constexpr const char *kMPICHsABI = "libmpi.so.12", *kStandard = "libmpi_abi.so.0";

bool isLibraryName(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libmpi.so") || name.starts_with("libmpich.so") ||
         name.starts_with("libmpi_abi.so");
}

/// The path of an MPI library that this process has already, as that of mpi4py, which dlsym does
/// not see; empty where there is none.
std::string loadedLibrary() {
  std::string found;
  auto look = [](dl_phdr_info *info, size_t, void *into) {
    if (!info->dlpi_name || !isLibraryName(info->dlpi_name))
      return 0;
    *static_cast<std::string *>(into) = info->dlpi_name;
    return 1;
  };
  ::dl_iterate_phdr(look, &found);
  return found;
}

bool isSet(const char *name) { return environmentVariable(name) != nullptr; }

/// What to try, in order.
std::vector<std::string> candidates() {
  if (std::string named = environment("GANTRY_MPI_LIB"); !named.empty())
    return {named};
  if (std::string loaded = loadedLibrary(); !loaded.empty())
    return {loaded};
  if (isSet("OMPI_COMM_WORLD_SIZE"))
    return {kOpenMPI, kStandard};
  if (isSet("PMI_SIZE") && !isSet("PMIX_RANK"))
    return {kMPICH, kMPICHsABI, kStandard};
  return {kOpenMPI, kMPICH, kMPICHsABI, kStandard};
}

Status findSymbols(void *opened, Library &library) {
#define GANTRY_MPI_FUNCTION(name, symbol, ...)                                                     \
  library.name = reinterpret_cast<decltype(library.name)>(::dlsym(opened, #symbol));               \
  if (!library.name)                                                                               \
    return Status::unavailable(                                                                    \
        "'" + library.path + "' has no function " #symbol ": it is no library of MPI 3 or newer");
#include "Functions.def"
  return {};
}

/// MPI 5 says which handles are what; a library of an older ABI may have the function, too, and
/// answers -1.
bool hasStandardAbi(void *opened) {
  using Function = int (*)(int *major, int *minor);
  auto version = reinterpret_cast<Function>(::dlsym(opened, "MPI_Abi_get_version"));
  int major = -1, minor = -1;
  return version && version(&major, &minor) == 0 && major >= 1;
}

Expected<Abi> findAbi(void *opened, const std::string &path, const std::string &version) {
  auto symbol = [&](const char *name) { return reinterpret_cast<Handle>(::dlsym(opened, name)); };
  if (hasStandardAbi(opened)) // values of MPI 5.0, Appendix A
    return Abi{"the standard ABI", sizeof(void *), 0x101, 0x247, 0x180, 0x143, nullptr};
  if (Handle world = symbol("ompi_mpi_comm_world"))
    return Abi{"Open MPI's ABI",
               sizeof(void *),
               world,
               symbol("ompi_mpi_byte"),
               symbol("ompi_request_null"),
               symbol("ompi_mpi_errors_return"),
               nullptr};
  for (const char *name : {"MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPICH"})
    if (version.find(name) != std::string::npos)
      return Abi{"MPICH's ABI",
                 sizeof(int),
                 0x44000000,
                 0x4c00010d,
                 0x2c000000,
                 0x54000001,
                 reinterpret_cast<void *>(1)};
  return Status::unavailable("'" + path + "' is '" + version +
                             "', whose ABI is not known; Open MPI, MPICH, what has MPICH's ABI and "
                             "libraries of MPI 5 are");
}

/// The first words of what a library says of itself: "Open MPI v4.1.4, package: …" and
/// "MPICH Version:\t4.0.2\n…".
std::string shorten(std::string text) {
  text.resize(std::min(text.find_first_of(",\n"), text.size()));
  for (const char *noise : {" Version:", "Version:"})
    if (size_t at = text.find(noise); at != std::string::npos)
      text.replace(at, std::strlen(noise), " ");
  std::string shorter;
  for (char c : text) {
    char shown = std::isprint(static_cast<unsigned char>(c)) ? c : ' ';
    if (shown != ' ' || (!shorter.empty() && shorter.back() != ' '))
      shorter += shown;
  }
  if (size_t at = shorter.find(" v"); at != std::string::npos && at + 2 < shorter.size() &&
                                      std::isdigit(static_cast<unsigned char>(shorter[at + 2])))
    shorter.erase(at + 1, 1);
  return shorter;
}

Expected<std::unique_ptr<Library>> openAt(void *opened, const std::string &path) {
  auto library = std::make_unique<Library>();
  library->path = path;
  GANTRY_RETURN_IF_ERROR(findSymbols(opened, *library));
  std::vector<char> text(8192 + 1); // MPI_MAX_LIBRARY_VERSION_STRING is 256 to 8192
  int length = 0;
  library->libraryVersion(text.data(), &length);
  const std::string version(text.data());
  library->version = shorten(version);
  Expected<Abi> abi = findAbi(opened, path, version);
  if (!abi)
    return abi.status();
  library->abi = *abi;
  return library;
}

} // namespace

Expected<std::unique_ptr<Library>> Library::open() {
  std::string tried;
  for (const std::string &path : candidates()) {
    // Never closed: MPI's libraries leave threads and handlers behind.
    if (void *opened = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return openAt(opened, path);
    const char *why = ::dlerror();
    tried += (tried.empty() ? "" : "; ") + std::string(why ? why : path);
  }
  return Status::unavailable("no library of MPI can be opened (" + tried +
                             "): install the one of the launcher (Debian: openmpi-bin or mpich), "
                             "or name it by GANTRY_MPI_LIB");
}

Status Library::check(int result, const char *function) const {
  if (result == 0)
    return {};
  std::vector<char> text(1024 + 1);
  int length = 0;
  if (errorString(result, text.data(), &length) != 0)
    return Status::internal(std::string(function) + " failed with " + std::to_string(result));
  return Status::internal(std::string(function) + " failed: " + text.data());
}

} // namespace mpi

uint32_t ranksOfLauncher() {
  // Not SLURM_NTASKS, which every batch script has.
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const std::string text = environment(name);
    uint32_t ranks = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), ranks).ec == std::errc() && ranks)
      return ranks;
  }
  return 0;
}

} // namespace gantry::runtime
