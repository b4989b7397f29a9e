// Memory of devices: reserved addresses, pieces that are mapped into them, and who may touch what.
// An address on the device is one of this process; it is closed unless work runs.
#include "Fake.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <sys/mman.h>
#include <unistd.h>

namespace fake {

namespace {

constexpr uint64_t unit = uint64_t(2) << 20;
bool isAllOpen = false;
std::vector<std::pair<uint64_t, uint64_t>> openPages; ///< else: begin and size
constexpr size_t kMaxOpen = 64;                       // pieces; from there on all are one

/// The entry of a map of ranges (begin to size) that holds the range.
template <typename Map, typename Size>
auto holding(Map &map, uint64_t address, uint64_t bytes, Size size) {
  auto after = map.upper_bound(address);
  if (after == map.begin())
    return map.end();
  auto found = std::prev(after);
  return address + bytes <= found->first + size(found->second) ? found : map.end();
}

void protect(uint64_t begin, uint64_t bytes, bool isOpen) {
  (void)mprotect(reinterpret_cast<void *>(begin), bytes,
                 isOpen ? PROT_READ | PROT_WRITE : PROT_NONE);
}

void protectAll(bool isOpen) {
  for (const auto &[begin, mapping] : state().mappings)
    if (!mapping.readers.empty())
      protect(begin, mapping.bytes, isOpen);
  for (const auto &[begin, whole] : state().wholes)
    protect(begin, whole.first, isOpen);
}

/// Tells the interpreter what kernels of a device may touch: neighbours are one.
void rebuildRegions(Device &device) {
  std::map<uint64_t, uint64_t> wanted;
  auto add = [&](uint64_t begin, uint64_t bytes) {
    if (!wanted.empty() &&
        std::prev(wanted.end())->first + std::prev(wanted.end())->second == begin)
      std::prev(wanted.end())->second += bytes;
    else
      wanted.emplace(begin, bytes);
  };
  std::map<uint64_t, uint64_t> all;
  for (const auto &[begin, mapping] : state().mappings)
    if (mapping.readers.contains(device.number))
      all.emplace(begin, mapping.bytes);
  for (const auto &[begin, whole] : state().wholes)
    if (whole.second == &device)
      all.emplace(begin, whole.first);
  for (auto [begin, bytes] : all)
    add(begin, bytes);
  for (auto [begin, bytes] : device.regions)
    if (auto found = wanted.find(begin); found == wanted.end() || found->second != bytes)
      (void)device.memory.remove(reinterpret_cast<void *>(begin));
  for (auto [begin, bytes] : wanted)
    if (auto found = device.regions.find(begin);
        found == device.regions.end() || found->second != bytes)
      (void)device.memory.add(reinterpret_cast<void *>(begin), bytes,
                              "memory of GPU " + std::to_string(device.number));
  device.regions = std::move(wanted);
}

void rebuildAll() {
  for (auto &device : state().devices)
    rebuildRegions(*device);
}

void releaseIfUnused(AllocationHandle handle) {
  auto found = state().chunks.find(handle);
  Chunk &chunk = *found->second;
  if (!chunk.isReleased || chunk.mappings > 0)
    return;
  ::close(chunk.file);
  chunk.device->used -= chunk.bytes;
  state().chunks.erase(found);
}

AllocationHandle handleOf(const Chunk *chunk) {
  for (auto &[handle, each] : state().chunks)
    if (each.get() == chunk)
      return handle;
  return 0;
}

Device *deviceNumbered(int number) {
  for (auto &device : state().devices)
    if (device->number == number)
      return device.get();
  return nullptr;
}

} // namespace

bool isPinned(uint64_t address, uint64_t bytes) {
  auto &pinned = state().pinned;
  return holding(pinned, address, bytes, [](uint64_t size) { return size; }) != pinned.end();
}

/// Whose memory it is, whoever else can reach it.
Device *deviceOf(uint64_t address, uint64_t bytes) {
  for (const auto &[begin, mapping] : state().mappings)
    if (begin <= address && address + bytes <= begin + mapping.bytes)
      return mapping.chunk->device;
  for (const auto &[begin, whole] : state().wholes)
    if (begin <= address && address + bytes <= begin + whole.first)
      return whole.second;
  return nullptr;
}

bool mayTouch(const Device &device, uint64_t address, uint64_t bytes) {
  auto found = holding(device.regions, address, bytes, [](uint64_t size) { return size; });
  return found != device.regions.end();
}

void openAll() {
  if (!isAllOpen)
    protectAll(true);
  isAllOpen = true;
}

/// The system looks at every page that it opens, and weights are many: a copy opens its own.
void open(uint64_t address, uint64_t bytes) {
  if (isAllOpen || bytes == 0)
    return;
  if (openPages.size() >= kMaxOpen)
    return openAll();
  const uint64_t page = uint64_t(getpagesize());
  const uint64_t first = address / page * page, last = (address + bytes - 1) / page * page + page;
  auto openIn = [&](uint64_t begin, uint64_t size) {
    const uint64_t from = std::max(first, begin), to = std::min(last, begin + size);
    if (from >= to)
      return;
    protect(from, to - from, true);
    openPages.emplace_back(from, to - from);
  };
  for (const auto &[begin, mapping] : state().mappings)
    if (!mapping.readers.empty())
      openIn(begin, mapping.bytes);
  for (const auto &[begin, whole] : state().wholes)
    openIn(begin, whole.first);
}

void close() {
  if (isAllOpen)
    protectAll(false);
  else
    for (auto [begin, bytes] : openPages)
      protect(begin, bytes, false);
  isAllOpen = false;
  openPages.clear();
}

std::string describeMemoryLeaks() {
  std::string text;
  auto add = [&](size_t count, const char *what) {
    if (count)
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add(state().pinned.size(), "pinned");
  add(state().reservations.size(), "reserved");
  add(state().chunks.size(), "pieces of memory");
  add(state().mappings.size(), "mapped");
  add(state().wholes.size(), "allocated");
  return text;
}

} // namespace fake

using namespace fake;
using Kind = Call::Kind;

FAKE_CUDA cuMemGetInfo_v2(size_t *free, size_t *total) {
  FAKE_BEGIN(Kind::inContext);
  *total = state().options.memory;
  *free = state().options.memory - currentContext()->device->used;
  return Result::success;
}

FAKE_CUDA cuPointerGetAttribute(void *data, PointerAttribute attribute, DevicePointer address) {
  FAKE_BEGIN(Kind::asks);
  const fake::Device *device = deviceOf(address, 1);
  if (!device && !isPinned(address, 1))
    return Result::invalidValue;
  *static_cast<int *>(data) = attribute == PointerAttribute::memoryType ? (device ? 2 : 1)
                              : device                                  ? device->number
                                                                        : 0;
  return Result::success;
}

FAKE_CUDA cuMemAlloc_v2(DevicePointer *data, size_t bytes) {
  FAKE_BEGIN(Kind::makes);
  Device &device = *currentContext()->device;
  if (bytes == 0)
    return Result::invalidValue;
  if (bytes > state().options.memory - device.used)
    return Result::outOfMemory;
  void *made = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED)
    return Result::outOfMemory;
  device.used += bytes;
  state().wholes[bits(made)] = {bytes, &device};
  rebuildAll();
  *data = bits(made);
  return Result::success;
}

