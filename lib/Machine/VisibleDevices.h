// CUDA_VISIBLE_DEVICES, read as CUDA reads it, so that what NVML lists has the numbers that CUDA
// will give.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::machine {

/// Indices of the GPUs with these UUIDs that the variable's text lets through, in its order.
///
/// A text that begins with "GPU-" is a list of beginnings of UUIDs, each of one GPU only; any other
/// one of numbers, of which blanks in front and letters behind are left out. The list ends at the
/// first entry that is none of the GPUs. One that names a GPU twice lets none through.
std::vector<size_t> visibleDevices(std::string_view text, std::span<const std::string> uuids);

} // namespace gantry::machine
