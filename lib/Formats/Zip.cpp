// The records of a zip archive: each entry has a header before its content, and a place in a
// directory near the end, which the record at the very end points to. The directory is what counts.
// Sizes, offsets and counts that do not fit in their field are all ones there, and stand in a
// record of 64 bits beside it.
#include "Zip.h"

#include "gantry/Support/Bytes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#define ZLIB_CONST // inputs are read only
#include <zlib.h>

namespace gantry::arrays {

namespace {

using Bytes = std::span<const uint8_t>;

constexpr uint32_t headerSign = 0x04034b50, placeSign = 0x02014b50, end64Sign = 0x06064b50,
                   locatorSign = 0x07064b50, endSign = 0x06054b50;
// Sizes of the records without the names and additions that follow them.
constexpr uint64_t headerSize = 30, placeSize = 46, end64Size = 56, locatorSize = 20, endSize = 22;
constexpr uint16_t stored = 0, deflated = 8, isEncrypted = 1, isUTF8 = 1 << 11;
constexpr uint16_t additionOf64 = 1, versionOf64 = 45, usualVersion = 20;
constexpr uint16_t firstDay = 1 << 5 | 1; ///< 1980-01-01: contents have no time
constexpr uint64_t full16 = 0xffff, full32 = 0xffffffff;

Status corrupt(std::string_view file, const std::string &what) {
  return Status::corrupt("'" + std::string(file) + "' is not a readable .npz file: " + what);
}

/// The number at `offset`, whose bytes were found to be there. Little endian, as all machines that
/// we run on.
template <typename Int>
Int at(Bytes bytes, uint64_t offset) {
  Int value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <typename Int>
void put(std::string &record, Int value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  record.append(bytes, sizeof value);
}

// ---- reading ----

struct Directory {
  uint64_t entries, size, offset;
};

/// The last record, which a comment of any length may follow up to the end of the file.
std::optional<uint64_t> findEnd(Bytes archive) {
  if (archive.size() < endSize)
    return std::nullopt;
  const uint64_t last = archive.size() - endSize;
  for (uint64_t comment = 0; comment <= std::min<uint64_t>(last, full16); ++comment)
    if (at<uint32_t>(archive, last - comment) == endSign &&
        at<uint16_t>(archive, last - comment + 20) == comment)
      return last - comment;
  return std::nullopt;
}

Expected<Directory> findDirectory(Bytes archive, std::string_view file) {
  const std::optional<uint64_t> end = findEnd(archive);
  if (!end)
    return corrupt(file, "the end of the archive is missing");
  Directory found{at<uint16_t>(archive, *end + 10), at<uint32_t>(archive, *end + 12),
                  at<uint32_t>(archive, *end + 16)};
  uint64_t after = *end;
  if (*end >= locatorSize && at<uint32_t>(archive, *end - locatorSize) == locatorSign) {
    after = at<uint64_t>(archive, *end - locatorSize + 8);
    if (!rangeFits(after, end64Size, *end - locatorSize) ||
        at<uint32_t>(archive, after) != end64Sign)
      return corrupt(file, "the end of the archive is missing");
    found = {at<uint64_t>(archive, after + 32), at<uint64_t>(archive, after + 40),
             at<uint64_t>(archive, after + 48)};
  }
  if (!rangeFits(found.offset, found.size, after))
    return corrupt(file, "its directory lies outside of the file");
  return found;
}

/// What the addition of 64 bits says of the fields that are full, in their order; false when it
/// does not.
bool widen(Bytes additions, std::span<uint64_t *const> fields) {
  while (additions.size() >= 4) {
    const uint64_t length = at<uint16_t>(additions, 2);
    if (length > additions.size() - 4)
      return false;
    Bytes values = additions.subspan(4, length);
    if (at<uint16_t>(additions, 0) == additionOf64) {
      for (uint64_t *field : fields)
        if (*field == full32) {
          if (values.size() < 8)
            return false;
          *field = at<uint64_t>(values, 0);
          values = values.subspan(8);
        }
      return true;
    }
    additions = additions.subspan(4 + length);
  }
  return std::ranges::none_of(fields, [](const uint64_t *field) { return *field == full32; });
}

/// The entry whose place in the directory is at the beginning of `place`, which is then moved to
/// the next one. `contents` are the bytes before the directory.
Expected<ZipEntry> readEntry(Bytes contents, Bytes &place, std::string_view file) {
  const Status broken = corrupt(file, "its directory is damaged");
  if (place.size() < placeSize || at<uint32_t>(place, 0) != placeSign)
    return broken;
  const uint64_t name = at<uint16_t>(place, 28), more = at<uint16_t>(place, 30);
  const uint64_t whole = placeSize + name + more + at<uint16_t>(place, 32);
  if (whole > place.size())
    return broken;
  ZipEntry entry;
  entry.name.assign(reinterpret_cast<const char *>(place.data()) + placeSize, name);
  entry.checksum = at<uint32_t>(place, 16);
  entry.size = at<uint32_t>(place, 24);
  uint64_t packed = at<uint32_t>(place, 20), offset = at<uint32_t>(place, 42);
  uint64_t *const fields[] = {&entry.size, &packed, &offset};
  if (entry.name.find('\0') != std::string::npos ||
      !widen(place.subspan(placeSize + name, more), fields))
    return broken;
  const uint16_t method = at<uint16_t>(place, 10);
  if ((at<uint16_t>(place, 8) & isEncrypted) || (method != stored && method != deflated))
    return Status::unsupported("'" + std::string(file) + "' packs entry '" + entry.name +
                               "' by another method than NumPy's, stored or deflated");
  if (!rangeFits(offset, headerSize, contents.size()) ||
      at<uint32_t>(contents, offset) != headerSign)
    return corrupt(file, "entry '" + entry.name + "' lies outside of the file");
  const uint64_t begin = offset + headerSize + at<uint16_t>(contents, offset + 26) +
                         at<uint16_t>(contents, offset + 28);
  if (!rangeFits(begin, packed, contents.size()))
    return corrupt(file, "entry '" + entry.name + "' lies outside of the file");
  entry.packed = contents.subspan(begin, packed);
  entry.isDeflated = method == deflated;
  place = place.subspan(whole);
  return entry;
}

/// Inflates into all of `target`; false when the data are no such stream, or one of another length.
bool inflateAll(Bytes packed, std::span<uint8_t> target) {
  z_stream stream = {};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) // without a header of its own
    return false;
  constexpr uint64_t most = uint64_t(1) << 30; // zlib counts in 32 bits
  int result = Z_OK;
  stream.next_in = packed.data();
  stream.next_out = target.data();
  while (result == Z_OK) {
    const uint64_t in = packed.size() - static_cast<uint64_t>(stream.next_in - packed.data());
    const uint64_t out = target.size() - static_cast<uint64_t>(stream.next_out - target.data());
    stream.avail_in = static_cast<uInt>(std::min(in, most));
    stream.avail_out = static_cast<uInt>(std::min(out, most));
    result = ::inflate(&stream, Z_NO_FLUSH); // Z_BUF_ERROR where nothing is left to do
  }
  const bool isWhole = result == Z_STREAM_END && stream.next_out == target.data() + target.size();
  ::inflateEnd(&stream);
  return isWhole;
}

} // namespace

Expected<std::vector<ZipEntry>> readZip(Bytes archive, std::string_view file) {
  if (archive.empty())
    return corrupt(file, "it is empty");
  const Expected<Directory> directory = findDirectory(archive, file);
  if (!directory)
    return directory.status();
  Bytes place = archive.subspan(directory->offset, directory->size);
  const Bytes contents = archive.first(directory->offset);
  std::vector<ZipEntry> entries;
  uint64_t packed = 0;
  while (!place.empty()) {
    Expected<ZipEntry> entry = readEntry(contents, place, file);
    if (!entry)
      return entry.status();
    packed += entry->packed.size();
    if (packed > contents.size())
      return corrupt(file, "its entries overlap");
    entries.push_back(entry.take());
  }
  if (entries.size() != directory->entries)
    return corrupt(file, "its directory has " + std::to_string(entries.size()) +
                             " entries, expected " + std::to_string(directory->entries));
  return entries;
}

/// The claimed size is held against what deflate can do at best, 1032 to 1, before memory is asked
/// for.
Expected<AlignedBuffer> unpack(const ZipEntry &entry, std::string_view file) {
  const bool isPossible = entry.isDeflated ? entry.size / 1032 <= entry.packed.size()
                                           : entry.size == entry.packed.size();
  if (!isPossible)
    return corrupt(file,
                   "entry '" + entry.name + "' claims " + std::to_string(entry.size) + " bytes");
  auto bytes = AlignedBuffer::allocate(entry.size);
  if (!bytes.data())
    return Status::doesNotFit("no memory for entry '" + entry.name + "' of '" + std::string(file) +
                              "'");
  bool isWhole = true;
  if (entry.isDeflated)
    isWhole = inflateAll(entry.packed, bytes.bytes());
  else if (entry.size)
    std::memcpy(bytes.data(), entry.packed.data(), entry.size);
  if (!isWhole || ::crc32_z(0, bytes.data(), bytes.size()) != entry.checksum)
    return corrupt(file, "entry '" + entry.name + "' cannot be unpacked");
  return bytes;
}

// ---- writing ----

namespace {

/// As much of a number as its field of 32 bits holds.
uint32_t field(uint64_t value) { return static_cast<uint32_t>(std::min(value, full32)); }

/// What headers and places have in common, from the version to the length of the additions.
void putEntry(std::string &record, bool isWide, uint32_t checksum, uint64_t size, uint64_t name,
              uint64_t additions) {
  put<uint16_t>(record, isWide ? versionOf64 : usualVersion);
  put<uint16_t>(record, isUTF8);
  put<uint16_t>(record, stored);
  put<uint16_t>(record, 0); // time
  put<uint16_t>(record, firstDay);
  put(record, checksum);
  put(record, field(size));
  put(record, field(size)); // unpacked
  put(record, static_cast<uint16_t>(name));
  put(record, static_cast<uint16_t>(additions));
}

/// The addition that has the numbers that are too large for their fields; empty where none is.
std::string additionFor(std::initializer_list<uint64_t> values) {
  std::string wide;
  for (uint64_t value : values)
    if (value >= full32)
      put(wide, value);
  std::string addition;
  if (!wide.empty()) {
    put(addition, additionOf64);
    put(addition, static_cast<uint16_t>(wide.size()));
  }
  return addition + wide;
}

} // namespace

void ZipParts::append(std::string record) {
  size += record.size();
  records.push_back(std::move(record));
  parts.emplace_back(reinterpret_cast<const uint8_t *>(records.back().data()),
                     records.back().size());
}

void ZipParts::add(const std::string &name, std::span<const Bytes> pieces) {
  uint64_t content = 0;
  uint32_t checksum = 0;
  for (Bytes piece : pieces) {
    content += piece.size();
    checksum = static_cast<uint32_t>(::crc32_z(checksum, piece.data(), piece.size()));
  }
  // A header has both sizes or none in 64 bits.
  const std::string ofHeader = additionFor({content, content});
  const std::string ofPlace = additionFor({content, content, size});
  ++entries;
  put(directory, placeSign);
  put<uint16_t>(directory, versionOf64); // of the writer
  putEntry(directory, !ofPlace.empty(), checksum, content, name.size(), ofPlace.size());
  directory.append(10, '\0'); // comment, disk, attributes
  put(directory, field(size));
  directory += name + ofPlace;
  std::string header;
  put(header, headerSign);
  putEntry(header, !ofHeader.empty(), checksum, content, name.size(), ofHeader.size());
  append(header + name + ofHeader);
  parts.insert(parts.end(), pieces.begin(), pieces.end());
  size += content;
}

std::span<const Bytes> ZipParts::finish() {
  const uint64_t offset = size, length = directory.size();
  append(std::move(directory));
  const uint64_t end64 = size;
  std::string end;
  if (entries >= full16 || offset >= full32 || length >= full32) {
    put(end, end64Sign);
    put<uint64_t>(end, end64Size - 12); // what follows
    put(end, versionOf64);
    put(end, versionOf64);
    end.append(8, '\0'); // disks
    for (uint64_t value : {entries, entries, length, offset})
      put(end, value);
    put(end, locatorSign);
    put<uint32_t>(end, 0); // disk
    put(end, end64);
    put<uint32_t>(end, 1); // number of disks
  }
  put(end, endSign);
  end.append(4, '\0'); // disks
  for (int times = 0; times < 2; ++times)
    put(end, static_cast<uint16_t>(std::min(entries, full16)));
  put(end, field(length));
  put(end, field(offset));
  put<uint16_t>(end, 0); // comment
  append(std::move(end));
  return parts;
}

} // namespace gantry::arrays