FAKE_CUDA cuMemFree_v2(DevicePointer data) {
  FAKE_BEGIN(Kind::frees);
  auto found = state().wholes.find(data);
  if (found == state().wholes.end())
    return Result::invalidValue;
  munmap(reinterpret_cast<void *>(data), found->second.first);
  state().order.forget(data, data + found->second.first);
  found->second.second->used -= found->second.first;
  state().wholes.erase(found);
  rebuildAll();
  return call.end();
}

FAKE_CUDA cuMemHostAlloc(void **data, size_t bytes, unsigned) {
  FAKE_BEGIN(Kind::makes);
  if (bytes == 0)
    return Result::invalidValue;
  void *made = nullptr;
  if (posix_memalign(&made, 4096, bytes) != 0)
    return Result::outOfMemory;
  state().pinned[bits(made)] = bytes;
  *data = made;
  return Result::success;
}

namespace {
/// Waits when it goes, which is behind a call that was begun after it and locks others out.
struct Delay {
  int milliseconds;
  ~Delay() { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }
};
} // namespace

FAKE_CUDA cuMemFreeHost(void *data) {
  const Delay afterwards{state().options.unpin_milliseconds};
  FAKE_BEGIN(Kind::frees);
  auto found = state().pinned.find(bits(data));
  if (found == state().pinned.end())
    return Result::invalidValue;
  state().order.forget(found->first, found->first + found->second);
  state().pinned.erase(found);
  free(data);
  return call.end();
}

FAKE_CUDA cuMemGetAllocationGranularity(size_t *bytes, const AllocationProperties *, Granularity) {
  FAKE_BEGIN(Kind::asks);
  *bytes = unit;
  return Result::success;
}

