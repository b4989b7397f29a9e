// Half of the sites are drawn by what they are, so that fields that stand in a plan once are tried
// as often as those of its commands; and half of the values are those of other sites like it, which
// lead further than values that no plan has.
#include "Mutation.h"

#include "SamplePlan.h"

#include "gantry/Plan/SaidOfCode.h"
#include "gantry/Plan/Validate.h"
#include "gantry/Plan/Views.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Hash.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>

namespace gantry::plan::test {

namespace {
using Kind = Site::Kind;

/// The same numbers on every machine, which std's distributions are not.
class Draw {
public:
  Draw(uint64_t seed, uint64_t number) : state(seed * 0x9e3779b97f4a7c15 + number) {}

  uint64_t bits() { // splitmix64
    uint64_t x = (state += 0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  uint64_t below(uint64_t count) { return bits() % count; }
  bool oneIn(uint64_t count) { return below(count) == 0; }
  template <typename List>
  const auto &from(const List &list) {
    return std::data(list)[below(std::size(list))];
  }
  template <typename T>
  T from(std::initializer_list<T> list) {
    return std::data(list)[below(list.size())];
  }

private:
  uint64_t state;
};

constexpr uint64_t edges[] = {0,
                              1,
                              2,
                              3,
                              4,
                              7,
                              8,
                              13,
                              63,
                              64,
                              65,
                              127,
                              128,
                              255,
                              256,
                              4095,
                              4096,
                              65535,
                              65536,
                              65537,
                              0x7fffffff,
                              0x80000000,
                              0xfffffffe,
                              0xffffffff,
                              uint64_t(1) << 32,
                              uint64_t(1) << 40,
                              uint64_t(1) << 46,
                              uint64_t(1) << 62,
                              INT64_MAX,
                              uint64_t(1) << 63,
                              UINT64_MAX - 63,
                              UINT64_MAX - 1,
                              UINT64_MAX};
constexpr double realEdges[] = {0,
                                -0.0,
                                1,
                                -1,
                                0.5,
                                1e-320,
                                1e-30,
                                1e30,
                                1e308,
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN(),
                                1e10};

uint64_t readNumber(const uint8_t *at, size_t size) {
  uint64_t value = 0;
  std::memcpy(&value, at, std::min(size, sizeof value));
  return value;
}

void writeNumber(uint8_t *at, size_t size, uint64_t value) {
  std::memcpy(at, &value, std::min(size, sizeof value));
}

/// Changes one site of the metadata.
class Change {
public:
  Change(std::span<uint8_t> metadata, const Sites &sites, Draw &draw)
      : metadata(metadata), sites(sites), draw(draw) {}

  std::string run() {
    const Group &group = pickGroup();
    const size_t index = draw.below(group.sites.size());
    const Site &site = group.sites[index];
    uint8_t *at = metadata.data() + site.at;
    const uint64_t before = readNumber(at, site.size);
    const std::string more = changeSite(group, index, at);
    return group.name + " at " + std::to_string(site.at) + ": " + std::to_string(before) + " -> " +
           std::to_string(readNumber(at, site.size)) + more;
  }

private:
  std::span<uint8_t> metadata;
  const Sites &sites;
  Draw &draw;

  const Group &pickGroup() {
    if (draw.oneIn(2))
      return draw.from(sites.groups);
    size_t all = 0;
    for (const Group &group : sites.groups)
      all += group.sites.size();
    size_t left = draw.below(all);
    for (const Group &group : sites.groups) {
      if (left < group.sites.size())
        return group;
      left -= group.sites.size();
    }
    return sites.groups.back();
  }

  std::string changeSite(const Group &group, size_t index, uint8_t *at) {
    const Site &site = group.sites[index];
    switch (site.kind) {
    case Kind::number:
      changeNumber(group, site, at);
      return "";
    case Kind::structure:
      std::memmove(at, metadata.data() + draw.from(group.sites).at, site.size);
      return ", and what is behind it";
    case Kind::reference:
      return changeReference(group, index, at);
    case Kind::length:
      changeLength(at);
      return "";
    case Kind::text:
      at[draw.below(site.size)] =
          draw.oneIn(2) ? uint8_t(' ' + draw.below(95)) : uint8_t(draw.bits());
      return " in its text";
    case Kind::field:
      writeNumber(at, 2, draw.oneIn(4) ? 4 * draw.below(16) : 0);
      return "";
    }
    return "";
  }

  void changeNumber(const Group &group, const Site &site, uint8_t *at) {
    const uint64_t value = readNumber(at, site.size);
    uint64_t changed = 0;
    switch (draw.below(8)) {
    case 0:
    case 1:
    case 2: // that of another site
      changed = readNumber(metadata.data() + draw.from(group.sites).at, site.size);
      break;
    case 3:
      changed = value + draw.from({uint64_t(1), uint64_t(64), uint64_t(4096)});
      break;
    case 4:
      changed = value - draw.from({uint64_t(1), uint64_t(64), value / 2});
      break;
    case 5:
      changed = draw.bits() >> draw.below(64);
      break;
    default:
      changed = draw.from(edges);
      if (site.isReal)
        std::memcpy(&changed, &draw.from(realEdges), sizeof changed);
    }
    writeNumber(at, site.size, changed);
  }

  void changeLength(uint8_t *at) {
    const uint64_t length = readNumber(at, 4);
    const uint64_t others[] = {0, length / 2, length - 1, length - 1, length + 1, draw.from(edges)};
    writeNumber(at, 4, draw.from(others));
  }

  /// To something else of its type; or neighbours in a list change places.
  std::string changeReference(const Group &group, size_t index, uint8_t *at) {
    const Site &site = group.sites[index];
    auto next = std::find_if(group.sites.begin(), group.sites.end(),
                             [&](const Site &other) { return other.at == site.at + 4; });
    if (next != group.sites.end() && draw.oneIn(3)) {
      const uint64_t own = readNumber(at, 4), its = readNumber(at + 4, 4);
      writeNumber(at, 4, its + 4);
      writeNumber(at + 4, 4, own - 4);
      return ", changed places";
    }
    const uint32_t target = draw.from(sites.targets.at(group.type));
    writeNumber(at, 4, uint32_t(target - site.at));
    return "";
  }
};

/// Constants are what their hashes say, wherever they lie now.
void repairConstants(std::span<uint8_t> bytes, size_t metadataAt, size_t metadataEnd) {
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  Expected<const fb::Plan *> plan =
      verifyMetadata(bytes.subspan(metadataAt, metadataEnd - metadataAt));
  if (!plan)
    return;
  for (const fb::Constant *constant : each((*plan)->constants())) {
    const uint8_t *hash = reinterpret_cast<const flatbuffers::Table *>(constant)->GetAddressOf(
        fb::Constant::VT_CONTENT_HASH);
    const uint64_t entryAt =
        header.segmentTableOffset + uint64_t(constant->segment()) * sizeof(SegmentEntry);
    if (!hash || constant->segment() >= header.segmentCount ||
        !rangeFits(entryAt, sizeof(SegmentEntry), metadataAt))
      continue;
    SegmentEntry entry;
    std::memcpy(&entry, bytes.data() + entryAt, sizeof entry);
    if (!rangeFits(entry.offset, entry.size, bytes.size()) ||
        !rangeFits(constant->segment_offset(), constant->size(), entry.size))
      continue;
    const uint64_t right =
        hashBytes(bytes.subspan(entry.offset + constant->segment_offset(), constant->size()));
    std::memcpy(bytes.data() + (hash - bytes.data()), &right, sizeof right);
  }
}

bool isAligned(const fb::Signature &signature) {
  for (const auto *sizes : {signature.reads(), signature.writes()})
    if (sizes && reinterpret_cast<uintptr_t>(sizes->Data()) % sizeof(uint64_t) != 0)
      return false;
  return true;
}

/// What is said of code is what its hash says, so that other rules have to find what is wrong.
void repairSaid(std::span<uint8_t> metadata) {
  Expected<const fb::Plan *> plan = verifyMetadata(metadata);
  if (!plan)
    return;
  std::vector<uint64_t> all;
  for (const fb::Signature *signature : each((*plan)->signatures()))
    all.push_back(isAligned(*signature) ? hashOf(*signature) : 0);
  for (const fb::Code *code : each((*plan)->code())) {
    const uint8_t *hash =
        reinterpret_cast<const flatbuffers::Table *>(code)->GetAddressOf(fb::Code::VT_SAID_HASH);
    std::vector<uint64_t> hashes;
    for (uint32_t index : each(code->signatures()))
      hashes.push_back(index < all.size() ? all[index] : 0);
    const uint64_t right = saidHashOf(*code, hashes);
    if (hash)
      std::memcpy(metadata.data() + (hash - metadata.data()), &right, sizeof right);
  }
}

} // namespace

Mutator::Mutator(std::span<const uint8_t> file, std::span<const uint8_t> schema) : file(file) {
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  metadataAt = header.metadataOffset;
  metadataEnd = header.metadataOffset + header.metadataSize;
  sites = findSites(file.subspan(metadataAt, header.metadataSize), schema);
}

Mutator::Mutant Mutator::make(uint64_t seed, uint64_t number) const {
  Draw draw(seed, number);
  Mutant mutant{AlignedBuffer::copyOf(file), {}};
  const std::span<uint8_t> bytes(mutant.bytes.data(), file.size());
  if (draw.oneIn(4)) {
    for (uint64_t count = 1 + draw.below(3); count != 0; --count) {
      const size_t at = draw.below(metadataEnd);
      const uint8_t before = bytes[at];
      bytes[at] = draw.oneIn(2) ? uint8_t(draw.bits()) : uint8_t(before ^ (1 << draw.below(8)));
      mutant.changes.push_back("byte " + std::to_string(at) + ": " + std::to_string(before) +
                               " -> " + std::to_string(bytes[at]));
    }
  } else {
    const std::span<uint8_t> metadata = bytes.subspan(metadataAt, metadataEnd - metadataAt);
    for (uint64_t count = draw.from({1, 1, 1, 2, 3}); count != 0; --count)
      mutant.changes.push_back(Change(metadata, sites, draw).run());
  }
  repairConstants(bytes, metadataAt, metadataEnd);
  if (draw.oneIn(2))
    repairSaid(bytes.subspan(metadataAt, metadataEnd - metadataAt));
  reseal(bytes);
  return mutant;
}

} // namespace gantry::plan::test
