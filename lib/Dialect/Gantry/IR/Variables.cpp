// Variables, replicated regions and collectives: verifiers, and the syntax of modes.

#include "gantry/Dialect/Gantry/IR/Assembly.h"
#include "gantry/Dialect/Gantry/IR/Optimizers.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

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
  if (getCentral() && getLocal())
    return emitOpError() << "'@" << getSymName()
                         << "' is central and local; replicas share it, or each has its own";
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

FlatSymbolRefAttr gantry::getAccessedVariable(Operation *op) {
  return llvm::TypeSwitch<Operation *, FlatSymbolRefAttr>(op)
      .Case<ReadOp, AssignOp, AssignAddOp>([](auto access) { return access.getVariableAttr(); })
      .Default(FlatSymbolRefAttr());
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

LogicalResult OptimizerStepOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyAccess(*this, getVariableAttr(), getGradient().getType(), tables);
}

LogicalResult OptimizerStepOp::verify() {
  const OptimizerRule *rule = findOptimizer(getRule());
  if (!rule)
    return emitOpError() << "has the rule '" << getRule() << "'; the rules are "
                         << llvm::join(
                                llvm::map_range(optimizerRules(),
                                                [](const OptimizerRule &one) { return one.name; }),
                                ", ");
  if (getRate().getType().getRank() != 0 || getStep().getType().getRank() != 0)
    return emitOpError() << "takes the rate and the step as scalars, got " << getRate().getType()
                         << " and " << getStep().getType();
  if (DictionaryAttr given = getNumbersAttr())
    for (NamedAttribute number : given) {
      if (!llvm::is_contained(llvm::make_first_range(rule->numbers), number.getName().strref()))
        return emitOpError() << "says '" << number.getName().strref() << "', but the numbers of "
                             << rule->name << " are "
                             << llvm::join(llvm::make_first_range(rule->numbers), ", ");
      if (!isa<FloatAttr>(number.getValue()))
        return emitOpError() << "number '" << number.getName().strref() << "' is "
                             << number.getValue() << ", expected a float";
    }
  if (getSlots() && getSlots()->empty())
    return emitOpError() << "has no name for its slots: slots is empty";
  return success();
}

//===----------------------------------------------------------------------===//
// Replicas
//===----------------------------------------------------------------------===//

std::string ReplicaModeAttr::str() const {
  std::string text = stringifyReplicaKind(getKind()).str();
  return hasAxis() ? text + " " + std::to_string(getAxis()) : text;
}

/// split 0
static ParseResult parseMode(AsmParser &parser, ReplicaModeAttr &mode) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<ReplicaKind> kind = symbolizeReplicaKind(word);
  if (!kind)
    return parser.emitError(loc) << "replica mode '" << word
                                 << "' is not known; known are split N, broadcast, per_replica, "
                                    "gather N, sum, mean, same";
  mode = ReplicaModeAttr::get(parser.getContext(), *kind);
  if (!mode.hasAxis())
    return success();
  uint32_t axis;
  if (parser.parseInteger(axis))
    return failure();
  mode = ReplicaModeAttr::get(parser.getContext(), *kind, axis);
  return success();
}

Attribute ReplicaModeAttr::parse(AsmParser &parser, Type) {
  ReplicaModeAttr mode;
  if (parser.parseLess() || parseMode(parser, mode) || parser.parseGreater())
    return {};
  return mode;
}

void ReplicaModeAttr::print(AsmPrinter &printer) const { printer << "<" << str() << ">"; }

