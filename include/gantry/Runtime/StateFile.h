// Variables and files of tensors: which value is whose, told by name.
#pragma once

#include "gantry/Formats/Safetensors.h"
#include "gantry/Runtime/State.h"

#include <utility>

namespace gantry::runtime {

/// Writes all variables but mirrors into a .safetensors file, with no run that writes them in
/// between; such runs wait until it is written. What is not memory of the host is copied there one
/// variable at a time. Errors: INVALID_ARGUMENT (the file, a name that is not UTF-8), DOES_NOT_FIT.
Status saveState(const State &state, const std::string &path, const arrays::Metadata &metadata);

/// What may be missing, and which names mean others.
struct StateLoad {
  arrays::TensorNames names;
  bool keepMissing = false; ///< variables that are not given keep their values
  bool skipUnknown = false; ///< values whose name no variable has are passed over
};

using NamedView = std::pair<std::string, arrays::ArrayView>;

/// Gives variables, and their mirrors, the values of their names, with no run in between. All are
/// looked at before the first is written: when it fails, no variable has changed, but where a
/// device fails. `file` names where they are from. Errors: NOT_FOUND (no variable of a name;
/// variables without a value; a name of the map that no value has), INVALID_ARGUMENT (another type;
/// two for one variable; a mirror).
Status loadState(State &state, std::span<const NamedView> values, const std::string &file,
                 const StateLoad &how);

/// The same of a .safetensors file, from where it is mapped.
Status loadState(State &state, const std::string &path, const StateLoad &how);

} // namespace gantry::runtime
