// Multiplies once behind a loop what its rounds would multiply and add up.
//
// A weight that every round reads gets from each a product of the round's rows, x^T d, and the loop
// carries the sum: a pass over the weight's size in every round for a few rows each. The rounds
// stack x and d instead, which are small, and behind the loop one product adds up all rows, those
// of the first round first, as the rounds come. Only ways back are changed: a sum that a program
// has in a loop of its own keeps the bits that it has there.

#include "gantry/Analysis/Zeros.h"
#include "gantry/Dialect/Gantry/IR/GradientBuilder.h"
#include "gantry/Dialect/Gantry/IR/Requests.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_HOISTSUMSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
/// A sum that a loop carries, and the product that each round adds to it.
struct Sum {
  unsigned carried;
  AddOp add;
  MatmulOp product;
};

/// One loop, and what takes its place.
class Hoister {
public:
  Hoister(WhileOp loop, int64_t most) : loop(loop), body(loop.getBody().front()), most(most) {}
  void run();

private:
  std::optional<Sum> findSum(unsigned carried);
  SmallVector<Value> addStacks();
  void removeSums();
  Value allRows(Value value, WhileOp made, OpBuilder &b);
  Value multiply(Sum sum, WhileOp made, OpBuilder &b);

  template <typename Op, typename... Args>
  Op make(OpBuilder &b, Operation *like, Args &&...args) {
    auto made = Op::create(b, loop.getLoc(), std::forward<Args>(args)...);
    inheritRequest(like, made);
    return made;
  }
  Value number(OpBuilder &b, int64_t value) {
    auto type = RankedTensorType::get({}, b.getI64Type());
    return ConstantOp::create(b, loop.getLoc(), DenseElementsAttr::get(type, value));
  }

  WhileOp loop;
  Block &body;
  int64_t most;
  SmallVector<Sum> sums;
  llvm::SmallSetVector<Value, 8> rows; ///< of the rounds, each of which has a stack
};
} // namespace

/// A product of rows, x^T d, that is added to something and read by nobody else.
static bool isOfRows(MatmulOp product) {
  if (!product->hasOneUse() || !product.getTransposeA() || product.getTransposeB() ||
      product.getAccumulateTypeAttr() || product.getBlockQuantizedAttr())
    return false;
  int64_t read = 0;
  for (Value factor : {product.getLhs(), product.getRhs()}) {
    if (rankOf(factor) != 2 || factor.getParentBlock() != product->getBlock())
      return false;
    read += typeOf(factor).getNumElements();
  }
  return read <= product.getType().getNumElements();
}

/// What the loop carries under that number, where it is nothing but such a sum.
std::optional<Sum> Hoister::findSum(unsigned carried) {
  BlockArgument sum = body.getArgument(carried);
  auto add = body.getTerminator()->getOperand(carried).getDefiningOp<AddOp>();
  if (!add || add->getBlock() != &body || !add->hasOneUse() || !sum.hasOneUse() ||
      !loop.getConditionBody().getArgument(carried).use_empty() ||
      (add.getLhs() != sum && add.getRhs() != sum))
    return std::nullopt;
  Value other = add.getLhs() == sum ? add.getRhs() : add.getLhs();
  auto product = other.getDefiningOp<MatmulOp>();
  if (!product || product->getBlock() != &body || product.getType() != sum.getType() ||
      !isOfRows(product))
    return std::nullopt;
  return Sum{carried, add, product};
}

