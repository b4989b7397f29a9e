// See Tensors.h. Elements are little-endian in the file, as on every machine Gantry runs on.

#include "Tensors.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/ScopeExit.h"

#include <cstring>

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

/// Constants up to here stand in attributes with their elements (see gantry.constant).
static constexpr uint64_t kInlineBytes = 1024;

mlir::Type gantry::onnx::makeElementType(DataType type, MLIRContext *context) {
  std::optional<ElementType> element = elementTypeOf(type);
  return element ? makeElementType(*element, context) : mlir::Type();
}

mlir::Type gantry::onnx::makeElementType(ElementType element, MLIRContext *context) {
  auto integer = [&](unsigned width,
                     IntegerType::SignednessSemantics sign = IntegerType::Signless) {
    return IntegerType::get(context, width, sign);
  };
  switch (element) {
  case ElementType::f32:
    return Float32Type::get(context);
  case ElementType::f64:
    return Float64Type::get(context);
  case ElementType::f16:
    return Float16Type::get(context);
  case ElementType::bf16:
    return BFloat16Type::get(context);
  case ElementType::i8:
    return integer(8);
  case ElementType::i16:
    return integer(16);
  case ElementType::i32:
    return integer(32);
  case ElementType::i64:
    return integer(64);
  case ElementType::u8:
    return integer(8, IntegerType::Unsigned);
  case ElementType::u16:
    return integer(16, IntegerType::Unsigned);
  case ElementType::u32:
    return integer(32, IntegerType::Unsigned);
  case ElementType::u64:
    return integer(64, IntegerType::Unsigned);
  case ElementType::i1:
    return integer(1);
  }
  llvm_unreachable("every element type has a type in MLIR");
}

StringRef gantry::onnx::supportedElementTypes() {
  return "f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, i1";
}

gantry::Expected<RankedTensorType> gantry::onnx::makeTensorType(ArrayRef<int64_t> shape,
                                                                mlir::Type element) {
  if (shape.size() > kMaxRank)
    return Status::unsupported("a tensor has " + std::to_string(shape.size()) +
                               " dimensions, at most " + std::to_string(kMaxRank) +
                               " are supported");
  __int128 bytes = std::max(element.getIntOrFloatBitWidth() / 8, 1u);
  bool empty = llvm::is_contained(shape, 0);
  for (int64_t size : shape) {
    if (size < 0)
      return Status::invalidArgument("a tensor has a dimension of size " + std::to_string(size));
    bytes *= std::max<int64_t>(size, 1);
    if (bytes > kMaxBytes)
      return Status::unsupported(std::string("a tensor ") + (empty ? "shape is" : "would be") +
                                 " larger than 64 TiB");
  }
  return RankedTensorType::get(shape, element);
}

ElementsAttr gantry::onnx::makeConstantElements(RankedTensorType type,
                                                const KnownElements &elements, StringRef name) {
  DenseElementsAttr dense = makeElements(type, elements);
  if (getByteSize(type) <= kInlineBytes || type.getElementType().isInteger(1) || dense.isSplat())
    return dense;
  return DenseResourceElementsAttr::get(
      type, name, HeapAsmResourceBlob::allocateAndCopyWithAlign(dense.getRawData(), 64));
}

//===----------------------------------------------------------------------===//
// Tensors of the file
//===----------------------------------------------------------------------===//

static StringRef entryOf(const Tensor &tensor, std::string_view key) {
  for (const StringPair &entry : tensor.external)
    if (entry.first == key)
      return entry.second;
  return {};
}

gantry::Expected<TensorReader::Bytes> TensorReader::externalBytes(const Tensor &tensor,
                                                                  uint64_t expected) {
  StringRef location = entryOf(tensor, "location");
  uint64_t offset = 0, length = expected;
  for (auto [key, into] :
       {std::pair<std::string_view, uint64_t *>("offset", &offset), {"length", &length}})
    if (StringRef text = entryOf(tensor, key); !text.empty() && text.getAsInteger(10, *into))
      return Status::invalidArgument("external data: '" + text.str() + "' is not a valid " +
                                     std::string(key));
  if (length != expected)
    return Status::invalidArgument("external data '" + location.str() + "': length is " +
                                   std::to_string(length) + ", the tensor has " +
                                   std::to_string(expected) + " bytes");
  auto mapping = external.open(location);
  if (!mapping)
    return mapping.status();
  uint64_t size = (*mapping)->size;
  if (offset > size || length > size - offset)
    return Status::invalidArgument("external data '" + location.str() + "': bytes " +
                                   std::to_string(offset) + " to " + std::to_string(offset) +
                                   " + " + std::to_string(length) + " reach beyond the file of " +
                                   std::to_string(size));
  return Bytes{ArrayRef<char>((*mapping)->data + offset, length), *mapping};
}

