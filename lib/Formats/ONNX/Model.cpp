// Decodes the protocol-buffer wire format of ONNX models.
//
// A message is a sequence of fields, each a key (number and wire type) and a value: a varint, 4 or
// 8 bytes, or a length and that many bytes. The rules kept here are the format's own: unknown
// fields are skipped, a singular field given twice keeps the last value, numbers of a repeated
// field come one by one or packed. Nothing is read outside the enclosing message; nesting is
// limited.

#include "gantry/Formats/ONNX/Model.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"

#include <cstring>

using namespace gantry::onnx;
using llvm::StringRef;

namespace {

/// Graphs inside attributes of nodes inside graphs: deeper files are refused, not followed.
constexpr int kMaxDepth = 64;

enum class Wire { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

/// What all readers of one decoding share.
struct Decoding {
  const char *begin = nullptr;
  std::string error;
};

/// One field of a message: its number and its value in whichever form it came.
struct Field {
  uint32_t number = 0;
  Wire wire = Wire::Varint;
  uint64_t number64 = 0; ///< Varint, Fixed64, Fixed32
  StringRef bytes;       ///< Bytes

  int64_t asInt() const { return int64_t(number64); }
  float asFloat() const {
    uint32_t bits = uint32_t(number64);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
};

/// Walks the fields of one message.
class Reader {
public:
  Reader(Decoding &decoding, StringRef message, int depth)
      : decoding(decoding), at(message.begin()), end(message.end()), depth(depth) {
    if (depth > kMaxDepth)
      fail("messages are nested more than " + std::to_string(kMaxDepth) + " deep");
  }

  /// Fetches the next field; false at the end and after an error.
  bool next(Field &field) {
    if (at == end || failed())
      return false;
    uint64_t key = varint();
    field = Field();
    field.number = uint32_t(key >> 3);
    field.wire = Wire(key & 7);
    switch (field.wire) {
    case Wire::Varint:
      field.number64 = varint();
      break;
    case Wire::Fixed64:
      field.number64 = fixed<uint64_t>();
      break;
    case Wire::Fixed32:
      field.number64 = fixed<uint32_t>();
      break;
    case Wire::Bytes:
      field.bytes = lengthDelimited();
      break;
    default:
      fail("wire type " + std::to_string(key & 7) + " is not used by ONNX");
    }
    if (!failed() && (key >> 3 == 0 || key >> 3 > 0x1fffffff))
      fail("field number " + std::to_string(key >> 3) + " does not exist");
    return !failed();
  }

  bool failed() const { return !decoding.error.empty(); }
  void fail(const std::string &what) {
    if (!failed())
      decoding.error = what + " (at byte " + std::to_string(at - decoding.begin) + ")";
    at = end;
  }
  Reader inside(const Field &field) {
    if (field.wire != Wire::Bytes)
      fail("field " + std::to_string(field.number) + " must be a message");
    return Reader(decoding, field.bytes, depth + 1);
  }

  StringRef string(const Field &field) {
    if (field.wire != Wire::Bytes)
      fail("field " + std::to_string(field.number) + " must be bytes");
    return field.bytes;
  }

  /// Adds the numbers of a repeated field, packed or not.
  template <typename T>
  void numbers(const Field &field, std::vector<T> &into) {
    if (field.wire != Wire::Bytes) {
      into.push_back(convert<T>(field));
      return;
    }
    Reader inner(decoding, field.bytes, depth + 1);
    into.reserve(into.size() + field.bytes.size() / (std::is_floating_point_v<T> ? sizeof(T) : 8));
    while (inner.at != inner.end && !failed()) {
      Field one;
      if constexpr (std::is_same_v<T, float>)
        one.number64 = inner.fixed<uint32_t>();
      else if constexpr (std::is_same_v<T, double>)
        one.number64 = inner.fixed<uint64_t>();
      else
        one.number64 = inner.varint();
      into.push_back(convert<T>(one));
    }
  }

private:
  template <typename T>
  static T convert(const Field &field) {
    T value;
    if constexpr (std::is_same_v<T, float>)
      value = field.asFloat();
    else if constexpr (std::is_same_v<T, double>)
      std::memcpy(&value, &field.number64, sizeof value);
    else
      value = T(field.number64);
    return value;
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at == end) {
        fail("the message ends inside a number");
        return 0;
      }
      uint8_t byte = uint8_t(*at++);
      value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return value;
    }
    fail("a number is longer than 10 bytes");
    return 0;
  }

  template <typename T>
  T fixed() {
    if (end - at < ptrdiff_t(sizeof(T))) {
      fail("the message ends inside a number");
      return 0;
    }
    T value = llvm::support::endian::read<T, llvm::endianness::little>(at);
    at += sizeof(T);
    return value;
  }

