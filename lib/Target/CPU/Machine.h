// The CPU that code is made for: by name, with what that code may use.
#pragma once

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>
#include <vector>

namespace gantry {

struct Machine {
  std::string cpu;                   ///< LLVM's name; it decides costs
  std::string llvmFeatures;          ///< "+avx,-apxf": all that the name stands for, on or off
  std::vector<std::string> features; ///< what is on, as plans call it
  std::unique_ptr<llvm::TargetMachine> target;

  /// "x86-64": the architecture as plans call it.
  std::string architecture() const;
};

/// The machine of a name: "native", "x86-64-v3" or another of LLVM's. What is not in the table
/// Support/CPUFeatures.def is off, so that the code uses nothing that its plan does not name.
/// Diagnoses names that are unknown or of processors without a 64-bit mode.
mlir::FailureOr<Machine> makeMachine(mlir::Location loc, const std::string &name);

} // namespace gantry
