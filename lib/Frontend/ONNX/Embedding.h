// What the ops that embed words share.
#pragma once

#include "Handlers.h"

namespace gantry::onnx {

/// What is added and normalised where words are embedded; `segments` may be null.
struct EmbeddedRows {
  Value words, places, segments;
};
/// Outputs of EmbedLayerNormalization: normalised, words that are no padding, the sum. Operand 7 is
/// the mask.
Values normaliseEmbedding(NodeContext &n, EmbeddedRows rows, Value scale, Value bias);

} // namespace gantry::onnx
