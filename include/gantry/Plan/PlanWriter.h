// Writing a plan file. Weights are borrowed and streamed to the file, so that writing one of many
// GiB needs memory for its metadata only.
#pragma once

#include "gantry/Plan/FileFormat.h"
#include "gantry/Plan/Plan_generated.h"
#include "gantry/Support/AlignedBuffer.h"
#include "gantry/Support/Cancel.h"
#include "gantry/Support/Hash.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace gantry::plan {

/// Where a blob came to lie: what a Constant or Code of the metadata must say.
struct BlobRef {
  uint32_t segment = 0;
  uint64_t offset = 0; ///< in the segment, 64-byte aligned
  uint64_t size = 0;
  uint64_t hash = 0; ///< XXH3-64 of the bytes: Constant.content_hash
};

/// Collects segments, then writes them with the metadata. Use: addSegment, addBlob..., fill an
/// fb::PlanT with the BlobRefs, writeFile or toBytes.
class PlanWriter {
public:
  PlanWriter() = default;
  /// Once the token is set, bytes are read no more and writing ends with CANCELLED.
  explicit PlanWriter(const Cancel *cancel) : cancel(cancel) {}

  /// A new empty segment; gives its index.
  uint32_t addSegment(SegmentKind kind);

  /// Appends bytes, which stay the caller's and must live and stay unchanged until the plan is
  /// written. They are hashed now.
  BlobRef addBlob(uint32_t segment, std::span<const uint8_t> bytes);
  /// Appends bytes that the writer keeps.
  BlobRef addBlob(uint32_t segment, std::vector<uint8_t> bytes);

  /// Gives bytes to a sink, piece by piece: the same ones each time.
  using Maker = std::function<Status(const std::function<Status(std::span<const uint8_t>)> &)>;

  /// Appends `size` bytes that are made when they are wanted: now, to be hashed, and when the plan
  /// is written; so they are never all there at once.
  BlobRef addBlob(uint32_t segment, uint64_t size, Maker maker);

  /// Checks the plan with the reader's own verifier and writes the file, whole or not at all.
  /// Errors: INTERNAL (the plan does not hold together: a defect of whoever made it),
  /// UNSUPPORTED (metadata over 2 GiB), INVALID_ARGUMENT (the path cannot be written).
  Status writeFile(const fb::PlanT &plan, const std::string &path) const;

  /// Receives the bytes of a file in their order; a failure ends the writing.
  using Sink = std::function<Status(std::span<const uint8_t>)>;

  /// The same bytes to wherever the caller wants them. Errors: as writeFile, and the sink's own.
  Status writeTo(const fb::PlanT &plan, const Sink &sink) const;

  /// The same file in memory.
  Expected<AlignedBuffer> toBytes(const fb::PlanT &plan) const;

private:
  /// Bytes that are there, or who makes them.
  struct Blob {
    std::span<const uint8_t> bytes;
    Maker maker;
  };
  struct Segment {
    SegmentKind kind;
    std::vector<Blob> blobs; ///< each followed by zeros up to 64 bytes
    uint64_t size = 0;
    Hasher hasher;
  };
  struct Layout;

  Expected<Layout> layOut(const fb::PlanT &plan) const;
  Status emit(const Layout &layout, const Sink &sink) const;
  BlobRef append(uint32_t segment, uint64_t size, Blob blob);

  bool isCancelled() const { return cancel && cancel->isSet(); }

  const Cancel *cancel = nullptr;
  std::vector<Segment> segments;
  std::deque<std::vector<uint8_t>> owned; ///< a deque: elements stay where they are
};

} // namespace gantry::plan
