// Attention as one kernel: how its products are cut.
//
// A block has some queries. It computes all their scores, tile by tile along the keys, into shared
// memory, makes weights of them in place, and multiplies these by the values, tile by tile along
// the result. Both products have as many threads, and add up as their kernels of their own do.
#pragma once

#include "CoreInstructions.h"
#include "Tile.h"
#include "gantry/Target/AttentionPolicy.h"

namespace gantry::gpu {

/// Tiles for lanes, or for tensor cores.
template <typename TileOf>
struct AttentionTiles {
  TileOf scores, context; ///< of the same rows, for as many threads
  int64_t stride;         ///< from line to line of scores, in elements
};

/// How lanes compute attention of f32 in one kernel; nothing where its scores do not fit into
/// shared memory, or where kernels for each of its ops are taken to be faster.
std::optional<AttentionTiles<Tile>> chooseAttention(const AttentionSizes &sizes);

/// How tensor cores do; scores have so many bytes, as many as factors or four.
std::optional<AttentionTiles<CoreTile>> chooseAttention(const AttentionSizes &sizes, CoreKind kind,
                                                        int64_t bytesOfScore);

} // namespace gantry::gpu
