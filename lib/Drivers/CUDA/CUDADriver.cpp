#include "CUDADriver.h"

#include "CUDADevice.h"
#include "CUDAExecutor.h"
#include "Libraries/Collectives.h"
#include "gantry/Support/Bytes.h"

#include <algorithm>

namespace gantry::runtime {

std::unique_ptr<Driver> createCUDADriver(CUDAOptions options) {
  return std::make_unique<cuda::CUDADriver>(options);
}

namespace {
Expected<CUDAPeer> askPeer(const cuda::Library &library, int from, int to) {
  using cuda::PeerAttribute;
  cuda::DeviceNumber device = 0, peer = 0;
  GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_CALL(library, device, &device, from));
  GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_CALL(library, device, &peer, to));
  int access = 0, atomics = 0, rank = 0;
  for (auto [value, attribute] : {std::pair(&access, PeerAttribute::accessSupported),
                                  {&atomics, PeerAttribute::nativeAtomics},
                                  {&rank, PeerAttribute::performanceRank}})
    GANTRY_RETURN_IF_ERROR(
        GANTRY_CUDA_CALL(library, peerAttribute, value, attribute, device, peer));
  return CUDAPeer{access != 0, atomics != 0, rank};
}
} // namespace

Expected<std::vector<CUDAPeer>> askCUDAPeers(std::span<const std::pair<uint32_t, uint32_t>> pairs) {
  Expected<std::unique_ptr<cuda::Library>> library = cuda::Library::open();
  if (!library)
    return library.status();
  std::vector<CUDAPeer> peers;
  for (auto [from, to] : pairs) {
    Expected<CUDAPeer> peer = askPeer(**library, static_cast<int>(from), static_cast<int>(to));
    if (!peer)
      return peer.status();
    peers.push_back(*peer);
  }
  return peers;
}

namespace cuda {

Expected<PhysicalGPU *> CUDADriver::gpu(int ordinal) {
  std::lock_guard lock(mutex);
  if (!library) {
    Expected<std::unique_ptr<Library>> opened = Library::open();
    if (!opened)
      return opened.status();
    library = opened.take();
  }
  for (const std::unique_ptr<PhysicalGPU> &known : gpus)
    if (known->ordinal() == ordinal)
      return known.get();
  Expected<std::unique_ptr<PhysicalGPU>> opened =
      PhysicalGPU::open(*library, ordinal, options.copyingPool);
  if (!opened)
    return opened.status();
  gpus.push_back(opened.take());
  return gpus.back().get();
}

Expected<std::unique_ptr<Device>> CUDADriver::open(const DeviceRequest &request) {
  Expected<PhysicalGPU *> found = gpu(static_cast<int>(request.physical));
  if (!found)
    return Status(found.status().code(), "'" + request.name + "': " + found.status().message());
  return std::unique_ptr<Device>(
      std::make_unique<CUDADevice>(request.name, *this, **found, request.plannedMemory));
}

uint32_t CUDADriver::numDevices(DeviceType type) {
  std::lock_guard lock(mutex);
  return library && type == DeviceType::GPU ? static_cast<uint32_t>(library->numDevices) : 0;
}

Status CUDADriver::checkReuse(const Device &device, const DeviceRequest &request) const {
  auto limitText = [](uint64_t limit) {
    return limit ? "a limit of " + formatBytes(limit) : std::string("no limit");
  };
  const int physical = static_cast<const CUDADevice &>(device).gpu().ordinal();
  if (physical != static_cast<int>(request.physical))
    return Status::failedPrecondition("'" + device.name() + "' is GPU " + std::to_string(physical) +
                                      " of this machine for an earlier plan, now GPU " +
                                      std::to_string(request.physical) +
                                      "; load the plan in another runtime");
  if (device.limit() == request.plannedMemory)
    return {};
  return Status::failedPrecondition("'" + device.name() + "' has " + limitText(device.limit()) +
                                    " by an earlier plan, now " + limitText(request.plannedMemory) +
                                    "; load the plan in another runtime");
}

Status CUDADriver::connect(std::span<Device *const> devices, std::span<const KernelHandle> ranks) {
  std::vector<PhysicalGPU *> wanted;
  for (Device *device : devices) {
    PhysicalGPU *gpu = &static_cast<CUDADevice *>(device)->gpu();
    if (std::find(wanted.begin(), wanted.end(), gpu) != wanted.end())
      return Status::unsupported("'" + device->name() +
                                 "' is on one card with another of the devices");
    wanted.push_back(gpu);
  }
  std::lock_guard lock(mutex);
  std::shared_ptr<Communicators> found;
  std::erase_if(communicators, [&](const auto &known) {
    std::shared_ptr<Communicators> held = known.lock();
    if (held && held->areOn(wanted))
      found = held;
    return !held;
  });
  if (!found) {
    Expected<const nccl::Nccl *> opened = wanted.front()->nccl();
    if (!opened)
      return opened.status();
    Expected<std::shared_ptr<Communicators>> made = Communicators::make(**opened, wanted);
    if (!made)
      return made.status();
    found = made.take();
    communicators.push_back(found);
  }
  return connectParts(std::move(found), ranks);
}

std::unique_ptr<Executor> CUDADriver::createExecutor(Program &program) {
  return std::make_unique<CUDAExecutor>(program, options);
}

} // namespace cuda
} // namespace gantry::runtime
