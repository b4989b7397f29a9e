// UTF-8, read one code point at a time, as strictly as Unicode says: no overlong forms, no halves
// of surrogate pairs, nothing above U+10FFFF.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace gantry {

struct CodePoint {
  uint32_t code = 0;
  size_t size = 1; ///< bytes; 1 for one that is no UTF-8
  bool valid = false;
};

/// The first one of a text that is not empty.
inline CodePoint firstCodePoint(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80)
    return {lead, 1, true};
  const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size)
    return {};
  uint32_t code = lead & (0xffu >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80)
      return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
    return {};
  return {code, size, true};
}

} // namespace gantry
