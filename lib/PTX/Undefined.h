// Finds reads of registers that may not have been written (Undefined.cpp).
#pragma once

#include "KernelProgram.h"

namespace gantry::ptx {

/// Sets Op::watched and KernelProgram::watches.
void findUndefined(KernelProgram &program);

} // namespace gantry::ptx
