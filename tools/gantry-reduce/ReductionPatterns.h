// How ops of the gantry dialect may be made simpler while a failing module is being reduced.
#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace gantry {

/// Makes the dialect answer MLIR's reducer when it is loaded. The patterns keep modules valid, not
/// their meaning: whether the failure is still there is for the user's script to say.
void registerReductionPatterns(mlir::DialectRegistry &registry);

} // namespace gantry
