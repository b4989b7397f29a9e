#include "Filters.h"

#include "gantry/Analysis/PanelLayout.h"
#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace gantry;

/// Of the plain form, row-major.
static SmallVector<int64_t> plainStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = shape[i] == 1 ? 0 : stride;
    stride *= shape[i];
  }
  return strides;
}

/// A matrix of one column, whose rows are all elements in their new order.
Attribute gantry::gpu::layoutOfConstant(KernelOp kernel, unsigned argument) {
  BlockArgument value = kernel.getBody().getArgument(argument);
  auto conv = value.hasOneUse() ? dyn_cast<ConvOp>(*value.user_begin()) : ConvOp();
  if (!conv || conv.getFilter() != value || conv.getInput() == value)
    return {};
  ArrayRef<int64_t> shape = shapeOf(value);
  int64_t channels = shape[1], window = ShapedType::getNumElements(shape.drop_front(2));
  if (channels <= 1 || window <= 1 || shape[0] == 0)
    return {};
  SmallVector<int64_t> strides = plainStrides(shape);
  PanelLayout layout;
  layout.width = 1;
  auto add = [&](size_t dimension) {
    if (shape[dimension] > 1)
      layout.rows.push_back({shape[dimension], strides[dimension]});
  };
  add(0);
  for (size_t dimension = 2; dimension < shape.size(); ++dimension)
    add(dimension);
  add(1);
  return layout.toAttr(kernel.getContext());
}

static std::optional<PanelLayout> layoutOf(BlockArgument argument) {
  auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return func ? PanelLayout::ofArgument(func, argument.getArgNumber()) : std::nullopt;
}

bool gantry::gpu::isPacked(BlockArgument argument) { return layoutOf(argument).has_value(); }

SmallVector<int64_t> gantry::gpu::stridesOfArgument(BlockArgument argument) {
  SmallVector<int64_t> strides = plainStrides(shapeOf(argument));
  std::optional<PanelLayout> layout = layoutOf(argument);
  if (!layout)
    return strides;
  // Strides of a plain form are different numbers, where they are not 0.
  SmallVector<int64_t> packed(strides.size(), 0);
  int64_t stride = 1;
  for (const PanelLayout::Loop &loop : llvm::reverse(layout->rows)) {
    packed[llvm::find(strides, loop.step) - strides.begin()] = stride;
    stride *= loop.size;
  }
  return packed;
}
