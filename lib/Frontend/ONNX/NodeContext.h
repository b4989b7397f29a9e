// One ONNX node as a handler sees it: operands as values, attributes with defaults, and `make` to
// build ops. Everything a handler does is checked here once: types are inferred before an op
// exists, a null operand gives a null result, so that a handler only looks at null where it wants
// to read a shape.
#pragma once

#include "Bounded.h"
#include "Tensors.h"
#include "gantry/Formats/ONNX/Model.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Frontend/Frontend.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <optional>

namespace gantry::onnx {

using mlir::Value;
using Ints = llvm::SmallVector<int64_t>;
using IntsRef = llvm::ArrayRef<int64_t>;
using Values = llvm::SmallVector<Value, 2>;

class Importer;
struct Scope;

/// The name of a node, or of its first output when it has none.
llvm::StringRef nameOfNode(const Node &node);

/// Whether `value` is what shape arithmetic is made of: it is folded wherever it was to run (spec
/// P7).
bool isShapeConstant(Value value);

/// An operand that may be absent: null does not stop `make`.
struct Maybe {
  Value value;
  operator Value() const { return value; }
};

namespace detail {
inline bool isMissing(Value value) { return !value; }
inline bool isMissing(llvm::ArrayRef<Value> values) { return llvm::is_contained(values, Value()); }
inline bool isMissing(const Values &values) { return llvm::is_contained(values, Value()); }
template <typename T>
bool isMissing(const T &) {
  return false;
}
} // namespace detail

/// One node while it is imported.
class NodeContext {
public:
  NodeContext(Importer &importer, Scope &scope, const Node &node, int64_t opset, mlir::Location loc,
              llvm::ArrayRef<Value> inputs);

  /// The device that the node asks for, of every op it becomes; null for none.
  DeviceAttr request;

  //===--- The node ---===//

  llvm::StringRef op() const { return node.op; }
  int64_t opset() const { return version; }
  mlir::Location getLoc() const { return loc; }
  size_t numInputs() const { return inputs.size(); }
  /// Operand `i`, or null when the node leaves it out.
  Value input(size_t i) const { return i < inputs.size() ? inputs[i] : Value(); }
  llvm::ArrayRef<Value> allInputs() const { return inputs; }
  /// Whether operand `i` is of less than 8 bits, of which each is held in a byte.
  bool isNarrow(size_t i) const;
  size_t numOutputs() const { return node.outputs.size(); }
  bool wantsOutput(size_t i) const { return i < node.outputs.size() && !node.outputs[i].empty(); }
  /// The value that the graph has under `name` before this node; null when there is none.
  Value tensorNamed(llvm::StringRef name) const;
  llvm::StringRef outputName(size_t i) const {
    return i < node.outputs.size() ? llvm::StringRef(node.outputs[i]) : "";
  }

  ModelUse getUse() const;
  /// Makes a variable of the initializer that the operand is, and gives it another value; nothing
  /// of other operands.
  void updateInitializer(size_t operand, Value next);
  /// A seed for a node that gives none: the same in every import, another one for every node.
  uint64_t ownSeed() const { return llvm::hash_value(outputName(0)) & 0x7fffffff; }

  //===--- Attributes; reading one marks it as known ---===//

  bool hasAttr(llvm::StringRef name) { return find(name) != nullptr; }
  int64_t intAttr(llvm::StringRef name, int64_t otherwise);
  double floatAttr(llvm::StringRef name, double otherwise);
  llvm::StringRef stringAttr(llvm::StringRef name, llvm::StringRef otherwise);
  std::optional<Ints> intsAttr(llvm::StringRef name);
  std::optional<std::vector<float>> floatsAttr(llvm::StringRef name);
  std::vector<llvm::StringRef> stringsAttr(llvm::StringRef name);
  const Tensor *tensorAttr(llvm::StringRef name);
  const Graph *graphAttr(llvm::StringRef name);
  void ignoreAttrs(std::initializer_list<llvm::StringRef> names);
  /// The attributes read so far, for the message about one that nobody read.
  const llvm::StringSet<> &readAttrs() const { return read; }
  /// Attributes of the node, references to a function's caller resolved.
  const llvm::StringMap<const Attribute *> &attributes() const { return attrs; }

  //===--- Failure ---===//

  /// Emits `message` at the node; null, to return at once.
  Value fail(const llvm::Twine &message);
  bool hasFailed() const { return failed; }
  /// Whether `build` succeeds. When it does not, nothing is reported, as if it had not been tried;
  /// `why`, when there, is what would have been.
  bool attempt(llvm::function_ref<bool()> build, std::string *why = nullptr);

