// Which ops compute each row of their result, an element of the outermost dimension with all that
// is in it, from the rows at the same place of operands: they can be computed for some rows alone.
#pragma once

#include "mlir/IR/Operation.h"

namespace gantry {

/// The operands that the op reads row by row, as many rows as its one result has; others it reads
/// whole for each row. None where rows are not computed one by one. For views, see below.
llvm::SmallVector<unsigned> rowOperandsOf(mlir::Operation *op);

/// Makes the result of an op with such operands, or of a view, one of so many rows; its operands
/// are of those rows already. A view keeps the order of elements, so any whole part of its rows is
/// the same part of its operand's.
void setRows(mlir::Operation *op, int64_t rows);

} // namespace gantry
