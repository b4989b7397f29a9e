// printf into a string.
#pragma once

#include <cstdarg>
#include <string>

namespace gantry {

[[gnu::format(printf, 1, 2)]] std::string format(const char *pattern, ...);
/// The same of a list of arguments, which is used up.
std::string formatList(const char *pattern, va_list arguments);

} // namespace gantry