  //===--- Types ---===//

  static mlir::RankedTensorType typeOf(Value v) {
    return mlir::cast<mlir::RankedTensorType>(v.getType());
  }
  static Ints shapeOf(Value v) { return Ints(typeOf(v).getShape()); }
  static int64_t rankOf(Value v) { return typeOf(v).getRank(); }
  static mlir::Type elementOf(Value v) { return typeOf(v).getElementType(); }
  static bool isFloat(Value v) { return mlir::isa<mlir::FloatType>(elementOf(v)); }
  static bool isBool(Value v) { return elementOf(v).isInteger(1); }
  mlir::Type i64() { return builder.getI64Type(); }
  mlir::Type i32() { return builder.getI32Type(); }
  mlir::Type i1() { return builder.getI1Type(); }
  mlir::Type f32() { return builder.getF32Type(); }
  /// The element type of an ONNX type number; fails for one that Gantry has not.
  mlir::Type elementType(int64_t onnxType);

  //===--- Values known now ---===//

  /// Elements of a value that constants decide, at most `limit`: for what shapes, axes and branches
  /// want, since all ops behind it are evaluated. `why` says what kept constants from deciding it.
  std::optional<KnownElements> known(Value value, int64_t limit = kMaxEvaluated,
                                     std::string *why = nullptr);
  std::optional<Ints> knownInts(Value value);
  /// Integers of operand `i`, which must be known because shapes depend on it. Fails otherwise.
  std::optional<Ints> shapeOperand(size_t i, llvm::StringRef what);
  std::optional<KnownElements> knownOperand(size_t i, llvm::StringRef what);
  /// Counters of the loops that are built around this node, and how many steps each counts.
  llvm::DenseMap<Value, int64_t> &counters();
  /// Elements of operand `i`, which decide how many elements the output has: those that constants
  /// decide, up to 64 MiB of them. Fails otherwise.
  std::optional<KnownElements> decidingElements(size_t i);
  /// What is said of how many rows `value` has; null where it has as many as its shape says.
  const Bound *boundOf(Value value) const;
  void setBound(Value value, Bound bound);
  /// Fails where the rows of `value` along `axis` are as many as data say, for `what`.
  bool needsFixedRows(Value value, int64_t axis, llvm::StringRef what);
  /// A scalar among them.
  std::optional<int64_t> shapeScalar(size_t i, llvm::StringRef what);
  /// `axis` counted from the front, or failure when it is outside [-rank, rank).
  std::optional<int64_t> axis(int64_t axis, int64_t rank);
  std::optional<Ints> axes(IntsRef axes, int64_t rank);

  //===--- Building ---===//

  /// Builds an op whose result type is inferred, folds it, and gives its only result. Null when an
  /// operand is null or the types do not fit (a diagnostic was emitted).
  template <typename Op, typename... Args>
  Value make(Args &&...args) {
    Values results = makeAll<Op>(std::forward<Args>(args)...);
    return results.empty() ? Value() : results.front();
  }
  /// The same for several results; empty after a failure.
  template <typename Op, typename... Args>
  Values makeAll(Args &&...args) {
    if ((detail::isMissing(args) || ...) || failed)
      return {};
    mlir::OperationState state(loc, Op::getOperationName());
    Op::build(builder, state, placeholder<Op>(), std::forward<Args>(args)...);
    state.types.clear();
    if (mlir::failed(Op::inferReturnTypes(builder.getContext(), loc, state.operands,
                                          state.attributes.getDictionary(builder.getContext()),
                                          state.getRawProperties(), state.regions, state.types)))
      return failWith();
    return finish(state);
  }
  /// An op whose result type has to be given.
  template <typename Op, typename... Args>
  Value makeTyped(IntsRef shape, mlir::Type element, Args &&...args) {
    if ((detail::isMissing(args) || ...) || failed || !element)
      return {};
    gantry::Expected<mlir::RankedTensorType> type = makeTensorType(shape, element);
    if (!type)
      return fail(type.status().message());
    mlir::OperationState state(loc, Op::getOperationName());
    Op::build(builder, state, mlir::Type(*type), std::forward<Args>(args)...);
    Values results = finish(state);
    return results.empty() ? Value() : results.front();
  }
  /// Verifies, names and folds what `state` describes.
  Values finish(mlir::OperationState &state);

