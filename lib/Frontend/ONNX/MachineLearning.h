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
/// Labels of two classes or more, those named `ints`; nothing where they are strings.
std::optional<Ints> readLabels(NodeContext &n, llvm::StringRef ints, llvm::StringRef strings);
/// The label of the largest score of each row, and the scores.
Values classify(NodeContext &n, Value scores, const Ints &labels, llvm::StringRef post);

void addMachineLearningOps(OpTable &table);
/// Of these, what prepares features, and regression by support vectors.
void addFeatureOps(OpTable &table);
/// Of these, trees.
void addTreeOps(OpTable &table);

} // namespace gantry::onnx
