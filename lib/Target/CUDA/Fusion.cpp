// Ops join the kernel of their users when nothing is computed much more often for that.
//
// A kernel computes its result backwards, so any group is right; what it costs is what many
// elements compute again each for itself. Reductions along rows are shared by the block that has
// the row (docs/designs/gpu-code.md): they take in what is computed element by element in front of
// them, and what is behind them takes them in. Products are tiles, which an epilogue follows; in
// front of them and of windows everything would be computed as often as it is read, so that they
// take in nothing but the border of an image.

#include "Fusion.h"

#include "Products/AttentionTiles.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Target/CUDA/CUDATarget.h"
#include "gantry/Target/FusionPolicy.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;

/// How far back an op looks for what it is computed from.
static constexpr int kFarBack = 8;
/// Fewer rows than that leave most of a large GPU idle, one block a row.
static constexpr int64_t kManyRows = 128;
/// What memory gives at least.
static constexpr int64_t kSectorBytes = 32;
/// Rows from here on are long: a kernel of their own takes less time to start than they do.
static constexpr int64_t kLongRow = 32768;

static FusionKind kindOf(Operation *op) { return cast<KernelOpInterface>(op).getFusionKind(); }

static bool isElementwise(Operation *op) { return kindOf(op) == FusionKind::Elementwise; }

static ArrayRef<int64_t> resultShapeOf(Operation *op) { return shapeOf(op->getResult(0)); }

static int64_t countOf(Operation *op) { return ShapedType::getNumElements(resultShapeOf(op)); }

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {
/// What a reduction along the last dimensions reads.
struct Rows {
  ArrayRef<int64_t> shape; ///< of all elements
  unsigned axis;           ///< the first dimension of a row

  int64_t count() const { return ShapedType::getNumElements(shape.take_front(axis)); }
  int64_t length() const { return ShapedType::getNumElements(shape.drop_front(axis)); }
  bool operator==(const Rows &) const = default;

  /// Whether a tensor has an element for each row.
  bool areCounted(ArrayRef<int64_t> other) const {
    return other.size() >= axis && other.take_front(axis) == shape.take_front(axis) &&
           llvm::all_of(other.drop_front(axis), [](int64_t size) { return size == 1; });
  }

  /// One row is the work of one block.
  bool areFewAndLong() const { return count() < kManyRows && length() >= kLongRow; }
};
} // namespace

/// The axes of a plain reduction are the last ones, each once.
static std::optional<unsigned> firstOfLast(ArrayRef<int64_t> axes, unsigned rank) {
  SmallVector<int64_t> sorted(axes);
  llvm::sort(sorted);
  unsigned first = rank - std::min<size_t>(rank, sorted.size());
  for (auto [i, axis] : llvm::enumerate(sorted))
    if (axis != int64_t(first + i))
      return std::nullopt;
  return sorted.empty() ? std::nullopt : std::optional<unsigned>(first);
}

static std::optional<Rows> rowsOf(Operation *op) {
  if (op->getNumOperands() == 0)
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
  const unsigned rank = shape.size();
  std::optional<unsigned> axis =
      llvm::TypeSwitch<Operation *, std::optional<unsigned>>(op)
          .Case<ReduceSumOp, ReduceMeanOp, ReduceMaxOp, ReduceMinOp, ReduceProdOp>(
              [&](auto reduce) { return firstOfLast(reduce.getAxes(), rank); })
          .Case<ArgmaxOp, ArgminOp, SoftmaxOp, LogSoftmaxOp>(
              [&](auto reduce) { return firstOfLast({int64_t(reduce.getAxis())}, rank); })
          .Case<LayerNormOp, RmsNormOp>([](auto norm) { return unsigned(norm.getAxis()); })
          .Default(std::nullopt);
  if (!axis || llvm::is_contained(shape, 0))
    return std::nullopt;
  return Rows{shape, *axis};
}

/// Reads each element of its first operand once, or a few times.
static bool readsEachOnce(Operation *op) {
  return rowsOf(op) || isa<ReduceSumOp, ReduceMeanOp, ReduceMaxOp, ReduceMinOp, ReduceProdOp>(op);
}

//===----------------------------------------------------------------------===//
// What is computed how often
//===----------------------------------------------------------------------===//

/// A few instructions.
static bool isCheap(Operation *op) {
  return isa<AddOp, SubOp, MulOp, NegOp, AbsOp, MaximumOp, MinimumOp, ReluOp, CastOp, CompareOp,
             SelectOp, ClampOp, LogicalNotOp, LogicalAndOp, LogicalOrOp>(op);
}

/// The elements that the largest of the ops has: what comes to fewer in front of it is computed for
/// many of them.
static int64_t mostElements(ArrayRef<Operation *> group) {
  int64_t most = 0;
  for (Operation *op : group) {
    most = std::max(most, countOf(op));
    if (std::optional<Rows> rows = rowsOf(op))
      most = std::max(most, rows->count() * rows->length());
  }
  return most;
}

