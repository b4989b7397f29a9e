// Inputs, initialisers and outputs of a model: what the file declares of them, with the sizes and
// values that the caller gives.

#include "DimNames.h"
#include "Importer.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

//===----------------------------------------------------------------------===//
// Open dimensions
//===----------------------------------------------------------------------===//

LogicalResult Importer::resolveDims() {
  llvm::StringSet<> open, places, decided;
  auto given = [&](StringRef name) -> std::optional<int64_t> {
    auto it = llvm::find_if(options.dims, [&](const auto &dim) { return dim.first == name; });
    return it == options.dims.end() ? std::nullopt : std::optional(it->second);
  };
  for (const ValueInfo &input : model.graph.inputs) {
    for (size_t i = 0; !input.type.hasShape && given(placeOf(input, i)); ++i)
      places.insert(placeOf(input, i));
    for (size_t i = 0; i < input.type.dims.size(); ++i) {
      std::string byPlace = placeOf(input, i), key = dimKey(input, i);
      const Dim &dim = input.type.dims[i];
      places.insert(byPlace);
      if (!dim.isKnown())
        open.insert(key);
      if (!dim.isKnown() && (!given(byPlace) || given(byPlace) == given(key)))
        decided.insert(key);
      if (!dim.isKnown() && !given(byPlace) && !given(key))
        for (const std::string &name : namesIn(key)) {
          open.insert(name);
          decided.insert(name);
        }
      for (auto &[name, size] : options.dims)
        if (dim.isKnown() && name == byPlace && dim.size != size)
          return emitError(file) << "dimension '" << name << "' is fixed to " << dim.size
                                 << " in the file and cannot be " << size;
    }
  }
  for (auto &[name, size] : options.dims) {
    if (size < 0)
      return emitError(file) << "dimension '" << name << "' cannot have size " << size;
    auto [it, fresh] = dims.try_emplace(name, size);
    if (!fresh && it->second != size)
      return emitError(file) << "dimension '" << name << "' is given twice, as " << it->second
                             << " and " << size;
    // A place given by itself goes before its name, which may decide others.
    if (open.contains(name) && !decided.contains(name))
      return emitError(file) << "dimension '" << name
                             << "' is given, and so is every place that has "
                             << "it; leave one out";
    if (!open.contains(name) && !places.contains(name)) {
      auto error = emitError(file) << "no open dimension is named '" << name << "'; ";
      if (open.empty())
        return error << "the file leaves none open";
      SmallVector<StringRef> names(open.keys());
      llvm::sort(names);
      return error << "open are " << llvm::join(names, ", ");
    }
  }
  return success();
}

std::optional<int64_t> Importer::sizeOf(const ValueInfo &input, size_t axis) const {
  auto find = [&](StringRef name) -> std::optional<int64_t> {
    auto it = dims.find(name);
    return it == dims.end() ? std::nullopt : std::optional(it->second);
  };
  if (auto size = find(placeOf(input, axis)))
    return size;
  if (!input.type.hasShape)
    return std::nullopt;
  auto size = find(dimKey(input, axis));
  return size ? size : computeDim(input.type.dims[axis].param, find);
}

/// "f32[batch,3]", as the file declares it.
static std::string declaredType(const ValueInfo &value) {
  if (!value.type.hasShape)
    return std::string(nameOf(value.type.element)) + "[...]";
  std::string text = std::string(nameOf(value.type.element)) + "[";
  for (auto [i, dim] : llvm::enumerate(value.type.dims))
    text += (i ? "," : "") + (dim.isKnown()       ? std::to_string(dim.size)
                              : dim.param.empty() ? "?"
                                                  : std::string(dim.param));
  return text + "]";
}

/// Asks for the sizes of all open dimensions at once, with the flags to paste.
LogicalResult Importer::checkOpenDims(ArrayRef<const ValueInfo *> inputs) {
  std::vector<std::string> missing, types;
  DimNames names(model);
  for (const ValueInfo *input : inputs) {
    bool isOpen = false;
    for (size_t i = 0; i < input->type.dims.size(); ++i)
      if (!input->type.dims[i].isKnown() && !sizeOf(*input, i)) {
        isOpen = true;
        for (const std::string &name : names.toGive(dimKey(*input, i), dims))
          if (!llvm::is_contained(missing, name))
            missing.push_back(name);
      }
    if (isOpen)
      types.push_back("'" + std::string(input->name) + "': " + declaredType(*input));
  }
  if (missing.empty())
    return success();
  return emitError(file) << "the inputs have open dimensions (" << llvm::join(types, ", ")
                         << "); give their sizes with " << dimFlags(missing);
}
//===----------------------------------------------------------------------===//
// Inputs and initialisers
//===----------------------------------------------------------------------===//

/// Null after an error.
static mlir::Type elementOfInput(const ValueInfo &input, Location file) {
  mlir::Type element = makeElementType(input.type.element, file.getContext());
  if (!element)
    emitError(file) << "input '" << input.name << "' has the element type "
                    << nameOf(input.type.element) << ", which is not supported; "
                    << supportedElementTypes() << " are";
  return element;
}

