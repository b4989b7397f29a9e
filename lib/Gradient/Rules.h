// Rules as functions: `void build(Op op, GradientBuilder &b)` gives the gradients of the operands,
// a file a family. They come to the ops as external models.
#pragma once

#include "Terms.h"

namespace gantry {

/// The rule of one op. `refuse`: why an operand has none, as GradientOpInterface::refuseGradient.
template <typename Op, auto build>
struct Rule : GradientOpInterface::ExternalModel<Rule<Op, build>, Op> {
  mlir::LogicalResult buildGradient(mlir::Operation *op, GradientBuilder &b) const {
    build(mlir::cast<Op>(op), b);
    return mlir::success();
  }
};

template <typename Op, auto build, auto refuse>
struct RuleUnless : GradientOpInterface::ExternalModel<RuleUnless<Op, build, refuse>, Op> {
  std::string refuseGradient(mlir::Operation *op, unsigned operand) const {
    return refuse(mlir::cast<Op>(op), operand);
  }
  mlir::LogicalResult buildGradient(mlir::Operation *op, GradientBuilder &b) const {
    build(mlir::cast<Op>(op), b);
    return mlir::success();
  }
};

/// All gradients are zero by definition.
template <typename Op>
struct NoSlope : GradientOpInterface::ExternalModel<NoSlope<Op>, Op> {
  bool stopsGradient(mlir::Operation *) const { return true; }
  mlir::LogicalResult buildGradient(mlir::Operation *, GradientBuilder &) const {
    return mlir::success();
  }
};

template <typename Op, auto build>
void addRule(mlir::MLIRContext &context) {
  Op::template attachInterface<Rule<Op, build>>(context);
}
template <typename Op, auto build, auto refuse>
void addRule(mlir::MLIRContext &context) {
  Op::template attachInterface<RuleUnless<Op, build, refuse>>(context);
}

void addUnaryRules(mlir::MLIRContext &context);
void addBinaryRules(mlir::MLIRContext &context);
void addContractionRules(mlir::MLIRContext &context);
void addWindowRules(mlir::MLIRContext &context);
void addReductionRules(mlir::MLIRContext &context);
void addNormalisationRules(mlir::MLIRContext &context);
void addMovementRules(mlir::MLIRContext &context);
void addIndexingRules(mlir::MLIRContext &context);
void addStructureRules(mlir::MLIRContext &context);
void addBranchRules(mlir::MLIRContext &context);
void addLoopRules(mlir::MLIRContext &context);

/// The cotangent of the first result as it is used in formulas: of f16 and bf16 as f32.
inline Term wideCotangent(GradientBuilder &b) { return {b, b.wide(b.ofResult())}; }
inline Term wide(GradientBuilder &b, mlir::Value value) { return {b, b.wide(value)}; }

} // namespace gantry
