// A convolution whose filter and image are bf16 multiplies pairs of channels, as products of
// matrices do. Channels that do not fill pairs are filled up with zeros; in groups they are not,
// and a convolution of one channel a group has nothing to pair: these are not rounded.

#include "Pairs.h"

#include "Panels.h"
#include "Reorder.h"
#include "gantry/Dialect/Gantry/IR/Accumulators.h"
#include "gantry/Dialect/Gantry/IR/Layout.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

using namespace mlir;
using namespace gantry;

static int64_t channelsOf(ConvOp conv) { return typeOf(conv.getFilter()).getDimSize(1); }

bool gantry::hasPairs(ConvOp conv) {
  const int64_t packingFactor = packingFactorOfChannels(BFloat16Type::get(conv.getContext()));
  return panelOfFilter(conv) != 0 && channelsOf(conv) > 1 &&
         (conv.getGroups() == 1 || channelsOf(conv) % packingFactor == 0);
}

/// The image with so many channels. Borders in front of it stay there: they go into the
/// convolution.
static Value fillImage(ConvOp conv, int64_t channels, OpBuilder &builder, Reorder &reorder) {
  auto pad = conv.getInput().getDefiningOp<PadOp>();
  auto keepsChannels = [](ArrayRef<int64_t> sizes) { return sizes[1] == 0; };
  if (!pad || !pad->hasOneUse() || pad.getMode() != PadMode::Constant ||
      !keepsChannels(pad.getLow()) || !keepsChannels(pad.getHigh())) {
    builder.setInsertionPoint(conv);
    return reorder.fill(conv, conv.getInput(), 1, channels);
  }
  builder.setInsertionPoint(pad);
  pad.getInputMutable().assign(reorder.fill(conv, pad.getInput(), 1, channels));
  SmallVector<int64_t> shape(typeOf(pad).getShape());
  shape[1] = channels;
  pad.getResult().setType(typeOf(pad).clone(shape));
  return pad;
}

void gantry::fillPairs(func::FuncOp func, function_ref<bool(Operation *)> isOurs) {
  OpBuilder builder(func.getContext());
  Reorder reorder(builder);
  func.walk([&](ConvOp conv) {
    Type element = typeOf(conv.getFilter()).getElementType();
    if (!isOurs(conv) || !element.isBF16() || !givesAccumulators(conv) || conv.getGroups() != 1)
      return;
    const int64_t size = llvm::alignTo(channelsOf(conv), packingFactorOfChannels(element));
    if (size == channelsOf(conv))
      return;
    conv.getInputMutable().assign(fillImage(conv, size, builder, reorder));
    builder.setInsertionPoint(conv);
    conv.getFilterMutable().assign(reorder.fill(conv, conv.getFilter(), 1, size));
  });
}
