#include "gantry/Support/BadIndex.h"

namespace gantry {

/// "[1, 2]"
static std::string coordinatesOf(int64_t position, std::span<const int64_t> shape) {
  std::string text;
  for (size_t d = shape.size(); d-- > 0; position /= shape[d])
    text = std::to_string(position % shape[d]) + (text.empty() ? "" : ", ") + text;
  return "[" + text + "]";
}

std::string describeBadIndex(const BadIndex &bad, std::string_view operand,
                             std::span<const int64_t> shape, std::span<const int64_t> sizes) {
  const std::string size = std::to_string(sizeAt(bad.position, sizes));
  return "reads index " + std::to_string(bad.value) +
         (shape.empty() ? "" : " at " + coordinatesOf(bad.position, shape)) + " of operand '" +
         std::string(operand) + "', which must be in [-" + size + ", " + size + ")";
}

} // namespace gantry
