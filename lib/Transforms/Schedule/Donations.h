// Which output takes the place of which argument that callers give away.
#pragma once

#include "Declarations.h"

namespace gantry::schedule {

/// A result of a function that is an output of the plan.
struct Output {
  unsigned result;
  mlir::Value value; ///< before views
  mlir::Type type;   ///< behind them, as the caller has it
  unsigned device;
  bool isMadeThere; ///< the command that makes the value writes it into the output
};

/// Results, each with the argument whose array its output may be: of the same type, on the same
/// device, and read by nothing that comes behind the output's first writer. As many pairs as there
/// can be; a remark says of each argument without one why. `inputDevice` is that of an argument, by
/// number.
llvm::SmallVector<std::pair<unsigned, mlir::BlockArgument>>
pairDonated(mlir::func::FuncOp func, llvm::ArrayRef<Output> outputs, const Declarations &state,
            llvm::function_ref<unsigned(unsigned)> inputDevice);

} // namespace gantry::schedule
