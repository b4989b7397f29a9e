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

struct ChecksumRange {
  Bytes bytes;
  uint64_t checksum;
  enum { constant, code, segment } what;
  uint32_t index; ///< of that
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

bool matches(const ChecksumRange &piece, bool mayGiveBack) {
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

/// Bytes of a segment that have a hash of their own.
struct Hashed {
  uint64_t begin, end;
};

/// Whether a segment holds nothing but these (sorted) and zeros.
bool isCovered(Bytes segment, const std::vector<Hashed> &parts) {
  uint64_t end = 0;
  for (const Hashed &part : parts) {
    if (part.begin > end && !isZero(segment.subspan(end, part.begin - end)))
      return false;
    end = std::max(end, part.end);
  }
  return isZero(segment.subspan(end));
}

/// Notes what lies in segments with a hash of its own; the pieces are those that are asked for.
class Pieces {
public:
  Pieces(const PlanFile &file, BytesOf which)
      : file(file), which(which), inSegment(file.numSegments()) {}

  std::vector<ChecksumRange> run() {
    addConstants();
    if (which == BytesOf::constants)
      return std::move(pieces);
    addCode();
    for (uint32_t i = 0; i < file.numSegments(); ++i) {
      std::ranges::sort(inSegment[i], {}, &Hashed::begin);
      if (inSegment[i].empty() || !isCovered(file.segment(i), inSegment[i]))
        pieces.push_back({file.segment(i), file.checksumOf(i), ChecksumRange::segment, i});
    }
    return std::move(pieces);
  }

private:
  const PlanFile &file;
  const BytesOf which;
  std::vector<ChecksumRange> pieces;
  std::vector<std::vector<Hashed>> inSegment;

  void note(uint32_t segment, uint64_t offset, uint64_t size) {
    inSegment[segment].push_back({offset, offset + size});
  }

  void addConstants() {
    uint32_t index = 0;
    for (const fb::Constant *constant : each(file.plan().constants())) {
      const uint32_t i = index++;
      if (constant->made() != nothingSaid)
        continue;
      note(constant->segment(), constant->segment_offset(), constant->size());
      if (which != BytesOf::allButConstants)
        pieces.push_back(
            {file.bytesOf(*constant), constant->content_hash(), ChecksumRange::constant, i});
    }
  }

  /// Code of plans from before signatures is covered by its segment alone.
  void addCode() {
    uint32_t index = 0;
    for (const fb::Code *code : each(file.plan().code())) {
      const uint32_t i = index++;
      if (code->content_hash() == 0)
        continue;
      note(code->segment(), code->segment_offset(), code->size());
      pieces.push_back({file.bytesOf(*code), code->content_hash(), ChecksumRange::code, i});
    }
  }
};

std::vector<ChecksumRange> piecesOf(const PlanFile &file, BytesOf which) {
  return isOutline(file.plan()) ? std::vector<ChecksumRange>() : Pieces(file, which).run();
}

Status damaged(const PlanFile &file, const ChecksumRange &piece) {
  const std::string index = std::to_string(piece.index);
  if (piece.what == ChecksumRange::segment)
    return Status::corrupt("plan file: segment " + index +
                           ": the checksum does not match; the file is damaged");
  std::string place = "code[" + index + "]";
  if (piece.what == ChecksumRange::constant) {
    const std::string_view name = textOf(file.plan().constants()->Get(piece.index)->name());
    place = "constants[" + index + "]" + (name.empty() ? "" : " '" + std::string(name) + "'");
  }
  return Status::corrupt("plan file: " + place +
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
  const std::vector<ChecksumRange> pieces = piecesOf(file, which);
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
