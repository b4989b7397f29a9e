// What a rule of GradientOpInterface sees of its op: which operands want a gradient, the cotangents
// of the results, and a builder whose ops belong to the op. They have its request, its origin, its
// location, and its name with "/grad" behind.
//
// A cotangent is what a value weighs in what is differentiated: it has the value's type.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

#include "mlir/IR/Builders.h"

#include <functional>

namespace gantry {

/// Whether ways back lead through values of this type: floats alone have gradients.
bool carriesGradients(mlir::Type type);

class GradientBuilder : public mlir::OpBuilder {
public:
  using Value = mlir::Value;
  using IsWanted = std::function<bool(Value)>;
  /// A value that the op reads, and a part of its cotangent.
  using Part = std::pair<Value, Value>;

  /// `cotangents`: one for each result of `op`, null for a result that is not used. Ops are made
  /// at the end of `block`, in front of its terminator if it has one.
  GradientBuilder(mlir::Operation *op, mlir::Block &block, llvm::ArrayRef<Value> cotangents,
                  IsWanted isWanted);

  mlir::Operation *getOp() const { return op; }
  /// Where a rule has put another op in the op's place.
  void setOp(mlir::Operation *other) { op = other; }

  /// Whether somebody wants the gradient of the operand: no work for frozen layers.
  bool wants(unsigned operand) const { return wants(op->getOperand(operand)); }
  /// The same of what a region of the op reads from outside.
  bool wants(Value value) const { return isWanted(value); }

  /// The cotangent of a result; zeros where it is not used.
  Value ofResult(unsigned result = 0);
  bool isUsed(unsigned result) const { return bool(cotangents[result]); }

  /// A part of the operand's cotangent. Of a broadcast operand it is added up, and it is rounded to
  /// the operand's type. `name`: of the operand, where the op has several ("conv1/grad_filter").
  void give(unsigned operand, Value gradient, llvm::StringRef name = "");
  /// The same for what a region of the op reads from outside.
  void give(Value value, Value gradient);
  llvm::ArrayRef<Part> getParts() const { return parts; }

  /// A scalar of the element type of `like`, which broadcasts.
  Value number(double value, mlir::Type like);
  /// A tensor all of whose elements are `value`.
  Value filled(double value, mlir::RankedTensorType type);
  Value zeros(mlir::RankedTensorType type) { return filled(0, type); }
  /// f16 and bf16 as f32; others as they are.
  Value wide(Value value);
  /// With elements of that type.
  Value cast(Value value, mlir::Type element);
  /// Added up over what was broadcast, and of the type `type`.
  Value fit(Value value, mlir::RankedTensorType type);

  template <typename Op, typename... Args>
  Op make(Args &&...args) {
    auto made = Op::create(*this, op->getLoc(), std::forward<Args>(args)...);
    belong(made);
    return made;
  }
  /// Gives `made` what the ops of this builder have.
  void belong(mlir::Operation *made);

private:
  /// What has the same sum along the axes, without terms that add up to zero there: deviations from
  /// the mean that they have by the way back of a variance. The rest is known before these are.
  Value withoutZeroSums(Value value, llvm::ArrayRef<int64_t> axes);
  void setName(mlir::Operation *made, const llvm::Twine &suffix);

  mlir::Operation *op;
  llvm::SmallVector<Value> cotangents;
  IsWanted isWanted;
  llvm::SmallVector<Part> parts;
};

/// The name that the graph gives an op, by attribute or location; empty when it gives none.
llvm::StringRef givenNameOf(mlir::Operation *op);

} // namespace gantry
