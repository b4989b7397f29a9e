// Code that this process made is not made again.
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace gantry {

using CodeBytes = llvm::SmallVector<char, 0>;

/// A hash of a module as it comes to LLVM's passes and of `machine`, which names all that the
/// module does not say, its own name included where code has it: optimising and generating code
/// depend on nothing else.
std::string keyOfCode(const llvm::Module &module, llvm::StringRef machine);

/// What `make` gives for a module with that key, or what it gave before in this process. Plans with
/// kernels in common are frequent where a graph is compiled in several ways, or step by step. The
/// last 32 MiB of code are kept; failures are not. From any thread.
mlir::FailureOr<CodeBytes> makeCodeOnce(llvm::StringRef key,
                                        llvm::function_ref<mlir::FailureOr<CodeBytes>()> make);

} // namespace gantry
