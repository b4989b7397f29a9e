// See GraphBuilder.h. An op with regions stands in the graph from its beginning, without results,
// so that what is made inside sees its surroundings; when it ends, an op with results takes its
// place.

#include "gantry/Frontend/GraphBuilder.h"

#include "ONNX/Tensors.h"

#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Dialect/Gantry/IR/Ports.h"
#include "gantry/Support/Hash.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace gantry;

GraphBuilder::GraphBuilder(MLIRContext *context, std::string given)
    : builder(context), name(std::move(given)), location(UnknownLoc::get(context)) {
  context->loadDialect<GantryDialect, func::FuncDialect>();
  module = ModuleOp::create(UnknownLoc::get(context));
}

//===----------------------------------------------------------------------===//
// Places and requests
//===----------------------------------------------------------------------===//

InFlightDiagnostic GraphBuilder::refuse(StatusCode code) const {
  InFlightDiagnostic error = emitError(location);
  setStatusCode(*error.getUnderlyingDiagnostic(), code);
  return error;
}

void GraphBuilder::setLocation(StringRef file, unsigned line, unsigned column) {
  location = FileLineColLoc::get(getContext(), llvm::sys::path::filename(file), line, column);
}

void GraphBuilder::clearLocation() { location = UnknownLoc::get(getContext()); }

Location GraphBuilder::locationOf(StringRef label) const {
  return label.empty() ? location : NameLoc::get(StringAttr::get(getContext(), label), location);
}

/// Ops, constants and arguments need somewhere to be.
LogicalResult GraphBuilder::needPlace() const {
  if (!function)
    return refuse(StatusCode::failedPrecondition)
           << "no function is open; begin one with gantry_graph_function";
  if (!open.empty() && !open.back().inRegion)
    return refuse(StatusCode::failedPrecondition)
           << open.back().row->name
           << " has begun; begin a region of it with gantry_graph_begin_region, or end it";
  return success();
}

FailureOr<DeviceAttr> GraphBuilder::readDevice(StringRef device) const {
  gantry::Expected<DeviceName> parsed = DeviceName::parse(device);
  if (!parsed)
    return refuse() << parsed.status().message();
  return DeviceAttr::get(getContext(), *parsed);
}

LogicalResult GraphBuilder::pushDevice(StringRef device, SoftModeAttr soft) {
  FailureOr<DeviceAttr> inner = readDevice(device);
  if (failed(inner))
    return failure();
  const Scope none{DeviceName(), {}, location};
  const Scope &outer = scopes.empty() ? none : scopes.back();
  scopes.push_back(
      {mergeScopes(outer.device, inner->getName()), soft ? soft : outer.soft, location});
  return success();
}

LogicalResult GraphBuilder::popDevice() {
  if (scopes.size() > (open.empty() ? 0 : open.back().scopes)) {
    scopes.pop_back();
    return success();
  }
  return refuse(StatusCode::failedPrecondition)
         << (scopes.empty() ? "no device's scope is open"
                            : "the device's scope was begun outside of the open region");
}

/// As Resolve makes attributes of scopes.
void GraphBuilder::askForDevice(Operation *op) const {
  if (scopes.empty() || !(isa<KernelOpInterface>(op) || op->hasTrait<OpTrait::ConstantLike>()))
    return;
  const Scope &scope = scopes.back();
  op->setAttr(kDeviceAttr, DeviceAttr::get(getContext(), scope.device));
  op->setAttr(kOriginAttr, LocationAttr(scope.origin));
  if (scope.soft)
    op->setAttr(kSoftAttr, scope.soft);
}

//===----------------------------------------------------------------------===//
// Values and types
//===----------------------------------------------------------------------===//

static gantry::Expected<RankedTensorType> checkSize(ArrayRef<int64_t> dims, mlir::Type element) {
  SmallVector<int64_t> known =
      llvm::filter_to_vector(dims, [](int64_t size) { return !ShapedType::isDynamic(size); });
  gantry::Expected<RankedTensorType> checked = onnx::makeTensorType(known, element);
  if (!checked)
    return checked.status();
  return RankedTensorType::get(dims, element);
}

FailureOr<RankedTensorType> GraphBuilder::makeType(const GivenType &given) const {
  SmallVector<int64_t> dims(given.dims);
  for (int64_t &size : dims) {
    if (size < -1)
      return refuse() << "a tensor has a dimension of size " << size;
    if (size == -1)
      size = ShapedType::kDynamic;
  }
  gantry::Expected<RankedTensorType> type =
      checkSize(dims, onnx::makeElementType(given.element, getContext()));
  if (!type)
    return refuse(type.status().code()) << type.status().message();
  return *type;
}