ParseResult gantry::parseReplicaModes(OpAsmParser &parser, ArrayAttr &modes) {
  SmallVector<Attribute> list;
  auto parseOne = [&]() -> ParseResult {
    ReplicaModeAttr mode;
    if (parseMode(parser, mode))
      return failure();
    list.push_back(mode);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  modes = parser.getBuilder().getArrayAttr(list);
  return success();
}

void gantry::printReplicaModes(OpAsmPrinter &printer, Operation *, ArrayAttr modes) {
  printer << "[";
  llvm::interleaveComma(modes.getAsRange<ReplicaModeAttr>(), printer,
                        [&](ReplicaModeAttr mode) { printer << mode.str(); });
  printer << "]";
}

static LogicalResult verifyDevices(Operation *op, ArrayAttr devices) {
  if (devices.empty())
    return op->emitOpError() << "needs at least one device";
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

/// Each of them is all ops of the region.
static LogicalResult verifyParts(ReplicateOp op) {
  int64_t parts = op.getParts().value_or(1);
  if (parts < 1 || parts > ReplicateOp::kMostParts)
    return op.emitOpError() << "cuts the batch into " << parts << " parts; it can be 1 to "
                            << ReplicateOp::kMostParts;
  return success();
}

static bool isInputMode(ReplicaModeAttr mode) {
  return mode.is(ReplicaKind::Split) || mode.is(ReplicaKind::Broadcast) ||
         mode.is(ReplicaKind::PerReplica);
}

static bool isOutputMode(ReplicaModeAttr mode) {
  return !mode.is(ReplicaKind::Split) && !mode.is(ReplicaKind::Broadcast);
}

/// Modes of values: of the right side, axes inside, and as many values as they take.
static LogicalResult verifyModes(Operation *op, ArrayAttr modes, TypeRange values, TypeRange inside,
                                 size_t devices, bool inputs) {
  StringRef what = inputs ? "input" : "output";
  if (modes.size() != inside.size())
    return op->emitOpError() << "region has " << inside.size() << " " << what << "s, "
                             << modes.size() << " are described";
  size_t next = 0;
  for (auto [i, mode] : llvm::enumerate(modes.getAsRange<ReplicaModeAttr>())) {
    if (inputs ? !isInputMode(mode) : !isOutputMode(mode))
      return op->emitOpError() << "'" << mode.str() << "' is no mode of an " << what
                               << "; these are "
                               << (inputs ? "split N, broadcast, per_replica"
                                          : "gather N, sum, mean, same, per_replica");
    size_t count = mode.countValues(devices);
    if (next + count > values.size())
      return op->emitOpError() << what << " " << i << " (" << mode.str() << ") has no value";
    auto type = cast<RankedTensorType>(values[next]);
    next += count;
    if (mode.hasAxis() && (mode.getAxis() < 0 || mode.getAxis() >= type.getRank()))
      return op->emitOpError() << "axis " << mode.getAxis() << " of " << what << " " << i
                               << " is outside of " << type;
    SmallVector<int64_t> shape(type.getShape());
    if (mode.hasAxis())
      shape[mode.getAxis()] = ShapedType::kDynamic;
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
      failed(verifyWeights(*this, getWeights(), devices)) || failed(verifyParts(*this)) ||
      failed(verifyModes(*this, getInputs(), getValues().getTypes(), getBody().getArgumentTypes(),
                         devices, /*inputs=*/true)))
    return failure();
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield)
    return emitOpError() << "body must end in gantry.yield";
  return verifyModes(*this, getOutputs(), getResultTypes(), yield->getOperandTypes(), devices,
                     /*inputs=*/false);
}

LogicalResult ShareOp::verify() {
  if (getType().getRank() != 0)
    return emitOpError() << "is a scalar tensor<f32>, got " << getType();
  return success();
}

LogicalResult ShareOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, ValueRange,
                                        DictionaryAttr, OpaqueProperties, RegionRange,
                                        SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get({}, Float32Type::get(context)));
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (!gantry::detail::areCompatibleTypes(getValues().getTypes(), getResultTypes()))
    return emitOpError() << "takes (" << getValues().getTypes() << ") but gives ("
                         << getResultTypes() << ")";
  if ((*this)->getParentOfType<ReplicateOp>()) {
    if (getValues().size() != 1 || getDevices())
      return emitOpError() << "in a replicated region takes one value and no devices";
    if (getTree())
      return emitOpError() << "in a replicated region adds in a tree where that has parts; leave "
                              "'tree' out";
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
  if (auto rank = (*this)->getAttrOfType<IntegerAttr>(kRankAttr)) {
    if (getValues().size() == 1 && rank.getInt() >= 0 &&
        size_t(rank.getInt()) < getDevices()->size())
      return success();
    return emitOpError() << "is the part of replica " << rank.getInt() << " of "
                         << getDevices()->size() << " and has " << getValues().size() << " values";
  }
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
