#include "CUDADevice.h"

#include "Code.h"
#include "Libraries/Collectives.h"
#include "Libraries/Products.h"
#include "Stream.h"

#include <algorithm>

namespace gantry::runtime::cuda {

CUDADevice::CUDADevice(const std::string &name, Driver &driver, PhysicalGPU &gpu, uint64_t limit)
    : Device(name, driver, limit), ownGPU(gpu), ownMemory(gpu, limit) {}

Expected<MemoryInfo> CUDADevice::cardMemory() {
  Expected<std::shared_ptr<Context>> context = ownGPU.context();
  if (!context)
    return context.status();
  CurrentContext current(**context);
  GANTRY_RETURN_IF_ERROR(current.status());
  size_t free = 0, total = 0;
  GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_IN(**context, memoryInfo, &free, &total));
  return MemoryInfo{total, free};
}

Expected<MemoryInfo> CUDADevice::memoryInfo() {
  Expected<MemoryInfo> info = cardMemory();
  if (info)
    info->free += ownMemory.spareBytes();
  if (info && limit() != 0) {
    const uint64_t used = std::min(limit(), stats().bytesInUse);
    info->total = std::min(info->total, limit());
    info->free = std::min(info->free, limit() - used);
  }
  return info;
}

Unmet CUDADevice::unmet(const VariantNeeds &needs) const {
  const std::string own = "sm_" + std::to_string(ownGPU.architecture());
  const std::string who = ownGPU.name() + " is " + own;
  if (needs.source == VariantNeeds::Source::registered)
    return {"registered kernels run on CPUs only", ""};
  if (needs.source == VariantNeeds::Source::library && needs.library != plan::matmulLibrary &&
      needs.library != plan::collectiveLibrary)
    return {"there is no library '" + std::string(needs.library) + "' for GPUs", ""};
  if (!needs.target.empty() && !needs.target.starts_with("sm_"))
    return {"the code is for " + std::string(needs.target) + ", not for GPUs", ""};
  if (!needs.features.empty())
    return {"GPUs lack " + std::string(needs.features.front()), ""};
  const std::string remedy = "compile with --gpu-arch=" + own;
  if (needs.archMin > ownGPU.architecture())
    return {who + ", the code needs sm_" + std::to_string(needs.archMin), remedy};
  if (needs.archMax != 0 && needs.archMax < ownGPU.architecture())
    return {who + ", the code is for GPUs up to sm_" + std::to_string(needs.archMax), remedy};
  return needs.source == VariantNeeds::Source::library ? unmetByLibrary(needs) : Unmet();
}

namespace {
template <typename Library>
Unmet unmetBy(const char *name, const Expected<const Library *> &library, std::string_view oldest) {
  if (!library)
    return {library.status().message(), ""};
  if (!isAtLeast((*library)->version, oldest))
    return {std::string(name) + " is version " + versionText((*library)->version) + " here", ""};
  return {};
}
} // namespace

Unmet CUDADevice::unmetByLibrary(const VariantNeeds &needs) const {
  return needs.library == plan::matmulLibrary
             ? unmetBy("cuBLASLt", ownGPU.cublasLt(), needs.libraryVersion)
             : unmetBy("NCCL", ownGPU.nccl(), needs.libraryVersion);
}

Expected<std::unique_ptr<CodeObject>> CUDADevice::openLibrary(std::string_view name) {
  if (name == plan::collectiveLibrary)
    return std::unique_ptr<CodeObject>(std::make_unique<Collectives>());
  const Expected<const cublaslt::CublasLt *> library = ownGPU.cublasLt();
  if (!library)
    return library.status();
  return Products::open(**library, ownGPU);
}

Expected<std::unique_ptr<CodeObject>> CUDADevice::loadCode(std::span<const uint8_t> code) {
  return Code::load(ownGPU, code);
}

/// CUDA knows where each of its addresses is; those that it does not know are the host's.
Status CUDADevice::checkOwn(const void *data, uint64_t bytes) {
  Expected<std::shared_ptr<Context>> context = ownGPU.context();
  if (!context)
    return context.status();
  CurrentContext current(**context);
  GANTRY_RETURN_IF_ERROR(current.status());
  const auto begin = reinterpret_cast<DevicePointer>(data);
  for (DevicePointer at : {begin, begin + bytes - 1}) {
    MemoryType type = MemoryType::host;
    int number = -1;
    const Library &api = ownGPU.api();
    if (api.pointerAttribute(&type, PointerAttribute::memoryType, at) != Result::success ||
        type != MemoryType::device)
      return Status::invalidArgument("the array is not in memory of a GPU");
    GANTRY_RETURN_IF_ERROR(
        GANTRY_CUDA_IN(**context, pointerAttribute, &number, PointerAttribute::deviceOrdinal, at));
    if (number != ownGPU.number())
      return Status::invalidArgument("the array is in memory of GPU " + std::to_string(number) +
                                     " of this machine, not of GPU " +
                                     std::to_string(ownGPU.ordinal()));
  }
  return {};
}

std::unique_ptr<Queue> CUDADevice::createQueue() { return std::make_unique<StreamQueue>(*this); }

std::unique_ptr<Event> CUDADevice::createEvent() { return std::make_unique<StreamEvent>(ownGPU); }

Status CUDADevice::upload(void *destination, const void *source, uint64_t bytes) {
  if (bytes == 0)
    return {};
  Expected<std::shared_ptr<Context>> context = ownGPU.context();
  return context ? (*context)->staging().upload(destination, source, bytes) : context.status();
}

Status CUDADevice::download(void *destination, const void *source, uint64_t bytes) {
  if (bytes == 0)
    return {};
  Expected<std::shared_ptr<Context>> context = ownGPU.context();
  return context ? (*context)->staging().download(destination, source, bytes) : context.status();
}

Status CUDADevice::fill(void *destination, uint8_t value, uint64_t bytes) {
  if (bytes == 0)
    return {};
  Expected<std::shared_ptr<Context>> context = ownGPU.context();
  return context ? (*context)->staging().fill(destination, value, bytes) : context.status();
}

} // namespace gantry::runtime::cuda