uint32_t GraphBuilder::give(Value value) {
  slots.push_back({value, cast<RankedTensorType>(value.getType())});
  return slots.size() - 1;
}

/// Values of a region or function that has ended cannot be used any more.
void GraphBuilder::forget(size_t first) {
  for (size_t i = first; i < slots.size(); ++i)
    if (!isArgument(slots[i].value))
      slots[i].value = {};
}

/// An input of the open function, which may be added in a region and is not the region's.
bool GraphBuilder::isArgument(Value value) {
  auto argument = dyn_cast_if_present<BlockArgument>(value);
  return argument && function && argument.getOwner() == &function.front();
}

FailureOr<Value> GraphBuilder::valueOf(uint32_t number) const {
  if (number >= slots.size())
    return refuse() << "there is no value number " << number << " of " << slots.size();
  if (!slots[number].value)
    return refuse() << "value " << number
                    << " cannot be used here: it was made in a region or function that has ended";
  return slots[number].value;
}

RankedTensorType GraphBuilder::typeOf(uint32_t value) const {
  return value < slots.size() ? slots[value].type : RankedTensorType();
}

//===----------------------------------------------------------------------===//
// Functions, variables, constants
//===----------------------------------------------------------------------===//

LogicalResult GraphBuilder::beginFunction(StringRef called) {
  if (function)
    return refuse(StatusCode::failedPrecondition)
           << "'@" << function.getSymName() << "' is open; end it with gantry_graph_return";
  if (called.empty() || module->lookupSymbol(called))
    return refuse() << (called.empty() ? "a function needs a name"
                                       : "the name '" + called.str() + "' is taken");
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(builder, location, called, builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  return success();
}

FailureOr<uint32_t> GraphBuilder::addArgument(StringRef called, const GivenType &given,
                                              ArrayRef<StringRef> dimNames, StringRef device) {
  if (failed(needPlace()))
    return failure();
  FailureOr<RankedTensorType> type = makeType(given);
  FailureOr<DeviceAttr> home = device.empty() ? DeviceAttr() : readDevice(device);
  if (failed(type) || failed(home))
    return failure();
  NamedAttrList attrs;
  if (!called.empty())
    attrs.set(kNameAttr, builder.getStringAttr(called));
  if (*home)
    attrs.set(kDeviceAttr, *home);
  if (!dimNames.empty())
    attrs.set(kDimsAttr, builder.getStrArrayAttr(dimNames));
  const unsigned index = function.getNumArguments();
  std::string own = called.empty() ? "input" + std::to_string(index) : called.str();
  for (unsigned i = 0; i < index; ++i)
    if (inputName(function, i) == own)
      return refuse() << "two inputs of '" << function.getSymName() << "' are called '" << own
                      << "'; every input needs a name of its own";
  if (failed(function.insertArgument(index, *type, attrs.getDictionary(getContext()),
                                     locationOf(called))))
    return failure();
  return give(function.getArgument(index));
}

FailureOr<ElementsAttr> GraphBuilder::makeElements(GivenConstant &constant, bool mayBeZeros) const {
  // Whatever happens, whoever owns the bytes hears of it.
  auto orNow = llvm::make_scope_exit([&] {
    if (constant.release)
      constant.release();
  });
  FailureOr<RankedTensorType> type = makeType(constant.type);
  if (failed(type))
    return failure();
  if (!type->hasStaticShape())
    return refuse() << "a constant has no open dimensions, and this one is " << *type;
  const uint64_t size = getByteSize(*type);
  if (size && !constant.bytes && mayBeZeros)
    return cast<ElementsAttr>(OpBuilder(getContext()).getZeroAttr(*type));
  if (size && !constant.bytes)
    return refuse() << "a constant of " << size << " bytes has none: data is a null pointer";
  orNow.release();
  ArrayRef<char> bytes(constant.bytes, size);
  if (constant.release)
    return onnx::makeConstant(*type, bytes, std::move(constant.release), constant.name);
  auto own = std::make_shared<std::vector<char>>(bytes.begin(), bytes.end());
  return onnx::makeConstant(*type, *own, [own] {}, constant.name);
}

FailureOr<uint32_t> GraphBuilder::addConstant(GivenConstant given) {
  const std::string label = given.name.str();
  FailureOr<ElementsAttr> value = makeElements(given);
  if (failed(value) || failed(needPlace()))
    return failure();
  auto made = ConstantOp::create(builder, locationOf(label), value->getType(), *value);
  if (!label.empty())
    made->setAttr(kNameAttr, builder.getStringAttr(label));
  askForDevice(made);
  return give(made.getResult());
}

LogicalResult GraphBuilder::addVariable(GivenConstant given, StringRef device, SoftModeAttr soft,
                                        bool isCentral) {
  const std::string called = given.name.str();
  FailureOr<ElementsAttr> value = makeElements(given, /*mayBeZeros=*/true);
  FailureOr<DeviceAttr> home = device.empty() ? DeviceAttr() : readDevice(device);
  if (failed(value) || failed(home))
    return failure();
  if (called.empty() || module->lookupSymbol(called))
    return refuse() << (called.empty() ? "a variable needs a name"
                                       : "the name '" + called + "' is taken");
  // Before the functions that use it, where a reader looks for it.
  OpBuilder top = OpBuilder::atBlockBegin(module->getBody());
  for (auto before : module->getOps<VariableOp>())
    top.setInsertionPointAfter(before);
  OperationState state(locationOf(called), VariableOp::getOperationName());
  state.addAttribute("sym_name", builder.getStringAttr(called));
  state.addAttribute("value", *value);
  if (isCentral)
    state.addAttribute("central", builder.getUnitAttr());
  if (*home)
    state.addAttribute(kDeviceAttr, *home);
  if (soft)
    state.addAttribute(kSoftAttr, soft);
  Operation *made = top.create(state);
  if (succeeded(check(made)))
    return success();
  made->erase();
  return failure();
}

LogicalResult GraphBuilder::endFunction(ArrayRef<GivenOutput> outputs) {
  if (failed(needPlace()))
    return failure();
  if (!open.empty() || !scopes.empty())
    return refuse(StatusCode::failedPrecondition)
           << (open.empty() ? "a device's scope is open; end it with gantry_graph_pop_device"
                            : "a region is open; end it with gantry_graph_end_region");
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attrs;
  llvm::StringMap<unsigned> names;
  for (auto [i, output] : llvm::enumerate(outputs)) {
    FailureOr<Value> value = valueOf(output.value);
    FailureOr<DeviceAttr> home = output.device.empty() ? DeviceAttr() : readDevice(output.device);
    if (failed(value) || failed(home))
      return failure();
    std::string own = output.name.empty() ? "output" + std::to_string(i) : output.name.str();
    if (!names.try_emplace(own, i).second)
      return refuse() << "two outputs of '" << function.getSymName() << "' are called '" << own
                      << "'; every output needs a name of its own";
    NamedAttrList list;
    if (!output.name.empty())
      list.set(kNameAttr, builder.getStringAttr(output.name));
    if (*home)
      list.set(kDeviceAttr, *home);
    values.push_back(*value);
    attrs.push_back(list.getDictionary(getContext()));
  }
  func::ReturnOp::create(builder, location, values);
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), ValueRange(values).getTypes()));
  for (auto [i, list] : llvm::enumerate(attrs))
    function.setResultAttrs(i, list);
  function = {};
  forget(0);
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

