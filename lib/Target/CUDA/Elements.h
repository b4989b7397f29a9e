// Elements of tensors as this room asks for them: a thread wants some.
#pragma once

#include "gantry/Linalg/Elements.h"

namespace gantry::gpu {

using gantry::addIndex;
using gantry::delinearize;
using gantry::Elements;
using gantry::indexConstant;
using gantry::Indices;
using gantry::linearize;
using gantry::mulIndex;
using mlir::Value;
using mlir::ValueRange;

} // namespace gantry::gpu
