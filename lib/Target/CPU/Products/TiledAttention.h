// Attention as tiles of queries, and the panels of its keys and values.
#pragma once

#include "Panels.h"
#include "gantry/Linalg/AttentionForm.h"

namespace gantry::cpu {

struct TiledAttention : AttentionForm, RowTiles { ///< the rows are queries
  std::optional<DirectRows> queries;
  std::optional<DirectRows> directKeys; ///< key by key in an argument

  int64_t batch, keys, depth, width;
  int64_t keyWidth, keyPanels, valueWidth, valuePanels;
  int64_t chunks; ///< of the tiles
  bool keysAlongK, valuesAlongK;
  OperandPrecision precision =
      OperandPrecision::f32; ///< of both products; bf16 takes the narrow ones of their sides

  int64_t factorBytes() const { return panelBytesOf(precision); }
  /// Terms of a packed panel, those included that fill up the last group.
  int64_t paddedK(int64_t sizeK) const { return llvm::alignTo(sizeK, packingFactorOf(precision)); }
  /// Of the packed keys and values of an item.
  int64_t keyElements() const { return keyPanels * keyWidth * paddedK(depth); }
  int64_t panelElements() const { return keyElements() + valuePanels * valueWidth * paddedK(keys); }
};

/// An item has its panels on its stack where all that it works in is not more: what a kernel puts
/// there at most (FinishKernelBuffers), less a little for numbers of rows.
inline constexpr int64_t kStackBytes = 126 << 10;

/// Whether attention of such sizes is worth a kernel: enough queries to share packed keys, rows of
/// scores that fit the cache.
bool suitsAttention(int64_t queries, int64_t keys, int64_t depth, int64_t width);

/// Whether products of their own, which have tiles, are faster than one kernel without.
bool isFasterApart(int64_t queries, int64_t keys, int64_t depth, int64_t width);

/// What the function computes, if that is attention in f32, or of bf16 with sums in it, cut for
/// processors with these registers.
std::optional<TiledAttention> findAttention(mlir::func::FuncOp func, const Registers &registers);

} // namespace gantry::cpu
