// An ONNX model as plain structs: what the importer needs of the file format, and no more.
//
// The file is a protocol-buffer message. It is decoded by hand (Model.cpp) instead of by generated
// code, so that weights stay where they are: strings and raw bytes are views into the mapped file,
// which must outlive the model. Field numbers are those of ONNX's published message definitions.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <string>
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
};

using StringPair = std::pair<llvm::StringRef, llvm::StringRef>;

struct Tensor {
  llvm::StringRef name;
  llvm::SmallVector<int64_t, 4> dims;
  DataType type = DataType::Undefined;
  bool hasRaw = false;
  llvm::StringRef raw; ///< little-endian elements
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
  llvm::StringRef param;
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
  llvm::StringRef name;
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
  llvm::StringRef name;
  llvm::StringRef reference; ///< inside a function: the caller's attribute that stands here
  Type type = Undefined;
  float f = 0;
  int64_t i = 0;
  llvm::StringRef s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<llvm::StringRef> strings;
  std::shared_ptr<onnx::Tensor> tensor;
  std::shared_ptr<onnx::Graph> graph;
};

/// Where a node wants to run (IR version 11): one of the model's configurations.
struct NodeConfiguration {
  llvm::StringRef id;
  std::vector<llvm::StringRef> shardedTensors; ///< what its sharding specs are about
  int64_t stage = -1;                          ///< of a pipeline; -1: not said
};

/// Devices by name, which nodes refer to (IR version 11).
struct DeviceConfiguration {
  llvm::StringRef name;
  int64_t numDevices = 0;
  std::vector<llvm::StringRef> devices;
};

struct Node {
  llvm::StringRef name, op, domain, overload;
  std::vector<llvm::StringRef> inputs, outputs;
  std::vector<Attribute> attributes;
  std::vector<NodeConfiguration> configurations;
};

struct Graph {
  llvm::StringRef name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs, outputs;
  std::vector<llvm::StringRef> sparseInitializers; ///< names
};

/// Opset versions by domain; "" and "ai.onnx" are the same one.
using Opsets = std::vector<std::pair<llvm::StringRef, int64_t>>;

struct Function {
  llvm::StringRef name, domain, overload;
  std::vector<llvm::StringRef> inputs, outputs, attributes;
  std::vector<Attribute> defaults;
  std::vector<Node> nodes;
  Opsets opsets;
};

struct Model {
  int64_t irVersion = 0;
  llvm::StringRef producer, producerVersion;
  Opsets opsets;
  bool hasGraph = false;
  Graph graph;
  std::vector<Function> functions;
  std::vector<DeviceConfiguration> configurations;
};

/// Decodes `bytes`. On failure `error` says what is wrong and at which byte.
bool decodeModel(llvm::StringRef bytes, Model &model, std::string &error);
/// The same for a lone tensor, as ONNX's test data has them.
bool decodeTensor(llvm::StringRef bytes, Tensor &tensor, std::string &error);

/// "f32", or "string", "f8E4M3FN" and so on for types that Gantry has not.
llvm::StringRef nameOf(DataType type);

} // namespace gantry::onnx
