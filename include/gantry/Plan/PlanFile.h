// Reading a plan file. Any bytes may be given: what does not hold together is refused with a
// message and nothing is allocated from sizes that were not checked.
//
//   offset 0   FileHeader       64 bytes, little-endian (FileFormat.h)
//              segment table    32 bytes a segment: offset, size, kind, checksum
//              metadata         FlatBuffer, Plan.fbs; begins at a multiple of 64 bytes
//              segments         each begins at a multiple of 4 KiB
//                blobs          in segments; each begins at a multiple of 64 bytes
//
// Bytes between the parts are zero. One XXH3-64 covers header, segment table and metadata, another
// each segment and each constant and code object in one, so that every byte of the file is covered.
#pragma once

#include "gantry/Plan/FileFormat.h"
#include "gantry/Plan/Plan_generated.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gantry::plan {

/// How much of a file is looked at when it is opened.
enum class Check {
  everything,   ///< header, metadata, and all other bytes against their checksums
  metadataOnly, ///< not the segments' bytes: whoever uses them calls verifyBytes
  made,         ///< likewise, and nobody needs to: the caller has just made them
};

struct ReadOptions {
  Check check = Check::everything;
};

/// A verified plan file; cheap to copy, since copies share the bytes. The views that it gives are
/// read in place and live as long as one copy of it does.
class PlanFile {
public:
  /// Maps the file. Errors: NOT_FOUND, CORRUPT (with the place), UNSUPPORTED (a version of the
  /// format that this build does not read).
  static Expected<PlanFile> open(const std::string &path, ReadOptions options = {});

  /// Reads bytes in place; they start at a 64-byte boundary and `owner` keeps them alive and
  /// unchanged (null: the caller does).
  static Expected<PlanFile> fromBytes(std::span<const uint8_t> bytes,
                                      std::shared_ptr<const void> owner, ReadOptions options = {});

  /// As fromBytes, over a copy of bytes of any alignment.
  static Expected<PlanFile> copyOf(std::span<const uint8_t> bytes, ReadOptions options = {});

  /// Whether the bytes start as a plan file does; says nothing about the rest.
  static bool looksLikePlan(std::span<const uint8_t> bytes);

  /// The metadata: verified, so that every index, range and enum in it may be used unchecked.
  const fb::Plan &plan() const { return *root; }

  std::span<const uint8_t> segment(uint32_t index) const { return segments[index]; }
  uint32_t numSegments() const { return static_cast<uint32_t>(segments.size()); }
  /// XXH3-64 of the segment's bytes, as the file says.
  uint64_t checksumOf(uint32_t index) const { return entries[index].checksum; }

  /// Whether the bytes are a mapping of the file, whose pages come back when they are read again.
  bool isMapped() const { return mapped; }

  /// Whether the segments' bytes are known to be what their checksums say.
  bool isVerified() const { return verified; }

  /// The bytes of a constant or code object of this plan, 64-byte aligned.
  std::span<const uint8_t> bytesOf(const fb::Constant &constant) const {
    return segments[constant.segment()].subspan(constant.segment_offset(), constant.size());
  }
  /// What a new state holds; empty for zeros.
  std::span<const uint8_t> bytesOf(const fb::Variable &variable) const {
    if (variable.initial_segment() == UINT32_MAX)
      return {};
    return segments[variable.initial_segment()].subspan(variable.initial_offset(), variable.size());
  }
  std::span<const uint8_t> bytesOf(const fb::Code &code) const {
    return segments[code.segment()].subspan(code.segment_offset(), code.size());
  }

  /// The whole file.
  std::span<const uint8_t> bytes() const { return file; }

private:
  friend Status
  verifyOnce(PlanFile &file,
             const std::function<void(size_t, const std::function<void(size_t)> &)> &);
  std::span<const uint8_t> file;
  std::shared_ptr<const void> owner;
  const fb::Plan *root = nullptr;
  std::vector<std::span<const uint8_t>> segments;
  std::vector<SegmentEntry> entries;
  bool verified = false;
  bool mapped = false;
};

} // namespace gantry::plan
