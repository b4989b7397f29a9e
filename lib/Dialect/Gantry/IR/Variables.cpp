// Verifiers of variables, replicated regions and collectives.

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "gantry/Device/DeviceName.h"

using namespace mlir;
using namespace gantry;

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

LogicalResult VariableOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getValue().getType());
  if (!type || !type.hasStaticShape())
    return emitOpError() << "'@" << getSymName() << "' must start as a tensor of static shape, got "
                         << getValue().getType();
  return success();
}

/// The variable that `symbol` names, with an error at `op` that lists those there are.
static FailureOr<VariableOp> findVariable(Operation *op, FlatSymbolRefAttr symbol,
                                          SymbolTableCollection &tables) {
  if (auto variable = tables.lookupNearestSymbolFrom<VariableOp>(op, symbol))
    return variable;
  auto error = op->emitOpError() << "uses '" << symbol << "', which is no variable; ";
  bool any = false;
  if (auto module = op->getParentOfType<ModuleOp>())
    for (auto known : module.getOps<VariableOp>()) {
      error << (any ? ", " : "the variables are ") << "'@" << known.getSymName() << "'";
      any = true;
    }
  if (!any)
    error << "the module has none; declare it with gantry.variable";
  return error;
}

static LogicalResult verifyAccess(Operation *op, FlatSymbolRefAttr symbol, Type type,
                                  SymbolTableCollection &tables) {
  FailureOr<VariableOp> variable = findVariable(op, symbol, tables);
  if (failed(variable))
    return failure();
  if (type != variable->getTensorType())
    return op->emitOpError() << "'" << symbol << "' is " << variable->getTensorType()
                             << ", used as " << type;
  return success();
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyAccess(*this, getVariableAttr(), getType(), tables);
}
LogicalResult AssignOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyAccess(*this, getVariableAttr(), getValue().getType(), tables);
}
LogicalResult AssignAddOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyAccess(*this, getVariableAttr(), getValue().getType(), tables);
}

//===----------------------------------------------------------------------===//
// Replicas
//===----------------------------------------------------------------------===//

std::optional<ReplicaMode> gantry::parseReplicaMode(StringRef text) {
  for (auto [word, kind] : {std::pair<StringRef, ReplicaMode::Kind>{"split ", ReplicaMode::split},
                            {"gather ", ReplicaMode::gather}}) {
    StringRef number = text;
    int64_t axis;
    if (number.consume_front(word) && !number.getAsInteger(10, axis) && axis >= 0)
      return ReplicaMode{kind, axis};
  }
  for (auto [word, kind] :
       {std::pair<StringRef, ReplicaMode::Kind>{"broadcast", ReplicaMode::broadcast},
        {"per replica", ReplicaMode::perReplica},
        {"sum", ReplicaMode::sum},
        {"mean", ReplicaMode::mean},
        {"same", ReplicaMode::same}})
    if (text == word)
      return ReplicaMode{kind};
  return std::nullopt;
}

static LogicalResult verifyDevices(Operation *op, ArrayAttr devices) {
  if (devices.empty())
    return op->emitOpError() << "needs at least one device";
  for (auto device : devices.getAsRange<StringAttr>())
    if (Expected<DeviceName> name = DeviceName::parse(device.str()); !name)
      return op->emitOpError() << name.status().message();
  return success();
}

/// One for each device, none negative, not all of them zero.
static LogicalResult verifyWeights(Operation *op, std::optional<ArrayRef<int64_t>> weights,
                                   size_t devices) {
  if (!weights)
    return success();
  if (weights->size() != devices)
    return op->emitOpError() << "has " << weights->size() << " weights for " << devices
                             << " devices";
  int64_t sum = 0;
  for (int64_t weight : *weights) {
    if (weight < 0 || weight > (int64_t(1) << 31))
      return op->emitOpError() << "weight " << weight << " is not between 0 and 2^31";
    sum += weight;
  }
  if (sum == 0)
    return op->emitOpError() << "has no weight above 0";
  return success();
}

static bool isInputMode(std::optional<ReplicaMode> mode) {
  return mode && (mode->kind == ReplicaMode::split || mode->kind == ReplicaMode::broadcast ||
                  mode->kind == ReplicaMode::perReplica);
}

static bool isOutputMode(std::optional<ReplicaMode> mode) {
  return mode && mode->kind != ReplicaMode::split && mode->kind != ReplicaMode::broadcast;
}