/// Whether numbers of rows meet the rows that they are of, not the columns, when they are
/// broadcast.
static bool hasRank(Operation *op, const Rows &rows) {
  return resultShapeOf(op).size() == rows.shape.size();
}

/// Whether the op has something to compute of one number a row, which a block has once: the sum of
/// squares below a root, before all elements of the row are divided by it.
static bool isBehindRows(Operation *op, int64_t elements, int back = kFarBack) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    Operation *maker = operand.getDefiningOp();
    if (!maker || !isa<KernelOpInterface>(maker) || operand.getType() != op->getResult(0).getType())
      return false;
    if (std::optional<Rows> rows = rowsOf(maker))
      return rows->count() * rows->length() == elements && hasRank(maker, *rows);
    return back > 0 && isElementwise(maker) && isBehindRows(maker, elements, back - 1);
  });
}

/// A product that a library is asked for has nothing behind it: who computes it does not depend on
/// what follows it.
static bool standsAlone(Operation *op) {
  auto product = dyn_cast<MatmulOp>(op);
  return product && product.getByLibraryAttr();
}

/// Whether the op is the end of a product, or of what follows one element by element: it stays with
/// that, which then is written once and in its last form.
static bool followsProduct(Operation *op, int back = kFarBack) {
  return llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
    Operation *maker = operand.get().getDefiningOp();
    if (!maker || !isa<KernelOpInterface>(maker) || !isElementwiseUse(operand) ||
        !operand.get().hasOneUse())
      return false;
    return (kindOf(maker) == FusionKind::Contraction && !standsAlone(maker)) ||
           (back > 0 && isElementwise(maker) && followsProduct(maker, back - 1));
  });
}

/// Whether the op ends a kernel that a reduction along rows is to be in.
static bool followsRows(Operation *op, int back = kFarBack) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    Operation *maker = operand.getDefiningOp();
    if (!maker || !isa<KernelOpInterface>(maker) || !llvm::all_equal(operand.getUsers()))
      return false;
    return rowsOf(maker) || (back > 0 && isElementwise(maker) && followsRows(maker, back - 1));
  });
}

//===----------------------------------------------------------------------===//
// Who joins
//===----------------------------------------------------------------------===//

/// Whether the ops in front of a transpose read one tensor of that size in turned order; others are
/// small, and stay in the cache.
static bool readsOneTensor(Operation *op) {
  auto isLarge = [&](Value operand) {
    return 16 * ShapedType::getNumElements(shapeOf(operand)) > countOf(op);
  };
  return llvm::count_if(op->getOperands(), isLarge) <= 1;
}

//===----------------------------------------------------------------------===//
// Transposes around products
//===----------------------------------------------------------------------===//

static int64_t bytesOfLast(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 0 ? 0 : type.getShape().back() * type.getElementTypeBitWidth() / 8;
}

/// A matrix product that writes its rows where the transpose has them.
static bool isWrittenInOrder(Operation *op) {
  auto transpose = dyn_cast<TransposeOp>(op);
  ArrayRef<int64_t> order = transpose ? transpose.getPermutation() : ArrayRef<int64_t>();
  return !order.empty() && order.back() == int64_t(order.size()) - 1 &&
         bytesOfLast(transpose.getResult()) >= kSectorBytes;
}

/// Products read matrices of another order where they are, if what lies together in memory is of
/// one matrix, a sector or more: its rows or its columns.
static bool isReadInOrder(TransposeOp op) {
  ArrayRef<int64_t> order = op.getPermutation();
  return order.size() >= 2 && llvm::is_contained(order.take_back(2), int64_t(order.size()) - 1) &&
         bytesOfLast(op.getInput()) >= kSectorBytes &&
         llvm::all_of(op->getUsers(),
                      [](Operation *user) { return isa<MatmulOp>(user) && !standsAlone(user); });
}

static bool elementwiseFits(Operation *op, ArrayRef<Operation *> group) {
  const int64_t most = mostElements(group);
  const bool hasRows = llvm::any_of(group, [](Operation *other) { return !isElementwise(other); });
  if (countOf(op) < most && !isCheap(op) && !isBehindRows(op, most))
    return false;
  // Its group may still take the product in.
  const bool isLast = llvm::all_of(op->getUses(), isElementwiseUse);
  if ((hasRows || !isLast) && followsProduct(op))
    return false;
  return llvm::all_of(op->getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isElementwise(user))
      return true;
    if (isa<TransposeOp>(user))
      return group.size() == 1 && readsOneTensor(op) && !followsRows(op);
    std::optional<Rows> rows = rowsOf(user);
    return readsEachOnce(user) && use.getOperandNumber() == 0 && !(rows && rows->areFewAndLong());
  });
}

/// At the end of a product, or of a reduction that is not along rows, come ops that have the same
/// elements.
static bool fitsAsStart(Operation *op, ArrayRef<Operation *> group) {
  if (isa<MatmulOp>(op) && group.size() == 1 && isWrittenInOrder(group.front()))
    return true;
  return llvm::all_of(group, isElementwise) && llvm::all_of(op->getUses(), isElementwiseUse) &&
         resultShapeOf(op) == resultShapeOf(group.front()) && countOf(op) == mostElements(group);
}