FAKE_CUDA cuMemAddressReserve(DevicePointer *start, size_t bytes, size_t, DevicePointer,
                              unsigned long long) {
  FAKE_BEGIN(Kind::makes);
  if (bytes == 0 || bytes % unit != 0)
    return Result::invalidValue;
  void *made = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED)
    return Result::outOfMemory;
  state().reservations[bits(made)] = bytes;
  *start = bits(made);
  return Result::success;
}

FAKE_CUDA cuMemAddressFree(DevicePointer start, size_t bytes) {
  FAKE_BEGIN(Kind::frees);
  auto found = state().reservations.find(start);
  if (found == state().reservations.end() || found->second != bytes)
    return Result::invalidValue;
  for (const auto &[begin, mapping] : state().mappings)
    if (begin >= start && begin < start + bytes)
      return Result::invalidValue; // still mapped
  munmap(reinterpret_cast<void *>(start), bytes);
  state().reservations.erase(found);
  return call.end();
}

FAKE_CUDA cuMemCreate(AllocationHandle *handle, size_t bytes,
                      const AllocationProperties *properties, unsigned long long) {
  FAKE_BEGIN(Kind::makes);
  Device *device = deviceNumbered(properties->location.id);
  if (!device || bytes == 0 || bytes % unit != 0 || properties->type != 1)
    return Result::invalidValue;
  if (bytes > state().options.memory - device->used)
    return Result::outOfMemory;
  const int file = memfd_create("fake_cuda", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0)
    return Result::outOfMemory;
  device->used += bytes;
  *handle = state().nextHandle++;
  auto chunk = std::make_unique<Chunk>();
  chunk->device = device, chunk->bytes = bytes, chunk->file = file;
  state().chunks[*handle] = std::move(chunk);
  return Result::success;
}

FAKE_CUDA cuMemRelease(AllocationHandle handle) {
  FAKE_BEGIN(Kind::frees);
  auto found = state().chunks.find(handle);
  if (found == state().chunks.end() || found->second->isReleased)
    return Result::invalidValue;
  found->second->isReleased = true;
  releaseIfUnused(handle);
  return call.end();
}

FAKE_CUDA cuMemMap(DevicePointer start, size_t bytes, size_t offset, AllocationHandle handle,
                   unsigned long long) {
  FAKE_BEGIN(Kind::makes);
  auto chunk = state().chunks.find(handle);
  auto &reserved = state().reservations;
  auto in = holding(reserved, start, bytes, [](uint64_t size) { return size; });
  if (chunk == state().chunks.end() || in == reserved.end() || start % unit != 0 || offset != 0 ||
      bytes != chunk->second->bytes)
    return Result::invalidValue;
  for (const auto &[begin, mapping] : state().mappings)
    if (begin < start + bytes && start < begin + mapping.bytes)
      return Result::invalidValue;
  void *made = mmap(reinterpret_cast<void *>(start), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
                    chunk->second->file, 0);
  if (made == MAP_FAILED)
    return Result::outOfMemory;
  ++chunk->second->mappings;
  state().mappings[start] = {bytes, chunk->second.get(), {}};
  return Result::success;
}

FAKE_CUDA cuMemUnmap(DevicePointer start, size_t bytes) {
  FAKE_BEGIN(Kind::frees);
  auto found = state().mappings.find(start);
  if (found == state().mappings.end() || found->second.bytes != bytes)
    return Result::invalidValue;
  for (Stream *stream : state().streams)
    if (!stream->ops.empty() && stream->context->error == Result::success)
      fault("cuMemUnmap while there is work on a stream");
  (void)mmap(reinterpret_cast<void *>(start), bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  Chunk *chunk = found->second.chunk;
  state().mappings.erase(found);
  state().order.forget(start, start + bytes);
  --chunk->mappings;
  releaseIfUnused(handleOf(chunk));
  rebuildAll();
  return call.end();
}

FAKE_CUDA cuMemSetAccess(DevicePointer start, size_t bytes, const AccessDescription *who,
                         size_t count) {
  FAKE_BEGIN(Kind::makes);
  auto found = state().mappings.find(start);
  if (found == state().mappings.end() || found->second.bytes != bytes)
    return Result::invalidValue;
  const int owner = found->second.chunk->device->number;
  for (size_t i = 0; i < count; ++i) {
    const int reader = who[i].location.id;
    if (!deviceNumbered(reader) || who[i].flags != 3 ||
        (reader != owner && !state().options.has_peers))
      return Result::invalidDevice;
    found->second.readers.insert(reader);
  }
  rebuildAll();
  return Result::success;
}
