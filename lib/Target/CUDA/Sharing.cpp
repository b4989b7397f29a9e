// Follows indices backward from the kernel's result: each dimension of a tensor is read at the
// index of one dimension of the result, at an index that runs inside (a reduction), or at something
// computed.
#include "Sharing.h"

#include "Threads/Order.h"

#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry::gpu;
using gantry::shapeOf;

/// Not the index of a dimension of the result.
static constexpr int64_t kOther = -1;
/// Fewer terms than this one thread adds for a single element as fast as anybody.
static constexpr int64_t kFewTerms = 32;

using Dims = SmallVector<int64_t>;

namespace {
/// Where each dimension of the tensors is read.
struct Reads {
  Value result;
  llvm::DenseMap<Value, Dims> dims;

  explicit Reads(Value result) : result(result) {
    Dims own;
    for (int64_t d = 0; d < int64_t(shapeOf(result).size()); ++d)
      own.push_back(d);
    dims[result] = own;
    Operation *last = result.getDefiningOp();
    if (!last)
      return;
    // Single elements, in bodies and between the ops.
    last->getBlock()->walk([&](tensor::ExtractOp extract) { readSomewhere(extract.getTensor()); });
    // Behind the op that makes a tensor are the ops that read it.
    for (Operation *op = last; op; op = op->getPrevNode())
      visit(op);
  }

  /// One more read; what is read in two ways has no index of its own.
  void read(Value tensor, const Dims &at) {
    if (!isa<RankedTensorType>(tensor.getType()))
      return;
    auto [known, isNew] = dims.try_emplace(tensor, at);
    if (!isNew)
      for (auto [mine, other] : llvm::zip(known->second, at))
        if (mine != other)
          mine = kOther;
  }

  void visit(Operation *op) {
    for (Value value : op->getResults())
      if (auto found = dims.find(value); found != dims.end()) {
        Dims at = found->second; // the map may grow
        visit(op, cast<OpResult>(value), at);
      }
  }

  void visit(Operation *op, OpResult value, const Dims &at) {
    TypeSwitch<Operation *>(op)
        .Case([&](linalg::GenericOp generic) { visitGeneric(generic, value, at); })
        .Case([&](tensor::CollapseShapeOp reshape) {
          visitReshape(reshape.getSrc(), reshape.getReassociationIndices(), at, false);
        })
        .Case([&](tensor::ExpandShapeOp reshape) {
          visitReshape(reshape.getSrc(), reshape.getReassociationIndices(), at, true);
        })
        .Default([&](Operation *) {
          for (Value operand : op->getOperands())
            readSomewhere(operand);
        });
  }

  void readSomewhere(Value tensor) {
    if (isa<RankedTensorType>(tensor.getType()))
      read(tensor, Dims(shapeOf(tensor).size(), kOther));
  }

  void visitGeneric(linalg::GenericOp op, OpResult value, const Dims &at) {
    Dims loops(op.getNumLoops(), kOther);
    AffineMap map = op.getIndexingMapMatchingResult(value);
    for (auto [expr, d] : llvm::zip(map.getResults(), at))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        loops[dim.getPosition()] = d;
    for (OpOperand &operand : op->getOpOperands()) {
      Dims dims;
      for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults()) {
        auto dim = dyn_cast<AffineDimExpr>(expr);
        dims.push_back(dim ? loops[dim.getPosition()] : kOther);
      }
      read(operand.get(), dims);
    }
  }

  /// A dimension survives a reshape when the others of its group have one element.
  void visitReshape(Value source, ArrayRef<ReassociationIndices> groups, const Dims &at,
                    bool expands) {
    ArrayRef<int64_t> wide = shapeOf(source);
    Dims dims(wide.size(), kOther);
    for (auto [i, group] : llvm::enumerate(groups)) {
      if (expands) {
        // Of the result's dimensions in the group, the one that has more than one element.
        int64_t only = kOther, count = 0;
        for (int64_t d : group)
          if (at[d] == kOther || shapeOf(result)[at[d]] != 1) {
            only = at[d];
            ++count;
          }
        dims[i] = count == 1 ? only : kOther;
      } else {
        int64_t count = 0;
        for (int64_t d : group)
          count += wide[d] != 1;
        for (int64_t d : group)
          if (wide[d] != 1 && count == 1)
            dims[d] = at[i];
      }
    }
    read(source, dims);
  }
};
} // namespace

