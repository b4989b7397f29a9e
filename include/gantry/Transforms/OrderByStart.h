// The order of commands by predicted times.
#pragma once

#include "gantry/Analysis/Segments.h"

namespace gantry::schedule {

/// By number of the queue (numberQueues): whether its order is not kept. That of copies is not.
std::vector<bool> reorderedQueues(llvm::ArrayRef<mlir::Operation *> commands);

/// Puts the commands of a segment in the order in which they are predicted to start. Compute queues
/// keep their order; copies run as soon as their values are there.
void orderByStart(llvm::ArrayRef<mlir::Operation *> commands, const CommandCosts &costs);

} // namespace gantry::schedule
