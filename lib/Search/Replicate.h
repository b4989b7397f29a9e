// --replicate: a whole batched function on each device of a list.
#pragma once

#include "gantry/Pipeline/Pipeline.h"

namespace gantry {

/// Makes the module's function run once on each device that `options.replicate.list` lists, on
/// shards of its batch (spec R1). The batch is the first dimension that inputs leave open, else the
/// first one of the first input. `importer` made `module`, with `import`; of an ONNX model it makes
/// the shards in their own sizes, too, since shapes are computed while importing.
llvm::LogicalResult replicateFunction(mlir::ModuleOp module, GraphImporter &importer,
                                      const ImportOptions &import, const CompileOptions &options);

} // namespace gantry