namespace {
/// Takes the ops of a kernel in order.
struct SharingFinder {
  Value result;
  Reads reads{result};
  Sharing sharing = {};
  llvm::SmallBitVector isRow{unsigned(shapeOf(result).size())};
  llvm::DenseSet<Value> behindKept = {}; ///< results that are computed from something kept

  /// How an op's results are read; null when they are not. Several of one op are read alike.
  const Dims *readsOf(linalg::GenericOp op) {
    for (Value value : op->getResults())
      if (auto found = reads.dims.find(value); found != reads.dims.end())
        return &found->second;
    return nullptr;
  }

  bool isBehindKept(Operation *op) {
    bool found = false;
    op->walk([&](Operation *inner) {
      found |= llvm::any_of(inner->getOperands(),
                            [&](Value operand) { return behindKept.contains(operand); });
    });
    return found;
  }

  bool isWorthKeeping(linalg::GenericOp op, const Dims &at) {
    llvm::SmallBitVector used(isRow.size());
    bool isWhole = false;
    for (auto [i, d] : llvm::enumerate(at)) {
      if (d == kOther)
        isWhole |= shapeOf(op->getResult(0))[i] != 1;
      else
        used.set(d);
    }
    // What a row computes element by element, and reads more than once.
    if (op.getNumReductionLoops() == 0)
      return isWhole && isBehindKept(op);
    if (termsOf(op) == 1)
      return false;
    int64_t owners = 1; // elements of the result that have one element of this of their own
    for (unsigned d : used.set_bits())
      owners *= shapeOf(result)[d];
    return isWhole || owners < ShapedType::getNumElements(shapeOf(result)) ||
           orderOf(op).lanes > 1 || (isJoined(op) && termsOf(op) >= kFewTerms);
  }

  void visit(Operation &op) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    const Dims *at = generic ? readsOf(generic) : nullptr;
    bool isKept = at && generic->getResult(0) != result && isWorthKeeping(generic, *at);
    bool isLast = at && generic->getResult(0) == result && generic.getNumReductionLoops() > 0 &&
                  isWorthKeeping(generic, *at);
    if (isKept || isLast) {
      sharing.kept.push_back({generic, *at});
      for (int64_t d : *at)
        if (d != kOther && generic.getNumReductionLoops() > 0)
          isRow.set(d);
    }
    if (isKept || isBehindKept(&op))
      for (Value value : op.getResults())
        behindKept.insert(value);
  }
};
} // namespace

Sharing gantry::gpu::findSharing(Value result) {
  Operation *last = result.getDefiningOp();
  if (!last || ShapedType::getNumElements(shapeOf(result)) == 0)
    return {};
  SharingFinder finder{result};
  for (Operation &op : *last->getBlock())
    finder.visit(op);
  for (unsigned d : finder.isRow.set_bits())
    finder.sharing.rows.push_back(d);
  // What a block keeps has to be indexed by its row, or be whole.
  for (Kept &kept : finder.sharing.kept)
    for (int64_t &d : kept.dims)
      if (d != kOther && !finder.isRow.test(d))
        d = kOther;
  return std::move(finder.sharing);
}

Alignment::Alignment(Value result) : result(result), dims(Reads(result).dims) {}

bool Alignment::isAligned(Value tensor) const {
  auto found = dims.find(tensor);
  if (found == dims.end() || shapeOf(tensor) != shapeOf(result))
    return false;
  for (auto [i, d] : llvm::enumerate(found->second))
    if (d != int64_t(i) && shapeOf(tensor)[i] != 1)
      return false;
  return true;
}

ArrayRef<int64_t> Alignment::dimsOf(Value tensor) const {
  auto found = dims.find(tensor);
  return found == dims.end() ? ArrayRef<int64_t>() : ArrayRef<int64_t>(found->second);
}