static LogicalResult checkKind(const ValueInfo &input, Location file) {
  if (input.type.kind == onnx::Type::TensorType)
    return success();
  return emitError(file) << "input '" << input.name
                         << "' is not a tensor; sequences, maps, optional and "
                         << "sparse values are not supported";
}

FailureOr<RankedTensorType> Importer::typeOfInput(const ValueInfo &input) {
  mlir::Type element = elementOfInput(input, file);
  if (!element)
    return failure();
  Ints shape;
  // Dimensions that no file declares are as many as are given.
  while (!input.type.hasShape && sizeOf(input, shape.size()))
    shape.push_back(*sizeOf(input, shape.size()));
  if (!input.type.hasShape && shape.empty())
    return emitError(file) << "input '" << input.name << "' has no declared shape; give a size for "
                           << "each of its dimensions: --dim " << placeOf(input, 0) << "=N --dim "
                           << placeOf(input, 1) << "=N, as many as it has";
  for (auto [i, dim] : llvm::enumerate(input.type.dims)) {
    if (dim.isKnown()) {
      shape.push_back(dim.size);
      continue;
    }
    shape.push_back(*sizeOf(input, i)); // checkOpenDims has asked for those that are missing
  }
  auto type = makeTensorType(shape, element);
  if (!type)
    return emitError(file) << "input '" << input.name << "': " << type.status().message();
  return *type;
}

/// An input given by value: its sizes may also settle open dimensions.
FailureOr<Value> Importer::bindValue(const ValueInfo &input, const InputValue &value) {
  if (failed(checkKind(input, file)))
    return failure();
  if (input.type.hasShape) {
    bool fits = input.type.dims.size() == value.shape.size();
    for (size_t i = 0; fits && i < value.shape.size(); ++i)
      if (input.type.dims[i].isKnown())
        fits = input.type.dims[i].size == value.shape[i];
      else if (auto size = sizeOf(input, i))
        fits = *size == value.shape[i];
      else
        dims[dimKey(input, i)] = value.shape[i];
    if (!fits) {
      auto error = emitError(file) << "the value for input '" << input.name << "' has the shape [";
      llvm::interleaveComma(value.shape, error);
      error << "], the input has [";
      llvm::interleaveComma(llvm::seq(input.type.dims.size()), error, [&](size_t i) {
        const Dim &dim = input.type.dims[i];
        dim.isKnown() ? error << dim.size : error << dimKey(input, i);
      });
      return error << "]";
    }
  }
  mlir::Type element = elementOfInput(input, file);
  if (!element)
    return failure();
  auto type = makeTensorType(value.shape, element);
  if (!type)
    return emitError(file) << "the value for input '" << input.name
                           << "': " << type.status().message();
  KnownElements elements;
  elements.isFloat = std::holds_alternative<std::vector<double>>(value.elements);
  if (elements.isFloat)
    elements.floats = std::get<std::vector<double>>(value.elements);
  else
    elements.ints = std::get<std::vector<int64_t>>(value.elements);
  if (elements.isFloat && isa<IntegerType>(element))
    return emitError(file) << "the value for input '" << input.name
                           << "' holds floating-point numbers, the input is of type "
                           << nameOf(input.type.element);
  if (int64_t(elements.size()) != type->getNumElements())
    return emitError(file) << "the value for input '" << input.name << "' has " << elements.size()
                           << " elements, its shape " << type->getNumElements();
  return Value(ConstantOp::create(builder, locationOf(input.name),
                                  ElementsAttr(makeElements(*type, elements))));
}

LogicalResult Importer::importInputs(func::FuncOp function, Scope &scope) {
  for (const InputValue &value : options.values)
    if (llvm::none_of(model.graph.inputs, [&](const ValueInfo &i) { return i.name == value.name; }))
      return emitError(file) << "a value is given for '" << value.name
                             << "', which is no input of the graph";
  SmallVector<mlir::Type> types;
  SmallVector<const ValueInfo *> arguments;
  // Values first: their shapes may settle open dimensions of the others.
  for (const InputValue &value : options.values)
    for (const ValueInfo &input : model.graph.inputs)
      if (input.name == value.name) {
        FailureOr<Value> constant = bindValue(input, value);
        if (failed(constant))
          return failure();
        scope.values[input.name] = *constant;
      }
  llvm::StringSet<> initializers;
  for (const Tensor &tensor : model.graph.initializers)
    initializers.insert(tensor.name);
  for (const ValueInfo &input : model.graph.inputs) {
    // Before IR version 4 every initialiser is listed among the inputs, too.
    if (initializers.contains(input.name) || scope.values.contains(input.name))
      continue;
    arguments.push_back(&input);
  }
  for (const ValueInfo *input : arguments)
    if (failed(checkKind(*input, file)))
      return failure();
  if (failed(checkOpenDims(arguments)))
    return failure();
  for (const ValueInfo *input : arguments) {
    FailureOr<RankedTensorType> type = typeOfInput(*input);
    if (failed(type))
      return failure();
    types.push_back(*type);
  }
  Block &entry = function.getBody().front();
  for (auto [type, input] : llvm::zip(types, arguments))
    scope.values[input->name] = entry.addArgument(type, locationOf(input->name));
  function.setFunctionType(builder.getFunctionType(types, {}));
  function.setAllArgAttrs(llvm::map_to_vector(
      arguments, [&](const ValueInfo *input) { return nameAttribute(input->name); }));
  return success();
}

