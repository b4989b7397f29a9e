// Opening a plan: header, layout, checksums, structure, meaning, in that order, each step relying
// only on what the steps before have checked.
#include "gantry/Plan/PlanFile.h"

#include "gantry/Plan/Validate.h"
#include "gantry/Plan/VerifyBytes.h"
#include "gantry/Support/AlignedBuffer.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/File.h"
#include "gantry/Support/Hash.h"

#include <cstddef>
#include <cstring>

namespace gantry::plan {

namespace {
using Bytes = std::span<const uint8_t>;

Status corrupt(const std::string &what) { return Status::corrupt("plan file: " + what); }

std::string range(uint64_t offset, uint64_t size) {
  return std::to_string(size) + " bytes at " + std::to_string(offset);
}

/// The header, if it is one that this build reads.
Expected<FileHeader> readHeader(Bytes file) {
  if (file.size() < sizeof(FileHeader))
    return corrupt("it has " + std::to_string(file.size()) + " bytes, less than the header's " +
                   std::to_string(sizeof(FileHeader)));
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.magic, fileMagic, sizeof fileMagic) != 0)
    return corrupt("it does not start with 'GANTRYP1'");
  if (header.versionMajor != formatMajor || header.versionMinor > formatMinor)
    return Status::unsupported("plan file: format version " + std::to_string(header.versionMajor) +
                               "." + std::to_string(header.versionMinor) + ", this gantry reads " +
                               std::to_string(formatMajor) + ".0 to " +
                               std::to_string(formatMajor) + "." + std::to_string(formatMinor) +
                               "; compile the graph again");
  if (header.headerSize != sizeof(FileHeader) || header.reserved != 0)
    return corrupt("the header's size is " + std::to_string(header.headerSize) + ", expected " +
                   std::to_string(sizeof(FileHeader)));
  if (header.fileSize != file.size())
    return corrupt("it has " + std::to_string(file.size()) + " bytes, its header says " +
                   std::to_string(header.fileSize) + ": cut off, or something was appended");
  return header;
}

/// Segment table and metadata inside the file, in their places.
Status checkPlaces(const FileHeader &header) {
  uint64_t tableSize;
  if (header.segmentTableOffset != header.headerSize ||
      mulOverflows(header.segmentCount, sizeof(SegmentEntry), &tableSize) ||
      !rangeFits(header.segmentTableOffset, tableSize, header.fileSize))
    return corrupt("the segment table (" + std::to_string(header.segmentCount) + " segments at " +
                   std::to_string(header.segmentTableOffset) + ") does not lie in the file");
  uint64_t tableEnd = header.segmentTableOffset + tableSize;
  if (header.metadataOffset != alignTo(tableEnd, bufferAlignment) ||
      header.metadataSize > maxMetadataSize ||
      !rangeFits(header.metadataOffset, header.metadataSize, header.fileSize))
    return corrupt("the metadata (" + range(header.metadataOffset, header.metadataSize) +
                   ") does not lie after the segment table in the file");
  return {};
}

SegmentEntry readEntry(Bytes file, const FileHeader &header, uint32_t index) {
  SegmentEntry entry;
  std::memcpy(&entry, file.data() + header.segmentTableOffset + index * sizeof entry, sizeof entry);
  return entry;
}

uint64_t metadataChecksum(Bytes file, FileHeader header) {
  header.checksum = 0;
  Hasher hasher;
  hasher.update({reinterpret_cast<const uint8_t *>(&header), sizeof header});
  hasher.update(
      file.subspan(header.segmentTableOffset, header.segmentCount * sizeof(SegmentEntry)));
  hasher.update(file.subspan(header.metadataOffset, header.metadataSize));
  return hasher.digest();
}

Status expectZeros(Bytes file, uint64_t begin, uint64_t end) {
  for (uint64_t at = begin; at < end; ++at)
    if (file[at] != 0)
      return corrupt("byte " + std::to_string(at) + ", between two parts, is not zero");
  return {};
}

