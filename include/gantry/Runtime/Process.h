// Which process this is. Threads, and most of what drivers have, stay behind in the parent when a
// process forks: what was made before is of no use in the child.
#pragma once

namespace gantry::runtime {

/// How often this process has been forked since the library was first asked: another number than
/// before means another process. Costs a load.
unsigned processGeneration();

} // namespace gantry::runtime