Value Importer::makeConstant(const Tensor &tensor, Location loc) {
  auto attr = tensors.read(tensor);
  if (!attr) {
    emitError(file) << "tensor '" << tensor.name << "': " << attr.status().message();
    return {};
  }
  auto op = ConstantOp::create(builder, loc, *attr);
  if (!tensor.name.empty())
    op->setAttr(kNameAttr, builder.getStringAttr(tensor.name));
  if (narrowBits(tensor.type))
    narrow.insert(op);
  return op;
}

Value Importer::readVariable(ConstantOp constant, StringRef name) {
  auto module = constant->getParentOfType<ModuleOp>();
  OperationState state(constant.getLoc(), VariableOp::getOperationName());
  state.addAttribute("sym_name", builder.getStringAttr(name));
  state.addAttribute("value", constant.getValueAttr());
  OpBuilder::atBlockBegin(module.getBody()).create(state);
  OpBuilder at(constant);
  Value read = ReadOp::create(at, constant.getLoc(), constant.getType(),
                              FlatSymbolRefAttr::get(context, name));
  constant.replaceAllUsesWith(read);
  return read;
}

LogicalResult Importer::importInitializers(const Graph &graph, Scope &scope) {
  for (StringRef name : graph.sparseInitializers)
    return emitError(file) << "initializer '" << name
                           << "' is sparse, which is not supported; dense ones are";
  for (const Tensor &tensor : graph.initializers) {
    if (scope.values.contains(tensor.name))
      continue;
    Value value = makeConstant(tensor, locationOf(tensor.name));
    if (!value)
      return failure();
    if (variables && scope.depth == 0 && variables->contains(tensor.name))
      value = readVariable(value.getDefiningOp<ConstantOp>(), tensor.name);
    scope.values[tensor.name] = value;
  }
  return success();
}
//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

static std::string typeText(RankedTensorType type) {
  std::string element;
  llvm::raw_string_ostream(element) << type.getElementType();
  std::string text =
      (StringRef(element).starts_with("ui") ? "u" + element.substr(2) : element) + "[";
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    text += (i ? "," : "") + std::to_string(size);
  return text + "]";
}

/// What the file declares against what its nodes compute. Another element type means that the file
/// is wrong somewhere; sizes are often left over from an earlier state of a model.
LogicalResult Importer::checkOutput(const ValueInfo &output, Value value) {
  auto type = llvm::cast<RankedTensorType>(value.getType());
  const onnx::Type &declared = output.type;
  if (declared.kind == onnx::Type::None || declared.element == DataType::Undefined)
    return success();
  if (declared.kind != onnx::Type::TensorType ||
      makeElementType(declared.element, context) != type.getElementType())
    return emitError(file) << "output '" << output.name << "' is declared as "
                           << (declared.kind == onnx::Type::TensorType ? declaredType(output)
                                                                       : "something but a tensor")
                           << ", and the graph computes " << typeText(type);
  bool fits = !declared.hasShape || int64_t(declared.dims.size()) == type.getRank();
  for (size_t i = 0; fits && declared.hasShape && i < declared.dims.size(); ++i)
    fits = !declared.dims[i].isKnown() || declared.dims[i].size == type.getDimSize(i);
  if (!fits)
    warn("output '" + Twine(output.name) + "' is declared as " + declaredType(output) +
         ", and the graph computes " + typeText(type) + "; the declaration is ignored");
  return success();
}

/// Behind the model's own outputs how many rows those have whose rows data decide: "NAME.count".
FailureOr<Outputs> Importer::importOutputs(Scope &scope) {
  Outputs outputs, counts;
  for (const ValueInfo *declared : outputsOf(model)) {
    const ValueInfo &output = *declared;
    const Value *value = scope.find(output.name);
    if (!value)
      emitError(file) << "output '" << output.name << "' is made by no node";
    if (!value || !*value || failed(checkOutput(output, *value)))
      return failure();
    outputs.names.push_back(std::string(output.name));
    outputs.values.push_back(*value);
    auto bound = bounds.find(*value);
    if (bound == bounds.end())
      continue;
    const Bound rows = bound->second;
    Node node;
    node.name = output.name;
    node.op = "Count";
    NodeContext context(*this, scope, node, 0, locationOf(output.name), {});
    outputs.values.back() = clearBeyond(context, *value, rows);
    counts.names.push_back(std::string(output.name) + ".count");
    counts.values.push_back(rows.count);
  }
  for (const std::string &name : counts.names)
    if (llvm::is_contained(outputs.names, name))
      return emitError(file) << "output '" << name
                             << "' has the name of a number of rows; call it by another one";
  llvm::append_range(outputs.names, counts.names);
  llvm::append_range(outputs.values, counts.values);
  return outputs;
}
