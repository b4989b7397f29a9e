// The C API of graphs that are built call by call: what callers give, checked and handed to the
// builder, whose diagnostics become statuses. Nothing is decided here.
#include "Graph.h"

#include "Guard.h"
#include "Info.h"

#include "gantry/Pipeline/Pipeline.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::capi;

static_assert(int(GANTRY_ATTRIBUTE_UNIT) == int(AttributeKind::unit_) &&
              int(GANTRY_ATTRIBUTE_INTS) == int(AttributeKind::ints_) &&
              int(GANTRY_ATTRIBUTE_DEVICES) == int(AttributeKind::devices_) &&
              int(GANTRY_ATTRIBUTE_TEXT) == int(AttributeKind::text_));

static gantry_status_t refuse(const std::string &why) {
  return finish(Status::invalidArgument(why));
}

/// Runs `build`, which fails with a diagnostic of the graph's context.
template <typename Build>
static gantry_status_t run(const gantry_graph_t *graph, Build build) {
  if (Status status = Use::check(*graph); !status.ok())
    return finish(status);
  return guarded([&]() -> gantry_status_t {
    const Use use(*graph);
    DiagnosticSink sink(graph->lease.context(), graph->listener);
    return succeeded(build()) ? GANTRY_OK : sink.outcome("the graph cannot be built like this");
  });
}

static llvm::StringRef orEmpty(const char *text) { return text ? text : ""; }

//===----------------------------------------------------------------------===//
// What callers give
//===----------------------------------------------------------------------===//

static gantry::Expected<GivenType> readType(const gantry_tensor_type_t &type) {
  if (unsigned(type.element) >= numElementTypes)
    return Status::invalidArgument("there is no element type " + std::to_string(int(type.element)));
  if (type.rank && !type.dims)
    return Status::invalidArgument("a type has " + std::to_string(type.rank) +
                                   " dimensions, but dims is a null pointer");
  return GivenType{static_cast<ElementType>(type.element), {type.dims, type.rank}};
}

static gantry::Expected<std::vector<GivenType>> readTypes(const gantry_tensor_type_t *types,
                                                          size_t count) {
  std::vector<GivenType> read;
  for (const gantry_tensor_type_t &type : llvm::ArrayRef(types, count)) {
    gantry::Expected<GivenType> one = readType(type);
    if (!one)
      return one.status();
    read.push_back(*one);
  }
  return read;
}

static Status nullList(const std::string &owner, const char *list, size_t count) {
  return Status::invalidArgument(owner + ": " + list + " is a null pointer, and its count is " +
                                 std::to_string(count));
}

static gantry::Expected<GivenAttribute> readAttribute(const gantry_attribute_t &from) {
  if (!from.name || unsigned(from.kind) > GANTRY_ATTRIBUTE_TEXT)
    return Status::invalidArgument(from.name ? "attribute '" + std::string(from.name) +
                                                   "' is of a kind that there is not"
                                             : std::string("an attribute has no name"));
  GivenAttribute read{from.name, static_cast<AttributeKind>(from.kind), int64_t(0)};
  switch (from.kind) {
  case GANTRY_ATTRIBUTE_UNIT:
  case GANTRY_ATTRIBUTE_INT:
    read.value = from.value.integer;
    return read;
  case GANTRY_ATTRIBUTE_FLOAT:
    read.value = from.value.number;
    return read;
  case GANTRY_ATTRIBUTE_INTS:
  case GANTRY_ATTRIBUTE_FLOATS:
  case GANTRY_ATTRIBUTE_DEVICES:
    if (from.count && !from.value.integers)
      return nullList("attribute '" + std::string(from.name) + "'", "its list", from.count);
    if (from.kind == GANTRY_ATTRIBUTE_INTS)
      read.value = llvm::ArrayRef(from.value.integers, from.count);
    else if (from.kind == GANTRY_ATTRIBUTE_FLOATS)
      read.value = llvm::ArrayRef(from.value.numbers, from.count);
    else
      read.value = std::vector<llvm::StringRef>(from.value.texts, from.value.texts + from.count);
    return read;
  default:
    if (!from.value.text)
      return Status::invalidArgument("attribute '" + std::string(from.name) +
                                     "': its text is a null pointer");
    read.value = llvm::StringRef(from.value.text);
    return read;
  }
}

