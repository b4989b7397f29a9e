// Single elements of a kernel's tensors, each computed from the elements that it depends on.
//
// The kernel is a list of tensor ops that say what their results are (linalg.generic, slices, pads,
// reshapes). Somebody wants some elements of the last one; asked for one, this emits the scalar
// code that computes it where the builder stands: an elementwise op inlines its body over elements
// of its operands, a reshape is arithmetic on indices, a pad a branch, a reduction a loop. So what
// feeds what is fused without being told to be, and no tensor in between exists, unless somebody
// keeps it
// (`provide`).
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include <functional>
#include <map>

namespace gantry {

using Indices = llvm::SmallVector<mlir::Value, 6>;

class Elements {
public:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;

  explicit Elements(mlir::ImplicitLocOpBuilder &b) : b(b), scopes(1) {}

  /// Gives the element of a tensor at indices of its dimensions.
  using Load = std::function<Value(ValueRange)>;

  /// From now on elements of `tensor` are read, not computed: it is an argument, or kept somewhere.
  void provide(Value tensor, Load load);
  /// Nothing is provided, nor known, any more.
  void forget();

  /// The element of `tensor` at `indices`, one for each dimension. Emits nothing that is known
  /// already at this place in the code.
  Value at(Value tensor, ValueRange indices);

  /// Makes known now what the element depends on, as far as that does not depend on `late` tensors:
  /// a set that has with each tensor all that are computed from it.
  void prepare(Value tensor, ValueRange indices, const llvm::DenseSet<Value> &late);

  /// A scalar that the kernel computes between its tensor ops.
  Value scalar(Value v) { return scalarIn(v, nullptr); }

  /// The results of `op` after one more iteration: at `loops`, an index for each of its loops, with
  /// its results so far.
  llvm::SmallVector<Value> step(mlir::linalg::GenericOp op, ValueRange loops, ValueRange soFar);

  /// What `v`, in the body of `op`, is at `loops`; it may depend on inputs, not on results so far.
  /// Inputs that are `known`, by arguments of the body, are not asked for.
  Value inBody(mlir::linalg::GenericOp op, Value v, ValueRange loops, mlir::IRMapping known = {});

  /// What the results are before the first iteration, at the parallel ones of `loops`.
  llvm::SmallVector<Value> start(mlir::linalg::GenericOp op, ValueRange loops);

  /// Results at the parallel ones of `loops` (null where a loop reduces), by loops over the others.
  llvm::SmallVector<Value> reduce(mlir::linalg::GenericOp op, ValueRange loops);

  /// Emits into a region: what is found out there is not known outside of it.
  class Region {
  public:
    Region(Elements &elements, mlir::Block *block);
    ~Region();

  private:
    Elements &elements;
    mlir::OpBuilder::InsertionGuard guard;
  };

  /// As scf.if, with the value of either branch.
  Value branch(Value condition, llvm::function_ref<Value()> then,
               llvm::function_ref<Value()> otherwise);

private:
  using Key = std::pair<void *, std::vector<void *>>;

  Value compute(Value tensor, ValueRange indices);
  void mapInput(mlir::linalg::GenericOp op, mlir::OpOperand &input, ValueRange loops,
                mlir::IRMapping &inside);
  Value generic(mlir::linalg::GenericOp op, unsigned result, ValueRange indices);
  Value constant(mlir::arith::ConstantOp op, ValueRange indices);
  Value collapsed(mlir::tensor::CollapseShapeOp op, ValueRange indices);
  Value expanded(mlir::tensor::ExpandShapeOp op, ValueRange indices);
  Value extracted(mlir::tensor::ExtractSliceOp op, ValueRange indices);
  Value inserted(mlir::tensor::InsertSliceOp op, ValueRange indices);
  Value replaced(mlir::tensor::InsertOp op, ValueRange indices);
  Value padded(mlir::tensor::PadOp op, ValueRange indices);
  Value joined(mlir::tensor::ConcatOp op, ValueRange indices);

  /// `v` where a body is being emitted; `inside` maps what that body has defined.
  Value scalarIn(Value v, mlir::IRMapping *inside);
  void emitBody(mlir::Operation &op, mlir::IRMapping &inside, ValueRange loops);
  Value indexOf(mlir::OpFoldResult index);

  mlir::ImplicitLocOpBuilder &b;
  std::vector<std::map<Key, Value>> scopes; ///< what is known, innermost region last
  std::map<void *, Load> provided;
};

/// The indices of element `linear` of a row-major shape.
Indices delinearize(mlir::ImplicitLocOpBuilder &b, mlir::Value linear,
                    llvm::ArrayRef<int64_t> shape);
/// The other way round.
mlir::Value linearize(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange indices,
                      llvm::ArrayRef<int64_t> shape);

// Arithmetic on indices, which never overflows: it addresses memory that is there.
mlir::Value indexConstant(mlir::ImplicitLocOpBuilder &b, int64_t value);
mlir::Value addIndex(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y);
mlir::Value mulIndex(mlir::ImplicitLocOpBuilder &b, mlir::Value x, int64_t factor);

} // namespace gantry
