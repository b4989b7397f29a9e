// The largest size of an open dimension that the limits have room for (spec M2, --largest-batch).
#pragma once

#include "gantry/Pipeline/Pipeline.h"

namespace gantry {

/// `options` with that size for `options.memory.largestBatch`: it compiles up to its memory, one
/// more does not fit. A remark says so.
llvm::FailureOr<CompileOptions>
withLargestBatch(const GraphFile &file, const CompileOptions &options, mlir::MLIRContext &context);

} // namespace gantry