static gantry::Expected<GivenOp> readOp(const gantry_graph_op_t *given) {
  gantry::Expected<gantry_graph_op_t> op = take(given, "gantry_graph_op_t");
  if (!op)
    return op.status();
  if (!op->name)
    return Status::invalidArgument("gantry_graph_op_t: name is a null pointer");
  if (op->num_operands && !op->operands)
    return nullList("gantry_graph_op_t", "operands", op->num_operands);
  if (op->num_attributes && !op->attributes)
    return nullList("gantry_graph_op_t", "attributes", op->num_attributes);
  if (op->num_result_types && !op->result_types)
    return nullList("gantry_graph_op_t", "result_types", op->num_result_types);
  GivenOp read{op->name, {op->operands, op->num_operands}, {}, {}, orEmpty(op->label)};
  for (const gantry_attribute_t &attribute : llvm::ArrayRef(op->attributes, op->num_attributes)) {
    gantry::Expected<GivenAttribute> one = readAttribute(attribute);
    if (!one)
      return one.status();
    read.attributes.push_back(one.take());
  }
  if (op->result_types) {
    gantry::Expected<std::vector<GivenType>> types =
        readTypes(op->result_types, op->num_result_types);
    if (!types)
      return types.status();
    read.resultTypes = types.take();
  }
  return read;
}

/// Whoever owns the bytes hears of them whatever is wrong with the rest.
static gantry::Expected<GivenConstant> readConstant(const gantry_graph_constant_t &from) {
  GivenConstant read{{}, static_cast<const char *>(from.data), {}, orEmpty(from.name)};
  gantry::Expected<GivenType> type = readType(from.type);
  if (!type) {
    if (from.release)
      from.release(from.release_context);
    return type.status();
  }
  read.type = *type;
  if (from.release)
    read.release = [release = from.release, context = from.release_context] { release(context); };
  return read;
}

/// Borrowed bytes go back with the graph, so its context does, too.
static void keepUntilTheEnd(const gantry_graph_constant_t &constant, gantry_graph_t *graph) {
  if (constant.release)
    graph->lease.retire();
}

static gantry::Expected<SoftModeAttr> readSoft(const gantry_graph_t *graph, gantry_soft_t soft) {
  switch (soft) {
  case GANTRY_SOFT_UNSET:
    return SoftModeAttr();
  case GANTRY_SOFT_STRICT:
    return SoftModeAttr::get(graph->builder.getContext(), SoftMode::Strict);
  case GANTRY_SOFT_PREFER:
    return SoftModeAttr::get(graph->builder.getContext(), SoftMode::Prefer);
  case GANTRY_SOFT_ANY:
    return SoftModeAttr::get(graph->builder.getContext(), SoftMode::Any);
  }
  return Status::invalidArgument("soft is " + std::to_string(int(soft)) +
                                 ", which is no gantry_soft_t");
}

