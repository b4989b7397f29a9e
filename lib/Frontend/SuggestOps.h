#pragma once

#include "mlir/IR/Diagnostics.h"

namespace gantry {

/// While it lives, what MLIR's parser says of an op that there is not ends with the one that was
/// probably meant.
class SuggestOps : public mlir::ScopedDiagnosticHandler {
public:
  explicit SuggestOps(mlir::MLIRContext *context);
};

} // namespace gantry
