#include "Places.h"

#include "Filters.h"
#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

namespace {
/// An argument in some shape.
struct View {
  BlockArgument argument;
  SmallVector<int64_t> strides;
};

/// A number that is `start` and so much for each step of each loop.
struct Sum {
  int64_t start = 0;
  SmallVector<int64_t> steps;

  bool add(AffineExpr expr, int64_t factor);
};
} // namespace

bool Sum::add(AffineExpr expr, int64_t factor) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    start += constant.getValue() * factor;
    return true;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    steps[dim.getPosition()] += factor;
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (expr.getKind() == AffineExprKind::Add)
    return add(binary.getLHS(), factor) && add(binary.getRHS(), factor);
  auto by = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return expr.getKind() == AffineExprKind::Mul && by &&
         add(binary.getLHS(), factor * by.getValue());
}

/// Dimensions that are cut into several.
static std::optional<View> expanded(tensor::ExpandShapeOp op, View view) {
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  SmallVector<int64_t> strides(shape.size(), 0);
  for (auto [source, group] : llvm::enumerate(op.getReassociationIndices())) {
    int64_t stride = view.strides[source];
    for (int64_t d : llvm::reverse(group)) {
      strides[d] = shape[d] == 1 ? 0 : stride;
      stride *= shape[d];
    }
  }
  return View{view.argument, strides};
}

/// Dimensions that become one have to follow each other evenly.
static std::optional<View> collapsed(tensor::CollapseShapeOp op, View view) {
  ArrayRef<int64_t> shape = shapeOf(op.getSrc());
  SmallVector<int64_t> strides;
  for (const auto &group : op.getReassociationIndices()) {
    int64_t stride = 0, next = 0;
    for (int64_t d : llvm::reverse(group)) {
      if (shape[d] == 1)
        continue;
      if (stride != 0 && view.strides[d] != next)
        return std::nullopt;
      if (stride == 0)
        stride = view.strides[d];
      next = view.strides[d] * shape[d];
    }
    strides.push_back(stride);
  }
  return View{view.argument, strides};
}

/// Dimensions in another order.
static std::optional<View> turned(linalg::GenericOp op, ArrayRef<unsigned> order,
                                  const View &view) {
  View moved{view.argument, {}};
  for (auto [d, from] : llvm::enumerate(order))
    moved.strides.push_back(shapeOf(op->getResult(0))[d] == 1 ? 0 : view.strides[from]);
  return moved;
}

static std::optional<View> viewOf(Value tensor) {
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return View{argument, stridesOfArgument(argument)};
  auto through = [&](auto op, auto change) -> std::optional<View> {
    std::optional<View> view = viewOf(op.getSrc());
    return view ? change(op, *view) : std::nullopt;
  };
  if (auto expand = tensor.getDefiningOp<tensor::ExpandShapeOp>())
    return through(expand, expanded);
  if (auto collapse = tensor.getDefiningOp<tensor::CollapseShapeOp>())
    return through(collapse, collapsed);
  auto move = tensor.getDefiningOp<linalg::GenericOp>();
  if (auto order = move ? orderOfMove(move) : std::nullopt)
    if (std::optional<View> view = viewOf(move->getOperand(0)))
      return turned(move, *order, *view);
  return std::nullopt;
}

/// The tensor of whose elements the op makes one each at its own place, of the same type, with
/// nothing else but scalars; null if it does otherwise.
static Value onlyOperandOf(linalg::GenericOp op) {
  if (op->getNumResults() != 1 || op.getNumReductionLoops() > 0 || op.hasIndexSemantics() ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity() ||
      !op.getRegionOutputArgs().front().use_empty())
    return {};
  Value only;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    if (map.getNumResults() == 0)
      continue;
    if (only || !map.isIdentity() || input->get().getType() != op->getResult(0).getType())
      return {};
    only = input->get();
  }
  return only;
}

