// int8 products. There is one kernel for them: the convolution with packed filters, whose panels
// have four channels side by side.
//
//   matmul [..., m, k] x [k, n]    a convolution of m pixels with a window of one, k filled up to
//                                  whole words; many outputs that no panel divides to whole
//                                  panels, which are cut off behind what follows
//   conv                           channels filled up; it gets its form with all others
//   conv in groups                 without whole words in each group, as depthwise ones: in f32,
//                                  where sums of so few terms are exact

#include "Int8.h"

#include "InF32.h"
#include "Panels.h"
#include "Reorder.h"
#include "gantry/Dialect/Gantry/IR/Elements.h"
#include "gantry/Dialect/Gantry/IR/Layout.h"
#include "gantry/Dialect/Gantry/IR/Requests.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

static bool areBytes(Value left, Value right) {
  return typeOf(left).getElementType().isUnsignedInteger(8) &&
         typeOf(right).getElementType().isSignlessInteger(8);
}

static bool hasElements(Operation *op) {
  auto isFull = [](Value value) {
    return typeOf(value).hasStaticShape() && typeOf(value).getNumElements() > 0;
  };
  return llvm::all_of(op->getOperands(), isFull) && llvm::all_of(op->getResults(), isFull);
}

namespace {
struct Former {
  OpBuilder builder;
  Reorder reorder;

  explicit Former(MLIRContext *context) : builder(context), reorder(builder) {}

  static int64_t wholeWords(int64_t channels) {
    return llvm::alignTo(channels, kInt8PackingFactor);
  }

  void fillChannels(ConvOp conv) {
    builder.setInsertionPoint(conv);
    const int64_t size = wholeWords(shapeOf(conv.getInput())[1]);
    conv.getInputMutable().assign(reorder.fill(conv, conv.getInput(), 1, size));
    conv.getFilterMutable().assign(reorder.fill(conv, conv.getFilter(), 1, size));
  }

  /// Constant weights as numbers of f32; null for others.
  static Value numbers(ConvOp conv) {
    auto constant = conv.getFilter().getDefiningOp<ConstantOp>();
    auto type = typeOf(conv.getFilter());
    auto elements = constant ? readElements(constant.getValue(), type.getNumElements())
                             : std::optional<KnownElements>();
    if (!elements)
      return {};
    OpBuilder beside(constant);
    auto made = ConstantOp::create(beside, constant.getLoc(),
                                   makeElements(type.clone(beside.getF32Type()), *elements));
    made->setDiscardableAttrs(constant->getDiscardableAttrDictionary());
    return made;
  }

  /// Every sum of so few products of bytes is a number of f32, in any order.
  static bool isExactInF32(ConvOp conv) {
    const int64_t sizeK = typeOf(conv.getFilter()).getNumElements() / shapeOf(conv.getFilter())[0];
    return sizeK * 255 * 128 <= int64_t(1) << 24;
  }

  //===--- Products --------------------------------------------------------------------------===//

  /// The shape in which the rows of a product are pixels: batch, pixels, channels.
  static Shape imageShape(MatmulOp matmul) {
    constexpr size_t mostDims = 5;
    ArrayRef<int64_t> own = shapeOf(matmul.getLhs());
    if (own.size() >= 3 && own.size() <= mostDims)
      return Shape(own);
    return {1, ShapedType::getNumElements(own.drop_back()), own.back()};
  }

  /// Outputs of which no divisor fills registers are one panel (panelOfColumns), where rows of a
  /// register's length lie far apart in memory. Of many, such as the words of a language, few more
  /// make whole panels.
  static int64_t wholePanels(int64_t outputs, int64_t words) {
    constexpr int64_t many = 2048, panel = kPanelLanes * kPanelRegisters;
    const bool isOne = outputs >= many && panelOfColumns(outputs, words) == outputs;
    return isOne ? llvm::alignTo(outputs, panel) : outputs;
  }

  void convolve(MatmulOp matmul) {
    builder.setInsertionPoint(matmul);
    const bool isTurned = !matmul.getTransposeB();
    Value filter = matmul.getRhs();
    if (isTurned)
      filter = reorder.permute(matmul, filter, {1, 0}, "/filter");
    Shape shape = imageShape(matmul);
    const size_t spatial = shape.size() - 2;
    const int64_t channels = wholeWords(shape.back()), words = channels / kInt8PackingFactor;
    const int64_t outputs = wholePanels(shapeOf(filter)[0], words);
    filter = reorder.fill(matmul, filter, 1, channels);
    filter = reorder.fill(matmul, filter, 0, outputs);
    Shape window{outputs, channels}, ones(spatial, 1), none(spatial, 0);
    window.append(spatial, 1);
    filter = reorder.packFilter(matmul, reorder.reshape(matmul, filter, window),
                                panelOfColumns(outputs, words));
    Value image = reorder.reshape(matmul, matmul.getLhs(), shape);
    image = reorder.fill(matmul, image, spatial + 1, channels);
    shape.back() = outputs;
    auto type = RankedTensorType::get(shape, typeOf(matmul).getElementType());
    auto conv = ConvOp::create(
        builder, matmul.getLoc(), type, image, filter, ones, none, none, ones, /*groups=*/1,
        TypeAttr(), ImageLayoutAttr::get(matmul.getContext(), ImageLayout::NHWC), BorderAttr());
    conv->setDiscardableAttrs(matmul->getDiscardableAttrDictionary());
    if (shapeOf(conv) == shapeOf(matmul))
      matmul.replaceAllUsesWith(conv.getResult());
    else
      follow(matmul.getResult(), conv);
    matmul.erase();
  }