/// Modes of values: all known, axes inside, and as many values as they take.
static LogicalResult verifyModes(Operation *op, ArrayAttr texts, TypeRange values, TypeRange inside,
                                 size_t devices, bool inputs) {
  StringRef what = inputs ? "input" : "output";
  if (texts.size() != inside.size())
    return op->emitOpError() << "region has " << inside.size() << " " << what << "s, "
                             << texts.size() << " are described";
  size_t next = 0;
  for (auto [i, text] : llvm::enumerate(texts.getAsRange<StringAttr>())) {
    std::optional<ReplicaMode> mode = parseReplicaMode(text.getValue());
    if (inputs ? !isInputMode(mode) : !isOutputMode(mode))
      return op->emitOpError()
             << what << " mode \"" << text.getValue() << "\" is not known; known are "
             << (inputs ? "\"split N\", \"broadcast\", \"per replica\""
                        : "\"gather N\", \"sum\", \"mean\", \"same\", \"per replica\"");
    size_t count = mode->kind == ReplicaMode::perReplica ? devices : 1;
    if (next + count > values.size())
      return op->emitOpError() << what << " " << i << " (\"" << text.getValue()
                               << "\") has no value";
    auto type = cast<RankedTensorType>(values[next]);
    next += count;
    bool hasAxis = mode->kind == ReplicaMode::split || mode->kind == ReplicaMode::gather;
    if (hasAxis && mode->axis >= type.getRank())
      return op->emitOpError() << "axis " << mode->axis << " of " << what << " " << i
                               << " is outside of " << type;
    SmallVector<int64_t> shape(type.getShape());
    if (hasAxis)
      shape[mode->axis] = ShapedType::kDynamic;
    auto own = dyn_cast<RankedTensorType>(inside[i]);
    if (!own || own.getElementType() != type.getElementType() ||
        failed(verifyCompatibleShape(own.getShape(), shape)))
      return op->emitOpError() << what << " " << i << " is " << type << ", the region has "
                               << inside[i];
  }
  if (next != values.size())
    return op->emitOpError() << "has " << values.size() << " " << what << " values, takes " << next;
  return success();
}

LogicalResult ReplicateOp::verify() {
  size_t devices = getDevices().size();
  if (failed(verifyDevices(*this, getDevices())) ||
      failed(verifyWeights(*this, getWeights(), devices)) ||
      failed(verifyModes(*this, getInputs(), getValues().getTypes(), getBody().getArgumentTypes(),
                         devices, /*inputs=*/true)))
    return failure();
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield)
    return emitOpError() << "body must end in gantry.yield";
  return verifyModes(*this, getOutputs(), getResultTypes(), yield->getOperandTypes(), devices,
                     /*inputs=*/false);
}

LogicalResult AllReduceOp::verify() {
  if (getKind() != "sum" && getKind() != "mean")
    return emitOpError() << "kind \"" << getKind() << "\" is not known; known are sum, mean";
  if (!gantry::detail::areCompatibleTypes(getValues().getTypes(), getResultTypes()))
    return emitOpError() << "takes (" << getValues().getTypes() << ") but gives ("
                         << getResultTypes() << ")";
  if ((*this)->getParentOfType<ReplicateOp>()) {
    if (getValues().size() != 1 || getDevices())
      return emitOpError() << "in a replicated region takes one value and no devices";
    return success();
  }
  // Of a private function the regions that call it are seen when it is inlined.
  auto func = (*this)->getParentOfType<SymbolOpInterface>();
  if (!getDevices() && getValues().size() == 1 && func && func.isPrivate())
    return success();
  if (!getDevices())
    return emitOpError() << "outside of gantry.replicate needs devices, one for each value";
  if (failed(verifyDevices(*this, *getDevices())) ||
      failed(verifyWeights(*this, getWeights(), getDevices()->size())))
    return failure();
  if (getDevices()->size() != getValues().size())
    return emitOpError() << "has " << getValues().size() << " values for " << getDevices()->size()
                         << " devices";
  for (Value value : getValues())
    if (value.getType() != getValues().front().getType())
      return emitOpError() << "values differ: " << getValues().front().getType() << " and "
                           << value.getType();
  return success();
}

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                            ValueRange operands, DictionaryAttr, OpaqueProperties,
                                            RegionRange, SmallVectorImpl<Type> &types) {
  llvm::append_range(types, operands.getTypes());
  return success();
}
