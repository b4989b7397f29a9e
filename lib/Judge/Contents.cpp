#include "Contents.h"

#include <iterator>

namespace gantry::judge {

/// Makes `at` a border between pieces.
void Contents::cut(uint64_t at) {
  auto &[begin, piece] = *std::prev(pieces.upper_bound(at));
  if (begin == at || piece.end <= at)
    return;
  WrittenBytes rest = piece;
  piece.end = at;
  pieces.emplace(at, std::move(rest));
}

/// What was there becomes one piece, so a space has no more than two of them for each write.
void Contents::write(ByteRange range, const Content &content) {
  cut(range.begin);
  cut(range.end);
  auto next = pieces.erase(pieces.find(range.begin), pieces.lower_bound(range.end));
  pieces.emplace_hint(next, range.begin, WrittenBytes{range.end, content, {}});
}

std::vector<Stretch> Contents::read(ByteRange range) {
  std::vector<Stretch> stretches;
  visit(range, [&](ByteRange part, const WrittenBytes &piece) {
    stretches.push_back({part, piece.content});
  });
  return stretches;
}

} // namespace gantry::judge