  Value constant(mlir::ElementsAttr attr);
  /// Asked before that many elements are computed: whether those of the whole model, each step of
  /// an unrolled loop included, stay within reason. Fails the node otherwise.
  bool countTable(int64_t elements);
  Value tensor(const Tensor &tensor);                  ///< of an attribute
  Value ints(IntsRef values, mlir::Type element = {}); ///< 1-D, i64 unless said
  Value scalar(mlir::Type element, double value);      ///< rank 0
  Value scalarInt(mlir::Type element, int64_t value);
  Value full(IntsRef shape, mlir::Type element, double value);
  Value cast(Value v, mlir::Type element);
  /// Where `v` has as many rows as data say, `rows` is the dimension that they are in then; if it
  /// is not said, the shapes have to tell.
  Value reshape(Value v, IntsRef shape, std::optional<int64_t> rows = {});
  Value broadcast(Value v, IntsRef shape);
  Value transpose(Value v, IntsRef permutation);
  Value slice(Value v, IntsRef starts, IntsRef sizes, IntsRef steps = {});
  /// Elements `start` to `start + size` along one axis.
  Value sliceAxis(Value v, int64_t axis, int64_t start, int64_t size, int64_t step = 1);
  Value concat(llvm::ArrayRef<Value> values, int64_t axis);
  Value iota(IntsRef shape, mlir::Type element, int64_t axis);
  Value compare(CompareDirection direction, Value a, Value b) {
    return make<CompareOp>(direction, a, b);
  }
  Value select(Value c, Value a, Value b) { return make<SelectOp>(c, a, b); }
  Value add(Value a, Value b) { return make<AddOp>(a, b); }
  Value sub(Value a, Value b) { return make<SubOp>(a, b); }
  Value mul(Value a, Value b) { return make<MulOp>(a, b); }
  Value div(Value a, Value b) { return make<DivOp>(a, b); }
  /// With a constant of the same element type.
  Value addScalar(Value a, double b) { return a ? add(a, scalar(elementOf(a), b)) : Value(); }
  Value mulScalar(Value a, double b) { return a ? mul(a, scalar(elementOf(a), b)) : Value(); }
  Value matmul(Value a, Value b, bool transposeA = false, bool transposeB = false);
  template <typename Op>
  Value reduce(Value v, IntsRef axes, bool keepDims) {
    return make<Op>(v, axes, keepDims);
  }
  /// `v` with dimensions of size 1 put before and after, so that dimension 0 stands at `axis` of
  /// `rank`.
  Value alignChannels(Value v, int64_t axis, int64_t rank);

  /// Builds the body of `graph` here, in a scope inside this node's. Nothing after a failure.
  std::optional<Values> importBody(const Graph &graph, llvm::ArrayRef<Value> arguments);
  /// Whether the report got something about this node, or one in its bodies.
  bool hasReported() const;

  /// Names of the graph's inputs that `value` is computed from, if they are a few integers all of
  /// them; empty otherwise, and where `value` is known.
  std::vector<std::string> decidingInputs(Value value);
  /// Builds what may fail, and says why it does; empty when it does not.
  std::string whyFails(llvm::function_ref<bool()> build);
  /// Fails because not all branches can be built: the user hears, or the report gets, that the
  /// inputs that decide between them could be given by value.
  void askFor(llvm::ArrayRef<std::string> inputs, llvm::StringRef why);

  mlir::OpBuilder &builder;

private:
  /// What the generated builders want for result types before they are inferred: any type for one
  /// result, as many for two.
  template <typename Op>
  auto placeholder() {
    mlir::Type any = mlir::RankedTensorType::get({}, builder.getF32Type());
    if constexpr (Op::template hasTrait<mlir::OpTrait::OneResult>())
      return any;
    else
      return llvm::SmallVector<mlir::Type, 2>(2, any);
  }
  bool passBound(mlir::Operation *op, Value result);
  std::optional<int64_t> rowsOfReshape; ///< where the next reshape puts rows
  const Attribute *find(llvm::StringRef name);
  const Attribute *find(llvm::StringRef name, Attribute::Type type, llvm::StringRef what);
  Values failWith() {
    failed = true;
    return {};
  }

  Importer &importer;
  Scope &scope;
  const Node &node;
  int64_t version;
  mlir::Location loc;
  mlir::StringAttr name;
  llvm::SmallVector<Value> inputs;
  llvm::StringMap<const Attribute *> attrs;
  llvm::StringSet<> read;
  size_t issuesBefore; ///< in the report, when this node began
  bool failed = false;
};

} // namespace gantry::onnx
