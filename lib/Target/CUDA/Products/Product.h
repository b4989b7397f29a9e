// The products that blocks of threads compute in tiles.
#pragma once

#include "Elements.h"
#include "gantry/Linalg/Product.h"

namespace gantry::gpu {

using gantry::Product;
using gantry::Side;

/// The product that `result` is, in its order or in another one, if tiles are a way to compute it:
/// the sums are long enough.
std::optional<Product> findTiledProduct(Value result);

} // namespace gantry::gpu
