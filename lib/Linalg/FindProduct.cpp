#include "gantry/Linalg/Product.h"

#include "gantry/Linalg/Emitter.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gantry;

SmallVector<int64_t> Product::sizes(ArrayRef<unsigned> loops) const {
  linalg::GenericOp generic = op;
  SmallVector<int64_t> all = generic.getStaticLoopRanges();
  return llvm::map_to_vector(loops, [&](unsigned loop) { return all[loop]; });
}

int64_t Product::count(ArrayRef<unsigned> loops) const {
  int64_t count = 1;
  for (int64_t size : sizes(loops))
    count *= size;
  return count;
}

//===----------------------------------------------------------------------===//
// The way back from the result
//===----------------------------------------------------------------------===//

static bool isReduction(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && generic.getNumReductionLoops() > 0;
}

bool gantry::isCheap(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return true;
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  (void)getBackwardSlice(tensor, &slice, options);
  return llvm::none_of(slice, isReduction);
}

namespace {
/// Follows the tensors whose element the result reads at its own place, in row-major order.
struct WayBack {
  linalg::GenericOp sum;
  bool isPlain = true;

  void follow(Value tensor) {
    Operation *op = tensor.getDefiningOp();
    if (!op || !isPlain)
      return;
    if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
      return follow(op->getOperand(0));
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic)
      return aside(tensor);
    if (isReduction(op)) {
      isPlain &= !sum || sum == generic;
      sum = generic;
      return;
    }
    bool isIdentity = llvm::all_of(generic.getDpsInitsMutable(), [&](OpOperand &init) {
      return generic.getMatchingIndexingMap(&init).isIdentity();
    });
    if (!isIdentity)
      return aside(tensor);
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()))
        continue;
      if (generic.getMatchingIndexingMap(&operand).isIdentity())
        follow(operand.get());
      else
        aside(operand.get());
    }
    // Elements that its body picks by itself.
    generic.getBody()->walk([&](tensor::ExtractOp extract) { aside(extract.getTensor()); });
  }

  /// Read somewhere else than at the result's own place: not behind the sum, then.
  void aside(Value tensor) { isPlain &= isCheap(tensor); }
};
} // namespace

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

std::optional<SmallVector<unsigned>> gantry::orderOfMove(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumReductionLoops() > 0 || op->getNumResults() != 1 ||
      op.getBody()->getTerminator()->getOperand(0) != op.getBody()->getArgument(0) ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
    return std::nullopt;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  if (map.isIdentity() || !map.isPermutation())
    return std::nullopt;
  SmallVector<unsigned> order(map.getNumResults());
  for (unsigned d = 0; d < order.size(); ++d)
    order[map.getDimPosition(d)] = d;
  return order;
}

Value gantry::skipMoves(Value tensor) {
  auto op = tensor.getDefiningOp<linalg::GenericOp>();
  while (op && orderOfMove(op)) {
    tensor = op->getOperand(0);
    op = tensor.getDefiningOp<linalg::GenericOp>();
  }
  return tensor;
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

/// The only argument of the body that `value` is computed from, if there is just one.
static BlockArgument onlySource(Value value, Block *body) {
  SmallVector<Value> open{value};
  llvm::SmallPtrSet<Value, 4> sources;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      if (argument.getOwner() != body)
        return {};
      sources.insert(argument);
    } else if (Operation *op = next.getDefiningOp(); op->getBlock() == body) {
      if (op->getNumRegions() > 0)
        return {};
      llvm::append_range(open, op->getOperands());
    }
  }
  return sources.size() == 1 ? cast<BlockArgument>(*sources.begin()) : BlockArgument();
}

bool gantry::isContractible(Value term) {
  auto product = term.getDefiningOp<arith::MulFOp>();
  return product &&
         arith::bitEnumContainsAny(product.getFastmath(), arith::FastMathFlags::contract);
}

