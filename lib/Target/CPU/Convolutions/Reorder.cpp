// Constants in another order: weights are packed when a plan is made, not when it runs.

#include "Reorder.h"

#include "gantry/Dialect/Gantry/IR/Layout.h"
#include "gantry/Dialect/Gantry/IR/Requests.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

Shape gantry::toChannelsLast(int64_t rank) {
  Shape order{0};
  for (int64_t d = 2; d < rank; ++d)
    order.push_back(d);
  order.push_back(1);
  return order;
}

Shape gantry::toChannelsFirst(int64_t rank) {
  Shape order{0, rank - 1};
  for (int64_t d = 1; d + 1 < rank; ++d)
    order.push_back(d);
  return order;
}

Shape gantry::permuted(ArrayRef<int64_t> values, ArrayRef<int64_t> permutation) {
  return llvm::map_to_vector(permutation, [&](int64_t d) { return values[d]; });
}

bool gantry::movesNothing(ArrayRef<int64_t> shape, ArrayRef<int64_t> permutation) {
  Shape moving;
  for (int64_t d : permutation)
    if (shape[d] != 1)
      moving.push_back(d);
  return llvm::is_sorted(moving);
}

/// Bytes of an element that has some of its own; 0 for others.
static size_t byteWidth(Type element) {
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8)
    return 0;
  return element.getIntOrFloatBitWidth() / 8;
}

ArrayRef<char> gantry::bytesOf(ElementsAttr value) {
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return dense.getRawData();
  auto resource = dyn_cast<DenseResourceElementsAttr>(value);
  AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr;
  return blob ? blob->getData() : ArrayRef<char>();
}

/// Copies elements in the order of the result, a run along its last dimension at a time.
static void permuteBytes(const char *from, char *to, ArrayRef<int64_t> shape,
                         ArrayRef<int64_t> permutation, size_t width) {
  Shape strides(shape.size());
  int64_t stride = width;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
    strides[d] = stride;
  Shape sizes = permuted(shape, permutation), steps = permuted(strides, permutation);
  Shape index(sizes.size(), 0);
  const int64_t runs = ShapedType::getNumElements(sizes) / sizes.back();
  for (int64_t run = 0; run < runs; ++run) {
    for (int64_t i = 0; i < sizes.back(); ++i, to += width)
      std::memcpy(to, from + i * steps.back(), width);
    for (size_t d = sizes.size() - 1; d-- > 0;) {
      from += steps[d];
      if (++index[d] < sizes[d])
        break;
      from -= steps[d] * sizes[d];
      index[d] = 0;
    }
  }
}

/// Null where the elements are not at hand.
static ElementsAttr permuteConstant(ElementsAttr value, ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(value.getType());
  auto result = type.clone(permuted(type.getShape(), permutation));
  if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && dense.isSplat())
    return dense.resizeSplat(result);
  const size_t width = byteWidth(type.getElementType());
  ArrayRef<char> bytes = bytesOf(value);
  if (width == 0 || type.getNumElements() == 0 ||
      bytes.size() != width * size_t(type.getNumElements()))
    return {};
  AsmResourceBlob blob =
      HeapAsmResourceBlob::allocate(bytes.size(), /*align=*/64, /*dataIsMutable=*/true);
  permuteBytes(bytes.data(), blob.getMutableData().data(), type.getShape(), permutation, width);
  if (isa<DenseElementsAttr>(value))
    return DenseElementsAttr::getFromRawBuffer(result, blob.getData());
  StringRef name = cast<DenseResourceElementsAttr>(value).getRawHandle().getKey();
  return DenseResourceElementsAttr::get(result, name, std::move(blob));
}

static ElementsAttr reshapeConstant(ElementsAttr value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType()).clone(shape);
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return dense.reshape(type);
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    return DenseResourceElementsAttr::get(type, resource.getRawHandle());
  return {};
}

Value Reorder::constantLike(Value old, Attribute key, function_ref<ElementsAttr()> make) {
  auto constant = old.getDefiningOp<ConstantOp>();
  if (!constant)
    return {};
  Value &made = known[{old, key}];
  if (made)
    return made;
  ElementsAttr value = make();
  if (!value)
    return {};
  OpBuilder beside(constant);
  auto copy = ConstantOp::create(beside, constant.getLoc(), value);
  for (NamedAttribute attribute : constant->getDiscardableAttrs())
    copy->setDiscardableAttr(attribute.getName(), attribute.getValue());
  return made = copy;
}

Value Reorder::reshape(Operation *like, Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  auto type = cast<RankedTensorType>(value.getType()).clone(shape);
  ElementsAttr elements = getConstantElements(value);
  if (Value constant = constantLike(value, TypeAttr::get(type),
                                    [&] { return reshapeConstant(elements, shape); }))
    return constant;
  // A view is where its operand is.
  return ReshapeOp::create(builder, like->getLoc(), type, value);
}

