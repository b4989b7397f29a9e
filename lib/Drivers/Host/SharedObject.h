// Machine code of a plan as a shared object that is loaded from memory.
#pragma once

#include "gantry/Runtime/Device.h"

#include <memory>
#include <span>

namespace gantry::runtime {

/// Loads an ELF shared object. CORRUPT when the bytes are not one for this machine, UNAVAILABLE
/// when the system's loader refuses it.
Expected<std::unique_ptr<CodeObject>> loadSharedObject(std::span<const uint8_t> code);

} // namespace gantry::runtime