FailureOr<const OpRow *> GraphBuilder::rowOf(const GivenOp &given, bool withRegions) const {
  const OpRow *row = findOp(given.name);
  if (!row)
    return refuse() << "there is no op '" << given.name << "'";
  if (!row->isOfGraphs)
    return refuse() << row->name << " is not made like other ops of a graph";
  if (row->regions != 0 && !withRegions)
    return refuse() << row->name << " has regions; begin it with gantry_graph_begin_op";
  if (row->regions == 0 && withRegions)
    return refuse() << row->name << " has no regions; make it with gantry_graph_op";
  return row;
}

static std::string nameList(ArrayRef<ValueRow> rows) {
  return llvm::join(llvm::map_range(rows,
                                    [](const ValueRow &row) {
                                      return row.name.str() + (row.arity == Arity::optional ? "?"
                                                               : row.arity == Arity::variadic
                                                                   ? "..."
                                                                   : "");
                                    }),
                    ", ");
}

/// The row of operand `index` of `count`, when at most one row is for any number of operands.
static const ValueRow *rowOfOperand(ArrayRef<ValueRow> rows, size_t index, size_t count) {
  auto many = llvm::find_if(rows, [](const ValueRow &row) { return row.arity != Arity::one; });
  const size_t before = many - rows.begin();
  if (index < before)
    return &rows[index];
  const size_t after = many == rows.end() ? 0 : rows.size() - before - 1;
  return count - index <= after ? &rows[rows.size() - (count - index)] : many;
}

