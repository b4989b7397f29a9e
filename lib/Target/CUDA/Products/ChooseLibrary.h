// Whether a library computes a product faster than kernels of our own, by an estimate that is
// fitted to the times of both on an H100 (docs/designs/libraries.md). It knows sizes and types
// alone.
#pragma once

#include "gantry/Plan/MatrixProduct.h"

namespace gantry::gpu {

/// How many times faster it has to be.
inline constexpr double kWorthLibrary = 1.2;

/// Seconds of our kernel for the product, on the oldest architecture that it is for; what follows
/// the product in it is not counted.
double secondsOfKernel(const plan::MatrixProduct &product, int64_t arch);
/// Seconds of the library's.
double secondsOfLibrary(const plan::MatrixProduct &product);
/// Seconds of a kernel that reads so many bytes and writes as many.
double secondsOfPass(uint64_t bytes);

/// Whether the product is like those that were measured, of a type that the library has on all
/// those architectures, and the library is so much faster although what follows the product is a
/// kernel of its own, as is what turns operands of `turned` bytes, which kernels of ours read as
/// they lie.
bool isWorthLibrary(const plan::MatrixProduct &product, int64_t arch, uint64_t turned);

} // namespace gantry::gpu
