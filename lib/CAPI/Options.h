// What callers say of a runtime, read.
#pragma once

#include "gantry-c/runtime.h"
#include "gantry/Drivers/BuiltIn.h"

#include <optional>

namespace gantry::capi {

struct GivenOptions {
  runtime::RuntimeOptions runtime; ///< its memory settings: the environment's, then the caller's
  std::optional<runtime::EmulatorChecks> emulate;
  bool syncEach = false;
  bool hasMemory = false; ///< the caller has memory settings
};

/// Null are the defaults. Errors: INVALID_ARGUMENT with the field, or the environment's variable.
Expected<GivenOptions> readOptions(const gantry_runtime_options_t *options);

} // namespace gantry::capi
