// How the tool ends when memory or threads run out in the middle of something.
#pragma once

namespace gantry::tool {

/// From here on an allocation that fails, also one inside of the compiler, ends the tool with a
/// message and the exit status for "does not fit", instead of an abort.
void endInOrderWithoutMemory();

/// Ends the tool where its stack has no room for what it does (ulimit -s, ulimit -v): later it would
/// end without a word.
void checkStack();

} // namespace gantry::tool
