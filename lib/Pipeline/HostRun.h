// Runs a function of launches in the compiler's process: a buffer for each value, a call for each
// launch, on this thread. What a runtime does beyond that, a plan needs.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Support/AlignedBuffer.h"
#include "gantry/Target/CPU/HostKernels.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <string>

namespace gantry {

/// The bytes of a value, which are never overwritten: one buffer may stand for several values.
using HostBuffer = std::shared_ptr<AlignedBuffer>;

/// A copy of the elements as kernels read them; null where they are not at hand, or memory is
/// short.
HostBuffer bufferOf(mlir::ElementsAttr elements);

/// The kernels of a module, and what there is to say of each.
struct HostCode {
  std::unique_ptr<HostKernels> kernels;
  llvm::StringMap<WorkAttr> works;
};

/// What `main` of the module returns, whose ops are those that the phase Kernel leaves, for a host
/// alone. Null where it cannot be run; `why` says what a user can know of that.
HostBuffer runMain(mlir::ModuleOp module, const HostCode &code,
                   llvm::ArrayRef<HostBuffer> arguments, std::string &why);

} // namespace gantry
