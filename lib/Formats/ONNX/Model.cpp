// Decodes ONNX models, message by message; the wire format is Protobuf.h's.

#include "gantry/Formats/ONNX/Model.h"

#include "gantry/Formats/Protobuf.h"

#include <cstring>
#include <iterator>

using namespace gantry::onnx;
using gantry::protobuf::Field;
using gantry::protobuf::Reader;
using std::string_view;

namespace {

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
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      in.numbers(field, tensor.dims);
      break;
    case 2:
      tensor.type = DataType(int32_t(in.integer(field)));
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
      tensor.isExternal = in.integer(field) == 1;
      break;
    }
}

void read(Reader in, Dim &dim) {
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      dim.size = in.integer(field);
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
      type.element = DataType(int32_t(in.integer(field)));
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
      attribute.f = in.number(field), hasFloat = true;
      break;
    case 3:
      attribute.i = in.integer(field), hasInt = true;
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
      attribute.type = Attribute::Type(int32_t(in.integer(field)));
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
      string_view tensor = "?";
      for (Field part; sharding.next(part);)
        if (part.number == 1)
          tensor = sharding.string(part);
      configuration.shardedTensors.push_back(tensor);
      break;
    }
    case 3:
      configuration.stage = in.integer(field);
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
      configuration.numDevices = in.integer(field);
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
      version = in.integer(field);
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

void read(Reader in, TrainingInfo &info) {
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      read(in.inside(field), info.initialization);
      break;
    case 2:
      read(in.inside(field), info.algorithm);
      break;
    case 3:
      read(in.inside(field), info.initialBindings.emplace_back());
      break;
    case 4:
      read(in.inside(field), info.updateBindings.emplace_back());
      break;
    }
}

void read(Reader in, Model &model) {
  for (Field field; in.next(field);)
    switch (field.number) {
    case 1:
      model.irVersion = in.integer(field);
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
    case 20:
      read(in.inside(field), model.training.emplace_back());
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
bool decode(string_view bytes, Message &message, std::string &error) {
  gantry::protobuf::Decoding decoding{bytes.data(), {}};
  read(Reader(decoding, bytes), message);
  error = decoding.error;
  return error.empty();
}

} // namespace

bool gantry::onnx::decodeModel(string_view bytes, Model &model, std::string &error) {
  return decode(bytes, model, error);
}

bool gantry::onnx::decodeTensor(string_view bytes, Tensor &tensor, std::string &error) {
  return decode(bytes, tensor, error);
}

string_view gantry::onnx::nameOf(DataType type) {
  static constexpr string_view names[] = {
      "undefined", "f32",        "u8",     "i8",       "u16",        "i16",    "i32",
      "i64",       "string",     "i1",     "f16",      "f64",        "u32",    "u64",
      "complex64", "complex128", "bf16",   "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ",
      "u4",        "i4",         "f4E2M1", "f8E8M0",   "u2",         "i2"};
  auto index = size_t(type);
  return index < std::size(names) ? names[index] : string_view("unknown");
}

std::optional<gantry::ElementType> gantry::onnx::elementTypeOf(DataType type) {
  return elementTypeNamed(nameOf(type));
}

/// Appends numbers, the first `width` bytes of each.
template <typename T>
static void append(std::vector<char> &into, const std::vector<T> &values, size_t width) {
  for (const T &value : values) {
    const size_t at = into.size();
    into.resize(at + width);
    std::memcpy(into.data() + at, &value, std::min(width, sizeof value));
  }
}

std::vector<char> gantry::onnx::packTypedElements(const Tensor &tensor, size_t width) {
  std::vector<char> bytes;
  append(bytes, tensor.floats, sizeof(float));
  append(bytes, tensor.doubles, sizeof(double));
  append(bytes, tensor.int32s, width);
  append(bytes, tensor.int64s, width);
  append(bytes, tensor.uint64s, width);
  return bytes;
}
