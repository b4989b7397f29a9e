// The emulator's library, opened when the first code for emulated GPUs is loaded.
#pragma once

#include "Emulator.h"
#include "gantry/Support/Status.h"

namespace gantry::runtime {

/// Its functions; the library stays open. Looked for where GANTRY_EMULATOR says, beside the code
/// that asks, in the `lib` beside a program's `bin`, and where the loader looks. Errors:
/// UNAVAILABLE.
Expected<const gantry_emulator_t *> openEmulator();

} // namespace gantry::runtime