std::optional<Places> Places::of(const Product &product, const Side &side) {
  linalg::GenericOp op = product.op;
  Value tensor = side.operand->get();
  SmallVector<linalg::GenericOp, 1> bodies;
  auto scaled = tensor.getDefiningOp<linalg::GenericOp>();
  while (Value from = scaled ? onlyOperandOf(scaled) : Value()) {
    bodies.insert(bodies.begin(), scaled);
    tensor = from;
    scaled = tensor.getDefiningOp<linalg::GenericOp>();
  }
  auto pad = tensor.getDefiningOp<tensor::PadOp>();
  Value border = pad ? pad.getConstantPaddingValue() : Value();
  bool isStatic = !pad || !ShapedType::isDynamicShape(pad.getStaticLow());
  if (!isStatic || (pad && (!border || !bodies.empty())))
    return std::nullopt;
  std::optional<View> view = viewOf(pad ? pad.getSource() : tensor);
  if (!view)
    return std::nullopt;
  Places places{view->argument, 0, SmallVector<int64_t>(op.getNumLoops(), 0), {}, border, bodies};
  AffineMap map = op.getMatchingIndexingMap(side.operand);
  for (auto [d, expr] : llvm::enumerate(map.getResults())) {
    Sum index{0, SmallVector<int64_t>(op.getNumLoops(), 0)};
    if (!index.add(expr, 1))
      return std::nullopt;
    if (pad) {
      int64_t low = pad.getStaticLow()[d], size = shapeOf(pad.getSource())[d];
      index.start -= low;
      if (low != 0 || size != shapeOf(pad.getResult())[d])
        places.borders.push_back({index.start, size, index.steps});
    }
    places.start += index.start * view->strides[d];
    for (auto [step, own] : llvm::zip(places.steps, index.steps))
      step += own * view->strides[d];
  }
  return places;
}

//===----------------------------------------------------------------------===//
// Walks
//===----------------------------------------------------------------------===//

bool Walk::Loop::meetsBorder() const {
  return llvm::any_of(borders, [](int64_t step) { return step != 0; });
}

Walk::Walk(const Places &places, ArrayRef<int64_t> sizes, ArrayRef<unsigned> numbers) {
  for (unsigned number : numbers) {
    if (sizes[number] == 1)
      continue;
    Loop next{sizes[number], places.steps[number], {}};
    for (const Border &border : places.borders)
      next.borders.push_back(border.steps[number]);
    bool follows = !loops.empty() && loops.back().step == next.step * next.size &&
                   !loops.back().meetsBorder() && !next.meetsBorder();
    if (!follows) {
      loops.push_back(next);
      continue;
    }
    loops.back().size *= next.size;
    loops.back().step = next.step;
  }
}

Walk::Loop Walk::last() const { return loops.empty() ? Loop{1, 0, {}} : loops.back(); }

bool Walk::isMultipleOf(int64_t values, bool along) const {
  return llvm::all_of(loops, [&](const Loop &loop) {
    return (along && &loop == &loops.back() ? loop.size : loop.step) % values == 0;
  });
}

//===----------------------------------------------------------------------===//
// Spots
//===----------------------------------------------------------------------===//

/// Towards borders numbers are below zero, too, so that nothing is said of overflows.
static Value plus(ImplicitLocOpBuilder &b, Value x, Value y, bool isNatural) {
  if (!x || !y)
    return x ? x : y;
  return isNatural ? addIndex(b, x, y) : Value(arith::AddIOp::create(b, x, y));
}

void Spot::start(ImplicitLocOpBuilder &b, const Places &places) {
  auto moved = [&](Value x, int64_t by) {
    return x && by == 0 ? x : plus(b, x, indexConstant(b, by), borders.empty());
  };
  address = moved(address, places.start);
  for (auto [own, border] : llvm::zip(borders, places.borders))
    own = moved(own, border.start);
}

void Spot::move(ImplicitLocOpBuilder &b, const Walk::Loop &loop, Value index) {
  if (loop.step != 0)
    address = plus(b, address, mulIndex(b, index, loop.step), borders.empty());
  for (auto [own, step] : llvm::zip(borders, loop.borders))
    if (step != 0)
      own = plus(b, own, mulIndex(b, index, step), false);
}

void Spot::add(ImplicitLocOpBuilder &b, const Spot &other) {
  address = plus(b, address, other.address, borders.empty());
  for (auto [own, more] : llvm::zip(borders, other.borders))
    own = plus(b, own, more, false);
}
