#include "Library.h"

#include "gantry/Support/Environment.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <pthread.h>

namespace gantry::runtime::cuda {

namespace {

bool isChild = false; ///< set where no other thread is
std::once_flag watched;

constexpr const char *usualName = "libcuda.so.1";

/// Finds every symbol, or says which is missing.
Status findSymbols(void *opened, Library &library) {
#define GANTRY_CUDA_FUNCTION(name, symbol, ...)                                                    \
  library.name = reinterpret_cast<decltype(library.name)>(::dlsym(opened, #symbol));               \
  if (!library.name)                                                                               \
    return Status::unavailable("'" + library.path +                                                \
                               "' has no function " #symbol                                        \
                               ": a driver for CUDA 12 or newer is needed");
#include "Functions.def"
  return {};
}

/// Why there is nothing to work with, in words that say what to do.
Status explainStart(const Library &library, Result result) {
  if (result == Result::stubLibrary)
    return Status::unavailable("'" + library.path +
                               "' is the stub of the CUDA Toolkit, which is for linking only; "
                               "remove its folder from the loader's path");
  const char *visible = environmentVariable("CUDA_VISIBLE_DEVICES");
  if (result == Result::noDevice)
    return Status::unavailable(
        "NVIDIA's driver is installed, but it shows no GPU" +
        (visible ? " (CUDA_VISIBLE_DEVICES is '" + std::string(visible) + "')" : std::string()));
  const Status status = library.check(result, symbolOf_init);
  return Status::unavailable(status.message());
}

/// CUDA numbers GPUs by their speed unless it is told to go by their places, as NVML does and so
/// all that Gantry says of them.
Status start(Library &library) {
  ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", /*overwrite=*/0);
  if (Result result = library.init(0); result != Result::success)
    return explainStart(library, result);
  if (Result result = library.driverVersion(&library.version); result != Result::success)
    return library.check(result, symbolOf_driverVersion);
  if (library.version < 12000)
    return Status::unavailable(
        "'" + library.path + "' is for CUDA " + std::to_string(library.version / 1000) + "." +
        std::to_string(library.version % 1000 / 10) + ": a driver for CUDA 12 or newer is needed");
  if (Result result = library.deviceCount(&library.numDevices); result != Result::success)
    return explainStart(library, result);
  return library.numDevices > 0 ? Status() : explainStart(library, Result::noDevice);
}

Expected<std::unique_ptr<Library>> load() {
  auto library = std::make_unique<Library>();
  library->path = environment("GANTRY_CUDA_LIB");
  if (library->path.empty())
    library->path = usualName;
  void *opened = ::dlopen(library->path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    const char *why = ::dlerror();
    return Status::unavailable("NVIDIA's driver cannot be opened: " +
                               std::string(why ? why : library->path));
  }
  GANTRY_RETURN_IF_ERROR(findSymbols(opened, *library));
  GANTRY_RETURN_IF_ERROR(start(*library));
  return library;
}

} // namespace

bool wasForked() { return isChild; }

Status checkNotForked() {
  if (!isChild)
    return {};
  return Status::failedPrecondition("this process was forked from one that uses CUDA, which works "
                                    "in the parent only; fork before the first plan is loaded, or "
                                    "start a new program");
}

Expected<std::unique_ptr<Library>> Library::open() {
  GANTRY_RETURN_IF_ERROR(checkNotForked());
  std::call_once(watched, [] { ::pthread_atfork(nullptr, nullptr, [] { isChild = true; }); });
  return load();
}

std::string Library::describe(Result result) const {
  const char *name = nullptr, *text = nullptr;
  if (errorName(result, &name) != Result::success || !name)
    return "error " + std::to_string(static_cast<int>(result));
  if (errorString(result, &text) != Result::success || !text)
    return name;
  return std::string(name) + " (" + text + ")";
}

namespace {

StatusCode codeOf(Result result) {
  switch (result) {
  case Result::outOfMemory:
    return StatusCode::doesNotFit;
  case Result::noDevice:
  case Result::invalidDevice:
  case Result::stubLibrary:
  case Result::notPermitted:
  case Result::systemDriverMismatch:
  case Result::jitCompilerNotFound:
    return StatusCode::unavailable;
  case Result::invalidImage:
  case Result::invalidPTX:
    return StatusCode::corrupt;
  case Result::noBinaryForGPU:
  case Result::unsupportedPTXVersion:
  case Result::jitCompilationDisabled:
  case Result::notSupported:
  case Result::captureUnsupported:
  case Result::captureInvalidated:
  case Result::captureMerge:
  case Result::captureUnmatched:
  case Result::captureUnjoined:
  case Result::captureIsolation:
  case Result::captureImplicit:
  case Result::capturedEvent:
  case Result::captureWrongThread:
    return StatusCode::unsupported;
  case Result::notFound:
    return StatusCode::notFound;
  default:
    return StatusCode::internal;
  }
}

} // namespace

Status Library::check(Result result, const char *call) const {
  if (result == Result::success)
    return {};
  return Status(codeOf(result), std::string(call) + ": " + describe(result));
}

bool isSticky(Result result) {
  switch (result) {
  case Result::deinitialized:
  case Result::eccUncorrectable:
  case Result::nvlinkUncorrectable:
  case Result::illegalAddress:
  case Result::launchTimeout:
  case Result::contextIsDestroyed:
  case Result::assertion:
  case Result::hardwareStackError:
  case Result::illegalInstruction:
  case Result::misalignedAddress:
  case Result::invalidAddressSpace:
  case Result::invalidPC:
  case Result::launchFailed:
    return true;
  default:
    return false;
  }
}

} // namespace gantry::runtime::cuda