Value Reorder::permute(Operation *like, Value value, ArrayRef<int64_t> permutation,
                       StringRef suffix) {
  Shape shape = permuted(shapeOf(value), permutation);
  if (movesNothing(shapeOf(value), permutation))
    return reshape(like, value, shape);
  // One reorder instead of two.
  if (auto first = value.getDefiningOp<TransposeOp>())
    return permute(like, first.getInput(), permuted(first.getPermutation(), permutation), suffix);
  ElementsAttr elements = getConstantElements(value);
  if (Value constant = constantLike(value, builder.getDenseI64ArrayAttr(permutation),
                                    [&] { return permuteConstant(elements, permutation); }))
    return constant;
  auto turned = TransposeOp::create(builder, like->getLoc(), value,
                                    builder.getDenseI64ArrayAttr(permutation));
  placeLike(like, turned, suffix);
  return turned;
}

/// All elements of a constant, also of one that holds a single one for all of them.
static SmallVector<char> copyBytes(ElementsAttr value, size_t width) {
  ArrayRef<char> bytes = bytesOf(value);
  SmallVector<char> copy(bytes);
  if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && dense.isSplat())
    for (int64_t i = 1; i < dense.getNumElements(); ++i)
      copy.append(bytes.begin(), bytes.begin() + width);
  return copy;
}

/// Zeros behind the elements along `dim`; null where the elements are not at hand.
static ElementsAttr fillConstant(ElementsAttr value, int64_t dim, int64_t size) {
  auto type = cast<RankedTensorType>(value.getType());
  Shape shape(type.getShape());
  shape[dim] = size;
  const size_t width = byteWidth(type.getElementType());
  SmallVector<char> bytes = copyBytes(value, width);
  if (width == 0 || type.getNumElements() == 0 ||
      bytes.size() != width * size_t(type.getNumElements()))
    return {};
  const size_t rest =
      width * size_t(ShapedType::getNumElements(type.getShape().drop_front(dim + 1)));
  const size_t from = rest * size_t(type.getDimSize(dim)), to = rest * size_t(size);
  AsmResourceBlob blob = HeapAsmResourceBlob::allocate(bytes.size() / from * to, /*align=*/64,
                                                       /*dataIsMutable=*/true);
  MutableArrayRef<char> filled = blob.getMutableData();
  std::memset(filled.data(), 0, filled.size());
  for (size_t row = 0; row * to < filled.size(); ++row)
    std::memcpy(filled.data() + row * to, bytes.data() + row * from, from);
  auto resource = dyn_cast<DenseResourceElementsAttr>(value);
  if (!resource)
    return DenseElementsAttr::getFromRawBuffer(type.clone(shape), blob.getData());
  return DenseResourceElementsAttr::get(type.clone(shape), resource.getRawHandle().getKey(),
                                        std::move(blob));
}

Value Reorder::fill(Operation *like, Value value, int64_t dim, int64_t size) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getDimSize(dim) == size)
    return value;
  ElementsAttr elements = getConstantElements(value);
  Builder attributes(like->getContext());
  if (Value constant = constantLike(value, attributes.getDenseI64ArrayAttr({dim, size, -1}),
                                    [&] { return fillConstant(elements, dim, size); }))
    return constant;
  Shape low(type.getRank(), 0), high(low);
  high[dim] = size - type.getDimSize(dim);
  auto scalar = RankedTensorType::get({}, type.getElementType());
  auto zero =
      ConstantOp::create(builder, like->getLoc(), cast<ElementsAttr>(builder.getZeroAttr(scalar)));
  auto padded = PadOp::create(builder, like->getLoc(), value, zero,
                              builder.getDenseI64ArrayAttr(low), builder.getDenseI64ArrayAttr(high),
                              PadModeAttr::get(like->getContext(), PadMode::Constant));
  placeLike(like, padded, "/channels");
  return padded;
}

Value Reorder::packFilter(Operation *like, Value filter, int64_t panel) {
  ArrayRef<int64_t> own = shapeOf(filter);
  const int64_t packingFactor =
      packingFactorOfChannels(cast<RankedTensorType>(filter.getType()).getElementType());
  Shape split{own[0] / panel, panel}, order{0};
  if (packingFactor > 1)
    split.append({own[1] / packingFactor, packingFactor});
  else
    split.push_back(own[1]);
  llvm::append_range(split, own.drop_front(2));
  for (int64_t d = packingFactor > 1 ? 4 : 3; d < int64_t(split.size()); ++d)
    order.push_back(d);
  order.append({2, 1});
  if (packingFactor > 1)
    order.push_back(3);
  auto turn = filter.getDefiningOp<TransposeOp>();
  if (!turn || packingFactor > 1)
    return permute(like, reshape(like, filter, split), order, "/filter");
  // What stands in another order is split there, and turned once.
  ArrayRef<int64_t> from = turn.getPermutation();
  Shape image(shapeOf(turn.getInput()));
  image[from[0]] /= panel;
  image.insert(image.begin() + from[0] + 1, panel);
  Shape direct = llvm::map_to_vector(order, [&](int64_t d) {
    return d < 2 ? from[0] + d : from[d - 1] + (from[d - 1] > from[0] ? 1 : 0);
  });
  return permute(like, reshape(like, turn.getInput(), image), direct, "/filter");
}
