// Small copies that go the same way at the same time, as one.
#pragma once

#include "gantry/Analysis/Segments.h"

namespace gantry::schedule {

/// Makes one transfer of the copies of a segment that queues::coalesce joins, and puts the commands
/// in the order in which they are predicted to start.
void coalesceCopies(llvm::ArrayRef<mlir::Operation *> commands, const CommandCosts &costs);

} // namespace gantry::schedule
