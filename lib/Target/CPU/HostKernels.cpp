// Code as plans carry it, given to the system's loader from memory; see HostKernels.h.

#include "gantry/Target/CPU/HostKernels.h"

#include "EmitCode.h"
#include "Machine.h"
#include "gantry/Support/File.h"

#include <dlfcn.h>
#include <utility>

using namespace mlir;
using namespace gantry;

/// The file stays as long as the code: the loader tells by names what it has loaded, and another
/// file could get the same one.
struct HostKernels::Object {
  NamelessFile file;
  void *handle;

  Object(NamelessFile file, void *handle) : file(std::move(file)), handle(handle) {}
  ~Object() { dlclose(handle); }
};

HostKernels::HostKernels(std::unique_ptr<Object> object) : object(std::move(object)) {}
HostKernels::~HostKernels() = default;

FailureOr<std::string> HostKernels::machine(Location loc) {
  FailureOr<Machine> native = describeMachine(loc, "native");
  if (failed(native))
    return failure();
  const std::string &level = native->features.empty() ? native->architecture : native->features[0];
  return StringRef(level).starts_with(native->architecture) ? level : native->architecture;
}

FailureOr<std::unique_ptr<HostKernels>>
HostKernels::load(ModuleOp kernels, ArrayRef<std::string> names, const std::string &machine) {
  FailureOr<CPUCode> code = emitCPUCode(kernels, names, machine);
  if (failed(code))
    return failure();
  Expected<NamelessFile> file = NamelessFile::inMemory();
  if (!file)
    return kernels.emitError() << file.status().message();
  const std::vector<char> &bytes = code->sharedObject;
  Status written = file->write({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  if (!written.ok())
    return kernels.emitError() << written.message();
  void *handle = dlopen(file->path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return kernels.emitError() << "the system's loader refuses machine code: " << dlerror();
  return std::unique_ptr<HostKernels>(
      new HostKernels(std::make_unique<Object>(file.take(), handle)));
}

bool HostKernels::run(StringRef name, ArrayRef<void *> buffers, int64_t items) const {
  using Kernel = void (*)(void *const *buffers, int64_t begin, int64_t end);
  auto kernel = reinterpret_cast<Kernel>(dlsym(object->handle, name.str().c_str()));
  if (kernel)
    kernel(buffers.data(), 0, items);
  return kernel;
}
