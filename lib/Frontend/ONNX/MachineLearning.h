// Ops of the domain ai.onnx.ml.
#pragma once

#include "Handlers.h"

namespace gantry::onnx {

inline constexpr llvm::StringLiteral kMachineLearning = "ai.onnx.ml";

void addMachineLearningOps(OpTable &table);

} // namespace gantry::onnx