/// sum + x * y, x of one operand and y of another.
static bool readBody(Product &product) {
  linalg::GenericOp op = product.op;
  Block *body = op.getBody();
  if (op->getNumResults() != 1 || op.getNumDpsInputs() < 2)
    return false;
  BlockArgument soFar = op.getRegionOutputArgs().front();
  product.add = body->getTerminator()->getOperand(0).getDefiningOp();
  if (!product.add || !isa<arith::AddFOp, arith::AddIOp>(product.add) || !soFar.hasOneUse())
    return false;
  Value term = product.add->getOperand(product.add->getOperand(0) == soFar ? 1 : 0);
  product.multiply = term.getDefiningOp();
  if (*soFar.user_begin() != product.add || !term.hasOneUse() ||
      !(isContractible(term) || isa_and_nonnull<arith::MulIOp>(product.multiply)))
    return false;
  for (auto [side, factor] :
       llvm::zip(std::array{&product.left, &product.right}, product.multiply->getOperands())) {
    BlockArgument source = onlySource(factor, body);
    if (!source || source == soFar)
      return false;
    *side = {op.getMatchingOpOperand(source), factor};
  }
  return product.left.operand != product.right.operand && product.right.operand->get() &&
         isa<RankedTensorType>(product.left.operand->get().getType()) &&
         isa<RankedTensorType>(product.right.operand->get().getType());
}

Value gantry::filledWith(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (auto fill = dyn_cast_or_null<linalg::FillOp>(op))
    return fill.value();
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || generic.getNumReductionLoops() > 0)
    return {};
  Value yielded = generic.getBody()->getTerminator()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(yielded);
  if (argument && argument.getOwner() == generic.getBody())
    return op->getOperand(argument.getArgNumber());
  return yielded;
}

/// Sums begin with zero, so that tiles need not ask what they begin with.
static bool beginsWithZero(linalg::GenericOp op) {
  Value start = filledWith(op.getDpsInits().front());
  return start && (matchPattern(start, m_AnyZeroFloat()) || matchPattern(start, m_Zero()));
}

//===----------------------------------------------------------------------===//
// The loops
//===----------------------------------------------------------------------===//

static llvm::SmallBitVector loopsUsedBy(linalg::GenericOp op, const Side &side) {
  llvm::SmallBitVector used(op.getNumLoops());
  AffineMap map = op.getMatchingIndexingMap(side.operand);
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    if (map.isFunctionOfDim(loop))
      used.set(loop);
  return used;
}

/// Columns own the dimension of the result in which neighbours are neighbours in memory.
static bool sortLoops(Product &product) {
  linalg::GenericOp op = product.op;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!map.isProjectedPermutation())
    return false;
  llvm::SmallBitVector left = loopsUsedBy(op, product.left), right = loopsUsedBy(op, product.right);
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  for (AffineExpr expr : llvm::reverse(map.getResults())) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    if (sizes[loop] == 1)
      continue;
    if (left.test(loop) && !right.test(loop)) {
      std::swap(product.left, product.right);
      std::swap(left, right);
    }
    break;
  }
  for (AffineExpr expr : map.getResults()) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    if (left.test(loop) == right.test(loop))
      product.batch.push_back(loop);
    else
      (left.test(loop) ? product.rows : product.columns).push_back(loop);
  }
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      product.k.push_back(loop);
  return true;
}

linalg::GenericOp gantry::findSum(Value result) {
  WayBack way;
  way.follow(result);
  return way.isPlain ? way.sum : linalg::GenericOp();
}

std::optional<Product> gantry::readProduct(linalg::GenericOp op) {
  Product product{op, {}, {}, nullptr, nullptr, {}, {}, {}, {}};
  if (!readBody(product) || !beginsWithZero(product.op) || !sortLoops(product))
    return std::nullopt;
  return product;
}

std::optional<Product> gantry::findProduct(Value result) {
  linalg::GenericOp sum = findSum(result);
  std::optional<Product> product = sum ? readProduct(sum) : std::nullopt;
  if (!product || !isCheap(product->left.operand->get()) || !isCheap(product->right.operand->get()))
    return std::nullopt;
  return product;
}
