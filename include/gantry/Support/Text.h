// Text as people type it.
#pragma once

#include <string_view>

namespace gantry {

/// Without blanks, tabs and carriage returns at both ends.
inline std::string_view trim(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

} // namespace gantry