gantry::Expected<TensorReader::Bytes> TensorReader::bytesOf(const Tensor &tensor, uint64_t expected,
                                                            size_t width) {
  if (tensor.isExternal)
    return externalBytes(tensor, expected);
  Bytes bytes;
  if (tensor.hasRaw) {
    bytes = {ArrayRef<char>(tensor.raw.data(), tensor.raw.size()), model};
  } else {
    auto owned = std::make_shared<std::vector<char>>(packTypedElements(tensor, width));
    bytes = {*owned, owned};
  }
  if (bytes.data.size() != expected)
    return Status::invalidArgument("it holds " + std::to_string(bytes.data.size()) +
                                   " bytes, its type needs " + std::to_string(expected));
  return bytes;
}

gantry::Expected<ElementsAttr> TensorReader::read(const Tensor &tensor) {
  if (auto found = known.find(&tensor); found != known.end())
    return found->second;
  gantry::Expected<ElementsAttr> made = make(tensor);
  if (made)
    known[&tensor] = *made;
  return made;
}

std::optional<unsigned> gantry::onnx::narrowBits(DataType type) {
  switch (type) {
  case DataType::Int2:
  case DataType::Uint2:
    return 2;
  case DataType::Int4:
  case DataType::Uint4:
    return 4;
  default:
    return std::nullopt;
  }
}

/// Several elements lie in a byte, the first in its lowest bits.
gantry::Expected<ElementsAttr> TensorReader::makeNarrow(const Tensor &tensor, unsigned bits) {
  bool isSigned = tensor.type == DataType::Int2 || tensor.type == DataType::Int4;
  ElementType element = isSigned ? ElementType::i8 : ElementType::u8;
  auto type = makeTensorType(tensor.dims, makeElementType(element, context));
  if (!type)
    return type.status();
  uint64_t count = getByteSize(*type), each = 8 / bits;
  auto packed = bytesOf(tensor, llvm::divideCeil(count, each), /*width=*/1);
  if (!packed)
    return packed.status();
  auto elements = std::make_shared<std::vector<char>>(count);
  for (uint64_t i = 0; i < count; ++i) {
    // Moved to the top and back, which copies the sign where there is one.
    auto top = uint8_t(uint8_t(packed->data[i / each]) << (8 - bits - i % each * bits));
    (*elements)[i] = isSigned ? char(int8_t(top) >> (8 - bits)) : char(top >> (8 - bits));
  }
  return makeConstant(*type, *elements, [elements]() mutable { elements.reset(); }, tensor.name);
}

gantry::Expected<ElementsAttr> TensorReader::make(const Tensor &tensor) {
  if (auto bits = narrowBits(tensor.type); bits && !tensor.isSegment)
    return makeNarrow(tensor, *bits);
  mlir::Type element = makeElementType(tensor.type, context);
  if (!element || tensor.hasStrings)
    return Status::unsupported("element type " + std::string(nameOf(tensor.type)) +
                               " is not supported; " + supportedElementTypes().str() + " are");
  if (tensor.isSegment)
    return Status::unsupported("tensors in segments are not supported");
  auto type = makeTensorType(tensor.dims, element);
  if (!type)
    return type.status();
  size_t width = std::max(type->getElementTypeBitWidth() / 8, 1u);
  auto bytes = bytesOf(tensor, getByteSize(*type), width);
  if (!bytes)
    return bytes.status();
  auto release = [owner = bytes->owner]() mutable { owner.reset(); };
  return makeConstant(*type, bytes->data, std::move(release), tensor.name);
}

ElementsAttr gantry::onnx::makeConstant(RankedTensorType type, ArrayRef<char> data,
                                        llvm::unique_function<void()> release, StringRef name) {
  auto releaseLater = llvm::make_scope_exit([&] { release(); });
  if (type.getElementType().isInteger(1)) {
    // Any byte but 0 is true in some files; the dialect wants 0 and 1.
    SmallVector<bool> flags;
    for (char c : data)
      flags.push_back(c != 0);
    return DenseElementsAttr::get(type, flags);
  }
  if (data.size() <= kInlineBytes)
    return data.empty() ? DenseElementsAttr::get(type, ArrayRef<mlir::Attribute>())
                        : DenseElementsAttr::getFromRawBuffer(type, data);
  // Nobody promises an alignment; whoever reads elements copies them out.
  releaseLater.release();
  AsmResourceBlob blob = UnmanagedAsmResourceBlob::allocateWithAlign(
      data, 1, [release = std::move(release)](void *, size_t, size_t) mutable { release(); });
  return DenseResourceElementsAttr::get(type, name.empty() ? StringRef("constant") : name,
                                        std::move(blob));
}
