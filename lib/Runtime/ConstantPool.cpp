#include "ConstantPool.h"

#include "gantry/Plan/VerifyBytes.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace gantry::runtime {

namespace {

/// Memory of other devices is not ours to read: there the 64-bit hash and the size must do.
bool isSame(const PooledConstant &known, const plan::PlanFile &file,
            std::span<const uint8_t> bytes) {
  if (known.readable.data() == bytes.data() || known.readable.empty())
    return true;
  const bool same = std::memcmp(known.readable.data(), bytes.data(), bytes.size()) == 0;
  if (same)
    plan::giveBack(file, bytes); // nobody will read these
  return same;
}

} // namespace

std::shared_ptr<PooledConstant> ConstantPool::get(Device *device,
                                                  const std::shared_ptr<const plan::PlanFile> &file,
                                                  const plan::fb::Constant &constant,
                                                  const Taken &taken) {
  const std::span<const uint8_t> bytes = file->bytesOf(constant);
  // Candidates are compared without the lock. What goes away with a reference goes after it.
  std::vector<std::shared_ptr<PooledConstant>> looked;
  std::unique_lock lock(mutex);
  const auto next = [&]() -> std::shared_ptr<PooledConstant> {
    auto [begin, end] = constants.equal_range(constant.content_hash());
    for (auto at = begin; at != end; ++at) {
      std::shared_ptr<PooledConstant> known = at->second.lock();
      if (!known || std::find(looked.begin(), looked.end(), known) != looked.end())
        continue;
      looked.push_back(known);
      if (known->device == device && known->size == bytes.size() && !taken.contains(known.get()))
        return known;
    }
    return nullptr;
  };
  while (std::shared_ptr<PooledConstant> known = next()) {
    lock.unlock();
    if (isSame(*known, *file, bytes))
      return known;
    lock.lock();
  }
  auto made =
      std::make_shared<PooledConstant>(device, constant.content_hash(), uint64_t(bytes.size()));
  if (device->runsInline())
    made->readable = bytes, made->file = file;
  if (constants.size() >= sweepAt) {
    std::erase_if(constants, [](const auto &entry) { return entry.second.expired(); });
    sweepAt = std::max<size_t>(1024, 2 * constants.size());
  }
  constants.emplace(constant.content_hash(), made);
  return made;
}

} // namespace gantry::runtime
