// Byte counts as people write and read them. Decimal text is read in integers: a limit of "0.1GiB"
// must not depend on how doubles round.
#include "gantry/Support/Bytes.h"

#include "gantry/Support/Capped.h"
#include "gantry/Support/Format.h"

#include <array>
#include <cctype>

namespace gantry {

namespace {
struct Unit {
  std::string_view name; // lower case
  uint64_t bytes;
};
constexpr std::array<Unit, 12> units = {{
    {"", 1},
    {"b", 1},
    {"byte", 1},
    {"bytes", 1},
    {"kib", uint64_t(1) << 10},
    {"mib", uint64_t(1) << 20},
    {"gib", uint64_t(1) << 30},
    {"tib", uint64_t(1) << 40},
    {"kb", 1000},
    {"mb", 1000'000},
    {"gb", 1000'000'000},
    {"tb", 1000'000'000'000},
}};

constexpr const char *overMost = "it is over 2^63 - 1";

bool isDigit(char c) { return c >= '0' && c <= '9'; }

const Unit *findUnit(std::string_view text) {
  std::string lower;
  for (char c : text)
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const Unit &unit : units)
    if (unit.name == lower)
      return &unit;
  return nullptr;
}

Status badByteCount(std::string_view text, std::string_view why) {
  return Status::invalidArgument("'" + std::string(text) +
                                 "' is not a byte count: " + std::string(why) +
                                 "; write a number and B, KiB, MiB, GiB, TiB, KB, MB, GB or TB");
}
} // namespace

std::string formatBytes(uint64_t bytes) {
  if (bytes < 1024)
    return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  static constexpr const char *names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  unsigned unit = 0;
  // 1023.995 would print as 1024 of the smaller unit.
  while (value >= 1023.995 && unit + 1 < std::size(names)) {
    value /= 1024;
    ++unit;
  }
  std::string text = format("%.2f", value);
  text.resize(text.find_last_not_of('0') + 1);
  if (text.back() == '.')
    text.pop_back();
  return text + " " + names[unit];
}

Expected<uint64_t> parseByteCount(std::string_view text) {
  size_t at = 0;
  uint64_t whole = 0;
  while (at < text.size() && isDigit(text[at])) {
    if (mulOverflows(whole, 10, &whole) || addOverflows(whole, text[at] - '0', &whole))
      return badByteCount(text, overMost);
    ++at;
  }
  if (at == 0)
    return badByteCount(text, "it does not start with a digit");

  uint64_t fraction = 0, scale = 1; // the part after the point is fraction / scale
  if (at < text.size() && text[at] == '.') {
    ++at;
    for (; at < text.size() && isDigit(text[at]); ++at) {
      if (scale >= 1'000'000'000)
        return badByteCount(text, "it has more than 9 decimals");
      fraction = fraction * 10 + (text[at] - '0');
      scale *= 10;
    }
    if (scale == 1)
      return badByteCount(text, "no digit follows the point");
  }
  while (at < text.size() && text[at] == ' ')
    ++at;

  const Unit *unit = findUnit(text.substr(at));
  if (!unit)
    return badByteCount(text, "'" + std::string(text.substr(at)) + "' is not a unit");
  uint64_t result;
  if (mulOverflows(whole, unit->bytes, &result))
    return badByteCount(text, overMost);
  // fraction < 1e9 and unit <= 2^40: the product may pass 2^64, so it is taken in 128 bits.
  unsigned __int128 part = static_cast<unsigned __int128>(fraction) * unit->bytes;
  if (part % scale != 0)
    return badByteCount(text, "it is not a whole number of bytes");
  if (addOverflows(result, static_cast<uint64_t>(part / scale), &result) || result > mostBytes)
    return badByteCount(text, overMost);
  return result;
}

} // namespace gantry
