// Values with as many rows as data say, in a form of fixed shape: all rows that there may be along
// one dimension, and how many of them are meant. What stands in the others means nothing, and is in
// range where it is an index of what NonMaxSuppression selected.
//
// Ops take such a value where each row of their result comes from one row of it: elementwise ops,
// gathers, slices, and what moves no row. Their result is bounded by the same number.
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace gantry::onnx {

class NodeContext;

struct Bound {
  int64_t axis = 0;  ///< along which rows lie one after the other
  mlir::Value count; ///< a scalar i64: how many are meant

  bool operator==(const Bound &) const = default;
};

/// The bounded values of a graph.
using Bounds = llvm::DenseMap<mlir::Value, Bound>;

/// How the result of an op is bounded that has bounded operands, of which there is one at least;
/// nothing where its rows are not those of the operands.
std::optional<Bound> boundOfResult(NodeContext &n, mlir::Operation *op, const Bounds &bounds);

/// The value with zeros in the place of what is not meant.
mlir::Value clearBeyond(NodeContext &n, mlir::Value value, const Bound &bound);

} // namespace gantry::onnx
