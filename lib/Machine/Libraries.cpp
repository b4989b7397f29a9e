#include "gantry/Machine/Libraries.h"

#include "Nvml.h"

#include "gantry/Support/Environment.h"

#include <dlfcn.h>

namespace gantry::machine {

namespace {

std::string dotted(size_t major, size_t minor, size_t patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

template <typename Function>
Function *symbol(void *library, const char *name) {
  return reinterpret_cast<Function *>(dlsym(library, name));
}

// Each says its version in a way of its own; empty when it does not.

std::string cudaVersion(void *library) {
  int version = 0;
  auto ask = symbol<int(int *)>(library, "cuDriverGetVersion");
  if (!ask || ask(&version) != 0)
    return "";
  return "for CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string cublasVersion(void *library) {
  auto ask = symbol<size_t()>(library, "cublasLtGetVersion");
  const size_t version = ask ? ask() : 0;
  return version ? dotted(version / 10000, version / 100 % 100, version % 100) : "";
}

std::string cudnnVersion(void *library) {
  auto ask = symbol<size_t()>(library, "cudnnGetVersion");
  const size_t version = ask ? ask() : 0;
  return version ? dotted(version / 10000, version / 100 % 100, version % 100) : "";
}

std::string ncclVersion(void *library) {
  int version = 0;
  auto ask = symbol<int(int *)>(library, "ncclGetVersion");
  if (!ask || ask(&version) != 0)
    return "";
  const auto number = static_cast<size_t>(version);
  return dotted(number / 10000, number / 100 % 100, number % 100);
}

std::string dnnlVersion(void *library) {
  struct Version {
    int major, minor, patch; // and more
  };
  auto ask = symbol<const Version *()>(library, "dnnl_version");
  const Version *version = ask ? ask() : nullptr;
  return version ? dotted(static_cast<size_t>(version->major), static_cast<size_t>(version->minor),
                          static_cast<size_t>(version->patch))
                 : "";
}

struct KnownLibrary {
  const char *name;
  std::vector<const char *> files; ///< the first that opens
  std::string (*version)(void *library);
  const char *present;            ///< what it is used for
  const char *absent;             ///< what is used in its place
  const char *variable = nullptr; ///< of the environment, which names another file
};

constexpr const char *generated = "kernels are generated";

const KnownLibrary candidates[] = {
    {"CUDA driver",
     {"libcuda.so.1"},
     cudaVersion,
     "runs plans on GPUs",
     "GPUs can be emulated or simulated",
     "GANTRY_CUDA_LIB"},
    {"cuBLASLt",
     {"libcublasLt.so.13", "libcublasLt.so.12"},
     cublasVersion,
     "matrix products of plans that name it (--libraries)",
     generated,
     "GANTRY_CUBLASLT_LIB"},
    {"cuDNN",
     {"libcudnn.so.9"},
     cudnnVersion,
     "not used by this version; kernels are generated",
     generated},
    {"NCCL",
     {"libnccl.so.2"},
     ncclVersion,
     "all-reduces of plans that were compiled with --collectives=nccl",
     "devices exchange directly",
     "GANTRY_NCCL_LIB"},
    {"oneDNN",
     {"libdnnl.so.3", "libdnnl.so.2"},
     dnnlVersion,
     "not used by this version; kernels are generated",
     generated},
};

/// The one that plans would run by: libcuda and the libraries that drivers open may be others, and
/// the usual ones of these do not work with another libcuda.
std::vector<std::string> filesOf(const KnownLibrary &candidate) {
  const std::vector<std::string> usual(candidate.files.begin(), candidate.files.end());
  if (!candidate.variable)
    return usual;
  if (std::string other = environment(candidate.variable); !other.empty())
    return {std::move(other)};
  const bool isCuda = candidate.version == cudaVersion;
  return isCuda || environment("GANTRY_CUDA_LIB").empty() ? usual : std::vector<std::string>();
}

LibraryReport look(const KnownLibrary &candidate) {
  LibraryReport report{candidate.name, "", candidate.absent};
  for (const std::string &file : filesOf(candidate)) {
    void *library = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!library)
      continue;
    report.version = candidate.version(library);
    if (report.version.empty())
      report.version = "found";
    report.note = candidate.present;
    break; // and never unloaded: not all of them clean up behind themselves
  }
  return report;
}

} // namespace

std::vector<LibraryReport> findLibraries() {
  std::vector<LibraryReport> reports;
  const NvmlReport nvml = readNvml();
  reports.push_back({"NVML",
                     nvml.driverVersion.empty() && nvml.found ? "found" : nvml.driverVersion,
                     nvml.found ? "lists GPUs" : "GPUs are not listed"});
  for (const KnownLibrary &candidate : candidates)
    reports.push_back(look(candidate));
  return reports;
}

} // namespace gantry::machine
