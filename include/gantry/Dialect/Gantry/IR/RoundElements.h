// Constants in a narrower type.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace gantry {

/// The elements of a constant of f32, rounded to the nearest of f16 or bf16 as gantry.cast does it;
/// null where they are not at hand.
mlir::ElementsAttr roundElements(mlir::ElementsAttr value, mlir::FloatType element);

} // namespace gantry
