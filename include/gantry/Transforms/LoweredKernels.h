// Kernels in the form of their target, for who lowers much the same ones again and again.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/Pass.h"

#include <map>
#include <string>
#include <utility>

namespace gantry {

/// What became of the kernels that were lowered before. It is known by the text of the kernel
/// without its name, and what the module of kernels is for. Of one context; lives no longer than
/// that.
class LoweredKernels {
public:
  /// One while the other kernels of its module are lowered.
  struct Taken {
    mlir::StringAttr name;
    mlir::OwningOpRef<mlir::ModuleOp> *lowered; ///< empty: not known yet
  };

  /// All kernels of a module, in order. Those that were lowered before are no longer in it.
  llvm::SmallVector<Taken> take(mlir::ModuleOp kernels);

  /// Keeps what has been lowered since, and puts back what was taken, in the order of old.
  void putBack(mlir::ModuleOp kernels, llvm::ArrayRef<Taken> taken);

private:
  std::map<std::pair<std::string, const void *>, mlir::OwningOpRef<mlir::ModuleOp>> known;
};

/// The pass gantry-lower-kernels, with what is known of others before and what others will know.
std::unique_ptr<mlir::Pass> createLowerKernelsPass(llvm::ArrayRef<std::string> targets,
                                                   LoweredKernels *known);

} // namespace gantry
