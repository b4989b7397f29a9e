// Ops of an upstream dialect that join by external models, for tests of passes that read interfaces
// only (spec G5). Nothing but gantry-opt registers them.
#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

/// Registers the TOSA dialect, and that `tosa.add` is for any device, `tosa.reciprocal` of f32 for
/// GPUs, and `tosa.sub` for what ops are that do not say: CPUs.
void registerForeignOps(mlir::DialectRegistry &registry);
