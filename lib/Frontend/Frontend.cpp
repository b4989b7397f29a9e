// Tells formats apart by content and hands the file to its reader.

#include "gantry/Frontend/Frontend.h"

#include "CutGraph.h"
#include "CutModel.h"
#include "MlirReader.h"
#include "ONNX/ImportModel.h"
#include "gantry/Device/DeviceName.h"
#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Dialect/Gantry/IR/Ports.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Formats/ArrayFiles.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

#include <map>

using namespace mlir;
using namespace gantry;

namespace {
enum class Format { Mlir, Onnx };
} // namespace

static bool isControl(unsigned char c) {
  return (c < 0x20 && c != '\n' && c != '\t' && c != '\r' && c != '\f') || c == 0x7f;
}

/// What the format is told by.
static StringRef startOf(StringRef bytes) { return bytes.take_front(256); }

/// Text has no control characters; an ONNX model begins with a field number, which is one, or holds
/// some among its first bytes. What has few of them and is no model is text with stray bytes.
static Format tellFormat(StringRef bytes) {
  constexpr int kMostStray = 4;
  if (bytes.starts_with("ML\xefR"))
    return Format::Mlir;
  StringRef start = startOf(bytes);
  const auto controls = llvm::count_if(start, isControl);
  if (controls == 0)
    return Format::Mlir;
  onnx::Model model;
  std::string error;
  const bool mayBeText = controls <= kMostStray && !isControl(start.front());
  return mayBeText && !onnx::decodeModel(bytes, model, error) ? Format::Mlir : Format::Onnx;
}

StringRef GraphFile::baseName() const { return llvm::sys::path::filename(name); }

namespace {
/// A file's bytes as LLVM wants them; no zero byte follows them.
class FileBuffer : public llvm::MemoryBuffer {
public:
  explicit FileBuffer(arrays::FileBytes given) : file(std::move(given)) {
    const auto *begin = reinterpret_cast<const char *>(file.bytes().data());
    init(begin, begin + file.bytes().size(), /*RequiresNullTerminator=*/false);
  }
  BufferKind getBufferKind() const override { return MemoryBuffer_MMap; }

private:
  arrays::FileBytes file;
};
} // namespace

std::optional<GraphFile> gantry::openGraph(StringRef path, MLIRContext *context) {
  Expected<arrays::FileBytes> file = arrays::FileBytes::open(path.str());
  if (!file) {
    auto error = emitError(FileLineColLoc::get(context, path, 0, 0)) << file.status().message();
    if (file.status().code() == StatusCode::doesNotFit)
      setStatusCode(*error.getUnderlyingDiagnostic(), StatusCode::doesNotFit);
    return std::nullopt;
  }
  auto bytes = std::make_shared<FileBuffer>(file.take());
  if (path == "-")
    return GraphFile{std::move(bytes), "<stdin>", "."};
  return GraphFile{std::move(bytes), path.str(), llvm::sys::path::parent_path(path).str()};
}

/// The place of everything that is wrong with the file as a whole.
static Location placeOf(const GraphFile &file, MLIRContext *context) {
  return FileLineColLoc::get(context, file.baseName(), 0, 0);
}

static LogicalResult checkContent(const GraphFile &file, MLIRContext *context) {
  StringRef bytes = file.bytes->getBuffer();
  if (bytes.empty())
    return emitError(placeOf(file, context))
           << "the file is empty; expected an ONNX model or a graph in MLIR";
  const char *stray = llvm::find_if(startOf(bytes), isControl);
  if (bytes.starts_with("ML\xefR") || stray == startOf(bytes).end() ||
      tellFormat(bytes) == Format::Onnx)
    return success();
  StringRef before = bytes.take_front(stray - bytes.begin());
  const unsigned line = before.count('\n') + 1,
                 column = before.size() - (before.rfind('\n') + 1) + 1;
  return emitError(FileLineColLoc::get(context, file.baseName(), line, column))
         << "this is text with the byte 0x" << llvm::utohexstr(uint8_t(*stray), true, 2)
         << " in it; expected a graph in MLIR, or an ONNX model";
}

static void loadDialects(MLIRContext *context) {
  context->loadDialect<GantryDialect, func::FuncDialect>();
}

