#include "gantry/Support/Names.h"

#include "gantry/Support/UTF8.h"

#include <algorithm>
#include <vector>

namespace gantry {

namespace {
bool isControl(uint32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

/// Marks of direction, and separators that some programs take for line breaks.
bool reordersText(uint32_t code) {
  return (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string hex(char kind, uint32_t code, int digits) {
  std::string text{'\\', kind};
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    text += "0123456789abcdef"[(code >> shift) & 15];
  return text;
}

std::string escape(uint32_t code) {
  switch (code) {
  case '\n':
    return "\\n";
  case '\r':
    return "\\r";
  case '\t':
    return "\\t";
  default:
    return code < 0x100 ? hex('x', code, 2) : hex('u', code, 4);
  }
}

std::string escaped(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = firstCodePoint(text);
    const std::string_view bytes = text.substr(0, point.size);
    if (!point.valid)
      out += hex('x', static_cast<unsigned char>(bytes[0]), 2);
    else if ((isControl(point.code) && kept.find(bytes[0]) == kept.npos) ||
             reordersText(point.code))
      out += escape(point.code);
    else
      out += bytes;
    text.remove_prefix(point.size);
  }
  return out;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Letters to insert, remove, change or swap with their neighbour to get from `a` to `b`.
size_t slipsBetween(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> slips(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        slips[i][j] = i + j;
        continue;
      }
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      slips[i][j] =
          std::min({slips[i - 1][j] + 1, slips[i][j - 1] + 1, slips[i - 1][j - 1] + !same});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1]))
        slips[i][j] = std::min(slips[i][j], slips[i - 2][j - 2] + 1);
    }
  return slips[a.size()][b.size()];
}
} // namespace

std::string printable(std::string_view text) { return escaped(text, ""); }
std::string printableLines(std::string_view text) { return escaped(text, "\n\t"); }

std::string didYouMean(std::string_view word, std::span<const std::string> candidates,
                       std::string_view prefix) {
  constexpr size_t longest = 64; // names of models can be long, and slips are in words
  const std::string *best = nullptr;
  size_t fewest = 0;
  for (const std::string &candidate : candidates) {
    if (word.size() > longest || candidate.size() > longest)
      continue;
    const size_t slips = slipsBetween(word, candidate);
    const size_t allowed = std::max<size_t>(1, std::max(word.size(), candidate.size()) / 3);
    if (slips <= allowed && slips < candidate.size() && (!best || slips < fewest))
      best = &candidate, fewest = slips;
  }
  return best ? "; did you mean '" + std::string(prefix) + printable(*best) + "'?" : "";
}

} // namespace gantry
