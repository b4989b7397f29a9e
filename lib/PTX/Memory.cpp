#include "gantry/PTX/Memory.h"

#include "Shadow.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/Names.h"

#include <algorithm>

using namespace gantry;
using namespace gantry::ptx;

Status Memory::add(const void *address, uint64_t size, std::string name, bool writable) {
  uint64_t begin = reinterpret_cast<uint64_t>(address);
  if (size == 0)
    return Status::invalidArgument("region '" + printable(name) + "' is empty");
  auto next = regions.lower_bound(begin);
  if (next != regions.end() && next->second.begin < begin + size)
    return Status::invalidArgument("region '" + printable(name) + "' overlaps '" +
                                   printable(next->second.name) + "'");
  if (const Region *other = find(begin))
    return Status::invalidArgument("region '" + printable(name) + "' overlaps '" +
                                   printable(other->name) + "'");
  regions.emplace(begin, Region{begin, size, std::move(name), writable, nullptr});
  return {};
}

Status Memory::remove(const void *address) {
  if (regions.erase(reinterpret_cast<uint64_t>(address)) == 0)
    return Status::notFound("no region begins at that address");
  return {};
}

Expected<uint64_t> Memory::beginTracking(unsigned granule) {
  bool wrapped = ++epoch == record::epochs;
  if (wrapped)
    epoch = 1;
  for (auto &[address, region] : regions) {
    if (!region.shadow)
      region.shadow = std::make_shared<Shadow>();
    if (!region.shadow->resize(region.size, granule))
      return Status::doesNotFit("records of '" + printable(region.name) + "' need " +
                                formatBytes(region.size / granule * 2 * sizeof(Record)) +
                                "; run with fewer checks");
    region.shadow->forgetTouches();
    if (wrapped)
      region.shadow->clear();
  }
  return epoch;
}

std::vector<TouchedRange> Memory::touched() const {
  std::vector<TouchedRange> ranges;
  for (const auto &[begin, region] : regions) {
    const Shadow *shadow = region.shadow.get();
    if (!shadow || !shadow->written)
      continue;
    const uint64_t behind = std::min(shadow->endByte, region.size);
    for (size_t cell = shadow->firstByte / shadow->granule; cell * shadow->granule < behind;
         ++cell) {
      const bool isWritten = record::epoch(shadow->written[cell]) == epoch;
      if (!isWritten && record::epoch(shadow->read[cell]) != epoch)
        continue;
      const uint64_t from = begin + cell * shadow->granule;
      const uint64_t to = std::min(from + shadow->granule, region.end());
      if (!ranges.empty() && ranges.back().end == from && ranges.back().isWritten == isWritten)
        ranges.back().end = to;
      else
        ranges.push_back({from, to, isWritten});
    }
  }
  return ranges;
}

const Region *Memory::before(uint64_t address) const {
  auto next = regions.upper_bound(address);
  return next == regions.begin() ? nullptr : &std::prev(next)->second;
}

const Region *Memory::find(uint64_t address) const {
  const Region *region = before(address);
  return region && address - region->begin < region->size ? region : nullptr;
}
