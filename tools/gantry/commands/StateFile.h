// The variables of a plan in a NumPy archive: --load-state and --save-state.
#pragma once

#include "Execution.h"

namespace gantry::tool {

/// Gives variables the values of the arrays of `file`, an archive, by name, mirrors of a variable
/// the same as the variable; those that are not in it keep theirs, and a line says so. Errors: a
/// name that no variable has, another type, a plan without variables.
Status loadState(Execution &execution, const std::vector<arrays::NamedArray> &given,
                 const std::string &file);

/// Writes every variable but mirrors into an archive; "-" is standard output.
Status saveState(Execution &execution, const std::string &file);

/// A variable's values, copied out.
Expected<arrays::Array> readVariable(const runtime::State &state,
                                     const runtime::State::Variable &variable);

} // namespace gantry::tool