/// All reductions of a kernel are along the same rows, and all that is computed of them has one
/// element for each element, or for each row.
static bool rowsFit(Operation *op, const Rows &rows, ArrayRef<Operation *> group) {
  if (rows.areFewAndLong())
    return false;
  auto isOfRows = [&](ArrayRef<int64_t> shape) {
    return shape == rows.shape || rows.areCounted(shape);
  };
  return isOfRows(resultShapeOf(group.front())) &&
         llvm::all_of(group,
                      [&](Operation *other) {
                        if (isElementwise(other))
                          return true;
                        std::optional<Rows> others = rowsOf(other);
                        return others && *others == rows;
                      }) &&
         llvm::all_of(op->getUses(), [&](OpOperand &use) {
           Operation *user = use.getOwner();
           if (!isElementwise(user))
             return use.getOperandNumber() == 0;
           return isElementwiseUse(use) || (hasRank(op, rows) && isOfRows(resultShapeOf(user)));
         });
}

/// The border of an image, which a convolution sees when it reads there: a branch for each element
/// in the place of a kernel that writes the image again.
static bool borderFits(PadOp op) {
  return llvm::all_of(op->getUses(), [](OpOperand &use) {
    return use.getOperandNumber() == 0 && isa<ConvOp, ConvTransposeOp>(use.getOwner());
  });
}

/// A part of a tensor, or its elements in another order, read where they are.
static bool movementFits(Operation *op, ArrayRef<Operation *> group) {
  if (auto transpose = dyn_cast<TransposeOp>(op); transpose && isReadInOrder(transpose))
    return true;
  auto isTransposed = [](Operation *other) { return isa<TransposeOp>(other); };
  if (!isa<SliceOp, TransposeOp>(op) || !llvm::all_of(op->getUses(), isElementwiseUse) ||
      countOf(op) != mostElements(group))
    return false;
  if (isTransposed(op))
    return llvm::all_of(group, isElementwise);
  return llvm::none_of(group, isTransposed);
}

/// What tensor cores multiply of a product of elements of a type, on the GPUs that kernels are for.
static std::optional<gantry::gpu::CoreKind> coresFor(Type element, TargetAttr config) {
  if (oldestGPUArch(config) < kTensorCoreArch)
    return std::nullopt;
  if (element.isF32() && mayRoundToTF32(config))
    return gantry::gpu::CoreKind::tf32;
  return gantry::gpu::coreKindOf(element);
}

static bool suitsAttention(MatmulOp second, const AttentionSizes &sizes, TargetAttr config) {
  // Of rounded factors, scores are sums of f32.
  Type element = getElementTypeOrSelf(second.getLhs()),
       score = getElementTypeOrSelf(second.getType());
  if (standsAlone(second))
    return false;
  if (std::optional<gantry::gpu::CoreKind> kind = coresFor(element, config))
    return gantry::gpu::chooseAttention(sizes, *kind, score.getIntOrFloatBitWidth() / 8)
        .has_value();
  return element.isF32() && gantry::gpu::chooseAttention(sizes).has_value();
}

bool gantry::gpu::fitsGroup(Operation *op, ArrayRef<Operation *> group, TargetAttr config) {
  // A line's kernel has no room for what would follow.
  if (isa<AttentionOp, CumsumOp>(op) || !fitsSizeOfGroup(op, group))
    return false;
  auto suits = [config](MatmulOp second, const AttentionSizes &sizes) {
    return suitsAttention(second, sizes, config);
  };
  if (fitsAttention(op, group, suits, AttentionOperands::whole))
    return true;
  switch (kindOf(op)) {
  case FusionKind::Elementwise:
    return elementwiseFits(op, group);
  case FusionKind::Contraction:
    return !standsAlone(op) && fitsAsStart(op, group);
  case FusionKind::Reduction:
    if (std::optional<Rows> rows = rowsOf(op); rows && rowsFit(op, *rows, group))
      return true;
    return fitsAsStart(op, group);
  case FusionKind::Movement:
    if (auto border = dyn_cast<PadOp>(op))
      return borderFits(border);
    return movementFits(op, group);
  default:
    return false;
  }
}

//===----------------------------------------------------------------------===//
// Who is better two
//===----------------------------------------------------------------------===//

int64_t gantry::gpu::partsOfRows(Operation *op) {
  constexpr int64_t kFewestParts = 8, kMostParts = 4096;
  std::optional<Rows> rows = rowsOf(op);
  if (!rows || !rows->areFewAndLong())
    return 1;
  // The fewest parts that keep every multiprocessor of a large GPU busy, all of one length.
  const int64_t wanted = std::max(kFewestParts, 2 * kManyRows / rows->count());
  for (int64_t parts = wanted; parts <= std::min(kMostParts, rows->length() / 64); ++parts)
    if (rows->length() % parts == 0)
      return parts;
  return 1;
}
