// Which of the algorithms that cuBLASLt suggests for a product: the first, which the library
// believes in most, unless it leaves the GPU idle and another does not.
//
// Where sums may not be cut as the library likes it, what it suggests first may have three blocks
// on a GPU of 132 multiprocessors, and take ten times as long as what it suggests second.
#pragma once

#include "CublasLtApi.h"

#include <cstdint>
#include <optional>
#include <span>

namespace gantry::runtime::cuda::cublaslt {

/// How many algorithms the library is asked for.
inline constexpr int mostSuggestions = 8;

/// Index of the one to use, a function of what was found alone. None where there is none, or where
/// a product of so many multiplications and additions would leave all but a sixteenth of the GPU
/// idle; generated code has as many blocks as it needs.
std::optional<size_t> chooseAlgorithm(std::span<const Heuristic> found, uint64_t flops);

} // namespace gantry::runtime::cuda::cublaslt
