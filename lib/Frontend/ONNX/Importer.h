// Walks a model and makes a function of it. Names live in scopes; bodies of If and Loop see the
// scopes around them, functions do not.
#pragma once

#include "Handlers.h"
#include "ImportModel.h"

#include "gantry/Dialect/Gantry/IR/Evaluator.h"
#include "gantry/Dialect/Gantry/IR/Ports.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gantry::onnx {

/// Ops of one module; unrolled loops of hostile files end here.
inline constexpr size_t kMaxOps = 5'000'000;
/// Values that are computed while importing, each by code of its own.
inline constexpr size_t kMaxComputed = 500;
/// Elements of tables that are computed while importing.
inline constexpr int64_t kMaxTableElements = int64_t(1) << 25;

/// The names that nodes of one graph, body or function see.
struct Scope {
  Scope *parent = nullptr;
  const Opsets *opsets = nullptr;
  /// Attributes of the call when this is a function's body.
  const llvm::StringMap<const Attribute *> *callAttributes = nullptr;
  int depth = 0;
  /// Null for outputs of nodes that failed.
  llvm::StringMap<Value> values = {};
  /// The nodes of the graph or function, for messages.
  llvm::ArrayRef<Node> nodes = {};

  /// The entry for `name`, or null when no scope has it.
  const Value *find(llvm::StringRef name) const {
    for (const Scope *scope = this; scope; scope = scope->parent)
      if (auto it = scope->values.find(name); it != scope->values.end())
        return &it->second;
    return nullptr;
  }
};

/// What a model's function gives, by name.
struct Outputs {
  llvm::SmallVector<std::string> names;
  llvm::SmallVector<Value> values;
};

class Importer {
public:
  Importer(const ImportRequest &request, mlir::MLIRContext *context)
      : model(*request.model), options(*request.options), tensors(*request.tensors),
        report(request.report), variables(request.variables), context(context), builder(context),
        file(mlir::FileLineColLoc::get(context, request.file, 0, 0)) {}

  mlir::OwningOpRef<mlir::ModuleOp> run();

  //===--- What handlers ask for, through NodeContext ---===//

  mlir::OpBuilder &getBuilder() { return builder; }
  TensorReader &getTensors() { return tensors; }
  ModelUse getUse() const { return options.use; }
  bool isNarrow(Value value) const { return narrow.contains(value); }
  llvm::DenseMap<Value, int64_t> &getCounters() { return counters; }
  Bounds &getBounds() { return bounds; }
  std::optional<Values> importBody(Scope &around, const Graph &graph,
                                   llvm::ArrayRef<Value> arguments);
  std::string whyFails(llvm::function_ref<bool()> build);
  bool attempt(llvm::function_ref<bool()> build, std::string &why);
  /// `issues`: how many the report had when the node began.
  void askFor(mlir::Location loc, llvm::ArrayRef<std::string> inputs, llvm::StringRef why,
              size_t issues);
  size_t issueCount() const { return report ? report->issues.size() : 0; }
  /// Whether one more op may be made.
  bool countOp() { return ++opsMade <= kMaxOps; }
  /// A variable that begins as the constant, read in its place, whose users read that.
  Value readVariable(ConstantOp constant, llvm::StringRef name);
  /// What constants make of a value, within limits.
  Evaluation compute(Value value);
  /// Whether that many more elements may be computed.
  bool countTable(int64_t elements) { return (tableElements += elements) <= kMaxTableElements; }

private:
  //===--- The model as a whole ---===//

  mlir::LogicalResult checkModel();
  void warn(const llvm::Twine &about);
  mlir::Location locationOf(llvm::StringRef name) {
    return mlir::NameLoc::get(mlir::StringAttr::get(context, name.empty() ? "?" : name), file);
  }

  //===--- Inputs, initialisers and outputs (Ports.cpp) ---===//

  mlir::LogicalResult resolveDims();
  mlir::LogicalResult checkOpenDims(llvm::ArrayRef<const ValueInfo *> inputs);
  std::optional<int64_t> sizeOf(const ValueInfo &input, size_t axis) const;
  mlir::FailureOr<mlir::RankedTensorType> typeOfInput(const ValueInfo &input);
  mlir::FailureOr<Value> bindValue(const ValueInfo &input, const InputValue &value);
  mlir::LogicalResult importInputs(mlir::func::FuncOp function, Scope &scope);
  mlir::LogicalResult importInitializers(const Graph &graph, Scope &scope);
  /// A tensor of the file as a constant; null after a diagnostic.
  Value makeConstant(const Tensor &tensor, mlir::Location loc);
  mlir::LogicalResult checkOutput(const ValueInfo &output, Value value);
  mlir::FailureOr<Outputs> importOutputs(Scope &scope);
  /// All attributes of an input or output of the function; those of all are set at once, since one
  /// at a time would copy all of them each time.
  mlir::DictionaryAttr nameAttribute(llvm::StringRef name) {
    return builder.getDictionaryAttr(builder.getNamedAttr(kNameAttr, builder.getStringAttr(name)));
  }

  //===--- Nodes ---===//

  mlir::LogicalResult importNodes(llvm::ArrayRef<Node> nodes, Scope &scope);
  mlir::LogicalResult importNode(const Node &node, Scope &scope);
  DeviceAttr readRequest(const Node &node, std::string &wrong) const;
  Value copyTo(DeviceAttr device, Value value, mlir::Location loc);
  std::string checkBounds(const Node &node, const OpTable::Entry &entry, const Scope &scope,
                          llvm::ArrayRef<Value> inputs) const;
  Values dispatch(const Node &node, Scope &scope, int64_t opset, mlir::Location loc,
                  DeviceAttr request);
  /// Why an operand has no value: it is nobody's result, or the nodes wait for each other.
  std::string describeMissing(const Scope &scope, llvm::StringRef name);
  std::string describeUnknown(const Node &node);
  const Function *findFunction(const Node &node) const;
  Values callFunction(const Function &callee, NodeContext &call, const Node &node, Scope &scope);
  /// Says what is wrong with a node, or notes it in the report. Success means: go on.
  mlir::LogicalResult reportNode(const Node &node, int64_t opset, llvm::StringRef message);

  const Model &model;
  const ImportOptions &options;
  TensorReader &tensors;
  GraphReport *report;
  const llvm::StringSet<> *variables; ///< initializers that are variables; may be null
  mlir::MLIRContext *context;
  mlir::OpBuilder builder;
  mlir::Location file;
  llvm::StringMap<int64_t> dims;
  llvm::StringMap<const Function *> functions;
  /// Values whose elements have less than the 8 bits that they are held in.
  llvm::DenseSet<Value> narrow;
  llvm::DenseMap<Value, int64_t> counters;
  Bounds bounds;
  size_t nodesImported = 0, opsMade = 0, valuesComputed = 0;
  int64_t tableElements = 0;
  /// Nodes left out because one that they need failed and was reported.
  size_t nodesLeftOut = 0;
  unsigned cyclesLookedFor = 0;
  /// What was probably meant by ops that there are not.
  llvm::StringMap<std::string> meantOps;
};

} // namespace gantry::onnx
