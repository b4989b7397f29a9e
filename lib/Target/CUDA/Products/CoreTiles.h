// Products on tensor cores; everything else that is a product goes by lanes (EmitTiles.cpp).
#pragma once

#include "CoreInstructions.h"
#include "StoreAccumulators.h"
#include "TileCost.h"

namespace gantry::gpu {

/// What one instruction multiplies.
constexpr CoreShape coreShapeOf(CoreKind kind) { return {16, 8, kind == CoreKind::tf32 ? 8 : 16}; }

/// Matrices with fewer rows or columns leave most of a core idle.
inline constexpr int64_t kFewestCoreRows = 8;

/// The tile of which a product of these sizes takes the least time, and what a tile costs.
CoreTile chooseCoreTile(const ProductSizes &sizes, const CoreShape &shape, int64_t bytes);
/// The best one that copies bring in `stages` stages, or in as many as are best if that is not
/// said, and that adds up in the order of `other`. That one where nothing fits.
CoreTile chooseStagedTile(const CoreTile &other, const ProductSizes &sizes, const CoreShape &shape,
                          int64_t bytes, std::optional<int64_t> stages);
BlockCost costOf(const CoreTile &tile, const ProductSizes &sizes, const CoreShape &shape,
                 int64_t bytes);

/// How the operands of a product are read for tensor cores.
struct CoreOperands {
  CoreKind kind;
  Value left, right; ///< in the body: what is kept in shared memory

  int64_t bytes() const { return kind == CoreKind::tf32 ? 4 : 2; }
  CoreShape shape() const { return coreShapeOf(kind); }
};

/// Nothing where the GPUs have no tensor cores for the operands, or the matrices are too small.
std::optional<CoreOperands> coreOperandsOf(const Product &product, const Output &output);

/// All threads of the block, as many as the tile has, compute it and store its sums.
void emitTile(KernelEmitter &kernel, const Product &product, const CoreOperands &operands,
              const CoreTile &tile, const TilePlace &place, StoreAccumulators &store);

/// Null where the GPUs have no tensor cores for the operands, or the matrices are too small.
std::unique_ptr<LoweringStrategy> makeCoreTiles(const Output &output, const Product &product);

} // namespace gantry::gpu
