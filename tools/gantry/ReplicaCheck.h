// Replicas against one device: --check-replicas (spec R5).
#pragma once

#include "Execution.h"

namespace gantry::tool {

/// Compiles the graph once more for one device (without --replicate, or with each gantry.replicate
/// on its first device only), runs it as often on the same inputs, and compares outputs and
/// variables with those of `replicated`, which has run; mirrors of a variable must also be the same
/// among themselves. A line each on standard error says how they agree: bit for bit, or, where
/// other kernels run, to 1e-5 of the largest value. False when one does not.
Expected<bool> checkReplicas(const Options &options, Execution &replicated);

} // namespace gantry::tool
