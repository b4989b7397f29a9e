// What LLVM calls fatal, as an error of one call. By default it ends the process, which is not a
// library's to end.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>

namespace gantry {

/// Runs `work`; what LLVM reports as fatal in this thread ends it, and its text is returned. What
/// the work had allocated is then lost, and nothing that it wrote may be used.
std::optional<std::string> runGuarded(llvm::function_ref<void()> work);

} // namespace gantry
