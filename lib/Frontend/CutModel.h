// A model that ends at other values than its own outputs.
#pragma once

#include "gantry/Formats/ONNX/Model.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace gantry::onnx {

/// Leaves in `model` only what these values need, and makes them its outputs, in this order. False
/// after setting `error` to why that cannot be done, for users.
bool cutModel(Model &model, llvm::ArrayRef<std::string> outputs, std::string &error);

} // namespace gantry::onnx
