// There are kernels for convolutions of f32. Others are computed there where that gives the same:
// of f16 and bf16 always, of bytes where the sums are small.
//
// A filter of 16 bits stays so in the plan, and is f32 from when that is loaded.

#include "InF32.h"

#include "SkipBorders.h"
#include "gantry/Dialect/Gantry/IR/Requests.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

using namespace mlir;
using namespace gantry;

static Value castLike(OpBuilder &builder, Operation *like, Value value, Type element,
                      StringRef suffix) {
  auto cast = CastOp::create(builder, like->getLoc(), typeOf(value).clone(element), value);
  placeLike(like, cast, suffix);
  return cast;
}

/// The image of a convolution. Borders of zeros stay in front of that: they go into it.
static Value imageInF32(OpBuilder &builder, ConvOp conv) {
  Type f32 = builder.getF32Type();
  auto pad = conv.getInput().getDefiningOp<PadOp>();
  if (!pad || !pad->hasOneUse() || !addsZeros(pad))
    return castLike(builder, conv, conv.getInput(), f32, "/image");
  Value inside = castLike(builder, conv, pad.getInput(), f32, "/image");
  auto zero = ConstantOp::create(
      builder, pad.getLoc(),
      cast<ElementsAttr>(builder.getZeroAttr(typeOf(pad.getValue()).clone(f32))));
  auto again = cast<PadOp>(builder.clone(*pad));
  again->setOperands({inside, zero});
  again.getResult().setType(typeOf(pad).clone(f32));
  return again;
}

void gantry::computeInF32(OpBuilder &builder, Reorder &reorder, ConvOp conv, Value filter) {
  builder.setInsertionPoint(conv);
  Type f32 = builder.getF32Type();
  Value image = imageInF32(builder, conv);
  Operation *border = conv.getInput().getDefiningOp<PadOp>();
  if (!filter)
    filter = castLike(builder, conv, conv.getFilter(), f32, "/filter");
  auto again = cast<ConvOp>(builder.clone(*conv));
  again.getInputMutable().assign(image);
  again.getFilterMutable().assign(filter);
  again.getResult().setType(typeOf(conv).clone(f32));
  Type element = typeOf(conv).getElementType();
  conv.replaceAllUsesWith(castLike(builder, conv, again, element, "/sums"));
  conv.erase();
  if (border && border->use_empty())
    border->erase();
}

static bool isOfHalves(ConvOp conv) {
  Type element = typeOf(conv).getElementType();
  return (element.isF16() || element.isBF16()) &&
         typeOf(conv.getInput()).getElementType() == element &&
         typeOf(conv.getFilter()).getElementType() == element;
}

void gantry::computeHalvesInF32(func::FuncOp func, function_ref<bool(Operation *)> isOurs) {
  OpBuilder builder(func.getContext());
  Reorder reorder(builder);
  SmallVector<ConvOp> convolutions;
  func.walk([&](ConvOp conv) {
    if (isOfHalves(conv) && isOurs(conv))
      convolutions.push_back(conv);
  });
  for (ConvOp conv : convolutions)
    computeInF32(builder, reorder, conv, Value());
}
