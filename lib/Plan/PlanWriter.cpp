// The layout is settled first (every size and hash is known once the blobs were added), then the
// parts go out in file order through one sink, to a file or to memory.
#include "gantry/Plan/PlanWriter.h"

#include "gantry/Plan/ProveOrder.h"
#include "gantry/Plan/Validate.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/File.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace gantry::plan {

namespace {
using Bytes = std::span<const uint8_t>;

constexpr uint8_t zeros[segmentAlignment] = {};

template <typename T>
Bytes bytesOf(const T &value) {
  return {reinterpret_cast<const uint8_t *>(&value), sizeof value};
}

/// What the metadata of a plan may take, from above and roughly: FlatBuffers aborts beyond 2 GiB,
/// so this is asked before. Only commands and values grow without bound.
uint64_t estimateMetadata(const fb::PlanT &plan) {
  uint64_t bytes = 0;
  auto strings = [&](const std::vector<std::string> &list) {
    for (const std::string &text : list)
      bytes += text.size() + 16;
  };
  strings(plan.strings);
  for (const auto &constant : plan.constants)
    bytes += 96 + constant->name.size();
  for (const auto &signature : plan.signatures)
    bytes += 160 + signature->symbol.size() + 8 * signature->reads.size() +
             8 * signature->writes.size() + 8 * signature->same.size();
  for (const auto &group : plan.groups)
    bytes += 32 + 4 * group->devices.size();
  for (const auto &exchange : plan.exchanges)
    bytes += 96 + 8 * exchange->sizes.size() + 4 * exchange->rows.size() + exchange->name.size();
  for (const auto &function : plan.functions) {
    for (const auto &block : function->blocks)
      for (const auto &command : block->commands) {
        bytes += 256 + command->name.size() + command->location.size() +
                 (command->buffers.size() + command->conditions.size()) * sizeof(fb::BufferRef);
        strings(command->log_names);
      }
    for (const auto &value : function->values)
      bytes += 160 + value->name.size() + (value->type ? value->type->shape.size() * 8 : 0);
    for (const auto &op : function->placed_ops) {
      bytes += 160 + op->log_name.size() + op->name.size() + op->location.size() + op->rule.size() +
               op->kernel_name.size() + op->node.size() + op->source_op.size() + op->kind.size();
      strings(op->rejected);
    }
  }
  return bytes;
}
} // namespace

struct PlanWriter::Layout {
  FileHeader header = {};
  std::vector<SegmentEntry> entries;
  flatbuffers::FlatBufferBuilder builder;
  Bytes metadata() const { return {builder.GetBufferPointer(), builder.GetSize()}; }
};

uint32_t PlanWriter::addSegment(SegmentKind kind) {
  segments.push_back(Segment{kind, {}, 0, {}});
  return static_cast<uint32_t>(segments.size() - 1);
}

BlobRef PlanWriter::append(uint32_t segment, uint64_t size, Blob blob) {
  assert(segment < segments.size() && "addBlob into a segment that was not added");
  Segment &to = segments[segment];
  BlobRef ref{segment, to.size, size, 0};

  // One pass over the bytes for both hashes: a piece stays in the cache between the two.
  constexpr size_t piece = size_t(128) << 10;
  Hasher content;
  auto hash = [&](Bytes bytes) -> Status {
    for (size_t at = 0; at < bytes.size(); at += piece) {
      if (isCancelled())
        return Status::cancelled("the compilation was cancelled");
      Bytes part = bytes.subspan(at, std::min(piece, bytes.size() - at));
      content.update(part);
      to.hasher.update(part);
    }
    return {};
  };
  if (blob.maker)
    (void)blob.maker(hash); // fails only where its sink does, and that only when cancelled
  else
    (void)hash(blob.bytes);
  ref.hash = content.digest();

  uint64_t padded = alignTo(size, bufferAlignment);
  to.hasher.update({zeros, padded - size});
  to.blobs.push_back(std::move(blob));
  to.size += padded;
  return ref;
}

BlobRef PlanWriter::addBlob(uint32_t segment, Bytes bytes) {
  return append(segment, bytes.size(), {bytes, {}});
}

BlobRef PlanWriter::addBlob(uint32_t segment, uint64_t size, Maker maker) {
  return append(segment, size, {{}, std::move(maker)});
}

BlobRef PlanWriter::addBlob(uint32_t segment, std::vector<uint8_t> bytes) {
  owned.push_back(std::move(bytes));
  return addBlob(segment, Bytes(owned.back()));
}

