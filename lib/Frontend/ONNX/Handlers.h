// What turns ONNX nodes into ops of the gantry dialect.
//
// One handler per ONNX op, found by name in an OpTable; handlers are grouped by family, one file
// each (Elementwise.cpp, Shape.cpp, ...). A handler sees its node through a NodeContext.
#pragma once

#include "NodeContext.h"

#include <functional>

namespace gantry::onnx {

/// Makes the values of a node's outputs, in order; trailing ones that nobody asked for may be
/// missing. A null value means failure, with a diagnostic emitted.
using Handler = std::function<Values(NodeContext &)>;

/// The domain of ONNX Runtime's own ops.
inline constexpr llvm::StringLiteral kMicrosoft = "com.microsoft";
/// The domain of optimisers and gradients.
inline constexpr llvm::StringLiteral kTraining = "ai.onnx.preview.training";

/// How many operands and outputs an op has; kAny is no limit.
inline constexpr unsigned kAny = ~0u;
struct Arity {
  unsigned minInputs = 1, maxInputs = 1, maxOutputs = 1;
};

/// What an op does with values of less than 8 bits, which are held in bytes: nothing (it is
/// refused), takes their numbers, or gives them back elsewhere.
enum class Narrow { refuses, reads, moves };

/// The ops known, by domain and name.
class OpTable {
public:
  struct Entry {
    Handler handler; ///< empty when refused
    Arity arity;
    /// Operands whose values decide shapes, for `check`.
    llvm::SmallVector<unsigned, 4> shapeOperands;
    /// Operands whose elements decide shapes and that constants have to decide: no input is asked
    /// for by value because of them.
    llvm::SmallVector<unsigned, 1> decidingOperands;
    /// When set, shape operands decide shapes only in nodes for which this holds.
    bool (*decidesShapes)(const Node &node) = nullptr;
    Narrow narrow = Narrow::refuses;
    /// Whether it takes values with as many rows as data say (Bounded.h): its ops say how, and
    /// nothing that it builds depends on the number of rows.
    bool isRowByRow = false;
    std::string refusal;
  };

  Entry &add(llvm::StringRef op, Handler handler, Arity arity = {}, llvm::StringRef domain = "");
  /// Says so of ops that are there.
  void setRowByRow(llvm::ArrayRef<llvm::StringRef> ops);
  /// An op that is known and not supported, and why.
  void refuse(llvm::StringRef op, llvm::StringRef why, llvm::StringRef domain = "");
  const Entry *find(llvm::StringRef domain, llvm::StringRef op) const;
  size_t size() const { return entries.size(); }
  std::vector<std::string> supported() const;

private:
  llvm::StringMap<Entry> entries;
};

/// The table of everything, made once.
const OpTable &getOpTable();

// One per family.
void addElementwiseOps(OpTable &table);
void addShapeOps(OpTable &table);
void addContractionOps(OpTable &table);
void addPoolingOps(OpTable &table);
void addReductionOps(OpTable &table);
void addNormalizationOps(OpTable &table);
void addIndexingOps(OpTable &table);
void addEinsumOp(OpTable &table);
void addImageOps(OpTable &table);
void addQuantizedOps(OpTable &table);
void addPackedOps(OpTable &table);
void addRecurrentOps(OpTable &table);
void addLossOps(OpTable &table);
void addGeneratorOps(OpTable &table);
void addControlFlowOps(OpTable &table);
void addTrainingOps(OpTable &table);
void addGradientOps(OpTable &table);
void addSignalOps(OpTable &table);
void addSamplingOps(OpTable &table);
void addAttentionOps(OpTable &table);
void addMicrosoftAttentionOps(OpTable &table);
void addMicrosoftOps(OpTable &table);
void addMicrosoftQuantizedOps(OpTable &table);
void addFusedOps(OpTable &table);
void addDetectionOps(OpTable &table);
void addSelectingOps(OpTable &table);
void addRefusedOps(OpTable &table);

/// Why a node cannot be compiled whose output has as many elements as data say; `before` are the
/// values that the graph can end at instead.
std::string describeDataShape(llvm::ArrayRef<std::string_view> before);

/// Handlers that only build one op of the same operands.
template <typename Op>
Values unary(NodeContext &n) {
  return {n.make<Op>(n.input(0))};
}

} // namespace gantry::onnx