/// Hands out the numbers of values; how many there are is told even when they have no room.
static void giveValues(llvm::ArrayRef<uint32_t> values, gantry_graph_value_t *results,
                       size_t capacity, size_t *count) {
  for (size_t i = 0; i < std::min(values.size(), capacity); ++i)
    results[i] = values[i];
  if (count)
    *count = values.size();
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

const char *gantry_op_table_json(void) { return opTableJSON(); }

gantry_status_t gantry_graph_create(gantry_compiler_t *compiler,
                                    const gantry_graph_options_t *options, gantry_graph_t **graph) {
  clear(graph);
  GANTRY_NEED(graph);
  gantry_graph_options_t given{};
  if (options) {
    gantry::Expected<gantry_graph_options_t> taken = take(options, "gantry_graph_options_t");
    if (!taken)
      return finish(taken.status());
    given = *taken;
  }
  *graph = new gantry_graph_t(compiler ? compiler->contexts->take() : Contexts::Lease(),
                              given.name ? given.name : "<graph>",
                              {nullptr, nullptr, given.diagnose, given.diagnose_context});
  return GANTRY_OK;
}

void gantry_graph_destroy(gantry_graph_t *graph) {
  if (graph && !graph->isLost) // else locks may be held in its context for ever
    delete graph;
}

gantry_status_t gantry_graph_value_type(const gantry_graph_t *graph, gantry_graph_value_t value,
                                        gantry_tensor_type_t *type) {
  GANTRY_NEED(graph && type);
  RankedTensorType known = graph->builder.typeOf(value);
  if (!known)
    return refuse("there is no value number " + std::to_string(value));
  if (graph->dimsOf.size() <= value)
    graph->dimsOf.resize(value + 1);
  if (!graph->dimsOf[value]) {
    std::vector<int64_t> &dims = graph->dims.emplace_back(known.getShape());
    std::replace(dims.begin(), dims.end(), ShapedType::kDynamic, int64_t(-1));
    graph->dimsOf[value] = &dims;
  }
  type->element = static_cast<gantry_element_type_t>(elementTypeOf(known));
  type->rank = static_cast<uint32_t>(known.getRank());
  type->dims = graph->dimsOf[value]->data();
  return GANTRY_OK;
}

gantry_status_t gantry_graph_location(gantry_graph_t *graph, const char *file, uint32_t line,
                                      uint32_t column) {
  GANTRY_NEED(graph);
  if (file)
    graph->builder.setLocation(file, line, column);
  else
    graph->builder.clearLocation();
  return GANTRY_OK;
}

gantry_status_t gantry_graph_push_device(gantry_graph_t *graph, const char *device,
                                         gantry_soft_t soft) {
  GANTRY_NEED(graph && device);
  gantry::Expected<SoftModeAttr> mode = readSoft(graph, soft);
  if (!mode)
    return finish(mode.status());
  return run(graph, [&] { return graph->builder.pushDevice(device, *mode); });
}

gantry_status_t gantry_graph_pop_device(gantry_graph_t *graph) {
  GANTRY_NEED(graph);
  return run(graph, [&] { return graph->builder.popDevice(); });
}

gantry_status_t gantry_graph_function(gantry_graph_t *graph, const char *name) {
  GANTRY_NEED(graph && name);
  return run(graph, [&] { return graph->builder.beginFunction(name); });
}

gantry_status_t gantry_graph_argument(gantry_graph_t *graph,
                                      const gantry_graph_argument_t *argument,
                                      gantry_graph_value_t *value) {
  GANTRY_NEED(graph && argument && value);
  gantry::Expected<gantry_graph_argument_t> given = take(argument, "gantry_graph_argument_t");
  if (!given)
    return finish(given.status());
  gantry::Expected<GivenType> type = readType(given->type);
  if (!type)
    return finish(type.status());
  llvm::SmallVector<llvm::StringRef> dimNames;
  for (uint32_t i = 0; given->dim_names && i < given->type.rank; ++i)
    dimNames.push_back(orEmpty(given->dim_names[i]));
  return run(graph, [&]() -> LogicalResult {
    FailureOr<uint32_t> made =
        graph->builder.addArgument(orEmpty(given->name), *type, dimNames, orEmpty(given->device));
    if (succeeded(made))
      *value = *made;
    return made;
  });
}

gantry_status_t gantry_graph_constant(gantry_graph_t *graph,
                                      const gantry_graph_constant_t *constant,
                                      gantry_graph_value_t *value) {
  GANTRY_NEED(graph && constant && value);
  gantry::Expected<gantry_graph_constant_t> given = take(constant, "gantry_graph_constant_t");
  if (!given)
    return finish(given.status());
  gantry::Expected<GivenConstant> read = readConstant(*given);
  if (!read)
    return finish(read.status());
  keepUntilTheEnd(*given, graph);
  return run(graph, [&]() -> LogicalResult {
    FailureOr<uint32_t> made = graph->builder.addConstant(read.take());
    if (succeeded(made))
      *value = *made;
    return made;
  });
}

gantry_status_t gantry_graph_variable(gantry_graph_t *graph,
                                      const gantry_graph_variable_t *variable) {
  GANTRY_NEED(graph && variable);
  gantry::Expected<gantry_graph_variable_t> given = take(variable, "gantry_graph_variable_t");
  if (!given)
    return finish(given.status());
  GANTRY_NEED(given->initial);
  gantry::Expected<gantry_graph_constant_t> constant =
      take(given->initial, "gantry_graph_constant_t");
  if (!constant)
    return finish(constant.status());
  gantry::Expected<SoftModeAttr> soft = readSoft(graph, given->soft);
  gantry::Expected<GivenConstant> initial = readConstant(*constant);
  if (!soft && initial && initial->release)
    initial->release();
  if (!soft || !initial)
    return finish(initial ? soft.status() : initial.status());
  keepUntilTheEnd(*constant, graph);
  return run(graph, [&] {
    return graph->builder.addVariable(initial.take(), orEmpty(given->device), *soft,
                                      given->is_central != 0);
  });
}

gantry_status_t gantry_graph_return(gantry_graph_t *graph, const gantry_graph_output_t *outputs,
                                    size_t count) {
  GANTRY_NEED(graph && (outputs || count == 0));
  std::vector<GivenOutput> given;
  for (const gantry_graph_output_t &output : llvm::ArrayRef(outputs, count))
    given.push_back({output.value, orEmpty(output.name), orEmpty(output.device)});
  return run(graph, [&] { return graph->builder.endFunction(given); });
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

gantry_status_t gantry_graph_op(gantry_graph_t *graph, const gantry_graph_op_t *op,
                                gantry_graph_value_t *results, size_t capacity, size_t *count) {
  GANTRY_NEED(graph && op && (results || capacity == 0));
  gantry::Expected<GivenOp> given = readOp(op);
  if (!given)
    return finish(given.status());
  return run(graph, [&]() -> LogicalResult {
    FailureOr<GraphBuilder::Values> made = graph->builder.makeOp(*given);
    if (succeeded(made))
      giveValues(*made, results, capacity, count);
    return made;
  });
}

gantry_status_t gantry_graph_begin_op(gantry_graph_t *graph, const gantry_graph_op_t *op) {
  GANTRY_NEED(graph && op);
  gantry::Expected<GivenOp> given = readOp(op);
  if (!given)
    return finish(given.status());
  return run(graph, [&] { return graph->builder.beginOp(*given); });
}

gantry_status_t gantry_graph_begin_region(gantry_graph_t *graph, const gantry_tensor_type_t *types,
                                          size_t count, gantry_graph_value_t *arguments) {
  GANTRY_NEED(graph && ((types && arguments) || count == 0));
  gantry::Expected<std::vector<GivenType>> given = readTypes(types, count);
  if (!given)
    return finish(given.status());
  return run(graph, [&]() -> LogicalResult {
    FailureOr<GraphBuilder::Values> made = graph->builder.beginRegion(*given);
    if (succeeded(made))
      giveValues(*made, arguments, count, nullptr);
    return made;
  });
}

gantry_status_t gantry_graph_end_region(gantry_graph_t *graph, const gantry_graph_value_t *values,
                                        size_t count) {
  GANTRY_NEED(graph && (values || count == 0));
  return run(graph, [&] { return graph->builder.endRegion({values, count}); });
}

gantry_status_t gantry_graph_end_op(gantry_graph_t *graph, gantry_graph_value_t *results,
                                    size_t capacity, size_t *count) {
  GANTRY_NEED(graph && (results || capacity == 0));
  return run(graph, [&]() -> LogicalResult {
    FailureOr<GraphBuilder::Values> made = graph->builder.endOp();
    if (succeeded(made))
      giveValues(*made, results, capacity, count);
    return made;
  });
}

gantry_status_t gantry_graph_abandon_op(gantry_graph_t *graph) {
  GANTRY_NEED(graph);
  return run(graph, [&] { return graph->builder.abandonOp(); });
}

gantry_status_t gantry_graph_print(gantry_graph_t *graph, uint32_t what, const char **text) {
  clear(text);
  GANTRY_NEED(graph && text);
  return run(graph, [&]() -> LogicalResult {
    FailureOr<GraphFile> finished = graph->builder.finish();
    if (failed(finished))
      return failure();
    graph->text = printGraph(**finished->built, {!(what & GANTRY_PRINT_NO_WEIGHTS),
                                                 (what & GANTRY_PRINT_LOCATIONS) != 0});
    *text = graph->text.c_str();
    return success();
  });
}