/// Segments one after the other, each at the next multiple of segmentAlignment, up to the end:
/// there is one layout for given contents, so no byte is left that nothing looks at.
Status checkSegmentPlaces(Bytes file, const FileHeader &header) {
  uint64_t tableEnd = header.segmentTableOffset + header.segmentCount * sizeof(SegmentEntry);
  GANTRY_RETURN_IF_ERROR(expectZeros(file, tableEnd, header.metadataOffset));
  uint64_t end = header.metadataOffset + header.metadataSize;
  for (uint32_t i = 0; i < header.segmentCount; ++i) {
    SegmentEntry entry = readEntry(file, header, i);
    std::string name = "segment " + std::to_string(i);
    if (entry.offset != alignTo(end, segmentAlignment) ||
        !rangeFits(entry.offset, entry.size, file.size()))
      return corrupt(name + " (" + range(entry.offset, entry.size) +
                     ") does not lie after the part before it in the file");
    if (entry.kind > static_cast<uint32_t>(SegmentKind::code) || entry.reserved != 0)
      return corrupt(name + " is of unknown kind " + std::to_string(entry.kind));
    GANTRY_RETURN_IF_ERROR(expectZeros(file, end, entry.offset));
    end = entry.offset + entry.size;
  }
  if (end != file.size())
    return corrupt(std::to_string(file.size() - end) + " bytes follow the last part");
  return {};
}
} // namespace

bool PlanFile::looksLikePlan(Bytes bytes) {
  return bytes.size() >= sizeof fileMagic &&
         std::memcmp(bytes.data(), fileMagic, sizeof fileMagic) == 0;
}

Expected<PlanFile> PlanFile::open(const std::string &path, ReadOptions options) {
  Expected<MappedFile> mapped = MappedFile::open(path);
  if (!mapped)
    return mapped.status();
  auto owner = std::make_shared<const MappedFile>(mapped.take());
  Expected<PlanFile> file = fromBytes(owner->bytes(), owner, options);
  if (!file)
    return Status(file.status().code(), "'" + path + "': " + file.status().message());
  file->mapped = true;
  return file;
}

Expected<PlanFile> PlanFile::copyOf(Bytes bytes, ReadOptions options) {
  auto copy = std::make_shared<const AlignedBuffer>(AlignedBuffer::copyOf(bytes));
  if (!copy->data())
    return Status::doesNotFit("no memory for a plan of " + formatBytes(bytes.size()));
  return fromBytes(copy->bytes(), copy, options);
}

Expected<PlanFile> PlanFile::fromBytes(Bytes bytes, std::shared_ptr<const void> owner,
                                       ReadOptions options) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % bufferAlignment != 0)
    return Status::invalidArgument("the bytes of a plan must start at a 64-byte boundary");
  Expected<FileHeader> header = readHeader(bytes);
  if (!header)
    return header.status();
  GANTRY_RETURN_IF_ERROR(checkPlaces(*header));
  if (metadataChecksum(bytes, *header) != header->checksum)
    return corrupt("the metadata's checksum does not match; the file is damaged");
  GANTRY_RETURN_IF_ERROR(checkSegmentPlaces(bytes, *header));

  PlanFile file;
  file.file = bytes;
  file.owner = std::move(owner);
  Bytes metadata = bytes.subspan(header->metadataOffset, header->metadataSize);
  Expected<const fb::Plan *> root = verifyMetadata(metadata);
  if (!root)
    return root.status();
  file.root = *root;

  std::vector<SegmentInfo> infos;
  for (uint32_t i = 0; i < header->segmentCount; ++i) {
    SegmentEntry entry = readEntry(bytes, *header, i);
    file.entries.push_back(entry);
    infos.push_back({static_cast<SegmentKind>(entry.kind), entry.size});
    file.segments.push_back(bytes.subspan(entry.offset, entry.size));
  }
  GANTRY_RETURN_IF_ERROR(validatePlan(*file.root, infos, header->metadataSize));
  if (options.check == Check::everything)
    GANTRY_RETURN_IF_ERROR(verifyOnce(file));
  file.verified = options.check != Check::metadataOnly;
  return file;
}

} // namespace gantry::plan
