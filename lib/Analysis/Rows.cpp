#include "gantry/Analysis/Rows.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;

using Rows = SmallVector<unsigned>;

/// The operands of the result's rank that do not stretch along its rows.
static Rows ofSameRows(Operation *op) {
  RankedTensorType result = typeOf(op->getResult(0));
  Rows rows;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    RankedTensorType type = typeOf(operand);
    if (type.getRank() == result.getRank() && type.getDimSize(0) == result.getDimSize(0))
      rows.push_back(i);
  }
  return rows;
}

/// Those, unless the op goes along one of `axes` and that is its rows.
static Rows unlessAlong(Operation *op, ArrayRef<int64_t> axes) {
  return llvm::is_contained(axes, 0) ? Rows() : ofSameRows(op);
}

/// A matrix has the rows of the left one; of several matrices each is a row.
static Rows ofProduct(MatmulOp op) {
  if (op.getType().getRank() > 2)
    return ofSameRows(op);
  return op.getTransposeA() ? Rows() : Rows{0};
}

/// What is gathered along the first dimension has the rows of the indices; else those of the input.
static Rows ofGather(GatherOp op) {
  if (op.getAxis() != 0)
    return {0};
  return op.getIndices().getType().getRank() > 0 ? Rows{1} : Rows();
}

static Rows ofSlice(SliceOp op) {
  bool isWhole = op.getStarts().front() == 0 && op.getSteps().front() == 1 &&
                 op.getSizes().front() == op.getInput().getType().getDimSize(0);
  return isWhole ? Rows{0} : Rows();
}

SmallVector<unsigned> gantry::rowOperandsOf(Operation *op) {
  if (op->getNumResults() != 1 || !isa<RankedTensorType>(op->getResult(0).getType()) ||
      rankOf(op->getResult(0)) == 0)
    return {};
  return llvm::TypeSwitch<Operation *, Rows>(op)
      .Case<MatmulOp>(ofProduct)
      // Images, and filters or factors of channels that all of them have in common.
      .Case<ConvOp, ConvTransposeOp, MaxPoolOp, AvgPoolOp, LpPoolOp, BatchNormOp, GroupNormOp,
            LrnOp>([](auto) { return Rows{0}; })
      // Queries of one matrix would have to know which row they are.
      .Case<AttentionOp>(
          [](AttentionOp op) { return op.getType().getRank() > 2 ? ofSameRows(op) : Rows(); })
      .Case<ReduceSumOp, ReduceMeanOp, ReduceMaxOp, ReduceMinOp, ReduceProdOp>(
          [](auto op) { return llvm::is_contained(op.getAxes(), 0) ? Rows() : Rows{0}; })
      .Case<ArgmaxOp, ArgminOp>([](auto op) { return op.getAxis() == 0 ? Rows() : Rows{0}; })
      .Case<SoftmaxOp, LogSoftmaxOp, CumsumOp, LayerNormOp, RmsNormOp, ConcatOp>(
          [](auto op) { return unlessAlong(op, int64_t(op.getAxis())); })
      .Case<TransposeOp>(
          [](auto op) { return op.getPermutation().front() == 0 ? Rows{0} : Rows(); })
      .Case<BroadcastOp>([](auto op) { return ofSameRows(op); })
      .Case<SliceOp>(ofSlice)
      .Case<PadOp>([](auto op) {
        return op.getLow().front() == 0 && op.getHigh().front() == 0 ? Rows{0} : Rows();
      })
      .Case<GatherOp>(ofGather)
      .Default([](Operation *other) {
        auto kernel = dyn_cast<KernelOpInterface>(other);
        bool isElementwise = kernel && isa<DimensionMapOpInterface>(other) &&
                             kernel.getFusionKind() == FusionKind::Elementwise;
        return isElementwise ? ofSameRows(other) : Rows();
      });
}

void gantry::setRows(Operation *op, int64_t rows) {
  RankedTensorType type = typeOf(op->getResult(0));
  SmallVector<int64_t> shape(type.getShape());
  shape.front() = rows;
  op->getResult(0).setType(type.clone(shape));
  if (auto slice = dyn_cast<SliceOp>(op))
    slice.setSizes(shape);
}
