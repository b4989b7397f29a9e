// Standard output and standard error that no name in a model can steer.
#pragma once

namespace gantry::tool {

/// From here on what is printed to stdout and stderr reaches the terminal, or the file, with
/// control characters made visible (gantry/Support/Names.h); lines and tabs stay. Descriptors 1 and
/// 2 stay as they are for whoever writes bytes.
void makeStreamsSafe();

} // namespace gantry::tool
