// How the tool ends when memory or threads run out in the middle of something.
#pragma once

namespace gantry::tool {

/// From here on an allocation that fails, also one inside of the compiler, ends the tool with a
/// message and the exit status for "does not fit", instead of an abort.
void endInOrderWithoutMemory();

} // namespace gantry::tool
