// What ops of constants give, by running them: asked where a shape, an axis or a number of steps
// wants a value that evaluateOp (Elements.h) does not compute.
//
// Kernels run in the compiler, so whoever can make and run them brings the evaluator to the dialect
// `gantry` of a context: Pipeline. Importers ask, and know no target.
#pragma once

#include "gantry/Dialect/Gantry/IR/Attributes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectInterface.h"
#include "mlir/IR/Value.h"

#include <string>

namespace gantry {

/// What is known of a value.
struct Evaluation {
  mlir::ElementsAttr elements; ///< null: not known
  /// Why constants decide the value and it is not known all the same; empty where data decide.
  std::string why = {};
};

/// Most bytes of an operand or a result of an op that is evaluated when compiling.
inline constexpr int64_t kMaxEvaluatedBytes = int64_t(64) << 20;

class EvaluatorInterface : public mlir::DialectInterface::Base<EvaluatorInterface> {
public:
  EvaluatorInterface(mlir::Dialect *dialect) : Base(dialect) {}

  /// The elements of `value`, with the bits that the plan's kernels would give. Requests for
  /// devices are no part of it. The IR stays as it is; diagnostics of what fails are dropped.
  virtual Evaluation evaluate(mlir::Value value) const = 0;
};

/// The elements of `value` as far as they can be known: those of a constant, what was computed
/// before, and what the context's evaluator gives, which is kept on the op.
Evaluation computeValue(mlir::Value value);

/// What was kept on the op that makes `value`, or null.
mlir::ElementsAttr getComputedElements(mlir::Value value);

} // namespace gantry
