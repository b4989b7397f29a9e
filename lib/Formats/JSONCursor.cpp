#include "JSONCursor.h"

#include "gantry/Support/UTF8.h"

#include <charconv>

namespace gantry::arrays {

Status JSONCursor::wrong(const std::string &what) const {
  return Status::corrupt("byte " + std::to_string(at) + ": " + what);
}

void JSONCursor::skipSpace() {
  while (at < text.size() && std::string_view(" \t\n\r").find(text[at]) != std::string_view::npos)
    ++at;
}

bool JSONCursor::eat(char c) {
  skipSpace();
  if (at == text.size() || text[at] != c)
    return false;
  ++at;
  return true;
}

bool JSONCursor::eatWord(std::string_view word) {
  skipSpace();
  if (!text.substr(at).starts_with(word))
    return false;
  at += word.size();
  return true;
}

Status JSONCursor::expect(char c) {
  return eat(c) ? Status() : wrong(std::string("expected '") + c + "'");
}

Status JSONCursor::end() {
  skipSpace();
  return at == text.size() ? Status() : wrong("expected the end");
}

Expected<uint64_t> JSONCursor::number() {
  skipSpace();
  uint64_t value = 0;
  const char *first = text.data() + at, *last = text.data() + text.size();
  const auto [end, error] = std::from_chars(first, last, value);
  const bool isPadded = end - first > 1 && *first == '0';
  const bool goesOn = end != last && std::string_view(".eE").find(*end) != std::string_view::npos;
  if (error != std::errc() || isPadded || goesOn)
    return wrong("expected a whole number below 2^64");
  at += static_cast<size_t>(end - first);
  return value;
}

Expected<uint32_t> JSONCursor::fourDigits() {
  uint32_t value = 0;
  const std::string_view digits = text.substr(at, 4);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc() || digits.size() != 4 || end != digits.data() + 4)
    return wrong("expected four hexadecimal digits");
  at += 4;
  return value;
}

static void appendUTF8(uint32_t code, std::string &into) {
  const auto tail = [code](unsigned shift) {
    return static_cast<char>(0x80 | (code >> shift & 0x3f));
  };
  if (code < 0x80)
    into += static_cast<char>(code);
  else if (code < 0x800)
    (into += static_cast<char>(0xc0 | code >> 6)) += tail(0);
  else if (code < 0x10000)
    ((into += static_cast<char>(0xe0 | code >> 12)) += tail(6)) += tail(0);
  else
    (((into += static_cast<char>(0xf0 | code >> 18)) += tail(12)) += tail(6)) += tail(0);
}

Status JSONCursor::escape(std::string &into) {
  constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
  const char letter = at < text.size() ? text[at++] : '\0';
  if (const size_t known = letters.find(letter); known != std::string_view::npos) {
    into += meanings[known];
    return {};
  }
  if (letter != 'u')
    return wrong("an unknown escape");
  Expected<uint32_t> code = fourDigits();
  if (!code)
    return code.status();
  if (*code >= 0xd800 && *code < 0xdc00) { // half of a pair
    const bool isPair = text.substr(at).starts_with("\\u");
    at += isPair ? 2 : 0;
    Expected<uint32_t> low = isPair ? fourDigits() : Expected<uint32_t>(0u);
    if (!low)
      return low.status();
    if (*low < 0xdc00 || *low > 0xdfff)
      return wrong("half of a surrogate pair");
    *code = 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
  } else if (*code >= 0xdc00 && *code < 0xe000) {
    return wrong("half of a surrogate pair");
  }
  if (*code == 0)
    return wrong("a zero character in a text"); // which ends it for C
  appendUTF8(*code, into);
  return {};
}

Expected<std::string> JSONCursor::string() {
  GANTRY_RETURN_IF_ERROR(expect('"'));
  std::string value;
  while (at < text.size() && text[at] != '"') {
    if (text[at] == '\\') {
      ++at;
      GANTRY_RETURN_IF_ERROR(escape(value));
      continue;
    }
    const CodePoint point = firstCodePoint(text.substr(at));
    if (!point.valid)
      return wrong("a text that is not UTF-8");
    if (point.code < 0x20)
      return wrong("a control character in a text");
    value += text.substr(at, point.size);
    at += point.size;
  }
  if (at == text.size())
    return wrong("a text without an end");
  ++at;
  return value;
}

} // namespace gantry::arrays
