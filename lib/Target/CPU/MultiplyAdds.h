// Products and sums that are one operation, decided before LLVM optimises.
#pragma once

#include "llvm/IR/Module.h"

namespace gantry::cpu {

/// Makes chains of products and sums what they promise to be on processors with fused multiply-add.
void writeMultiplyAdds(llvm::Module &module);

} // namespace gantry::cpu
