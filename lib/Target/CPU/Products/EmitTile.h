// The code of tiles (Tile.h) for the registers of one processor.
#pragma once

#include "Machine.h"
#include "Tile.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace gantry::cpu {

/// Gives the tiles that `module` declares their bodies.
void defineTiles(llvm::Module &module, const Registers &registers);

/// Whether a tile multiplies matrices (AMX) on a processor with these registers: one that was cut
/// for it, by the first of the processors that a plan is for.
bool multipliesMatrices(const Tile &tile, const Registers &registers);
void emitMatrixTile(llvm::Function &function, const Tile &tile);
/// What a thread does before the first such tile of some rows, and after the last one.
void configureMatrices(llvm::IRBuilder<> &b, int64_t rows);
void releaseMatrices(llvm::IRBuilder<> &b);

/// Says of the tiles that `module` declares that they are in the same shared object.
void hideTiles(llvm::Module &module);

} // namespace gantry::cpu
