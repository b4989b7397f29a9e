// An ONNX model as plain structs: what Gantry needs of the file format, and no more.
//
// The file is a protocol-buffer message. It is decoded by hand (Model.cpp) instead of by generated
// code, so that weights stay where they are: strings and raw bytes are views into the mapped file,
// which must outlive the model. Field numbers are those of ONNX's published message definitions.
#pragma once

#include "gantry/Support/ElementType.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::onnx {

/// Values of TensorProto.data_type.
enum class DataType : int32_t {
  Undefined = 0,
  Float = 1,
  Uint8 = 2,
  Int8 = 3,
  Uint16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  Uint32 = 12,
  Uint64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  Bfloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  Uint4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  Uint2 = 25,
  Int2 = 26,
};

using StringPair = std::pair<std::string_view, std::string_view>;

struct Tensor {
  std::string_view name;
  std::vector<int64_t> dims;
  DataType type = DataType::Undefined;
  bool hasRaw = false;
  std::string_view raw; ///< little-endian elements
  // Elements in a typed field, used by small tensors; 16-bit and smaller types sit in int32s.
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<int32_t> int32s;
  std::vector<int64_t> int64s;
  std::vector<uint64_t> uint64s;
  bool hasStrings = false;
  bool isExternal = false;
  std::vector<StringPair> external; ///< location, offset, length, checksum
  bool isSegment = false;
};

/// One dimension of a declared shape: a size, a name, or nothing known.
struct Dim {
  int64_t size = -1;
  std::string_view param;
  bool isKnown() const { return size >= 0; }
};

struct Type {
  enum Kind { None, TensorType, SparseTensorType, SequenceType, MapType, OptionalType, OpaqueType };
  Kind kind = None;
  DataType element = DataType::Undefined;
  bool hasShape = false;
  std::vector<Dim> dims;
};

struct ValueInfo {
  std::string_view name;
  Type type;
};

struct Graph;

struct Attribute {
  enum Type : int32_t {
    Undefined = 0,
    Float = 1,
    Int = 2,
    String = 3,
    Tensor = 4,
    Graph = 5,
    Floats = 6,
    Ints = 7,
    Strings = 8,
    Tensors = 9,
    Graphs = 10,
    SparseTensor = 11,
    SparseTensors = 12,
    TypeProto = 13,
    TypeProtos = 14
  };
  std::string_view name;
  std::string_view reference; ///< inside a function: the caller's attribute that stands here
  Type type = Undefined;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::shared_ptr<onnx::Tensor> tensor;
  std::shared_ptr<onnx::Graph> graph;
};

/// Where a node wants to run (IR version 11): one of the model's configurations.
struct NodeConfiguration {
  std::string_view id;
  std::vector<std::string_view> shardedTensors; ///< what its sharding specs are about
  int64_t stage = -1;                           ///< of a pipeline; -1: not said
};

/// Devices by name, which nodes refer to (IR version 11).
struct DeviceConfiguration {
  std::string_view name;
  int64_t numDevices = 0;
  std::vector<std::string_view> devices;
};

struct Node {
  std::string_view name, op, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<Attribute> attributes;
  std::vector<NodeConfiguration> configurations;
};

struct Graph {
  std::string_view name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs, outputs;
  std::vector<std::string_view> sparseInitializers; ///< names
};

/// Opset versions by domain; "" and "ai.onnx" are the same one.
using Opsets = std::vector<std::pair<std::string_view, int64_t>>;

struct Function {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs, attributes;
  std::vector<Attribute> defaults;
  std::vector<Node> nodes;
  Opsets opsets;
};

/// How a model is trained: graphs beside its own, and which initializers become what they give.
struct TrainingInfo {
  Graph initialization;
  Graph algorithm;                                         ///< goes on from the model's graph
  std::vector<StringPair> initialBindings, updateBindings; ///< initializer, output
};

struct Model {
  int64_t irVersion = 0;
  std::string_view producer, producerVersion;
  Opsets opsets;
  bool hasGraph = false;
  Graph graph;
  std::vector<Function> functions;
  std::vector<DeviceConfiguration> configurations;
  std::vector<TrainingInfo> training;
};

/// Decodes `bytes`, into which the model's strings and weights are views. On failure `error` says
/// what is wrong and at which byte.
bool decodeModel(std::string_view bytes, Model &model, std::string &error);
/// The same for a lone tensor, as ONNX's test data has them.
bool decodeTensor(std::string_view bytes, Tensor &tensor, std::string &error);

/// "f32", or "string", "f8E4M3FN" and so on for types that Gantry has not.
std::string_view nameOf(DataType type);
/// None for a type that Gantry has not: strings, complex numbers, 4 and 8 bits of floats.
std::optional<ElementType> elementTypeOf(DataType type);

/// Elements of the typed fields as they lie in memory, integers cut to `width` bytes each: 16-bit
/// floats, too, stand in a field of integers.
std::vector<char> packTypedElements(const Tensor &tensor, size_t width);

} // namespace gantry::onnx
