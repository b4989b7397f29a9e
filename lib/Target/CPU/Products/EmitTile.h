// The code of tiles (Tile.h) for the registers of one processor.
#pragma once

#include "Machine.h"
#include "Tile.h"

#include "llvm/IR/Module.h"

namespace gantry::cpu {

/// Gives the tiles that `module` declares their bodies.
void defineTiles(llvm::Module &module, const Registers &registers);

/// Says of the tiles that `module` declares that they are in the same shared object.
void hideTiles(llvm::Module &module);

} // namespace gantry::cpu
