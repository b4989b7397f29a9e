// The compiler half of the C API: a request in, an artifact out, diagnostics to a callback.

#include "gantry-c/compiler.h"

#include "Cancel.h"
#include "Diagnostics.h"
#include "Graph.h"
#include "Guard.h"
#include "Info.h"

#include "gantry/Frontend/Frontend.h"
#include "gantry/Search/Compile.h"
#include "gantry/Support/Version.h"
#include "gantry/Target/Plan/ReadPlan.h"

#include "mlir/IR/MLIRContext.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <variant>

#ifdef __GLIBC__
#include <malloc.h>
#endif

using namespace mlir;
using namespace gantry;
using namespace gantry::capi;

struct gantry_artifact_t {
  std::variant<AlignedBuffer, MappedFile> bytes;
  std::vector<std::string> shapeValues, files;
};

namespace {
/// A port with what its C form points to.
struct Port {
  std::string name, type;
  int32_t element = -1, rank = -1;
  std::vector<int64_t> dims;
  std::vector<std::string> dimNames;
  std::vector<const char *> dimNamePointers;

  explicit Port(const GraphPort &port) : name(port.name), type(port.type()) {
    if (port.element)
      element = static_cast<int32_t>(*port.element);
    if (!port.dims)
      return;
    rank = static_cast<int32_t>(port.dims->size());
    for (size_t axis = 0; axis < port.dims->size(); ++axis) {
      dims.push_back((*port.dims)[axis].size.value_or(-1));
      dimNames.push_back(port.dimName(axis));
    }
    for (size_t axis = 0; axis < dims.size(); ++axis)
      dimNamePointers.push_back(dims[axis] < 0 ? dimNames[axis].c_str() : nullptr);
  }
};
} // namespace

struct gantry_graph_info_t {
  GraphReport report;
  std::deque<Port> inputs, outputs; ///< a deque: what they point to stays where it is
  std::string text, json;

  explicit gantry_graph_info_t(GraphReport given)
      : report(std::move(given)), inputs(report.inputs.begin(), report.inputs.end()),
        outputs(report.outputs.begin(), report.outputs.end()) {
    llvm::raw_string_ostream textStream(text), jsonStream(json);
    printReport(report, textStream);
    printReportAsJson(report, jsonStream);
    text = forC(text);
  }
};

static gantry_status_t fail(gantry_status_t status, std::string message) {
  return finish(Status(static_cast<StatusCode>(status), std::move(message)));
}

namespace {
/// The caller's request; one that was built against a shorter, older struct has zeros for what it
/// does not know.
struct Request : gantry_compile_request_t {
  std::string wrong; ///< empty when it can be read

  explicit Request(const gantry_compile_request_t *given) : gantry_compile_request_t{} {
    if (!given || given->struct_size < sizeof(size_t)) {
      wrong = given ? "struct_size is not set" : "it is a null pointer";
      return;
    }
    std::memcpy(static_cast<gantry_compile_request_t *>(this), given,
                std::min(given->struct_size, sizeof(gantry_compile_request_t)));
    const int graphs = (file != nullptr) + (data != nullptr) + (graph != nullptr);
    if (graphs != 1)
      wrong = graphs ? "it has more than one of file, data and graph; give one of them"
                     : "it has neither a file nor data nor a graph";
    if (graph && compiler)
      wrong = "it has a graph, which has its own context, and a compiler; give one of them";
    if (graph && wrong.empty())
      wrong = Use::check(*graph).message();
    needList(flags, num_flags, "flags");
    needList(values, num_values, "values");
    needList(candidates, num_candidates, "candidates");
  }

private:
  void needList(const void *list, size_t count, const char *what) {
    if (count && !list)
      wrong = std::string(what) + " is a null pointer, and num_" + what + " is " +
              std::to_string(count);
  }
};

/// The context to compile in: the graph's, one of the compiler's, or one of its own.
static std::optional<Contexts::Lease> leaseFor(const Request &request) {
  if (request.graph)
    return std::nullopt;
  return request.compiler ? request.compiler->contexts->take() : Contexts::Lease();
}

/// What a request asks for, read, and a context to do it in.
struct Session {
  const Request &request;
  std::optional<Contexts::Lease> lease;
  std::optional<Use> use; ///< of the request's graph
  MLIRContext &mlir;
  DiagnosticSink sink;
  CompileOptions options;
  GraphFile file;

  explicit Session(const Request &request)
      : request(request), lease(leaseFor(request)),
        mlir(lease ? lease->context() : *request.graph->builder.getContext()),
        sink(mlir, {request.log, request.log_context, request.diagnose, request.diagnose_context,
                    request.cancel ? &request.cancel->token : nullptr}) {
    if (request.graph)
      use.emplace(*request.graph);
  }