  StringRef lengthDelimited() {
    uint64_t length = varint();
    if (failed())
      return {};
    if (length > uint64_t(end - at)) {
      fail("a field of " + std::to_string(length) + " bytes reaches beyond its message");
      return {};
    }
    StringRef bytes(at, length);
    at += length;
    return bytes;
  }

  Decoding &decoding;
  const char *at, *end;
  int depth;
};

void read(Reader in, StringPair &entry) {
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      entry.first = in.string(field);
      break;
    case 2:
      entry.second = in.string(field);
      break;
    }
}

void read(Reader in, Tensor &tensor) {
  std::vector<int64_t> dims;
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      in.numbers(field, dims);
      break;
    case 2:
      tensor.type = DataType(int32_t(field.asInt()));
      break;
    case 3:
      tensor.isSegment = true;
      break;
    case 4:
      in.numbers(field, tensor.floats);
      break;
    case 5:
      in.numbers(field, tensor.int32s);
      break;
    case 6:
      tensor.hasStrings = true;
      break;
    case 7:
      in.numbers(field, tensor.int64s);
      break;
    case 8:
      tensor.name = in.string(field);
      break;
    case 9:
      tensor.raw = in.string(field);
      tensor.hasRaw = true;
      break;
    case 10:
      in.numbers(field, tensor.doubles);
      break;
    case 11:
      in.numbers(field, tensor.uint64s);
      break;
    case 13:
      read(in.inside(field), tensor.external.emplace_back());
      break;
    case 14:
      tensor.isExternal = field.asInt() == 1;
      break;
    }
  tensor.dims.assign(dims.begin(), dims.end());
}

void read(Reader in, Dim &dim) {
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      dim.size = field.asInt();
      // Exporters write -1 and the like for what they do not know.
      if (dim.size < 0)
        dim.size = -1;
      break;
    case 2:
      dim.param = in.string(field);
      break;
    }
}

void readTensorType(Reader in, Type &type) {
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      type.element = DataType(int32_t(field.asInt()));
      break;
    case 2: {
      type.hasShape = true;
      Reader shape = in.inside(field);
      for (Field dim; shape.next(dim);)
        if (dim.number == 1)
          read(shape.inside(dim), type.dims.emplace_back());
      break;
    }
    }
}

void read(Reader in, Type &type) {
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      type.kind = Type::TensorType;
      readTensorType(in.inside(field), type);
      break;
    case 4:
      type.kind = Type::SequenceType;
      break;
    case 5:
      type.kind = Type::MapType;
      break;
    case 7:
      type.kind = Type::OpaqueType;
      break;
    case 8:
      type.kind = Type::SparseTensorType;
      readTensorType(in.inside(field), type);
      break;
    case 9:
      type.kind = Type::OptionalType;
      break;
    }
}

void read(Reader in, ValueInfo &value) {
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      value.name = in.string(field);
      break;
    case 2:
      read(in.inside(field), value.type);
      break;
    }
}

void read(Reader in, Graph &graph);

/// The type of an attribute that does not say it (files of IR version 1), from what it holds.
Attribute::Type guessType(const Attribute &attribute, bool hasFloat, bool hasInt, bool hasString) {
  if (attribute.tensor)
    return Attribute::Tensor;
  if (attribute.graph)
    return Attribute::Graph;
  if (!attribute.ints.empty())
    return Attribute::Ints;
  if (!attribute.floats.empty())
    return Attribute::Floats;
  if (!attribute.strings.empty())
    return Attribute::Strings;
  if (hasFloat)
    return Attribute::Float;
  if (hasInt)
    return Attribute::Int;
  return hasString ? Attribute::String : Attribute::Undefined;
}

void read(Reader in, Attribute &attribute) {
  bool hasFloat = false, hasInt = false, hasString = false;
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      attribute.name = in.string(field);
      break;
    case 2:
      attribute.f = field.asFloat(), hasFloat = true;
      break;
    case 3:
      attribute.i = field.asInt(), hasInt = true;
      break;
    case 4:
      attribute.s = in.string(field), hasString = true;
      break;
    case 5:
      attribute.tensor = std::make_shared<Tensor>();
      read(in.inside(field), *attribute.tensor);
      break;
    case 6:
      attribute.graph = std::make_shared<Graph>();
      read(in.inside(field), *attribute.graph);
      break;
    case 7:
      in.numbers(field, attribute.floats);
      break;
    case 8:
      in.numbers(field, attribute.ints);
      break;
    case 9:
      attribute.strings.push_back(in.string(field));
      break;
    case 20:
      attribute.type = Attribute::Type(int32_t(field.asInt()));
      break;
    case 21:
      attribute.reference = in.string(field);
      break;
    }
  if (attribute.type == Attribute::Undefined)
    attribute.type = guessType(attribute, hasFloat, hasInt, hasString);
}

