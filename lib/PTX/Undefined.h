// Finds reads of registers that may not have been written (Undefined.cpp).
#pragma once

#include "Program.h"

namespace gantry::ptx {

/// Sets Op::watched and Program::watches.
void findUndefined(Program &program);

} // namespace gantry::ptx
