#include "gantry/Support/Seconds.h"

#include "gantry/Support/Format.h"

#include <iterator>

namespace gantry {

std::string formatSeconds(double seconds) {
  struct Unit {
    double size;
    const char *name;
  };
  constexpr Unit units[] = {{1, " s"}, {1e-3, " ms"}, {1e-6, " µs"}, {1e-9, " ns"}};
  if (seconds <= 0)
    return "0 s";
  for (const Unit &unit : units) {
    // What rounds up to the next unit is written in that one.
    if (seconds < 0.9995 * unit.size && &unit != std::end(units) - 1)
      continue;
    return format("%.3g", seconds / unit.size) + unit.name;
  }
  return "";
}

} // namespace gantry
