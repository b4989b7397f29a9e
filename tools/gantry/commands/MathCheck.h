// Products of rounded factors against those of f32: --compare-math.
#pragma once

#include "StateFile.h"

namespace gantry::tool {

/// Compiles the graph once more with --math=f32, runs it as often on `inputs` and the variables of
/// `state`, which are what the first run was given, and says on standard error how far the outputs
/// of `rounded`, which has run, are from its own. False when one is further off than
/// `options.mathLimit` as a part of the largest value.
Expected<bool> compareMath(const Options &options, Execution &rounded, GivenArrays inputs,
                           const StateValues &state);

/// What --math says.
std::string mathOf(const Options &options);

} // namespace gantry::tool
