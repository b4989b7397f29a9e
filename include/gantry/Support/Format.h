// printf into a string, with a point in numbers: a program that the libraries are part of may have
// a locale with commas.
#pragma once

#include <cstdarg>
#include <string>

namespace gantry {

[[gnu::format(printf, 1, 2)]] std::string format(const char *pattern, ...);
/// The same of a list of arguments, which is used up.
std::string formatList(const char *pattern, va_list arguments);

} // namespace gantry
