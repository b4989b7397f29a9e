// Elements of constants as numbers, and what ops give for them: the one evaluator of constant ops.
// Folding asks it about small integers, importers about whatever shapes depend on.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace gantry {

/// Elements of a constant: integers (and truth values), or floating-point numbers.
struct KnownElements {
  bool isFloat = false;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  size_t size() const { return isFloat ? floats.size() : ints.size(); }
};

/// Most elements that are read of a constant, and that an op is evaluated to.
inline constexpr int64_t kMaxEvaluated = 65536;

/// The elements as they lie in memory, one after the other, for as long as the context is there;
/// nothing where one stands for all, or where they are elsewhere.
llvm::ArrayRef<char> storedBytes(mlir::ElementsAttr attr);

/// The elements as kernels read them, a byte for a truth value: those that are stored so, or, for
/// one that stands for all and for packed truth values, made in `made`. Nothing where they are
/// elsewhere.
std::optional<llvm::ArrayRef<uint8_t>> kernelBytes(mlir::ElementsAttr attr,
                                                   std::vector<uint8_t> &made);
/// The reverse, which copies the bytes.
mlir::DenseElementsAttr makeElements(mlir::RankedTensorType type, llvm::ArrayRef<uint8_t> bytes);

/// Reads out a constant of at most `limit` elements, wherever they are.
std::optional<KnownElements> readElements(mlir::ElementsAttr attr, int64_t limit = kMaxEvaluated);
/// The reverse; numbers are converted to the element type of `type`.
mlir::DenseElementsAttr makeElements(mlir::RankedTensorType type, const KnownElements &elements);

/// Gives the elements of an op's operand by its number, or nothing when they are not known.
using OperandElements = llvm::function_ref<std::optional<KnownElements>(unsigned)>;

/// Elements of the op's one result, of static shape and at most kMaxEvaluated elements, computed as
/// its kernels would. Nothing for ops that are not evaluated, and where an operand is not known or
/// a value has no meaning (a division by zero). Operands are asked for as they are needed.
std::optional<KnownElements> evaluateOp(mlir::Operation *op, OperandElements operand);

/// Elements of a value of static shape and at most kMaxEvaluated elements when constants decide it,
/// as evaluateOp gives them; looks at a limited number of ops.
std::optional<KnownElements> evaluateValue(mlir::Value value);

} // namespace gantry
