// What an op reads and gives, and its attributes: noted where it becomes a part of a kernel, for
// those who are told of it then.
#pragma once

#include "gantry/Dialect/Gantry/IR/Attributes.h"
#include "gantry/Dialect/Gantry/IR/StepParts.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace gantry {

/// {operands = [...], results = [...], attributes = [...]} of an op in a graph, with `part` and
/// `again` where it is of a way back or an update, or computed again (StepParts.h).
mlir::DictionaryAttr formOf(mlir::Operation *op);

/// A value by the model's name for it: of the input, of the weight, or of the node that gives it.
struct OperandForm {
  llvm::StringRef name; ///< empty where the model has none
  mlir::RankedTensorType type;
  bool isConstant = false;
  llvm::StringRef value; ///< of a constant that is one number: that
};
struct OpForm {
  llvm::SmallVector<OperandForm> operands;
  llvm::SmallVector<mlir::RankedTensorType> results;
  llvm::SmallVector<llvm::StringRef> attributes; ///< "NAME = VALUE", or "NAME" of a flag
  StepPart part = StepPart::forward;
  bool isAgain = false;
};
/// Reads what formOf gives; what is missing in something else is missing here.
OpForm readForm(mlir::Attribute form);

} // namespace gantry
