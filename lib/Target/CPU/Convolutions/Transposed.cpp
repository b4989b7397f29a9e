// A transposed convolution whose window is `j` times its stride `s` spreads each pixel over j
// blocks of s pixels, in each dimension. So all pixels of a block are channels of one pixel of a
// convolution with a window of j, which has no stride, and its result is cut into blocks:
//
//   filter [c, o, j s...] -> [s... o, c, j...], read backwards along j
//   result [n, s... o, q...] -> [n, q s..., o], less the pads
//
// No term is wasted. With other windows some channels would have terms of zero, which are not what
// an infinite pixel has there; those go by phases (phasesOf). Without a stride it is the
// convolution with the filter turned round, or, where the filter is computed, one that reads it
// backwards.

#include "Transposed.h"

#include "Reorder.h"
#include "gantry/Dialect/Gantry/IR/Requests.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

/// Whether all are of f32, with sizes that are known and elements.
static bool areImages(std::initializer_list<RankedTensorType> types) {
  return llvm::all_of(types, [](RankedTensorType type) {
    return type.getElementType().isF32() && type.hasStaticShape() && type.getNumElements() != 0;
  });
}

/// What `sizes` say of the value, in the place of a part of `op`.
static Value slice(Operation *op, Value value, ArrayRef<int64_t> starts, ArrayRef<int64_t> sizes,
                   ArrayRef<int64_t> steps, StringRef suffix) {
  OpBuilder b(op);
  auto made = SliceOp::create(b, op->getLoc(), cast<RankedTensorType>(value.getType()).clone(sizes),
                              value, b.getDenseI64ArrayAttr(starts), b.getDenseI64ArrayAttr(sizes),
                              b.getDenseI64ArrayAttr(steps));
  placeLike(op, made, suffix);
  return made;
}

/// A filter read backwards along its window.
static Value turn(Operation *op, Value filter) {
  ArrayRef<int64_t> sizes = cast<RankedTensorType>(filter.getType()).getShape();
  Shape starts(sizes.size(), 0), steps(sizes.size(), 1);
  bool isOne = true;
  for (size_t i = 2; i < sizes.size(); ++i) {
    starts[i] = sizes[i] - 1;
    steps[i] = -1;
    isOne &= sizes[i] == 1;
  }
  return isOne ? filter : slice(op, filter, starts, sizes, steps, "/backwards");
}

namespace {
struct Blocks {
  ConvTransposeOp op;
  ArrayRef<int64_t> strides = op.getStrides(), low = op.getPadsLow();
  ArrayRef<int64_t> input = op.getInput().getType().getShape();
  ArrayRef<int64_t> filter = op.getFilter().getType().getShape();
  ArrayRef<int64_t> result = op.getType().getShape();
  size_t spatial = strides.size();

  /// Blocks that a pixel is spread over, along a dimension.
  int64_t window(size_t dim) const { return filter[dim + 2] / strides[dim]; }
  /// Blocks of the result with its pads.
  int64_t blocks(size_t dim) const { return input[dim + 2] + window(dim) - 1; }
  bool isCut(size_t dim) const { return result[dim + 2] != blocks(dim) * strides[dim]; }

  bool suits() {
    bool strided = false;
    for (size_t i = 0; i < spatial; ++i) {
      if (op.getDilations()[i] != 1 || filter[i + 2] % strides[i] != 0 ||
          low[i] + result[i + 2] > blocks(i) * strides[i])
        return false;
      strided |= strides[i] > 1;
    }
    return strided;
  }
};
} // namespace

/// Of strides of 1: the filter read backwards, with what the window reaches over the ends as
/// border.
static bool replaceByTurned(ConvTransposeOp op) {
  // Of fewer, what is transposed has vectors along the image, without a packed filter.
  constexpr int64_t leastChannels = 16;
  ArrayRef<int64_t> filter = op.getFilter().getType().getShape();
  if (filter[1] < leastChannels)
    return false;
  Shape low, high, order{1, 0};
  for (size_t i = 0; i < op.getStrides().size(); ++i) {
    const int64_t reach = op.getDilations()[i] * (filter[i + 2] - 1);
    low.push_back(reach - op.getPadsLow()[i]);
    high.push_back(reach - op.getPadsHigh()[i] + op.getOutputPads()[i]);
    if (op.getStrides()[i] != 1 || low.back() < 0 || high.back() < 0)
      return false;
    order.push_back(i + 2);
  }
  OpBuilder b(op);
  Reorder reorder(b);
  Value turned = turn(op, reorder.permute(op, op.getFilter(), order, "/turned"));
  auto conv = ConvOp::create(b, op.getLoc(), op.getType(), op.getInput(), turned, op.getStrides(),
                             low, high, op.getDilations(), /*groups=*/1);
  conv->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.replaceAllUsesWith(conv.getResult());
  op.erase();
  return true;
}

