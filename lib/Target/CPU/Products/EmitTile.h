// The code of tiles (Tile.h) for the registers of one processor.
#pragma once

#include "Tile.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace gantry::cpu {

/// What a tile is cut to.
struct Registers {
  int64_t bytes; ///< of a vector
  int64_t count; ///< of vectors
  bool fma;      ///< multiplies and adds in one step

  static Registers of(const llvm::TargetMachine &machine);
};

/// Gives the tiles that `module` declares their bodies.
void defineTiles(llvm::Module &module, const Registers &registers);

/// Says of the tiles that `module` declares that they are in the same shared object.
void hideTiles(llvm::Module &module);

} // namespace gantry::cpu