  ~Session() {
    const Contexts::Lease &used = lease ? *lease : request.graph->lease;
    if (const unsigned threads = used.takeShortage())
      sink.tell(
          GANTRY_SEVERITY_WARNING,
          "the system started no more threads (ulimit -u, ulimit -v): " +
              std::string(threads == 1 ? "one thread" : std::to_string(threads) + " threads") +
              " compiled the graph");
    // What is large stays in the context; so does what printing has changed.
    if (lease && (options.debug.printIR || request.data_size > kLargeGraph || request.file))
      lease->retire();
  }

  LogicalResult open() {
    return success(succeeded(readOptions()) && succeeded(readTopology()) && succeeded(openFile()));
  }

  Watch watch() {
    return {[this](llvm::StringRef phase) { sink.tell(GANTRY_SEVERITY_PROGRESS, phase.str()); },
            request.cancel ? &request.cancel->token : nullptr};
  }

  gantry_status_t failWith(const std::string &why) {
    (void)refuse(why);
    return failWithDiagnostic("");
  }

  /// What the last call says of a failure whose diagnostics the sink has heard.
  gantry_status_t failWithDiagnostic(const char *otherwise) { return sink.outcome(otherwise); }

private:
  /// Bytes of a graph from which on its context is not used again.
  static constexpr size_t kLargeGraph = 65536;

  LogicalResult refuse(const llvm::Twine &why) { return emitError(UnknownLoc::get(&mlir)) << why; }

  LogicalResult readOptions() {
    Expected<CompileOptions> read = readCompileFlags(
        llvm::SmallVector<llvm::StringRef>(request.flags, request.flags + request.num_flags));
    if (!read)
      return refuse(read.status().message());
    options = read.take();
    if (failed(addValues(request.values, request.num_values, options.graph.values)))
      return failure();
    return addValues(request.candidates, request.num_candidates, options.graph.candidates);
  }

  LogicalResult addValues(const gantry_value_t *values, size_t count,
                          std::vector<InputValue> &into) {
    for (const gantry_value_t &value : llvm::ArrayRef(values, count)) {
      std::string name = value.name ? value.name : "";
      if (value.element < 0 || unsigned(value.element) >= numElementTypes)
        return refuse("the value for input '" + name + "' has the element type " +
                      llvm::Twine(int(value.element)) + ", which does not exist");
      if (value.rank && !value.dims)
        return refuse("the value for input '" + name + "' has " + llvm::Twine(value.rank) +
                      " dimensions, but dims is a null pointer");
      arrays::ArrayView array{static_cast<ElementType>(value.element),
                              {value.dims, value.rank},
                              static_cast<const uint8_t *>(value.data)};
      std::optional<uint64_t> elements = arrays::elementCount(array.shape);
      if (!elements)
        return refuse("the value for input '" + name +
                      "' has dimensions that are negative or too large");
      if (*elements && !value.data)
        return refuse("the value for input '" + name + "' has " + llvm::Twine(*elements) +
                      " elements, but data is a null pointer");
      if (llvm::any_of(into, [&](const InputValue &other) { return other.name == name; }))
        return refuse("the value for input '" + name + "' is given twice");
      into.push_back(makeInputValue(std::move(name), array));
    }
    return success();
  }

  /// The request's topology counts as a file of the flag --topology does.
  LogicalResult readTopology() {
    if (!request.topology)
      return success();
    if (options.devices.devices)
      return refuse("the devices are given twice, by a flag and by the request's topology; give "
                    "one of them");
    gantry::Expected<Topology> topology = Topology::fromJSON(request.topology);
    if (!topology)
      return refuse(topology.status().message());
    options.devices.devices = topology.take();
    options.devices.isComplete = true;
    return success();
  }

  LogicalResult openFile() {
    if (request.graph) {
      FailureOr<GraphFile> finished = request.graph->builder.finish();
      if (failed(finished))
        return failure();
      file = std::move(*finished);
    } else if (request.file) {
      std::optional<GraphFile> opened = openGraph(request.file, &mlir);
      if (!opened)
        return failure();
      file = std::move(*opened);
    } else {
      const char *name = request.name ? request.name : "<memory>";
      llvm::StringRef bytes(static_cast<const char *>(request.data), request.data_size);
      file = {llvm::MemoryBuffer::getMemBuffer(bytes, name, /*RequiresNullTerminator=*/false), name,
              request.folder ? request.folder : ""};
    }
    sink.setFile({file.baseName().str(), file.name});
    return success();
  }
};
} // namespace

static gantry_artifact_t *makeArtifact(llvm::StringRef text) {
  return new gantry_artifact_t{
      AlignedBuffer::copyOf({reinterpret_cast<const uint8_t *>(text.data()), text.size()}), {}, {}};
}

