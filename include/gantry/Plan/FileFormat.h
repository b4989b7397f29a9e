// The fixed parts of a plan file, byte for byte; shared by the reader, the writer and the tests
// that damage files on purpose.
#pragma once

#include <bit>
#include <cstdint>

namespace gantry::plan {

static_assert(std::endian::native == std::endian::little, "plan files are little-endian");

inline constexpr char fileMagic[8] = {'G', 'A', 'N', 'T', 'R', 'Y', 'P', '1'};

/// A reader takes files of its own major version and of minor versions up to its own.
inline constexpr uint16_t formatMajor = 1;
inline constexpr uint16_t formatMinor = 0;

inline constexpr uint64_t segmentAlignment = 4096;
/// FlatBuffers 2 has 32-bit offsets.
inline constexpr uint64_t maxMetadataSize = (uint64_t(1) << 31) - 1;

enum class SegmentKind : uint32_t { constants = 0, code = 1 };

struct FileHeader {
  char magic[8];
  uint16_t versionMajor;
  uint16_t versionMinor;
  uint32_t headerSize; ///< sizeof(FileHeader) in version 1
  uint64_t fileSize;
  uint64_t metadataOffset;
  uint64_t metadataSize;
  uint64_t segmentTableOffset; ///< == headerSize
  uint32_t segmentCount;
  uint32_t reserved; ///< 0
  uint64_t checksum; ///< XXH3-64 of header (this field 0), segment table and metadata
};
static_assert(sizeof(FileHeader) == 64);

struct SegmentEntry {
  uint64_t offset; ///< in the file, a multiple of segmentAlignment
  uint64_t size;
  uint32_t kind;     ///< SegmentKind
  uint32_t reserved; ///< 0
  uint64_t checksum; ///< XXH3-64 of the segment's bytes
};
static_assert(sizeof(SegmentEntry) == 32);

} // namespace gantry::plan