void read(Reader in, NodeConfiguration &configuration) {
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      configuration.id = in.string(field);
      break;
    case 2: {
      Reader sharding = in.inside(field);
      StringRef tensor = "?";
      for (Field part; sharding.next(part);)
        if (part.number == 1)
          tensor = sharding.string(part);
      configuration.shardedTensors.push_back(tensor);
      break;
    }
    case 3:
      configuration.stage = field.asInt();
      break;
    }
}

void read(Reader in, DeviceConfiguration &configuration) {
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      configuration.name = in.string(field);
      break;
    case 2:
      configuration.numDevices = field.asInt();
      break;
    case 3:
      configuration.devices.push_back(in.string(field));
      break;
    }
}

void read(Reader in, Node &node) {
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      node.inputs.push_back(in.string(field));
      break;
    case 2:
      node.outputs.push_back(in.string(field));
      break;
    case 3:
      node.name = in.string(field);
      break;
    case 4:
      node.op = in.string(field);
      break;
    case 5:
      read(in.inside(field), node.attributes.emplace_back());
      break;
    case 7:
      node.domain = in.string(field);
      break;
    case 8:
      node.overload = in.string(field);
      break;
    case 10:
      read(in.inside(field), node.configurations.emplace_back());
      break;
    }
  if (node.domain == "ai.onnx")
    node.domain = "";
}

void read(Reader in, Graph &graph) {
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      read(in.inside(field), graph.nodes.emplace_back());
      break;
    case 2:
      graph.name = in.string(field);
      break;
    case 5:
      read(in.inside(field), graph.initializers.emplace_back());
      break;
    case 11:
      read(in.inside(field), graph.inputs.emplace_back());
      break;
    case 12:
      read(in.inside(field), graph.outputs.emplace_back());
      break;
    case 15: {
      // The name of a sparse tensor is that of its values.
      Reader sparse = in.inside(field);
      Tensor values;
      for (Field part; sparse.next(part);)
        if (part.number == 1)
          read(sparse.inside(part), values);
      graph.sparseInitializers.push_back(values.name);
      break;
    }
    }
}

void readOpset(Reader in, Opsets &opsets) {
  auto &[domain, version] = opsets.emplace_back("", 0);
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      domain = in.string(field);
      break;
    case 2:
      version = field.asInt();
      break;
    }
  if (domain == "ai.onnx")
    domain = "";
}

void read(Reader in, Function &function) {
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      function.name = in.string(field);
      break;
    case 4:
      function.inputs.push_back(in.string(field));
      break;
    case 5:
      function.outputs.push_back(in.string(field));
      break;
    case 6:
      function.attributes.push_back(in.string(field));
      break;
    case 7:
      read(in.inside(field), function.nodes.emplace_back());
      break;
    case 9:
      readOpset(in.inside(field), function.opsets);
      break;
    case 10:
      function.domain = in.string(field);
      break;
    case 11:
      read(in.inside(field), function.defaults.emplace_back());
      break;
    case 13:
      function.overload = in.string(field);
      break;
    }
  if (function.domain == "ai.onnx")
    function.domain = "";
}

void read(Reader in, Model &model) {
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      model.irVersion = field.asInt();
      break;
    case 2:
      model.producer = in.string(field);
      break;
    case 3:
      model.producerVersion = in.string(field);
      break;
    case 7:
      model.hasGraph = true;
      read(in.inside(field), model.graph);
      break;
    case 8:
      readOpset(in.inside(field), model.opsets);
      break;
    case 25:
      read(in.inside(field), model.functions.emplace_back());
      break;
    case 26:
      read(in.inside(field), model.configurations.emplace_back());
      break;
    }
}

template <typename Message>
bool decode(StringRef bytes, Message &message, std::string &error) {
  Decoding decoding{bytes.begin(), {}};
  read(Reader(decoding, bytes, 0), message);
  error = decoding.error;
  return error.empty();
}

} // namespace

bool gantry::onnx::decodeModel(StringRef bytes, Model &model, std::string &error) {
  return decode(bytes, model, error);
}

bool gantry::onnx::decodeTensor(StringRef bytes, Tensor &tensor, std::string &error) {
  return decode(bytes, tensor, error);
}

StringRef gantry::onnx::nameOf(DataType type) {
  static constexpr StringRef names[] = {"undefined",  "f32",  "u8",       "i8",         "u16",
                                        "i16",        "i32",  "i64",      "string",     "i1",
                                        "f16",        "f64",  "u32",      "u64",        "complex64",
                                        "complex128", "bf16", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2",
                                        "f8E5M2FNUZ", "u4",   "i4",       "f4E2M1"};
  auto index = size_t(type);
  return index < std::size(names) ? names[index] : StringRef("unknown");
}
