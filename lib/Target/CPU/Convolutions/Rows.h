// Convolutions whose border is left out: blocks are parts of rows.
#pragma once

#include "WorkPartition.h"

namespace gantry {

/// How rows of the result are cut: each alike, into blocks of pixels side by side.
struct RowPartition {
  int64_t registers = 0; ///< of a panel, at a time
  int64_t blocks = 0;    ///< of a row
};

/// The cut that takes the least time; nothing where the border may not be left out, or where
/// blocks that go on from row to row take less although they multiply it.
std::optional<RowPartition> partitionRows(const Convolution &convolution);

/// Makes one scf.forall.
void emitRows(mlir::ImplicitLocOpBuilder &b, const Convolution &convolution,
              const RowPartition &rows, const Registers &registers);

} // namespace gantry
