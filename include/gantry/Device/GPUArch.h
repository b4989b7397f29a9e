// Architectures of NVIDIA GPUs: their names, and which of them code is made for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gantry {

/// Those that code can be made for, oldest first. PTX of one runs on all behind it.
inline constexpr uint32_t gpuArchs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

/// "sm_90" for 90.
inline std::string gpuArchName(uint32_t architecture) {
  return "sm_" + std::to_string(architecture);
}

/// 90 for "sm_90", whether or not code can be made for it.
std::optional<uint32_t> parseGPUArch(std::string_view name);

/// The newest architecture of gpuArchs whose code such a GPU runs; none when it is too old.
std::optional<uint32_t> gpuArchFor(uint32_t architecture);

} // namespace gantry
