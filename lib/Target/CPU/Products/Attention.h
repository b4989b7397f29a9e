// Attention in a kernel: a product whose left operand is computed from the rows of another product.
//
//   scores  = queries * keys            and what follows from them element by element
//   weights = what rows of scores give  a softmax, most of the time
//   result  = weights * values          and what follows from that
//
// What stands between the products is not named: ops over rows of scores, each element by element
// or a reduction along the row. So scales, masks, caps and causal attention need no case.
#pragma once

#include "Panels.h"

namespace gantry::cpu {

struct Attention : RowTiles { ///< the rows are queries
  Product scores, context;
  mlir::Value root;                                  ///< what the kernel stores
  mlir::Value inner;                                 ///< the same before it is put in another order
  mlir::Value first;                                 ///< the scores as ops over rows read them
  mlir::Value weights;                               ///< what they make
  llvm::SmallVector<mlir::linalg::GenericOp> rowOps; ///< in their order
  std::optional<DirectRows> queries;

  int64_t batch, keys, depth, width;
  int64_t keyWidth, keyPanels, valueWidth, valuePanels;
  int64_t chunks; ///< of the tiles
  bool keysByTerms, valuesByTerms;

  /// Of the packed keys and values of an item.
  int64_t panelElements() const {
    return keyPanels * keyWidth * depth + valuePanels * valueWidth * keys;
  }
};

/// Whether attention of such sizes is worth a kernel: enough queries to share packed keys, rows of
/// scores that fit the cache.
bool suitsAttention(int64_t queries, int64_t keys, int64_t depth, int64_t width);

/// What a reduction begins with, if that is a constant, else null.
mlir::TypedAttr startOf(mlir::linalg::GenericOp op);

/// What the function computes, if that is attention in f32.
std::optional<Attention> findAttention(mlir::func::FuncOp func);

} // namespace gantry::cpu
