#include "gantry/Device/GPUArch.h"

#include <charconv>

namespace gantry {

std::optional<uint32_t> parseGPUArch(std::string_view name) {
  uint32_t number = 0;
  if (!name.starts_with("sm_"))
    return std::nullopt;
  const char *end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + 3, end, number);
  return error == std::errc() && at == end && number > 0 ? std::optional(number) : std::nullopt;
}

std::optional<uint32_t> gpuArchFor(uint32_t architecture) {
  std::optional<uint32_t> newest;
  for (uint32_t known : gpuArchs)
    if (known <= architecture)
      newest = known;
  return newest;
}

} // namespace gantry
