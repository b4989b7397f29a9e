// What the rules for result types have in common. A rule that does not hold is reported with the
// op's name and the numbers.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

#include "mlir/IR/Builders.h"

namespace gantry::infer {

using Loc = std::optional<mlir::Location>;
using Types = llvm::SmallVectorImpl<mlir::Type>;
using Shape = llvm::SmallVector<int64_t>;
inline constexpr int64_t kOpen = mlir::ShapedType::kDynamic;

/// Binds the member that the interface wants to a static function over the op's adaptor.
#define GANTRY_INFER(Op, rule)                                                                     \
  LogicalResult Op::inferReturnTypes(MLIRContext *context, infer::Loc loc, ValueRange operands,    \
                                     DictionaryAttr attributes, OpaqueProperties properties,       \
                                     RegionRange regions, infer::Types &types) {                   \
    return rule(Op::Adaptor(operands, attributes, properties, regions), Op::getOperationName(),    \
                loc, types);                                                                       \
  }

inline mlir::LogicalResult push(Types &types, llvm::ArrayRef<int64_t> shape, mlir::Type element) {
  types.push_back(mlir::RankedTensorType::get(shape, element));
  return mlir::success();
}

/// "[2,?]"
std::string text(llvm::ArrayRef<int64_t> shape);

template <typename... Args>
mlir::LogicalResult fail(Loc loc, llvm::StringRef op, Args &&...args) {
  return mlir::emitOptionalError(loc, "'", op, "' op ", std::forward<Args>(args)...);
}

/// Of two sizes that may be open.
inline bool differ(int64_t a, int64_t b) { return a != kOpen && b != kOpen && a != b; }

/// Whether `axis` is in [0, rank), or what is wrong.
mlir::LogicalResult checkAxis(int64_t axis, int64_t rank, llvm::StringRef op, Loc loc);
mlir::LogicalResult checkSameElement(mlir::Type a, mlir::Type b, llvm::StringRef op, Loc loc);

} // namespace gantry::infer