/// A request that cannot be read, or an argument that is missing.
static std::optional<std::string> whyRefused(const Request &request, const char *call,
                                             bool hasArguments) {
  if (!request.wrong.empty())
    return std::string(call) + ": the request cannot be read: " + request.wrong;
  if (!hasArguments)
    return std::string(call) + ": an argument is a null pointer";
  return std::nullopt;
}

/// The string of that index; null when there is none.
static const char *nameAt(const std::vector<std::string> &names, size_t index) {
  return index < names.size() ? names[index].c_str() : nullptr;
}

static gantry_status_t describePort(const std::deque<Port> &ports, size_t index, const char *what,
                                    gantry_port_t *port) {
  if (!port || port->struct_size < sizeof(size_t))
    return fail(GANTRY_INVALID_ARGUMENT, "gantry_port_t: struct_size is not set");
  if (index >= ports.size())
    return fail(GANTRY_INVALID_ARGUMENT, std::string("there is no ") + what + " number " +
                                             std::to_string(index) + " of " +
                                             std::to_string(ports.size()));
  const Port &from = ports[index];
  const gantry_port_t full{
      port->struct_size, from.name.c_str(), from.type.c_str(),          from.element,
      from.rank,         from.dims.data(),  from.dimNamePointers.data()};
  std::memcpy(port, &full, std::min(port->struct_size, sizeof full));
  return GANTRY_OK;
}

