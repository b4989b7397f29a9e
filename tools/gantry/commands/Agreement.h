// How close two results are: what --expect, --check-replicas and --compare-math share.
#pragma once

#include "Execution.h"

#include "gantry/Formats/Values.h"

namespace gantry::tool {

/// What holds of all values of the function (spec R5): that of its coarsest float type and of those
/// of the variables, since an f32 that was computed in f16 is no more exact.
arrays::Tolerance toleranceOf(const Execution &execution);

/// "2e-6 of the largest value, 1e-5 allowed"; what else there is to say where integers, NaN,
/// infinities or nothing but zeros are expected.
std::string distanceText(const arrays::Difference &difference, const arrays::ArrayView &expected,
                         const arrays::Tolerance &tolerance);

} // namespace gantry::tool
