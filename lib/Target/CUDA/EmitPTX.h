// PTX of gpu modules.
#pragma once

#include "gantry/Target/Target.h"

namespace gantry {

/// PTX of every gpu module in `kernels`, for `arch` ("sm_90"), or the LLVM IR that it is made of.
mlir::FailureOr<std::vector<std::string>> emitPTX(mlir::ModuleOp kernels, llvm::StringRef arch,
                                                  Target::Text form);

} // namespace gantry