static std::string elementList(uint32_t elements) {
  std::string list;
  for (unsigned i = 0; i < numElementTypes; ++i)
    if (elements >> i & 1)
      list += (list.empty() ? "" : ", ") + std::string(elementTypeName(ElementType(i)));
  return list;
}

ElementType gantry::elementTypeOf(RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream(text) << type.getElementType();
  // Plans and tools call unsigned types u8, u16, ...
  return *elementTypeNamed(StringRef(text).starts_with("ui") ? "u" + text.substr(2) : text);
}

FailureOr<SmallVector<Value>> GraphBuilder::operandsOf(const OpRow &row,
                                                       const GivenOp &given) const {
  size_t least =
      llvm::count_if(row.operands, [](const ValueRow &value) { return value.arity == Arity::one; });
  const bool isOpen = llvm::any_of(
      row.operands, [](const ValueRow &value) { return value.arity == Arity::variadic; });
  const size_t count = given.operands.size();
  if (count < least || (!isOpen && count > row.operands.size()))
    return refuse() << row.name << " takes "
                    << (row.operands.empty() ? "no operands"
                                             : "the operands (" + nameList(row.operands) + ")")
                    << ", got " << count;
  SmallVector<Value> values;
  for (auto [i, number] : llvm::enumerate(given.operands)) {
    FailureOr<Value> value = valueOf(number);
    if (failed(value))
      return failure();
    const ValueRow *slot = rowOfOperand(row.operands, i, count);
    auto type = cast<RankedTensorType>(value->getType());
    if (!(slot->elements >> unsigned(elementTypeOf(type)) & 1))
      return refuse() << "operand '" << slot->name << "' of " << row.name << " is " << type
                      << "; its elements may be " << elementList(slot->elements);
    values.push_back(*value);
  }
  return values;
}

FailureOr<NamedAttrList> GraphBuilder::attributesOf(const OpRow &row, const GivenOp &given) {
  NamedAttrList attrs;
  for (const GivenAttribute &attribute : given.attributes) {
    auto known = llvm::find_if(row.attributes,
                               [&](const AttributeRow &one) { return one.name == attribute.name; });
    const AttributeRow any{attribute.name, AttributeKind::text_, true, "", {}};
    const bool isOfDialect = attribute.name.starts_with("gantry.");
    if (known == row.attributes.end() && !isOfDialect) {
      std::string names = llvm::join(
          llvm::map_range(row.attributes, [](const AttributeRow &one) { return one.name; }), ", ");
      return refuse() << row.name << " has no attribute '" << attribute.name << "'; it has "
                      << (names.empty() ? "none" : names);
    }
    // A unit attribute is there or not.
    if (attribute.kind == AttributeKind::unit_ && std::get<int64_t>(attribute.value) == 0)
      continue;
    FailureOr<Attribute> made = makeAttribute(row, known == row.attributes.end() ? any : *known,
                                              attribute, getContext(), [&] { return refuse(); });
    if (failed(made))
      return failure();
    if (attrs.get(attribute.name))
      return refuse() << "attribute '" << attribute.name << "' of " << row.name
                      << " is given twice";
    attrs.set(attribute.name, *made);
  }
  for (const AttributeRow &needed : row.attributes)
    if (!needed.isOptional && !attrs.get(needed.name))
      return refuse() << row.name << " needs the attribute '" << needed.name << "' ("
                      << attributeKindName(needed.kind) << ")";
  if (!given.label.empty())
    attrs.set(kNameAttr, builder.getStringAttr(given.label));
  // Attributes of another kind than the op has would be dropped without a word.
  auto registered = RegisteredOperationName::lookup(row.name, getContext());
  if (failed(registered->verifyInherentAttrs(attrs, [&] { return refuse() << row.name << ": "; })))
    return failure();
  return attrs;
}

