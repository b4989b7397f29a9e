// Regions of the ops that branch and loop, of which the generated builders know too little.
#pragma once

#include "Handlers.h"

#include <memory>

namespace gantry::onnx {

/// A region whose block takes `types`; `fill` makes the values that it yields, or nothing after a
/// failure, and then there is no region.
std::unique_ptr<mlir::Region>
buildRegion(NodeContext &n, mlir::TypeRange types,
            llvm::function_ref<std::optional<Values>(mlir::Block &)> fill);

template <typename Op>
Values createWithRegions(NodeContext &n, mlir::ValueRange operands, mlir::TypeRange results,
                         std::initializer_list<std::unique_ptr<mlir::Region> *> regions) {
  mlir::OperationState state(n.getLoc(), Op::getOperationName());
  state.addOperands(operands);
  state.addTypes(results);
  for (std::unique_ptr<mlir::Region> *region : regions)
    state.addRegion(std::move(*region));
  return n.finish(state);
}

} // namespace gantry::onnx
