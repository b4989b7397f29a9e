// Pieces of a file that have a checksum each, the largest first, so that threads end together.
#include "gantry/Plan/VerifyBytes.h"

#include "gantry/Plan/Outline.h"
#include "gantry/Plan/Views.h"
#include "gantry/Support/Hash.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <sys/mman.h>

namespace gantry::plan {

namespace {
using Bytes = std::span<const uint8_t>;

struct Piece {
  Bytes bytes;
  uint64_t checksum;
  bool isConstant;
  uint32_t index; ///< of constant or segment
};

/// Pages of a mapping come in one by one when they are touched, which costs as much as the sum. The
/// kernel brings in many at once when it is asked to; that it may not know how does no harm.
void populate(Bytes bytes) {
#ifdef MADV_POPULATE_READ
  constexpr uintptr_t page = 4096;
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data()) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size();
  (void)::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_POPULATE_READ);
#else
  (void)bytes;
#endif
}

/// So what a run does not read is not resident.
void giveBackPages(Bytes bytes) {
  if (bytes.size() < 65536)
    return;
  constexpr uintptr_t page = 4096;
  const auto begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (begin < end)
    (void)::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

bool matches(const Piece &piece, bool mayGiveBack) {
  constexpr size_t step = size_t(2) << 20;
  Hasher hasher;
  for (size_t at = 0; at < piece.bytes.size(); at += step) {
    const Bytes part = piece.bytes.subspan(at, std::min(step, piece.bytes.size() - at));
    if (part.size() >= 65536)
      populate(part);
    hasher.update(part);
    if (mayGiveBack)
      giveBackPages(part);
  }
  return hasher.digest() == piece.checksum;
}

bool isZero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

/// Whether a segment holds nothing but these constants (sorted by offset) and zeros.
bool isCovered(Bytes segment, const std::vector<const fb::Constant *> &constants) {
  uint64_t end = 0;
  for (const fb::Constant *constant : constants) {
    if (constant->segment_offset() > end &&
        !isZero(segment.subspan(end, constant->segment_offset() - end)))
      return false;
    end = std::max(end, constant->segment_offset() + constant->size());
  }
  return isZero(segment.subspan(end));
}

std::vector<Piece> piecesOf(const PlanFile &file, BytesOf which) {
  std::vector<Piece> pieces;
  if (isOutline(file.plan()))
    return pieces;
  std::vector<std::vector<const fb::Constant *>> inSegment(file.numSegments());
  uint32_t index = 0;
  for (const fb::Constant *constant : each(file.plan().constants())) {
    if (constant->made() == nothingSaid)
      inSegment[constant->segment()].push_back(constant);
    if (which != BytesOf::allButConstants && constant->made() == nothingSaid)
      pieces.push_back({file.bytesOf(*constant), constant->content_hash(), true, index});
    ++index;
  }
  for (uint32_t i = 0; i < file.numSegments() && which != BytesOf::constants; ++i) {
    std::sort(inSegment[i].begin(), inSegment[i].end(), [](const auto *a, const auto *b) {
      return a->segment_offset() < b->segment_offset();
    });
    if (inSegment[i].empty() || !isCovered(file.segment(i), inSegment[i]))
      pieces.push_back({file.segment(i), file.checksumOf(i), false, i});
  }
  return pieces;
}

Status damaged(const PlanFile &file, const Piece &piece) {
  if (!piece.isConstant)
    return Status::corrupt("plan file: segment " + std::to_string(piece.index) +
                           ": the checksum does not match; the file is damaged");
  const std::string_view name = textOf(file.plan().constants()->Get(piece.index)->name());
  return Status::corrupt("plan file: constants[" + std::to_string(piece.index) + "]" +
                         (name.empty() ? "" : " '" + std::string(name) + "'") +
                         ": content_hash is not that of its bytes; the file is damaged");
}

/// Whether constants are read where the file is mapped, when a run comes to them; other devices
/// have them copied as soon as the plan is loaded, and would have each page read twice.
bool readsInPlace(const PlanFile &file) {
  if (!file.isMapped())
    return false;
  for (const fb::Device *device : *file.plan().devices())
    if (device->type() != fb::DeviceType::cpu)
      return false;
  return true;
}
} // namespace

void giveBack(const PlanFile &file, Bytes bytes) {
  if (file.isMapped())
    giveBackPages(bytes);
}

void inOrder(size_t count, const std::function<void(size_t)> &work) {
  for (size_t i = 0; i < count; ++i)
    work(i);
}

Status verifyBytes(const PlanFile &file, BytesOf which, const ParallelFor &parallel) {
  const std::vector<Piece> pieces = piecesOf(file, which);
  std::vector<uint32_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return pieces[a].bytes.size() > pieces[b].bytes.size();
  });
  std::vector<uint8_t> good(pieces.size());
  const bool mayGiveBack = readsInPlace(file);
  parallel(order.size(),
           [&](size_t i) { good[order[i]] = matches(pieces[order[i]], mayGiveBack); });
  for (size_t i = 0; i < pieces.size(); ++i)
    if (!good[i])
      return damaged(file, pieces[i]);
  return {};
}

Status verifyOnce(PlanFile &file, const ParallelFor &parallel) {
  if (!file.isVerified())
    GANTRY_RETURN_IF_ERROR(verifyBytes(file, BytesOf::everything, parallel));
  file.verified = true;
  return {};
}

} // namespace gantry::plan
