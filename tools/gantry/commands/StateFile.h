// The variables of a plan in a file: --load-state and --save-state. It is a NumPy archive, unless
// its name ends in .safetensors.
#pragma once

#include "Execution.h"

#include "gantry/Formats/Safetensors.h"
#include "gantry/Runtime/StateFile.h"

namespace gantry::tool {

/// What a file of variables holds: an archive's arrays, or those of a file that stays mapped.
class StateValues {
public:
  /// "-" is an archive on standard input.
  static Expected<StateValues> read(const std::string &file);

  std::vector<runtime::NamedView> views() const;

private:
  std::vector<arrays::NamedArray> archive;
  std::optional<arrays::SafetensorsFile> mapped;
};

/// Gives variables the values of `given`, which are those of `file`, by name, mirrors of a variable
/// the same as the variable; those that are not in it keep theirs, and a line says so. Errors: a
/// name that no variable has, another type, a plan without variables.
Status loadState(Execution &execution, const StateValues &given, const std::string &file);

/// Writes every variable but mirrors; "-" is an archive on standard output.
Status saveState(Execution &execution, const std::string &file);

/// A variable's values, copied out.
Expected<arrays::Array> readVariable(const runtime::State &state,
                                     const runtime::State::Variable &variable);

} // namespace gantry::tool