/// What follows from operands and attributes; asked of an op that is made for it and goes again.
static LogicalResult infer(OperationState &state) {
  Operation *probe = Operation::create(state);
  auto destroy = llvm::make_scope_exit([&] { probe->destroy(); });
  SmallVector<mlir::Type> types;
  auto inferring = cast<InferTypeOpInterface>(probe);
  if (failed(inferring.inferReturnTypes(state.getContext(), state.location, probe->getOperands(),
                                        probe->getDiscardableAttrDictionary(),
                                        probe->getPropertiesStorage(), probe->getRegions(), types)))
    return failure();
  state.addTypes(types);
  return success();
}

LogicalResult GraphBuilder::addResultTypes(const OpRow &row, const GivenOp &given,
                                           OperationState &state) {
  if (given.resultTypes) {
    for (const GivenType &type : *given.resultTypes) {
      FailureOr<RankedTensorType> made = makeType(type);
      if (failed(made))
        return failure();
      state.addTypes(*made);
    }
    return success();
  }
  if (row.regions != 0 || row.results.empty())
    return success();
  if (row.infersTypes)
    return infer(state);
  // What reads a variable has the variable's type.
  Operation *probe = Operation::create(state);
  FlatSymbolRefAttr variable = getAccessedVariable(probe);
  probe->destroy();
  if (!variable)
    return refuse() << row.name << " does not infer the type of its result; give result_types";
  auto declared = module->lookupSymbol<VariableOp>(variable.getAttr());
  if (!declared)
    return refuse() << "there is no variable '" << variable.getValue() << "'";
  state.addTypes(declared.getTensorType());
  return success();
}

LogicalResult GraphBuilder::check(Operation *op) const {
  if (failed(mlir::verify(op)))
    return failure();
  if (auto user = dyn_cast<SymbolUserOpInterface>(op)) {
    SymbolTableCollection symbols;
    if (failed(user.verifySymbolUses(symbols)))
      return failure();
  }
  for (mlir::Type type : op->getResultTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    auto checked = checkSize(tensor.getShape(), tensor.getElementType());
    if (!checked)
      return op->emitError() << op->getName() << ": " << checked.status().message();
  }
  return success();
}

FailureOr<Operation *> GraphBuilder::create(const OpRow &row, const GivenOp &given) {
  if (failed(needPlace()))
    return failure();
  FailureOr<SmallVector<Value>> operands = operandsOf(row, given);
  if (failed(operands))
    return failure();
  FailureOr<NamedAttrList> attrs = attributesOf(row, given);
  if (failed(attrs))
    return failure();
  OperationState state(locationOf(given.label), row.name);
  state.addOperands(*operands);
  state.attributes = *attrs;
  if (failed(addResultTypes(row, given, state)))
    return failure();
  for (unsigned i = 0; i < row.regions; ++i)
    state.addRegion();
  Operation *op = builder.create(state);
  askForDevice(op);
  return op;
}

FailureOr<GraphBuilder::Values> GraphBuilder::giveResults(Operation *op) {
  if (failed(check(op))) {
    op->erase();
    return failure();
  }
  Values results;
  for (Value result : op->getResults())
    results.push_back(give(result));
  return results;
}