//===----------------------------------------------------------------------===//
// Importing
//===----------------------------------------------------------------------===//

struct GraphImporter::Decoded {
  GraphFile file;
  MLIRContext *context;
  std::vector<std::string> outputs; ///< where the graph is to end; none: at its own
  std::optional<onnx::Model> model; ///< once it was needed
  onnx::TensorReader tensors;

  bool isOnnx() const { return tellFormat(file.bytes->getBuffer()) == Format::Onnx; }

  /// A graph in MLIR.
  OwningOpRef<ModuleOp> read(const ImportOptions &options) {
    ValueNames names;
    OwningOpRef<ModuleOp> module = file.built
                                       ? OwningOpRef<ModuleOp>((*file.built)->clone())
                                       : readMlir(file.bytes, file.baseName(), options.bytecode,
                                                  context, outputs.empty() ? nullptr : &names);
    if (module && !outputs.empty() && failed(cutGraph(*module, names, outputs, options.entry)))
      return {};
    return module;
  }

  LogicalResult decode() {
    if (model)
      return success();
    onnx::Model read;
    std::string error;
    if (!onnx::decodeModel(file.bytes->getBuffer(), read, error))
      return emitError(placeOf(file, context))
             << "this is neither MLIR nor a valid ONNX model: " << error;
    if (!outputs.empty() && !onnx::cutModel(read, outputs, error))
      return emitError(placeOf(file, context)) << error;
    if (!outputs.empty())
      read.training.clear(); // it is about the whole graph
    model = std::move(read);
    return success();
  }

  OwningOpRef<ModuleOp> importModel(const ImportOptions &options, GraphReport *report = nullptr) {
    tensors.allowLinksBelow(options.externalRoot);
    return onnx::importModel({&*model, &tensors, &options, file.baseName().str(), report}, context);
  }

  OwningOpRef<ModuleOp> judge(const ImportOptions &options, GraphReport &report);

  /// The same options with inputs by their names only, where a model has been decoded.
  ImportOptions byName(ImportOptions options) const {
    for (InputValue &value : options.values)
      value.name = onnx::nameOfInput(*model, value.name);
    for (auto &[name, size] : options.dims)
      if (auto [input, axis] = StringRef(name).rsplit(':'); !axis.empty())
        name = onnx::nameOfInput(*model, input) + ":" + axis.str();
    return options;
  }
};

GraphImporter::GraphImporter(const GraphFile &file, MLIRContext *context,
                             ArrayRef<std::string> outputs)
    : decoded(new Decoded{file, context, outputs.vec(), {}, {file.bytes, file.folder, context}}) {
  loadDialects(context);
}

GraphImporter::~GraphImporter() = default;

std::vector<std::string> GraphImporter::filesRead() const { return decoded->tensors.filesRead(); }

/// The function asked for must be there.
static LogicalResult checkEntry(ModuleOp module, StringRef entry) {
  if (entry.empty() || module.lookupSymbol<func::FuncOp>(entry))
    return success();
  auto error = module.emitError() << "no function is named '" << entry << "'; the functions are ";
  llvm::interleaveComma(module.getOps<func::FuncOp>(), error,
                        [&](func::FuncOp f) { error << f.getName(); });
  return failure();
}

/// Shapes of a graph in MLIR depend on no values.
static LogicalResult refuseValues(const GraphFile &file, const ImportOptions &options,
                                  MLIRContext *context) {
  if (options.values.empty())
    return success();
  return emitError(placeOf(file, context))
         << "a value is given for '" << options.values.front().name
         << "'; shapes of a graph in MLIR depend on no input's value, so it stays an input";
}

OwningOpRef<ModuleOp> GraphImporter::import(const ImportOptions &options) {
  if (failed(checkContent(decoded->file, decoded->context)))
    return {};
  OwningOpRef<ModuleOp> module;
  if (decoded->isOnnx()) {
    if (succeeded(decoded->decode()))
      module = decoded->importModel(decoded->byName(options));
  } else if (succeeded(refuseValues(decoded->file, options, decoded->context))) {
    module = decoded->read(options);
  }
  if (module && (failed(checkEntry(*module, options.entry)) || failed(checkPortNames(*module))))
    return {};
  return module;
}

