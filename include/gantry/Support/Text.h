// Text as people type it.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace gantry {

/// Without blanks, tabs and carriage returns at both ends.
inline std::string_view trim(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

/// What stands between commas, empty parts too; of an empty text one.
inline std::vector<std::string_view> splitList(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

} // namespace gantry