  /// Computes what follows a product element by element in the shape of the convolution, too, so
  /// that no view parts them.
  void follow(Value old, Value made) {
    Operation *user = old.hasOneUse() ? *old.user_begin() : nullptr;
    if (!user || !isLike(made, old) || !isElementwiseUse(*old.use_begin()) ||
        isa<BatchNormOp>(user) || user->getNumResults() != 1 ||
        shapeOf(user->getResult(0)) != shapeOf(old) || !fitOthers(user, old, made)) {
      builder.setInsertionPointAfterValue(made);
      Operation *like = made.getDefiningOp();
      made = cut(like, made, shapeOf(old).back());
      old.replaceAllUsesWith(reorder.reshape(like, made, shapeOf(old)));
      return;
    }
    builder.setInsertionPoint(user);
    SmallVector<Value> operands;
    for (Value operand : user->getOperands())
      operands.push_back(operand == old ? made : fit(user, operand, old, made));
    Operation *again = builder.clone(*user);
    again->setOperands(operands);
    Value result = again->getResult(0);
    result.setType(typeOf(made).clone(typeOf(result).getElementType()));
    follow(user->getResult(0), result);
    user->erase();
  }

  /// Whether the shape of the convolution is that of the product, but for a batch of one before it
  /// and outputs that fill it up.
  static bool isLike(Value made, Value old) {
    ArrayRef<int64_t> own = shapeOf(old).drop_back(), all = shapeOf(made).drop_back();
    return all == own || all.drop_front() == own;
  }

  /// Outputs that fill it up are for no one.
  Value cut(Operation *like, Value made, int64_t outputs) {
    Shape sizes(shapeOf(made));
    if (sizes.back() == outputs)
      return made;
    sizes.back() = outputs;
    const Shape starts(sizes.size(), 0), steps(sizes.size(), 1);
    auto slice = SliceOp::create(builder, like->getLoc(), typeOf(made).clone(sizes), made, starts,
                                 sizes, steps);
    placeLike(like, slice, "/outputs");
    return slice;
  }

  /// Whether an operand has a number for each output, which may be more now.
  static bool isOfOutputs(Value operand, Value old, Value made) {
    return shapeOf(made).back() != shapeOf(old).back() && !shapeOf(operand).empty() &&
           shapeOf(operand).back() == shapeOf(old).back();
  }

  /// Only rows of outputs are filled up, whole results are not worth it.
  static bool fitOthers(Operation *user, Value old, Value made) {
    return llvm::all_of(user->getOperands(), [&](Value operand) {
      return operand == old || !isOfOutputs(operand, old, made) ||
             typeOf(operand).getNumElements() == shapeOf(operand).back();
    });
  }

  /// Another operand of what follows a product.
  Value fit(Operation *user, Value operand, Value old, Value made) {
    if (shapeOf(made).size() != shapeOf(old).size())
      operand = withBatch(user, operand, shapeOf(old).size());
    if (isOfOutputs(operand, old, made))
      operand =
          reorder.fill(user, operand, int64_t(shapeOf(operand).size()) - 1, shapeOf(made).back());
    return operand;
  }

  /// An operand of so many dimensions with a batch of one before them.
  Value withBatch(Operation *like, Value operand, size_t rank) {
    Shape shape(shapeOf(operand));
    if (shape.size() == rank)
      shape.insert(shape.begin(), 1);
    return reorder.reshape(like, operand, shape);
  }
};
} // namespace

void gantry::putInt8InForm(func::FuncOp func, function_ref<bool(Operation *)> isOurs) {
  Former former(func.getContext());
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) {
    if (isa<ConvOp, MatmulOp>(op) && areBytes(op->getOperand(0), op->getOperand(1)) &&
        hasElements(op) && isOurs(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    auto conv = dyn_cast<ConvOp>(op);
    auto matmul = dyn_cast<MatmulOp>(op);
    if (conv && conv.getGroups() == 1)
      former.fillChannels(conv);
    else if (conv && panelOfFilter(conv) == 0 && Former::isExactInF32(conv))
      computeInF32(former.builder, former.reorder, conv, Former::numbers(conv));
    else if (matmul && !matmul.getTransposeA() && shapeOf(matmul.getRhs()).size() == 2 &&
             matmul.getRhs().getDefiningOp<ConstantOp>())
      former.convolve(matmul);
  }
}