OwningOpRef<ModuleOp> gantry::importGraph(const GraphFile &file, const ImportOptions &options,
                                          MLIRContext *context) {
  return GraphImporter(file, context).import(options);
}

std::vector<GraphPort> GraphImporter::inputsToSize() {
  GraphReport report;
  if (decoded->isOnnx() && succeeded(decoded->decode()))
    onnx::describeModel(*decoded->model, {}, report);
  return report.inputs;
}

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

/// A file declares the types of its own outputs; those of other values are known from importing,
/// and so are the numbers of rows behind them.
static void describeOutputs(ModuleOp module, GraphReport &report) {
  GraphReport imported;
  describeMlir(module, imported);
  for (auto [port, known] : llvm::zip(report.outputs, imported.outputs))
    if (port.kind == onnx::kUndeclared)
      port = known;
  llvm::append_range(
      report.outputs,
      llvm::drop_begin(imported.outputs, std::min(report.outputs.size(), imported.outputs.size())));
}

static GraphReport checkMlir(ModuleOp module) {
  GraphReport report;
  report.format = "MLIR";
  describeMlir(module, report);
  return report;
}

/// Imports as far as possible, noting in the report what is wrong; nothing is emitted.
OwningOpRef<ModuleOp> GraphImporter::Decoded::judge(const ImportOptions &options,
                                                    GraphReport &report) {
  std::string message;
  ScopedDiagnosticHandler collect(context, [&](Diagnostic &diagnostic) {
    if (message.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      message = diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = importModel(options, &report);
  if (!module && report.issues.empty() && !message.empty())
    report.issues.push_back({"", "", "", 0, message});
  return module;
}

FailureOr<std::vector<std::string>> GraphImporter::shapeInputs(const ImportOptions &given) {
  if (!decoded->isOnnx())
    return std::vector<std::string>();
  if (failed(decoded->decode()))
    return failure();
  const ImportOptions options = decoded->byName(given);
  GraphReport report;
  onnx::describeModel(*decoded->model, options, report);
  // Whether both branches of an If can be compiled shows when it is tried.
  if (report.shapeInputs.empty() && onnx::hasOpenBranch(*decoded->model, options))
    (void)decoded->judge(options, report);
  return std::move(report.shapeInputs);
}

std::string GraphImporter::nameOfInput(StringRef name) {
  bool isModel = decoded->isOnnx() && succeeded(decoded->decode());
  return isModel ? onnx::nameOfInput(*decoded->model, name) : name.str();
}

/// A node of a body is judged anew for each step that is made of it.
static void mergeIssues(std::vector<GraphReport::Issue> &issues) {
  llvm::StringSet<> told;
  llvm::erase_if(issues, [&](const GraphReport::Issue &issue) {
    return !told.insert(issue.node + '\0' + issue.op + '\0' + issue.message).second;
  });
}

std::optional<GraphReport> GraphImporter::check(const ImportOptions &given) {
  if (failed(checkContent(decoded->file, decoded->context)))
    return std::nullopt;
  if (!decoded->isOnnx()) {
    ImportOptions options;
    options.entry = given.entry;
    options.bytecode = given.bytecode;
    auto module = import(options);
    return module ? std::optional(checkMlir(*module)) : std::nullopt;
  }
  if (failed(decoded->decode()))
    return std::nullopt;
  const ImportOptions options = decoded->byName(given);
  GraphReport report;
  report.format = "ONNX";
  onnx::describeModel(*decoded->model, options, report);
  // Types, attributes and shapes can only be judged by importing. With dimensions or values still
  // to be given that cannot be done; then the ops alone are.
  if (!report.openDims.empty() || !report.shapeInputs.empty())
    return report;
  std::vector<GraphReport::Issue> ofOps = std::exchange(report.issues, {});
  OwningOpRef<ModuleOp> module = decoded->judge(options, report);
  mergeIssues(report.issues);
  // Of branches that a value to be given chooses from, the ops are all that is known.
  if (!report.shapeInputs.empty())
    report.issues = std::move(ofOps);
  if (module)
    describeOutputs(*module, report);
  return report;
}

std::optional<GraphReport> gantry::checkGraph(const GraphFile &file, const ImportOptions &options,
                                              MLIRContext *context, ArrayRef<std::string> outputs) {
  return GraphImporter(file, context, outputs).check(options);
}
