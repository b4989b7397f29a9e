// What a change of placement would bring: the graph is compiled as it is and with the change, up to
// the planned memory, and the two plans are compared.
#pragma once

#include "gantry/Pipeline/Pipeline.h"

namespace gantry {

/// In words, lines with newlines: predicted time, copies, memory of each device that gets more or
/// less, and whether it fits. `module` is one before Place, with the suggestions of a search on it,
/// and stays as it is.
std::string compareWith(mlir::ModuleOp module, const CompileOptions &options,
                        const placement::Changes &changes);

} // namespace gantry
