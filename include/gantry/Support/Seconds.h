// Times for people.
#pragma once

#include <string>

namespace gantry {

/// Seconds with three digits in the unit that fits: "3.05 µs", "1.2 ms", "15 s".
std::string formatSeconds(double seconds);

} // namespace gantry
