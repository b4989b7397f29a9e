// ONNX's TensorProto, read straight from protobuf's wire format: the tool has no other use for
// protobuf, and this one message has eight fields that matter.
// https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
#include "gantry/Formats/ArrayFiles.h"

#include <cstring>

namespace gantry::arrays {

namespace {

/// One field of a message: its number, and its payload by wire type.
struct Field {
  uint32_t number = 0;
  uint32_t wireType = 0;
  uint64_t integer = 0; // wire types 0, 1, 5
  ByteSpan bytes;       // wire type 2
};

/// Walks the fields of a message; every length is checked against what is left.
class WireReader {
public:
  explicit WireReader(ByteSpan bytes) : rest(bytes) {}
  bool atEnd() const { return rest.empty(); }

  bool varint(uint64_t &value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest.empty())
        return false;
      const uint8_t byte = rest[0];
      rest = rest.subspan(1);
      value |= uint64_t(byte & 127) << shift;
      if (byte < 128)
        return true;
    }
    return false;
  }

  bool next(Field &field) {
    uint64_t tag = 0;
    if (!varint(tag) || tag >> 3 == 0 || tag >> 32 != 0)
      return false;
    field.number = static_cast<uint32_t>(tag >> 3);
    field.wireType = tag & 7;
    switch (field.wireType) {
    case 0:
      return varint(field.integer);
    case 1:
      return fixed(field, 8);
    case 5:
      return fixed(field, 4);
    case 2: {
      uint64_t length = 0;
      if (!varint(length) || length > rest.size())
        return false;
      field.bytes = rest.first(length);
      rest = rest.subspan(length);
      return true;
    }
    default:
      return false; // groups are not used by ONNX
    }
  }

private:
  bool fixed(Field &field, size_t size) {
    if (rest.size() < size)
      return false;
    field.integer = 0;
    std::memcpy(&field.integer, rest.data(), size);
    field.bytes = rest.first(size);
    rest = rest.subspan(size);
    return true;
  }

  ByteSpan rest;
};

// Field numbers of TensorProto.
enum : uint32_t {
  dims = 1,
  dataType = 2,
  floatData = 4,
  int32Data = 5,
  stringData = 6,
  int64Data = 7,
  nameField = 8,
  rawData = 9,
  doubleData = 10,
  uint64Data = 11,
  dataLocation = 14
};

std::optional<ElementType> elementOfOnnx(uint64_t type) {
  switch (type) {
  case 1:
    return ElementType::f32;
  case 2:
    return ElementType::u8;
  case 3:
    return ElementType::i8;
  case 4:
    return ElementType::u16;
  case 5:
    return ElementType::i16;
  case 6:
    return ElementType::i32;
  case 7:
    return ElementType::i64;
  case 9:
    return ElementType::i1;
  case 10:
    return ElementType::f16;
  case 11:
    return ElementType::f64;
  case 12:
    return ElementType::u32;
  case 13:
    return ElementType::u64;
  case 16:
    return ElementType::bf16;
  default:
    return std::nullopt;
  }
}

/// The message as it stands in the file; the elements are still in one of its two forms.
struct RawTensor {
  std::vector<int64_t> shape;
  uint64_t type = 0;
  bool external = false;
  std::optional<ByteSpan> raw;
  std::vector<ByteSpan> fixedData; // packed float_data or double_data
  std::vector<uint64_t> integers;  // int32_data, int64_data, uint64_data
  std::string name;
};

/// A repeated integer field comes packed or one by one.
bool addIntegers(const Field &field, std::vector<uint64_t> &values) {
  if (field.wireType == 0) {
    values.push_back(field.integer);
    return true;
  }
  if (field.wireType != 2)
    return false;
  for (WireReader reader(field.bytes); !reader.atEnd();) {
    uint64_t value = 0;
    if (!reader.varint(value))
      return false;
    values.push_back(value);
  }
  return true;
}

bool addField(const Field &field, RawTensor &tensor) {
  switch (field.number) {
  case dims: {
    std::vector<uint64_t> values;
    const bool understood = addIntegers(field, values);
    tensor.shape.insert(tensor.shape.end(), values.begin(), values.end());
    return understood && tensor.shape.size() <= maxRank;
  }
  case dataType:
    tensor.type = field.integer;
    return field.wireType == 0;
  case int32Data:
  case int64Data:
  case uint64Data:
    return addIntegers(field, tensor.integers);
  case floatData:
  case doubleData:
    tensor.fixedData.push_back(field.bytes);
    return field.wireType != 0;
  case rawData:
    tensor.raw = field.bytes;
    return field.wireType == 2;
  case nameField:
    tensor.name.assign(reinterpret_cast<const char *>(field.bytes.data()), field.bytes.size());
    return field.wireType == 2;
  case dataLocation:
    tensor.external = field.integer == 1;
    return field.wireType == 0;
  default:
    return true;
  }
}

/// Bytes of the elements that the message holds; they are compared with the shape before use.
uint64_t heldBytes(const RawTensor &tensor, ElementType element) {
  if (tensor.raw)
    return tensor.raw->size();
  uint64_t size = tensor.integers.size() * elementTypeSize(element);
  for (ByteSpan part : tensor.fixedData)
    size += part.size();
  return size;
}

void fillArray(const RawTensor &tensor, Array &array) {
  uint8_t *to = array.bytes.data();
  if (tensor.raw) {
    if (!tensor.raw->empty())
      std::memcpy(to, tensor.raw->data(), tensor.raw->size());
    normaliseBooleans(array);
    return;
  }
  for (ByteSpan part : tensor.fixedData) {
    std::memcpy(to, part.data(), part.size());
    to += part.size();
  }
  // int32_data carries f16 and bf16 as their bits, so integers are copied by their low bytes.
  for (uint64_t value : tensor.integers) {
    std::memcpy(to, &value, elementTypeSize(array.element));
    to += elementTypeSize(array.element);
  }
  normaliseBooleans(array);
}

} // namespace

Expected<NamedArray> parseTensorProto(ByteSpan bytes, std::string_view file) {
  const std::string quoted = "'" + std::string(file) + "'";
  RawTensor tensor;
  for (WireReader reader(bytes); !reader.atEnd();) {
    Field field;
    if (!reader.next(field) || !addField(field, tensor))
      return Status::corrupt(quoted + " is neither a .npy or .npz file nor an ONNX TensorProto");
  }
  auto element = elementOfOnnx(tensor.type);
  if (!element)
    return Status::unsupported(quoted + " has the ONNX element type " +
                               std::to_string(tensor.type) +
                               ", which has no counterpart (strings, complex numbers and 8-bit "
                               "floats are not supported)");
  if (tensor.external)
    return Status::unsupported(quoted +
                               " keeps its elements in another file; expected them inside");
  auto count = elementCount(tensor.shape);
  const uint64_t held = heldBytes(tensor, *element);
  if (!count || *count > held / elementTypeSize(*element) ||
      *count * elementTypeSize(*element) != held)
    return Status::corrupt(quoted + " holds " + std::to_string(held) +
                           " bytes of elements, which do not fit its type " +
                           tensorTypeName(*element, tensor.shape) +
                           "; expected a tensor, not a sequence or an optional");
  auto array = Array::make(*element, std::move(tensor.shape));
  if (!array)
    return array.status();
  fillArray(tensor, *array);
  return NamedArray{std::move(tensor.name), array.take()};
}

} // namespace gantry::arrays
