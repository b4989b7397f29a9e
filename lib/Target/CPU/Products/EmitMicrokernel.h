// The code of microkernels (Microkernel.h) for the registers of one processor.
#pragma once

#include "Machine.h"
#include "Microkernel.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace gantry::cpu {

/// Gives the microkernels that `module` declares their bodies.
void defineMicrokernels(llvm::Module &module, const Registers &registers);

/// Whether a microkernel multiplies matrices (AMX) on a processor with these registers: one that
/// was cut for it, by the first of the processors that a plan is for.
bool usesAMX(const Microkernel &tile, const Registers &registers);
void emitAMXMicrokernel(llvm::Function &function, const Microkernel &tile);
/// What a thread does before the first such tile of some rows, and after the last one.
void configureAMX(llvm::IRBuilder<> &b, int64_t rows);
void releaseAMX(llvm::IRBuilder<> &b);

/// Says of the microkernels that `module` declares that they are in the same shared object.
void hideMicrokernels(llvm::Module &module);

} // namespace gantry::cpu