extern "C" {

gantry_status_t gantry_compiler_create(const gantry_compiler_options_t *options,
                                       gantry_compiler_t **compiler) {
  clear(compiler);
  GANTRY_NEED(compiler);
  gantry_compiler_options_t given{};
  if (options) {
    gantry::Expected<gantry_compiler_options_t> taken = take(options, "gantry_compiler_options_t");
    if (!taken)
      return finish(taken.status());
    given = *taken;
  }
  *compiler = new gantry_compiler_t{Contexts::create(given.threads)};
  return GANTRY_OK;
}

void gantry_compiler_destroy(gantry_compiler_t *compiler) { delete compiler; }

/// Gives back what the heap has free, where it is much: what runs next is a plan, in a process of
/// which the memory is counted.
static void trimHeap() {
#ifdef __GLIBC__
  constexpr size_t kMuch = size_t(16) << 20;
  if (mallinfo2().fordblks > kMuch)
    malloc_trim(0);
#endif
}

gantry_status_t gantry_compile(const gantry_compile_request_t *given,
                               gantry_artifact_t **artifact) {
  clear(artifact);
  gantry_status_t status = guarded([&]() -> gantry_status_t {
    if (Status stack = checkStack(); !stack.ok())
      return finish(stack);
    const Request request(given);
    if (auto why = whyRefused(request, "gantry_compile", artifact))
      return fail(GANTRY_INVALID_ARGUMENT, *why);
    Session session(request);
    if (failed(session.open()))
      return session.failWithDiagnostic("the request could not be read");
    const PlanOutput output{request.output ? request.output : "", request.scratch_above,
                            request.outline != 0};
    FailureOr<Compiled> compiled =
        compileGraph(session.file, session.options, output, session.mlir, session.watch());
    if (failed(compiled))
      return session.failWithDiagnostic("compilation failed");
    *artifact = compiled->text.empty() ? new gantry_artifact_t{std::move(compiled->plan), {}, {}}
                                       : makeArtifact(compiled->text);
    (*artifact)->shapeValues = std::move(compiled->shapeValues);
    (*artifact)->files = std::move(compiled->files);
    return GANTRY_OK;
  });
  trimHeap();
  return status;
}

gantry_status_t gantry_why_not(const gantry_compile_request_t *given, const char *op,
                               const char *device, gantry_artifact_t **artifact) {
  clear(artifact);
  return guarded([&]() -> gantry_status_t {
    if (Status stack = checkStack(); !stack.ok())
      return finish(stack);
    const Request request(given);
    if (auto why = whyRefused(request, "gantry_why_not", op && device && artifact))
      return fail(GANTRY_INVALID_ARGUMENT, *why);
    Session session(request);
    if (failed(session.open()))
      return session.failWithDiagnostic("the request could not be read");
    Expected<WhyNotQuestion> question = readWhyNot(op, device);
    if (!question)
      return session.failWith(question.status().message());
    FailureOr<std::string> answer =
        explainWhyNot(session.file, session.options, *question, session.mlir);
    if (failed(answer))
      return session.failWithDiagnostic("the question could not be answered");
    *artifact = makeArtifact(*answer);
    return GANTRY_OK;
  });
}

gantry_status_t gantry_check(const gantry_compile_request_t *given, gantry_graph_info_t **info) {
  clear(info);
  return guarded([&]() -> gantry_status_t {
    if (Status stack = checkStack(); !stack.ok())
      return finish(stack);
    const Request request(given);
    if (auto why = whyRefused(request, "gantry_check", info))
      return fail(GANTRY_INVALID_ARGUMENT, *why);
    Session session(request);
    if (failed(session.open()))
      return session.failWithDiagnostic("the request could not be read");
    std::optional<GraphReport> report = checkGraph(session.file, session.options, session.mlir);
    if (!report)
      return session.failWithDiagnostic("the graph could not be read");
    *info = new gantry_graph_info_t(std::move(*report));
    const GraphReport &found = (*info)->report;
    if (size_t count = found.issues.size(); !found.isSupported())
      return fail(GANTRY_UNSUPPORTED,
                  count == 1 ? "1 thing in the graph is not supported; the report lists it"
                             : std::to_string(count) +
                                   " things in the graph are not supported; the report lists them");
    return GANTRY_OK;
  });
}

size_t gantry_graph_info_num_inputs(const gantry_graph_info_t *info) { return info->inputs.size(); }
gantry_status_t gantry_graph_info_input(const gantry_graph_info_t *info, size_t index,
                                        gantry_port_t *port) {
  return describePort(info->inputs, index, "input", port);
}
size_t gantry_graph_info_num_outputs(const gantry_graph_info_t *info) {
  return info->outputs.size();
}
gantry_status_t gantry_graph_info_output(const gantry_graph_info_t *info, size_t index,
                                         gantry_port_t *port) {
  return describePort(info->outputs, index, "output", port);
}
size_t gantry_graph_info_num_open_dims(const gantry_graph_info_t *info) {
  return info->report.openDims.size();
}
const char *gantry_graph_info_open_dim(const gantry_graph_info_t *info, size_t index) {
  return nameAt(info->report.openDims, index);
}
size_t gantry_graph_info_num_shape_inputs(const gantry_graph_info_t *info) {
  return info->report.shapeInputs.size();
}
const char *gantry_graph_info_shape_input(const gantry_graph_info_t *info, size_t index) {
  return nameAt(info->report.shapeInputs, index);
}
const char *gantry_graph_info_text(const gantry_graph_info_t *info) { return info->text.c_str(); }
const char *gantry_graph_info_json(const gantry_graph_info_t *info) { return info->json.c_str(); }
void gantry_graph_info_destroy(gantry_graph_info_t *info) { delete info; }

gantry_status_t gantry_check_flags(const char *const *flags, size_t num_flags) {
  if (num_flags && !flags)
    return fail(GANTRY_INVALID_ARGUMENT, "gantry_check_flags: flags is a null pointer");
  return finish(checkCompileFlags(llvm::SmallVector<llvm::StringRef>(flags, flags + num_flags)));
}

gantry_status_t gantry_plan_to_text(const void *plan, size_t size, gantry_artifact_t **artifact) {
  clear(artifact);
  return guarded([&]() -> gantry_status_t {
    if (Status stack = checkStack(); !stack.ok())
      return finish(stack);
    if (!plan || !artifact)
      return fail(GANTRY_INVALID_ARGUMENT,
                  "gantry_plan_to_text: plan and artifact must not be null");
    auto file = gantry::plan::PlanFile::copyOf({static_cast<const uint8_t *>(plan), size});
    if (!file)
      return fail(static_cast<gantry_status_t>(file.status().code()), file.status().message());
    MLIRContext context;
    OwningOpRef<ModuleOp> module = readPlan(*file, &context);
    std::string text;
    llvm::raw_string_ostream os(text);
    module->print(os);
    *artifact = makeArtifact(text);
    return GANTRY_OK;
  });
}

const void *gantry_artifact_data(const gantry_artifact_t *artifact, size_t *size) {
  std::span<const uint8_t> bytes;
  if (artifact)
    bytes = std::visit([](const auto &held) -> std::span<const uint8_t> { return held.bytes(); },
                       artifact->bytes);
  if (size)
    *size = bytes.size();
  return bytes.data();
}

size_t gantry_artifact_num_shape_values(const gantry_artifact_t *artifact) {
  return artifact->shapeValues.size();
}

const char *gantry_artifact_shape_value(const gantry_artifact_t *artifact, size_t index) {
  return nameAt(artifact->shapeValues, index);
}

size_t gantry_artifact_num_files(const gantry_artifact_t *artifact) {
  return artifact->files.size();
}

const char *gantry_artifact_file(const gantry_artifact_t *artifact, size_t index) {
  return nameAt(artifact->files, index);
}

void gantry_artifact_destroy(gantry_artifact_t *artifact) { delete artifact; }

const char *gantry_compiler_last_error(void) { return lastError().c_str(); }

const char *gantry_compiler_version(void) { return GANTRY_VERSION_STRING; }

} // extern "C"
