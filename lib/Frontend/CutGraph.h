// A graph in MLIR that ends at other values than its own outputs.
#pragma once

#include "MlirReader.h"

namespace gantry {

/// Makes these values the outputs of a function, `entry` or the only public one, and leaves out ops
/// and inputs that nothing needs any more; updates of variables stay, and what holds some. A value
/// goes by the text's name for it, by that of its op, or by the name of an input or output.
llvm::LogicalResult cutGraph(mlir::ModuleOp module, const ValueNames &names,
                             llvm::ArrayRef<std::string> outputs, llvm::StringRef entry);

} // namespace gantry
