// Lookups in a weight that a product reads in panels: the tied embedding of a language model. Each
// index becomes a panel and a column of it, so that the plan has the weight once.

#include "Panels.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::cpu;

/// Which dimension of a plain matrix is the rows of its panels; nothing for other tensors.
static std::optional<unsigned> findRowDim(RankedTensorType type, const PanelLayout &layout) {
  if (type.getRank() != 2 || !layout.matrices.empty() || layout.rows.size() != 1 ||
      layout.columns.size() != 1)
    return std::nullopt;
  const PanelLayout::Loop loops[] = {{type.getDimSize(0), type.getDimSize(1)},
                                     {type.getDimSize(1), 1}};
  for (unsigned dim : {0, 1})
    if (layout.rows.front() == loops[dim] && layout.columns.front() == loops[1 - dim])
      return dim;
  return std::nullopt;
}

bool gantry::cpu::canPickFromPanels(KernelOp kernel, unsigned argument, Attribute layout) {
  BlockArgument value = kernel.getBody().getArgument(argument);
  std::optional<PanelLayout> panels = PanelLayout::of(layout);
  auto gather = value.hasOneUse() ? dyn_cast<GatherOp>(*value.user_begin()) : GatherOp();
  return panels && gather && gather.getInput() == value &&
         llvm::hasSingleElement(kernel.getBody().front().without_terminator()) &&
         findRowDim(cast<RankedTensorType>(value.getType()), *panels).has_value();
}

/// Reads the element of a matrix at its place in the panels.
static void pickAt(tensor::ExtractOp op, unsigned rowDim, int64_t width) {
  OpBuilder b(op);
  Value column = op.getIndices()[1 - rowDim];
  Value columns = arith::ConstantIndexOp::create(b, op.getLoc(), width);
  Value panel = arith::DivUIOp::create(b, op.getLoc(), column, columns);
  Value lane = arith::RemUIOp::create(b, op.getLoc(), column, columns);
  op.getIndicesMutable().assign({panel, op.getIndices()[rowDim], lane});
}

static bool pickFrom(BlockArgument argument, const PanelLayout &layout) {
  auto type = cast<RankedTensorType>(argument.getType());
  std::optional<unsigned> rowDim = findRowDim(type, layout);
  if (!rowDim || !llvm::all_of(argument.getUsers(), llvm::IsaPred<tensor::ExtractOp>))
    return false;
  for (Operation *user : argument.getUsers())
    pickAt(cast<tensor::ExtractOp>(user), *rowDim, layout.width);
  argument.setType(type.clone({layout.panels(), PanelLayout::count(layout.rows), layout.width}));
  return true;
}

bool gantry::cpu::pickFromPanels(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments())
    if (std::optional<PanelLayout> layout = PanelLayout::ofArgument(func, argument.getArgNumber()))
      if (!pickFrom(argument, *layout))
        return false;
  func.setType(FunctionType::get(func.getContext(), func.getBody().getArgumentTypes(),
                                 func.getResultTypes()));
  return true;
}
