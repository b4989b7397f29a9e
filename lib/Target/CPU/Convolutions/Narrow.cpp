// A convolution whose filter and image are rounded to bf16 multiplies pairs of channels, as
// products of matrices do. Channels that do not fill pairs are filled up with zeros; in groups they
// are not, and a convolution of one channel a group has nothing to pair: these stay as they are.
//
// Filters that are constants are rounded here. An image is rounded by a cast of its own behind what
// makes it, once for all that read it, so that it goes into the kernel that makes the image.

#include "Narrow.h"

#include "Panels.h"
#include "Reorder.h"
#include "gantry/Dialect/Gantry/IR/Accumulators.h"
#include "gantry/Dialect/Gantry/IR/Layout.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Target/Rounder.h"

using namespace mlir;
using namespace gantry;

/// By shapes alone, so that what is rounded does not depend on what a reorder costs.
static bool suits(ConvOp conv) {
  if (!typeOf(conv.getInput()).getElementType().isF32() || panelOfFilter(conv) == 0)
    return false;
  const int64_t channels = typeOf(conv.getFilter()).getDimSize(1);
  const int64_t together = channelsTogether(BFloat16Type::get(conv.getContext()));
  return channels > 1 && (conv.getGroups() == 1 || channels % together == 0);
}

namespace {
struct Narrower : Rounder {
  using Rounder::Rounder;

  Reorder reorder{builder};

  /// The image of a convolution, with so many channels. Borders in front of it stay there: they go
  /// into the convolution.
  Value imageOf(ConvOp conv, int64_t channels) {
    auto pad = conv.getInput().getDefiningOp<PadOp>();
    auto keepsChannels = [](ArrayRef<int64_t> sizes) { return sizes[1] == 0; };
    if (!pad || !pad->hasOneUse() || pad.getMode() != PadMode::Constant ||
        !keepsChannels(pad.getLow()) || !keepsChannels(pad.getHigh())) {
      Value image = round(conv.getInput(), conv, "/image");
      builder.setInsertionPoint(conv);
      return reorder.fill(conv, image, 1, channels);
    }
    Value inside = round(pad.getInput(), conv, "/image"), around = round(pad.getValue(), conv, "");
    builder.setInsertionPoint(pad);
    inside = reorder.fill(conv, inside, 1, channels);
    SmallVector<int64_t> shape(typeOf(pad).getShape());
    shape[1] = channels;
    auto again = cast<PadOp>(builder.clone(*pad));
    again->setOperands({inside, around});
    again.getResult().setType(RankedTensorType::get(shape, element));
    return again;
  }

  using Rounder::narrow;
  void narrow(ConvOp conv) {
    const int64_t together = channelsTogether(element);
    const int64_t size = llvm::alignTo(typeOf(conv.getFilter()).getDimSize(1), together);
    Value image = imageOf(conv, size * int64_t(conv.getGroups()));
    Value filter = round(conv.getFilter(), conv, "/filter");
    builder.setInsertionPoint(conv);
    filter = reorder.fill(conv, filter, 1, size);
    Operation *pad = conv.getInput().getDefiningOp<PadOp>();
    conv.getInputMutable().assign(image);
    conv.getFilterMutable().assign(filter);
    giveAccumulators(conv);
    if (pad && pad->use_empty())
      pad->erase();
  }
};
} // namespace

void gantry::narrowConvolutions(func::FuncOp func, function_ref<bool(Operation *)> isOurs) {
  Narrower narrower(BFloat16Type::get(func.getContext()));
  SmallVector<ConvOp> convolutions;
  func.walk([&](ConvOp conv) {
    if (isOurs(conv) && suits(conv))
      convolutions.push_back(conv);
  });
  for (ConvOp conv : convolutions)
    narrower.narrow(conv);
}
