// What differs between the architectures of CPUs: names, and what a CPU of a name has.
#pragma once

#include "Machine.h"

#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/Triple.h"

namespace gantry::cpu {

struct Architecture {
  llvm::StringLiteral name;     ///< as plans call it: "x86-64"
  llvm::StringLiteral triple;   ///< of code that is not for the machine at work
  llvm::StringLiteral baseline; ///< in --target-cpu: what every CPU of it has

  void (*initialize)(); ///< makes its code generator known to LLVM

  /// Fills in what `machine` has, whose `cpu` is LLVM's name of a CPU; `native`: that is the
  /// machine at work. `added` are features of the architecture's table beside its own. Diagnoses
  /// those that are not, and a CPU that code cannot be made for.
  mlir::LogicalResult (*describe)(mlir::Location loc, const llvm::Target &target,
                                  const llvm::Triple &triple, bool native,
                                  llvm::ArrayRef<llvm::StringRef> added, Machine &machine);
};

extern const Architecture kX86, kAArch64;

/// Says that a name in --target-cpu asks for a feature that no table has.
mlir::LogicalResult diagnoseUnknownFeature(mlir::Location loc, llvm::StringRef feature,
                                           const Architecture &architecture);

} // namespace gantry::cpu
