// What every target does with upstream's passes and LLVM's.
#pragma once

#include "mlir/Pass/PassManager.h"

namespace llvm {
class Module;
class PipelineTuningOptions;
class TargetMachine;
} // namespace llvm

namespace gantry {

/// Adds upstream passes by name: their headers are the most expensive ones of all.
void addPasses(mlir::OpPassManager &pm, llvm::StringRef passes);

/// LLVM's passes of -O3, for that machine.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine,
                    const llvm::PipelineTuningOptions &tuning);

} // namespace gantry
