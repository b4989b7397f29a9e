// What the two passes over indices share: the judgement of indices that are known when compiling.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// What is known of the indices of an op.
enum class IndexState {
  unknown, ///< they come with a run
  inRange,
  refused ///< one is out of range, and an error at the op says so
};

/// Judges the indices of an op of static shape. Indices without elements are in range.
IndexState judgeIndices(IndexingOpInterface op);

/// Whether an index out of range is none of the graph's faults: it marks nothing, as in ONNX's
/// OneHot.
bool marksNothingOutside(IndexingOpInterface op);

/// Whether constants say that control does not reach the block.
bool neverRuns(mlir::Block *block);

/// The op's indices.
mlir::Value indicesOf(IndexingOpInterface op);

/// What errors call a value: the name of an input or constant, else of the op that makes it.
std::string nameOfValue(mlir::Value value);

/// The type of an op in the words of the file that it is from.
llvm::StringRef sourceOpOf(mlir::Operation *op);

} // namespace gantry