static Value makeFilter(const Blocks &of, Reorder &reorder) {
  Shape split{of.filter[0], of.filter[1]}, order, flat{of.filter[1], of.filter[0]};
  for (size_t i = 0; i < of.spatial; ++i) {
    split.append({of.window(i), of.strides[i]});
    order.push_back(2 * i + 3);
    flat[0] *= of.strides[i];
    flat.push_back(of.window(i));
  }
  order.append({1, 0});
  for (size_t i = 0; i < of.spatial; ++i)
    order.push_back(2 * i + 2);
  ConvTransposeOp op = of.op;
  Value blocks = reorder.reshape(op, op.getFilter(), split);
  return turn(op, reorder.reshape(op, reorder.permute(op, blocks, order, "/blocks"), flat));
}

static Value makeBlocks(const Blocks &of, Value filter, OpBuilder &b) {
  ConvTransposeOp op = of.op;
  Shape ones(of.spatial, 1), borders,
      shape{of.input[0], cast<RankedTensorType>(filter.getType()).getDimSize(0)};
  for (size_t i = 0; i < of.spatial; ++i) {
    borders.push_back(of.window(i) - 1);
    shape.push_back(of.blocks(i));
  }
  auto conv = ConvOp::create(b, op.getLoc(), op.getType().clone(shape), op.getInput(), filter, ones,
                             borders, borders, ones, /*groups=*/1);
  conv->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return conv;
}

void gantry::replaceByConvolution(ConvTransposeOp op) {
  if (!areImages({op.getType(), op.getInput().getType(), op.getFilter().getType()}) ||
      op.getGroups() != 1 || replaceByTurned(op))
    return;
  Blocks of{op};
  if (!of.suits())
    return;
  OpBuilder b(op);
  Reorder reorder(b);
  Value blocks = makeBlocks(of, makeFilter(of, reorder), b);
  const int64_t rank = of.result.size();
  // Channels last, so that what moves are runs of them.
  Shape split{of.result[0]}, order{0}, joined{of.result[0]}, starts(rank, 0), steps(rank, 1);
  bool isCut = false;
  for (size_t i = 0; i < of.spatial; ++i) {
    split.push_back(of.blocks(i));
    order.append({int64_t(i) + 1, int64_t(i + of.spatial) + 1});
    joined.push_back(of.blocks(i) * of.strides[i]);
    starts[i + 1] = of.low[i];
    isCut |= of.isCut(i);
  }
  llvm::append_range(split, of.strides);
  split.push_back(of.result[1]);
  order.push_back(2 * of.spatial + 1);
  joined.push_back(of.result[1]);
  Value last = reorder.permute(op, blocks, toChannelsLast(rank), "/channels_last");
  Value pixels = reorder.permute(op, reorder.reshape(op, last, split), order, "/pixels");
  Value image = reorder.reshape(op, pixels, joined);
  if (isCut)
    image = slice(op, image, starts, permuted(of.result, toChannelsLast(rank)), steps, "/box");
  op.replaceAllUsesWith(reorder.permute(op, image, toChannelsFirst(rank), "/channels_first"));
  op.erase();
}

// The gradient of a filter is a convolution, too, of images and channels in each other's place:
//
//   input [c, n, spatial...], filter: the cotangent, [o, n, spatial...], result [c, o, window...]
//
// Its strides are the dilations, and the other way round.
void gantry::replaceByConvolution(ConvFilterGradOp op) {
  constexpr int64_t leastChannels = 8; // side by side in vectors
  RankedTensorType image = op.getInput().getType(), cotangent = op.getCotangent().getType(),
                   result = op.getType();
  if (!areImages({image, cotangent, result}) || op.getGroups() != 1 ||
      cotangent.getDimSize(1) < leastChannels)
    return;
  Shape order{1, 0}, high, shape{image.getDimSize(1), cotangent.getDimSize(1)};
  for (int64_t i = 0; i + 2 < image.getRank(); ++i) {
    const int64_t window = op.getWindow()[i], stride = op.getStrides()[i],
                  dilation = op.getDilations()[i], low = op.getPadsLow()[i],
                  reach = stride * (cotangent.getDimSize(i + 2) - 1) + 1;
    // Just enough for the window; what the last places do not reach gives more.
    high.push_back(
        std::max<int64_t>(dilation * (window - 1) + reach - image.getDimSize(i + 2) - low, 0));
    shape.push_back((image.getDimSize(i + 2) + low + high.back() - reach) / dilation + 1);
    order.push_back(i + 2);
  }
  OpBuilder b(op);
  Reorder reorder(b);
  Value sums = ConvOp::create(b, op.getLoc(), result.clone(shape),
                              reorder.permute(op, op.getInput(), order, "/images"),
                              reorder.permute(op, op.getCotangent(), order, "/places"),
                              op.getDilations(), op.getPadsLow(), high, op.getStrides(),
                              /*groups=*/1);
  sums.getDefiningOp()->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  Shape wanted = permuted(result.getShape(), order);
  if (shape != wanted)
    sums = slice(op, sums, Shape(shape.size(), 0), wanted, Shape(shape.size(), 1), "/box");
  op.replaceAllUsesWith(reorder.permute(op, sums, order, "/filter"));
  op.erase();
}