Expected<PlanWriter::Layout> PlanWriter::layOut(const fb::PlanT &plan) const {
  if (estimateMetadata(plan) > maxMetadataSize)
    return Status::unsupported("the plan's metadata would be over 2 GiB; compile fewer functions "
                               "into one plan");
  Layout layout;
  layout.builder.Finish(fb::Plan::Pack(layout.builder, &plan), fb::PlanIdentifier());

  FileHeader &header = layout.header;
  std::memcpy(header.magic, fileMagic, sizeof fileMagic);
  header.versionMajor = formatMajor;
  header.versionMinor = formatMinor;
  header.headerSize = sizeof header;
  header.segmentTableOffset = sizeof header;
  header.segmentCount = static_cast<uint32_t>(segments.size());
  header.metadataOffset =
      alignTo(sizeof header + segments.size() * sizeof(SegmentEntry), bufferAlignment);
  header.metadataSize = layout.metadata().size();

  std::vector<SegmentInfo> infos;
  uint64_t end = header.metadataOffset + header.metadataSize;
  for (const Segment &segment : segments) {
    SegmentEntry entry = {};
    entry.offset = alignTo(end, segmentAlignment);
    entry.size = segment.size;
    entry.kind = static_cast<uint32_t>(segment.kind);
    entry.checksum = segment.hasher.digest();
    end = entry.offset + entry.size;
    layout.entries.push_back(entry);
    infos.push_back({segment.kind, segment.size});
  }
  header.fileSize = end;

  // What the reader would refuse is not written.
  // The builder's own memory is aligned only as far as the fields of this plan need; a file's is
  // to 64.
  AlignedBuffer aligned = AlignedBuffer::copyOf(layout.metadata());
  Expected<const fb::Plan *> root = verifyMetadata(aligned.bytes());
  Status valid = root ? validatePlan(**root, infos, header.metadataSize) : root.status();
  if (valid.ok())
    valid = proveOrder(**root);
  if (!valid.ok())
    return Status::internal("the compiler made an invalid plan: " + valid.message());

  Hasher hasher;
  hasher.update(bytesOf(header)); // its checksum field is still 0
  for (const SegmentEntry &entry : layout.entries)
    hasher.update(bytesOf(entry));
  hasher.update(layout.metadata());
  header.checksum = hasher.digest();
  return layout;
}

Status PlanWriter::emit(const Layout &layout, const Sink &sink) const {
  uint64_t at = 0;
  // In pieces, so that whoever waits for the end of a long one does not wait long.
  constexpr size_t piece = size_t(4) << 20;
  auto put = [&](Bytes bytes) -> Status {
    at += bytes.size();
    for (size_t from = 0; from < bytes.size(); from += piece) {
      if (isCancelled())
        return Status::cancelled("the compilation was cancelled");
      GANTRY_RETURN_IF_ERROR(sink(bytes.subspan(from, std::min(piece, bytes.size() - from))));
    }
    return {};
  };
  auto pad = [&](uint64_t alignment) { return put({zeros, alignTo(at, alignment) - at}); };

  GANTRY_RETURN_IF_ERROR(put(bytesOf(layout.header)));
  for (const SegmentEntry &entry : layout.entries)
    GANTRY_RETURN_IF_ERROR(put(bytesOf(entry)));
  GANTRY_RETURN_IF_ERROR(pad(bufferAlignment));
  GANTRY_RETURN_IF_ERROR(put(layout.metadata()));
  for (const Segment &segment : segments) {
    GANTRY_RETURN_IF_ERROR(pad(segmentAlignment));
    for (const Blob &blob : segment.blobs) {
      GANTRY_RETURN_IF_ERROR(blob.maker ? blob.maker(put) : put(blob.bytes));
      GANTRY_RETURN_IF_ERROR(pad(bufferAlignment)); // segments start aligned, so `at` does for it
    }
  }
  assert(at == layout.header.fileSize && "the layout and what was written disagree");
  return {};
}

Status PlanWriter::writeFile(const fb::PlanT &plan, const std::string &path) const {
  Expected<Layout> layout = layOut(plan);
  if (!layout)
    return layout.status();
  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  GANTRY_RETURN_IF_ERROR(emit(*layout, [&](Bytes bytes) { return file->write(bytes); }));
  return file->commit();
}

Status PlanWriter::writeTo(const fb::PlanT &plan, const Sink &sink) const {
  Expected<Layout> layout = layOut(plan);
  return layout ? emit(*layout, sink) : layout.status();
}

Expected<AlignedBuffer> PlanWriter::toBytes(const fb::PlanT &plan) const {
  Expected<Layout> layout = layOut(plan);
  if (!layout)
    return layout.status();
  AlignedBuffer result = AlignedBuffer::allocate(layout->header.fileSize);
  if (!result.data())
    return Status::doesNotFit("no memory for a plan of " + formatBytes(layout->header.fileSize));
  uint64_t at = 0;
  GANTRY_RETURN_IF_ERROR(emit(*layout, [&](Bytes bytes) -> Status {
    if (!bytes.empty())
      std::memcpy(result.data() + at, bytes.data(), bytes.size());
    at += bytes.size();
    return {};
  }));
  return result;
}

} // namespace gantry::plan
