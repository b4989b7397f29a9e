#include "Context.h"

#include "Libraries/CublasLt.h"
#include "Libraries/Nccl.h"
#include "gantry/Support/Bytes.h"

namespace gantry::runtime::cuda {

// ---- Card ----

Expected<std::unique_ptr<PhysicalGPU>> PhysicalGPU::open(const Library &api, int ordinal,
                                                         ThreadPool *copyingPool) {
  if (ordinal >= api.numDevices)
    return Status::unavailable("this machine has " + std::to_string(api.numDevices) +
                               (api.numDevices == 1 ? " GPU" : " GPUs") +
                               " that CUDA can see, there is no number " + std::to_string(ordinal));
  std::unique_ptr<PhysicalGPU> gpu(new PhysicalGPU(api, ordinal, copyingPool));
  GANTRY_RETURN_IF_ERROR(gpu->read());
  return gpu;
}

Status PhysicalGPU::read() {
  GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_CALL(library, device, &device, index));
  char text[256] = {};
  GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_CALL(library, deviceName, text, sizeof text, device));
  gpuName = text;
  size_t total = 0;
  GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_CALL(library, deviceMemory, &total, device));
  bytes = total;
  int major = 0, minor = 0, mapped = 0;
  GANTRY_RETURN_IF_ERROR(
      GANTRY_CUDA_CALL(library, deviceAttribute, &major, Attribute::computeMajor, device));
  GANTRY_RETURN_IF_ERROR(
      GANTRY_CUDA_CALL(library, deviceAttribute, &minor, Attribute::computeMinor, device));
  GANTRY_RETURN_IF_ERROR(
      GANTRY_CUDA_CALL(library, deviceAttribute, &mapped, Attribute::virtualMemory, device));
  arch = static_cast<uint32_t>(10 * major + minor);
  virtualMemory = mapped != 0;
  return {};
}

bool PhysicalGPU::canAccess(const PhysicalGPU &other) {
  std::lock_guard lock(mutex);
  auto [known, isNew] = peers.try_emplace(other.device, false);
  int can = 0;
  if (isNew && library.canAccessPeer(&can, device, other.device) == Result::success)
    known->second = can != 0;
  return known->second;
}

/// One that is about to go is waited for, since what it has lost is lost until it is gone. Of
/// several that wait the first makes the next one and the others share it: what one of them has
/// made may be kept by another that still waits.
Expected<std::shared_ptr<Context>> PhysicalGPU::context() {
  std::shared_ptr<Context> known; // may be the last to hold it: goes after the lock
  std::unique_lock lock(mutex);
  GANTRY_RETURN_IF_ERROR(checkNotForked());
  gone.wait(lock, [&] {
    known = current.lock();
    return known || !isRetained;
  });
  if (known) {
    GANTRY_RETURN_IF_ERROR(known->lost());
    return known;
  }
  ContextHandle handle = nullptr;
  GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_CALL(library, retainContext, &handle, device));
  isRetained = true;
  known = std::make_shared<Context>(*this, handle);
  current = known;
  return known;
}

template <typename Library>
Expected<const Library *> PhysicalGPU::open(LazyLibrary<Library> &lazy) {
  std::lock_guard lock(mutex);
  if (!lazy.isAskedFor) {
    lazy.isAskedFor = true;
    Expected<std::unique_ptr<Library>> opened = Library::open();
    if (opened)
      lazy.library = opened.take();
    else
      lazy.why = opened.status();
  }
  if (!lazy.library)
    return lazy.why;
  return lazy.library.get();
}

Expected<const cublaslt::CublasLt *> PhysicalGPU::cublasLt() { return open(products); }

Expected<const nccl::Nccl *> PhysicalGPU::nccl() { return open(collectives); }

uint64_t PhysicalGPU::pinnedBytes() {
  std::shared_ptr<Context> known; // may be the last to hold it: goes after the lock
  std::lock_guard lock(mutex);
  known = current.lock();
  return known ? known->staging().pinnedBytes() : 0;
}

void PhysicalGPU::letGo() {
  std::lock_guard lock(mutex);
  if (!wasForked())
    (void)library.releaseContext(device);
  isRetained = false;
  gone.notify_all();
}

// ---- Context ----

Context::Context(PhysicalGPU &gpu, ContextHandle handle)
    : owner(gpu), handle(handle), transfers(*this) {}

/// What the context owned goes with it also where it is lost and calls fail.
Context::~Context() {
  transfers.release();
  owner.letGo();
}

const Library &Context::api() const { return owner.api(); }

Status Context::lost() const {
  std::lock_guard lock(mutex);
  return failure ? *failure : Status();
}

thread_local const ErrorContext *ErrorContext::innermost = nullptr;

namespace {
thread_local Context *innermost = nullptr; ///< of the CurrentContexts

/// What is free now says whether the GPU's memory is what was short, or the host's.
Status withFreeMemory(const Library &api, Status status) {
  size_t free = 0, total = 0;
  if (api.memoryInfo(&free, &total) != Result::success)
    return status;
  return Status(status.code(), status.message() + "; " + formatBytes(free) + " of " +
                                   formatBytes(total) + " of the GPU are free now");
}
} // namespace

Status Context::check(Result result, const char *call) {
  if (result == Result::success)
    return {};
  if (result == Result::outOfMemory && innermost == this)
    return withFreeMemory(api(), api().check(result, call));
  if (!isSticky(result))
    return api().check(result, call);
  std::lock_guard lock(mutex);
  const std::string doing = ErrorContext::now();
  if (!failure)
    failure = Status::internal(
        (doing.empty() ? std::string(call) : doing) + " failed on GPU " +
        std::to_string(owner.ordinal()) + " of this machine: " + api().describe(result) +
        "; nothing runs on that GPU before all plans that use it are unloaded");
  return *failure;
}

// ---- CurrentContext ----

CurrentContext::CurrentContext(Context &context, For what) {
  failure = checkNotForked();
  if (!failure.ok() || innermost == &context)
    return;
  failure = GANTRY_CUDA_IN(context, pushContext, context.handle);
  if (!failure.ok() && what == For::release)
    failure = GANTRY_CUDA_IN(context, pushContext, context.handle);
  if (!failure.ok())
    return;
  outer = innermost;
  entered = innermost = &context;
}

CurrentContext::~CurrentContext() {
  if (!entered)
    return;
  ContextHandle popped = nullptr;
  const Result result = entered->api().popContext(&popped);
  innermost = outer;
  (void)entered->check(result, symbolOf_popContext); // remembers a loss
}

} // namespace gantry::runtime::cuda
