// Kernels that run in the process that compiles them.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <string>

namespace gantry {

/// Code of kernels for this machine, loaded. Not for kernels of another target than the CPU.
class HostKernels {
public:
  /// The name of the CPU that the kernels are to be made for: what this machine has of it, without
  /// registers that the system gives a process only when it asks (AMX).
  static mlir::FailureOr<std::string> machine(mlir::Location loc);

  /// `kernels` is a module as buildLLVMPipeline leaves it, `names` are those to be called. Fails
  /// after a diagnostic where no code can be made, or the system loads none.
  static mlir::FailureOr<std::unique_ptr<HostKernels>>
  load(mlir::ModuleOp kernels, llvm::ArrayRef<std::string> names, const std::string &machine);
  ~HostKernels();
  HostKernels(const HostKernels &) = delete;

  /// Runs all of a kernel's `items` on this thread. `buffers` are its operands, its results and,
  /// where it has some, its scratch memory, each at a boundary of 64 bytes. False where there is no
  /// such kernel.
  bool run(llvm::StringRef name, llvm::ArrayRef<void *> buffers, int64_t items) const;

private:
  struct Object;
  explicit HostKernels(std::unique_ptr<Object> object);
  std::unique_ptr<Object> object;
};

} // namespace gantry
