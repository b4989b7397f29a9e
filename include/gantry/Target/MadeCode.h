// Code that this process made is not made again.
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

namespace llvm {
class Module;
} // namespace llvm

namespace gantry {

using CodeBytes = llvm::SmallVector<char, 0>;

/// What `make` gives for a module as it comes to LLVM's passes, or what it gave before in this
/// process for the same bytes of the module and the same machine: optimising and generating code
/// depend on nothing else. `machine` names all that the module does not say, its own name included
/// where code has it. Plans with kernels in common are frequent where a graph is compiled in
/// several ways, or step by step. The last 32 MiB of code are kept; failures are not. From any
/// thread.
mlir::FailureOr<CodeBytes> makeCodeOnce(const llvm::Module &module, llvm::StringRef machine,
                                        llvm::function_ref<mlir::FailureOr<CodeBytes>()> make);

} // namespace gantry
