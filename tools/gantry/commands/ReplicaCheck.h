// Replicas against one device: --check-replicas (spec R5).
#pragma once

#include "StateFile.h"

namespace gantry::tool {

/// Compiles the graph once more for one device (without --replicate, or with each gantry.replicate
/// on its first device only), runs it as often on `inputs` and the variables of `state`, which are
/// what the first run was given, and compares outputs and variables with those of `replicated`,
/// which has run; mirrors of a variable must also be the same among themselves. A line each on
/// standard error says how they agree: bit for bit, or, where sums are in another order, to a part
/// of the largest value: that of the coarsest float type in the function and the variables. False
/// when one does not.
Expected<bool> checkReplicas(const Options &options, Execution &replicated, GivenArrays inputs,
                             const StateValues &state);

} // namespace gantry::tool
