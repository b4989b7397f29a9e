// What the ops of the attention family are composed of.
#pragma once

#include "Handlers.h"

namespace gantry::onnx {

/// How the products of queries and keys become weights.
struct Scores {
  double scale = 1, softcap = 0;
  bool causal = false;
  Value offset = {};         ///< keys before the first query, if any; broadcasts to the scores
  Value bias = {};           ///< added to them
  Value sink = {};           ///< a score of each head, [heads] or [1], whose weight has no value
  bool mayHideAll = false;   ///< a query that sees no key gives zeros
  mlir::Type precision = {}; ///< of the softmax, when it is another
  Value *shown = nullptr;    ///< gets the scores of `shownStage`
  int64_t shownStage = 0;    ///< 0 products, 1 capped, 2 biased, 3 weights
};

/// Weights times values, of [batch, heads, steps, size]; heads of keys and values may be fewer.
Value attend(NodeContext &n, Value q, Value k, Value v, Scores scores);

/// Sums of what is added to scores, either of which may be missing.
Value addBias(NodeContext &n, Value a, Value b);

/// [batch, steps, heads * size] as [batch, heads, steps, size], and back.
Value splitHeads(NodeContext &n, Value v, int64_t heads);
Value joinHeads(NodeContext &n, Value v);

/// `cache` with the steps of `update` along `axis`, from a place of each batch on (the first one
/// without `places`); a circular cache goes on at its start. Place t of it is step t - place, where
/// there is one.
Value writeSteps(NodeContext &n, Value cache, Value update, Value places, int64_t axis,
                 bool circular);

/// The op Attention of com.microsoft from the projection [batch, steps, 3 * hidden] on: queries,
/// keys and values lie side by side. Its attributes are the node's; mask, past and bias may be
/// null.
Values attendPacked(NodeContext &n, Value all, Value mask, Value past, Value bias);

/// 0 where `keep` holds, `hidden` elsewhere.
Value hideWhereNot(NodeContext &n, Value keep, mlir::Type element, double hidden);

/// [batch or 1, steps, half] as a factor of [batch, heads, steps, size].
Value overHeads(NodeContext &n, Value cache);

/// Turns pairs of the first elements of [batch, heads, steps, size] by angles, whose cosines and
/// sines are [batch or 1, 1, steps, half of the elements].
Value rotate(NodeContext &n, Value x, Value cosines, Value sines, bool interleaved);

} // namespace gantry::onnx
