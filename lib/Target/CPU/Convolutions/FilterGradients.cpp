// The gradient of a filter is a convolution of images and channels in each other's place. Each of
// its terms, a place of an image, is a row of channels times a row of channels:
//
//   image [c, y x..., n], filter [1, places..., n, o], result [c, window..., o]
//
// Both operands lie with the channels last before they are put in that order, and this is how they
// are read: the last two transposes go into the kernel of the product that it is (Products/), whose
// rows are the channels of the window's places side by side. What is around the image is made in
// front of it, once for all places of the window.

#include "FilterGradients.h"

#include "Reorder.h"
#include "gantry/Dialect/Gantry/IR/Layout.h"
#include "gantry/Dialect/Gantry/IR/Requests.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

/// `value` with its border of zeros along the spatial dimensions, which are all but the first and
/// the last one.
static Value withBorder(ConvOp conv, Value value, OpBuilder &b) {
  auto isZero = [](int64_t pad) { return pad == 0; };
  if (llvm::all_of(conv.getPadsLow(), isZero) && llvm::all_of(conv.getPadsHigh(), isZero))
    return value;
  auto around = [&](ArrayRef<int64_t> pads) {
    Shape all(pads);
    all.insert(all.begin(), 0);
    all.push_back(0);
    return b.getDenseI64ArrayAttr(all);
  };
  auto scalar = RankedTensorType::get({}, elementOf(value));
  auto zero = ConstantOp::create(b, conv.getLoc(), cast<ElementsAttr>(b.getZeroAttr(scalar)));
  auto padded = PadOp::create(b, conv.getLoc(), value, zero, around(conv.getPadsLow()),
                              around(conv.getPadsHigh()),
                              PadModeAttr::get(conv.getContext(), PadMode::Constant));
  placeLike(conv, padded, "/border");
  const Shape none(conv.getPadsLow().size(), 0);
  conv.setPadsLow(none);
  conv.setPadsHigh(none);
  return padded;
}

/// What is left of the result where more was computed than the window has places: that is not
/// computed then. Of strides there is more, since the last places do not reach the image's end.
static void computeWanted(ConvOp conv) {
  auto box = conv->hasOneUse() ? dyn_cast<SliceOp>(*conv->user_begin()) : SliceOp();
  if (!box || !llvm::all_of(box.getStarts(), [](int64_t start) { return start == 0; }) ||
      !llvm::all_of(box.getSteps(), [](int64_t step) { return step == 1; }) ||
      box.getSizes().front() != conv.getType().getDimSize(0) ||
      box.getSizes().back() != conv.getType().getShape().back())
    return;
  conv.getResult().setType(box.getType());
  box.replaceAllUsesWith(conv.getResult());
  box.erase();
}

/// The part of an image that the windows reach.
static Value cut(ConvOp conv, Value image, OpBuilder &b) {
  ArrayRef<int64_t> places = shapeOf(conv.getFilter()), result = conv.getType().getShape();
  Shape sizes(shapeOf(image));
  for (size_t i = 0; i < conv.getStrides().size(); ++i)
    sizes[i + 1] = conv.getStrides()[i] * (result[i + 1] - 1) +
                   conv.getDilations()[i] * (places[i + 1] - 1) + 1;
  if (shapeOf(image) == ArrayRef<int64_t>(sizes))
    return image;
  auto type = RankedTensorType::get(sizes, elementOf(image));
  auto part = SliceOp::create(
      b, conv.getLoc(), type, image, b.getDenseI64ArrayAttr(Shape(sizes.size(), 0)),
      b.getDenseI64ArrayAttr(sizes), b.getDenseI64ArrayAttr(Shape(sizes.size(), 1)));
  placeLike(conv, part, "/reached");
  part->setAttr(kByRowsAttr, b.getUnitAttr());
  return part;
}

static Value turn(ConvOp conv, Value value, ArrayRef<int64_t> order, OpBuilder &b) {
  auto turned = TransposeOp::create(b, conv.getLoc(), value, b.getDenseI64ArrayAttr(Shape(order)));
  placeLike(conv, turned, "/terms");
  turned->setAttr(kByRowsAttr, b.getUnitAttr());
  return turned;
}

static void eraseUnused(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isOpTriviallyDead(op))
    return;
  SmallVector<Value> operands(op->getOperands());
  op->erase();
  for (Value operand : operands)
    eraseUnused(operand);
}

static void readByTerms(ConvOp conv) {
  computeWanted(conv);
  SmallVector<Value> before(conv->getOperands());
  OpBuilder b(conv);
  Reorder reorder(b);
  const int64_t rank = rankOf(conv.getInput()), spatial = rank - 2;
  // [c, spatial..., n] is [n, spatial..., c] both ways.
  Shape swap = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(swap.front(), swap.back());
  Value image = reorder.permute(conv, conv.getInput(), swap, "/images");
  image = cut(conv, withBorder(conv, image, b), b);
  conv.getInputMutable().assign(turn(conv, image, swap, b));
  // [o / panel, spatial..., n, panel] is [n, spatial..., o / panel, panel].
  Shape order{spatial + 1}, back{0};
  for (int64_t i = 0; i < spatial; ++i) {
    order.push_back(i + 1);
    back.push_back(i + 2);
  }
  order.append({0, spatial + 2});
  back.append({1, spatial + 2});
  Value places = reorder.permute(conv, conv.getFilter(), order, "/places");
  Shape shape(shapeOf(places).drop_back(2));
  shape.insert(shape.begin(), 1);
  shape.push_back(conv.getType().getShape().back());
  conv.getFilterMutable().assign(turn(conv, reorder.reshape(conv, places, shape), back, b));
  for (Value operand : before)
    eraseUnused(operand);
}

void gantry::readFiltersByTerms(func::FuncOp func) {
  SmallVector<ConvOp> filters;
  func.walk([&](Operation *op) {
    // What was made for a convolution has what this has.
    if (!op->hasAttr(kFilterGradientAttr))
      return;
    op->removeAttr(kFilterGradientAttr);
    if (auto conv = dyn_cast<ConvOp>(op); conv && isNHWC(conv))
      filters.push_back(conv);
  });
  for (ConvOp conv : filters)
    readByTerms(conv);
}
