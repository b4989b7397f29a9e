// Attention that exporters write as ops: a product whose left operand is a softmax along the last
// dimension of another product, scaled, masked or otherwise changed element by element, with
// transposes of its operands and of its result. Either all of it is one kernel, or none of it;
// Linalg/AttentionForm.h finds it there.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// A matrix of queries by keys for each of the batch; vectors of `depth` are multiplied, of `width`
/// added up.
struct AttentionSizes {
  int64_t batch, queries, keys, depth, width;
};

/// Whether a target has a kernel for attention that ends in the product `second`.
using SuitsAttention = llvm::function_ref<bool(MatmulOp second, const AttentionSizes &)>;

/// What the kernel reads queries, keys and values from.
enum class AttentionOperands : uint8_t {
  whole, ///< tensors of their own
  parts, ///< also a part of one, as where one product computes all three
};

/// Whether `op`, all of whose users are in `group`, is a part of attention in its kernel.
bool fitsAttention(mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> group,
                   SuitsAttention suits, AttentionOperands operands);

} // namespace gantry
