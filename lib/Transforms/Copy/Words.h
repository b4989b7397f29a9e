// Values and uses in words, for causes of copies and errors about them.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry::copy {

/// A use in words: "MatMul 'fc1' at model.mlir:3:8", "result 0 of '@main'".
std::string describeUse(mlir::OpOperand &use);

/// The name of a value in words: "'x'", "argument 0", "the result of MatMul 'fc1'".
std::string describeValue(mlir::Value value);

} // namespace gantry::copy
