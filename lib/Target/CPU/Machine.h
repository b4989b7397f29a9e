// The CPU that code is made for: by name, with what that code may use.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>
#include <vector>

namespace gantry {

/// The vector registers that code is cut to.
struct Registers {
  int64_t bytes = 64; ///< of a register
  int64_t count = 32;
  bool fma = true;      ///< multiplies and adds in one step
  bool dotBF16 = false; ///< multiplies pairs of bf16 and adds them to f32 (AVX512-BF16)

  /// Multiplies matrices of 16 rows of 64 bytes, which registers hold that are made for it (AMX).
  bool amxBF16 = false, amxInt8 = false;

  /// Lanes of 32 bits that one instruction has, from..to, which multiplies the four bytes of each
  /// and adds the products to sums (VNNI); 0 without one.
  int64_t leastByteLanes = 0, mostByteLanes = 0;
  int64_t pairLanes =
      0; ///< the same of two 16-bit numbers, at most, which adds to nothing (pmaddwd)
};

struct Machine {
  std::string architecture;             ///< "x86-64": as plans call it
  std::string cpu;                      ///< LLVM's name; it decides costs
  std::string tune;                     ///< the CPU to schedule for, where that is another
  std::string llvmFeatures;             ///< "+avx,-apxf": all that the name stands for, on or off
  std::vector<std::string> features;    ///< what is on, as plans call it, but for these:
  std::vector<std::string> amxFeatures; ///< of what plans name where they use it (AMX)
  Registers registers;
  std::shared_ptr<llvm::TargetMachine> target; ///< nobody else uses it meanwhile
};

/// The machine of a name: "native", "x86-64-v3", "aarch64" or another of LLVM's, and what it has
/// beyond that: "x86-64-v4+amx_bf16". What is not in the
/// tables Support/CPUFeatures*.def is off, so that the code uses nothing that its plan does not
/// name. Diagnoses names and features that are unknown, and processors without a 64-bit mode.
mlir::FailureOr<Machine> makeMachine(mlir::Location loc, const std::string &name);

/// The same without LLVM's target, which takes longer to make than to describe.
mlir::FailureOr<Machine> describeMachine(mlir::Location loc, const std::string &name);

/// The CPUs that a module of kernels is for, best first.
std::vector<std::string> machinesOf(TargetAttr target);

/// Of the first CPU that `target` makes code for, which is the one to be fast on; those of AVX-512
/// without a target. Diagnoses as makeMachine does.
mlir::FailureOr<Registers> registersFor(mlir::Location loc, TargetAttr target);

} // namespace gantry