/// A counter of the rounds and a stack for each of `rows`, in both regions; gives what they begin
/// with.
SmallVector<Value> Hoister::addStacks() {
  OpBuilder b(loop);
  Operation *like = sums.front().product;
  SmallVector<Value> begin{number(b, 0)};
  for (Value value : rows) {
    auto scalar = RankedTensorType::get({}, elementOf(value));
    Value zero = ConstantOp::create(b, loop.getLoc(), cast<ElementsAttr>(b.getZeroAttr(scalar)));
    begin.push_back(make<BroadcastOp>(
        b, like, scalar.clone({most, shapeOf(value)[0], shapeOf(value)[1]}), zero));
  }
  for (Region &region : loop->getRegions())
    for (Value init : begin)
      region.addArgument(init.getType(), loop.getLoc());
  auto own = body.getArguments().take_back(begin.size());
  Operation *end = body.getTerminator();
  b.setInsertionPoint(end);
  SmallVector<Value> next{make<AddOp>(b, like, own[0], number(b, 1))};
  for (auto [stack, value] : llvm::zip_equal(own.drop_front(), rows))
    next.push_back(make<SetSliceOp>(b, like, stack, value, own[0], uint64_t(0)));
  end->insertOperands(end->getNumOperands(), next);
  return begin;
}

/// The rounds do without them; their products are still there.
void Hoister::removeSums() {
  for (const Sum &sum : llvm::reverse(sums)) {
    body.getTerminator()->eraseOperand(sum.carried);
    sum.add->erase();
    body.eraseArgument(sum.carried);
    loop.getConditionBody().eraseArgument(sum.carried);
  }
}

/// Those of all rounds, one below the other.
Value Hoister::allRows(Value value, WhileOp made, OpBuilder &b) {
  const auto place = std::distance(rows.begin(), llvm::find(rows, value));
  Value stack = made.getResults().take_back(rows.size())[place];
  ArrayRef<int64_t> shape = shapeOf(stack);
  return make<ReshapeOp>(b, sums.front().product,
                         typeOf(stack).clone({shape[0] * shape[1], shape[2]}), stack);
}

/// The sum of all rounds and of what it began with.
Value Hoister::multiply(Sum sum, WhileOp made, OpBuilder &b) {
  Value lhs = allRows(sum.product.getLhs(), made, b), rhs = allRows(sum.product.getRhs(), made, b);
  auto product = cast<MatmulOp>(b.clone(*sum.product));
  product->setOperands({lhs, rhs});
  Value init = loop.getInits()[sum.carried];
  return isZeros(init) ? Value(product) : Value(make<AddOp>(b, product, init, product));
}

void Hoister::run() {
  for (unsigned i = 0; i < loop.getInits().size(); ++i)
    if (auto sum = findSum(i))
      sums.push_back(*sum);
  if (sums.empty())
    return;
  for (Sum &sum : sums) {
    rows.insert(sum.product.getLhs());
    rows.insert(sum.product.getRhs());
  }
  SmallVector<Value> inits, begin = addStacks();
  removeSums();
  llvm::SmallBitVector isSum(loop.getInits().size());
  for (const Sum &sum : sums)
    isSum.set(sum.carried);
  for (auto [i, init] : llvm::enumerate(loop.getInits()))
    if (!isSum[i])
      inits.push_back(init);
  llvm::append_range(inits, begin);
  OpBuilder b(loop);
  auto made =
      WhileOp::create(b, loop.getLoc(), TypeRange(ValueRange(inits)), inits, loop.getAtMostAttr());
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  for (const Sum &sum : sums)
    loop.getResult(sum.carried).replaceAllUsesWith(multiply(sum, made, b));
  for (const Sum &sum : sums)
    sum.product->erase();
  for (auto [from, to] : llvm::zip(loop->getRegions(), made->getRegions()))
    to.takeBody(from);
  auto result = made.getResults().begin();
  for (OpResult old : loop->getResults())
    if (!isSum[old.getResultNumber()])
      old.replaceAllUsesWith(*result++);
  loop.erase();
}

namespace {
struct HoistSums : gantry::impl::HoistSumsPassBase<HoistSums> {
  void runOnOperation() override {
    SmallVector<WhileOp> loops; // inner ones first
    getOperation().walk([&](WhileOp loop) {
      if (loop->hasAttr(kBoundedAttr) && loop.getAtMost().value_or(0) > 0)
        loops.push_back(loop);
    });
    for (WhileOp loop : loops)
      Hoister(loop, *loop.getAtMost()).run();
  }
};
} // namespace
