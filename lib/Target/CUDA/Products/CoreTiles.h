// Products on tensor cores; everything else that is a product goes by lanes (EmitTiles.cpp).
#pragma once

#include "Product.h"
#include "Threads/Kernel.h"

namespace gantry::gpu {

/// Null where the GPUs have no tensor cores for the operands, or the matrices are too small.
std::unique_ptr<Way> makeCoreTiles(const Output &output, const Product &product);

} // namespace gantry::gpu