FailureOr<GraphBuilder::Values> GraphBuilder::makeOp(const GivenOp &given) {
  FailureOr<const OpRow *> row = rowOf(given, /*withRegions=*/false);
  if (failed(row))
    return failure();
  FailureOr<Operation *> made = create(**row, given);
  if (failed(made))
    return failure();
  return giveResults(*made);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

LogicalResult GraphBuilder::beginOp(const GivenOp &given) {
  FailureOr<const OpRow *> row = rowOf(given, /*withRegions=*/true);
  if (failed(row))
    return failure();
  FailureOr<Operation *> made = create(**row, given);
  if (failed(made))
    return failure();
  open.push_back({*made, *row, given.resultTypes.has_value()});
  open.back().scopes = scopes.size();
  return success();
}

FailureOr<GraphBuilder::Values> GraphBuilder::beginRegion(ArrayRef<GivenType> given) {
  if (open.empty() || open.back().inRegion)
    return refuse(StatusCode::failedPrecondition)
           << "a region begins in an op that has begun; begin one with gantry_graph_begin_op";
  OpenOp &owner = open.back();
  if (owner.regions == owner.row->regions)
    return refuse(StatusCode::failedPrecondition)
           << owner.row->name << " has " << owner.row->regions << " regions, and all have ended";
  SmallVector<mlir::Type> types;
  for (const GivenType &one : given) {
    FailureOr<RankedTensorType> type = makeType(one);
    if (failed(type))
      return failure();
    types.push_back(*type);
  }
  owner.firstValue = slots.size();
  owner.scopes = scopes.size();
  owner.inRegion = true;
  Region &region = owner.op->getRegion(owner.regions++);
  builder.createBlock(&region, region.end(), types, SmallVector<Location>(types.size(), location));
  Values arguments;
  for (BlockArgument argument : region.getArguments())
    arguments.push_back(give(argument));
  return arguments;
}

LogicalResult GraphBuilder::endRegion(ArrayRef<uint32_t> yielded) {
  if (open.empty() || !open.back().inRegion)
    return refuse(StatusCode::failedPrecondition) << "no region is open";
  OpenOp &owner = open.back();
  if (scopes.size() > owner.scopes)
    return refuse(StatusCode::failedPrecondition)
           << "a device's scope is open; end it with gantry_graph_pop_device";
  SmallVector<Value> values;
  for (uint32_t number : yielded) {
    FailureOr<Value> value = valueOf(number);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  YieldOp::create(builder, location, values);
  owner.yielded = llvm::to_vector(ValueRange(values).getTypes());
  owner.inRegion = false;
  forget(owner.firstValue);
  builder.setInsertionPointAfter(owner.op);
  return success();
}

FailureOr<GraphBuilder::Values> GraphBuilder::endOp() {
  if (open.empty() || open.back().inRegion)
    return refuse(StatusCode::failedPrecondition)
           << (open.empty() ? "no op with regions has begun"
                            : "a region is open; end it with gantry_graph_end_region");
  const OpenOp owner = open.back();
  if (owner.regions != owner.row->regions)
    return refuse(StatusCode::failedPrecondition)
           << owner.row->name << " has " << owner.row->regions << " regions, and " << owner.regions
           << " of them " << (owner.regions == 1 ? "was" : "were") << " given";
  Operation *made = owner.op;
  builder.setInsertionPointAfter(made);
  if (!owner.hasTypes) {
    OperationState state(made->getLoc(), made->getName());
    state.addOperands(made->getOperands());
    state.attributes = made->getAttrs();
    state.addTypes(owner.yielded);
    if (auto gradient = dyn_cast<GradientOp>(made))
      state.addTypes(gradient.getWrt().getTypes());
    for (Region &region : made->getRegions())
      state.addRegion()->takeBody(region);
    made->erase();
    made = builder.create(state);
  }
  open.pop_back();
  return giveResults(made);
}

LogicalResult GraphBuilder::abandonOp() {
  if (open.empty())
    return refuse(StatusCode::failedPrecondition) << "no op with regions has begun";
  OpenOp &owner = open.back();
  if (owner.inRegion) {
    forget(owner.firstValue);
    scopes.erase(scopes.begin() + owner.scopes, scopes.end());
  }
  builder.setInsertionPointAfter(owner.op);
  owner.op->erase();
  open.pop_back();
  return success();
}

//===----------------------------------------------------------------------===//
// The graph as a file
//===----------------------------------------------------------------------===//

/// What is in the graph, as bytes that are equal for equal graphs: text, and hashes of weights.
static std::string fingerprint(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().elideLargeResourceString(0));
  AttrTypeWalker walker;
  walker.addWalk([&](DenseResourceElementsAttr weights) {
    if (AsmResourceBlob *blob = weights.getRawHandle().getBlob())
      os << "\n"
         << hashBytes(llvm::arrayRefFromStringRef(
                StringRef(blob->getData().data(), blob->getData().size())));
  });
  module.walk([&](Operation *op) { walker.walk(op->getAttrDictionary()); });
  return text;
}

FailureOr<GraphFile> GraphBuilder::finish() {
  OwningOpRef<ModuleOp> finished = ModuleOp::create(module->getLoc());
  bool hasFunction = false;
  for (Operation &op : *module->getBody()) {
    if (function && &op == function)
      continue;
    hasFunction |= isa<func::FuncOp>(op);
    finished->push_back(op.clone());
  }
  if (!hasFunction)
    return refuse(StatusCode::failedPrecondition)
           << "the graph has no function that has ended; end one with gantry_graph_return";
  GraphFile file;
  file.bytes = llvm::MemoryBuffer::getMemBufferCopy(fingerprint(*finished), name);
  file.name = name;
  file.built = std::make_shared<OwningOpRef<ModuleOp>>(std::move(finished));
  return file;
}
