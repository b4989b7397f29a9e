// Elementwise ops join the sums that read them, and sums over the same elements share a kernel: the
// elements are read once, and nothing of their size is stored. A layer norm's gradient adds up over
// rows what comes in, and what comes in times the normalised input, which is made again of mean and
// deviation.
//
// A sum has to keep the order of its terms, a function of shapes (gantry-emit-register-tiles).
// - Sums over rows, whose columns lie side by side, go through all dimensions that are added up as
//   one loop where they are neighbours. They do with others only if what these read lies along all
//   of such dimensions or along none. Columns come in whole vectors, of which items have some.
// - Sums along rows are added up by vectors: rows are whole steps of these, or the rest would be a
//   loop that LLVM vectorises as it likes. A row is in the cache, so that its mean may be read by
//   what a second sum adds up.

#include "Sums.h"

#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Target/FusionPolicy.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::cpu;

/// Columns of a vector register, and what vectors along a row take at a step.
static constexpr int64_t kLanes = 16, kRowStep = 64;
/// Longer rows leave the nearest caches.
static constexpr int64_t kLongestRow = 32768;
/// Of several groups in one kernel, as with elementwise ops; sums have registers of their own.
static constexpr size_t kMostOps = 32, kMostTensors = 16, kMostSums = 4;

static bool isSum(Operation *op) { return isa<ReduceSumOp, ReduceMeanOp>(op); }

static ArrayRef<int64_t> axesOf(Operation *sum) {
  auto mean = dyn_cast<ReduceMeanOp>(sum);
  return mean ? mean.getAxes() : cast<ReduceSumOp>(sum).getAxes();
}

static bool isF32(Value value) { return typeOf(value).getElementType().isF32(); }

static bool isOneLoop(Operation *op) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  return kernel && op->getNumResults() == 1 && !isa<BatchNormOp>(op) &&
         kernel.getFusionKind() == FusionKind::Elementwise;
}

namespace {
/// The ops of a kernel.
struct Checker {
  ArrayRef<Operation *> ops;
  Operation *sum;                                      ///< the first one
  ArrayRef<int64_t> axes = axesOf(sum);                ///< of all
  ArrayRef<int64_t> all = shapeOf(sum->getOperand(0)); ///< what they add up
  ArrayRef<int64_t> left = shapeOf(sum->getResult(0)); ///< what comes of it

  bool isInside(Operation *op) const { return op && llvm::is_contained(ops, op); }
  bool isFront(Operation *op) const { return !isSum(op) && shapeOf(op->getResult(0)) == all; }
  bool isAlongRows() const { return axes == ArrayRef<int64_t>{int64_t(all.size()) - 1}; }

  bool suits() const {
    if (all.empty() || axes.empty() || llvm::is_contained(all, 0) ||
        ShapedType::getNumElements(all) == ShapedType::getNumElements(left))
      return false;
    if (isAlongRows())
      return all.back() % kRowStep == 0 && all.back() <= kLongestRow;
    return !llvm::is_contained(axes, int64_t(all.size()) - 1) && all.back() % kLanes == 0;
  }

  /// How many elements of a dimension of `all` the value has; it is read at their places.
  int64_t sizeAt(Value value, int64_t dim) const {
    ArrayRef<int64_t> shape = shapeOf(value);
    int64_t own = dim - int64_t(all.size() - shape.size());
    return own < 0 ? 1 : shape[own];
  }

  /// Whether what is read beside the elements leaves the loops of the sums as they are.
  bool keepsLoops(Value value) const {
    ArrayRef<int64_t> shape = shapeOf(value);
    if (shape == all || shape.empty())
      return true;
    if (shape.size() > all.size() || typeOf(value).getNumElements() == 1)
      return false;
    if (isAlongRows())
      return true;
    auto isStretched = [&](int64_t axis) { return all[axis] == 1 || sizeAt(value, axis) == 1; };
    auto isWhole = [&](int64_t axis) { return sizeAt(value, axis) == all[axis]; };
    return llvm::all_of(axes, isStretched) || llvm::all_of(axes, isWhole);
  }

  /// An elementwise op that the sums add up the results of.
  bool isRightInFront(Operation *op) const {
    return isF32(op->getResult(0)) && !op->use_empty() &&
           llvm::all_of(op->getUses(),
                        [&](OpOperand &use) {
                          return isInside(use.getOwner()) &&
                                 (isSum(use.getOwner())
                                      ? use.getOperandNumber() == 0
                                      : isFront(use.getOwner()) && isElementwiseUse(use));
                        }) &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             Operation *maker = operand.getDefiningOp();
             return isF32(operand) && keepsLoops(operand) &&
                    (!isInside(maker) || isFront(maker) || isAlongRows());
           });
  }

  /// What follows the sums is computed from their results, element by element, and may be read by
  /// those in front of a second sum along the row.
  bool isRightBehind(Operation *op) const {
    return shapeOf(op->getResult(0)) == left && llvm::all_of(op->getUses(), [&](OpOperand &use) {
             Operation *user = use.getOwner();
             return !isInside(user) || isFront(user) || isElementwiseUse(use);
           });
  }

  bool isRight(Operation *op) const {
    if (isSum(op))
      return axesOf(op) == axes && shapeOf(op->getOperand(0)) == all && isF32(op->getResult(0)) &&
             isRightBehind(op);
    return isOneLoop(op) && (isFront(op) ? isRightInFront(op) : isRightBehind(op));
  }

  size_t countTensors() const {
    llvm::SmallDenseSet<Value> read;
    for (Operation *op : ops)
      for (Value operand : op->getOperands())
        if (!isInside(operand.getDefiningOp()) && !shapeOf(operand).empty())
          read.insert(operand);
    return read.size();
  }
};
} // namespace

bool gantry::cpu::areSums(ArrayRef<Operation *> ops) {
  auto first = llvm::find_if(ops, isSum);
  if (first == ops.end() || ops.size() > kMostOps || size_t(llvm::count_if(ops, isSum)) > kMostSums)
    return false;
  Checker checker{ops, *first};
  return checker.suits() && checker.countTensors() <= kMostTensors &&
         llvm::all_of(ops, [&](Operation *op) { return checker.isRight(op); });
}
