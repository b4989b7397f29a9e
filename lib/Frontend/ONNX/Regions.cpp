// Regions: a block that takes values and ends in what it yields.

#include "Regions.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

std::unique_ptr<Region>
gantry::onnx::buildRegion(NodeContext &n, TypeRange types,
                          llvm::function_ref<std::optional<Values>(Block &)> fill) {
  auto region = std::make_unique<Region>();
  Block *block = new Block;
  region->push_back(block);
  for (mlir::Type type : types)
    block->addArgument(type, n.getLoc());
  OpBuilder::InsertionGuard guard(n.builder);
  n.builder.setInsertionPointToEnd(block);
  auto values = fill(*block);
  if (!values)
    return nullptr;
  YieldOp::create(n.builder, n.getLoc(), ValueRange(*values));
  return region;
}
