// Ops of the domain ai.onnx.ml.
#pragma once

#include "Handlers.h"

namespace gantry::onnx {

inline constexpr llvm::StringLiteral kMachineLearning = "ai.onnx.ml";

/// Numbers of an attribute as a tensor; integers as a list in i64.
Value floats(NodeContext &n, llvm::ArrayRef<float> values, IntsRef shape, mlir::Type element);
Value indices(NodeContext &n, IntsRef values);
/// The input as rows of numbers in floating point.
Value rows(NodeContext &n);
/// What `post_transform` names of scores [batch, outputs].
Value transform(NodeContext &n, Value scores, llvm::StringRef post);

void addMachineLearningOps(OpTable &table);
/// Of these, what prepares features, and regression by support vectors.
void addFeatureOps(OpTable &table);

} // namespace gantry::onnx
