// Tells formats apart by content and hands the file to its reader.

#include "gantry/Frontend/Frontend.h"

#include "MlirReader.h"
#include "ONNX/Importer.h"
#include "gantry/Device/DeviceName.h"
#include "gantry/Dialect/Gantry/IR/Views.h"

#include "llvm/Support/Path.h"

#include <map>

using namespace mlir;
using namespace gantry;

namespace {
enum class Format { Mlir, Onnx };
} // namespace

/// Text has no control characters; an ONNX model begins with a field number, which is one, or holds
/// one among its first bytes.
static Format tellFormat(StringRef bytes) {
  if (bytes.starts_with("ML\xefR"))
    return Format::Mlir;
  for (unsigned char c : bytes.take_front(256))
    if ((c < 0x20 && c != '\n' && c != '\t' && c != '\r' && c != '\f') || c == 0x7f)
      return Format::Onnx;
  return Format::Mlir;
}

StringRef GraphFile::baseName() const { return llvm::sys::path::filename(name); }

std::optional<GraphFile> gantry::openGraph(StringRef path, MLIRContext *context) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer) {
    emitError(FileLineColLoc::get(context, path, 0, 0))
        << "cannot read '" << path << "': " << buffer.getError().message();
    return std::nullopt;
  }
  if (path == "-")
    return GraphFile{std::move(*buffer), "<stdin>", "."};
  return GraphFile{std::move(*buffer), path.str(), llvm::sys::path::parent_path(path).str()};
}

/// The place of everything that is wrong with the file as a whole.
static Location placeOf(const GraphFile &file, MLIRContext *context) {
  return FileLineColLoc::get(context, file.baseName(), 0, 0);
}

static LogicalResult checkContent(const GraphFile &file, MLIRContext *context) {
  if (file.bytes->getBufferSize() > 0)
    return success();
  return emitError(placeOf(file, context))
         << "the file is empty; expected an ONNX model or a graph in MLIR";
}

static void loadDialects(MLIRContext *context) {
  context->loadDialect<GantryDialect, func::FuncDialect>();
}

/// Decodes an ONNX file, or says why not.
static std::optional<onnx::Model> decode(const GraphFile &file, MLIRContext *context) {
  onnx::Model model;
  std::string error;
  if (onnx::decodeModel(file.bytes->getBuffer(), model, error))
    return model;
  emitError(placeOf(file, context)) << "this is neither MLIR nor a valid ONNX model: " << error;
  return std::nullopt;
}

/// The function asked for must be there.
static LogicalResult checkEntry(ModuleOp module, StringRef entry) {
  if (entry.empty() || module.lookupSymbol<func::FuncOp>(entry))
    return success();
  auto error = module.emitError() << "no function is named '" << entry << "'; the functions are ";
  llvm::interleaveComma(module.getOps<func::FuncOp>(), error,
                        [&](func::FuncOp f) { error << f.getName(); });
  return failure();
}

OwningOpRef<ModuleOp> gantry::importGraph(const GraphFile &file, const ImportOptions &options,
                                          MLIRContext *context) {
  if (failed(checkContent(file, context)))
    return {};
  loadDialects(context);
  OwningOpRef<ModuleOp> module;
  if (tellFormat(file.bytes->getBuffer()) == Format::Mlir) {
    module = readMlir(file.bytes, file.baseName(), context);
  } else if (auto model = decode(file, context)) {
    onnx::TensorReader tensors(file.bytes, file.folder, context);
    module =
        onnx::importModel({&*model, &tensors, &options, file.baseName().str(), nullptr}, context);
  }
  if (module && failed(checkEntry(*module, options.entry)))
    return {};
  return module;
}

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

/// Counts the ops for which the kernel table has nothing on a type of device.
static void findGaps(ModuleOp module, GraphReport &report) {
  std::map<std::tuple<std::string, std::string, DeviceType>, GraphReport::Gap> gaps;
  module.walk([&](KernelOpInterface op) {
    mlir::Type element = kernelElementType(op);
    if (!element || isView(op))
      return;
    for (DeviceType device : {DeviceType::CPU, DeviceType::GPU}) {
      if (op.hasKernel(device, element))
        continue;
      std::string type;
      llvm::raw_string_ostream(type) << element;
      GraphReport::Gap &gap = gaps[{op.getLogName().str(), type, device}];
      gap.op = op.getLogName().str();
      gap.type = type;
      gap.device = std::string(deviceTypeName(device));
      gap.why = whyNoKernel(op).str();
      ++gap.count;
    }
  });
  for (auto &[key, gap] : gaps)
    report.gaps.push_back(std::move(gap));
}

static GraphReport checkMlir(ModuleOp module) {
  GraphReport report;
  report.format = "MLIR";
  describeMlir(module, report);
  findGaps(module, report);
  return report;
}

std::optional<GraphReport> gantry::checkGraph(const GraphFile &file, const ImportOptions &options,
                                              MLIRContext *context) {
  if (failed(checkContent(file, context)))
    return std::nullopt;
  loadDialects(context);
  if (tellFormat(file.bytes->getBuffer()) == Format::Mlir) {
    auto module = readMlir(file.bytes, file.baseName(), context);
    return module ? std::optional(checkMlir(*module)) : std::nullopt;
  }
  auto model = decode(file, context);
  if (!model)
    return std::nullopt;
  GraphReport report;
  report.format = "ONNX";
  onnx::describeModel(*model, options, report);
  // Types, attributes and shapes can only be judged by importing. With dimensions or values still
  // to be given that cannot be done; then the ops alone are.
  if (!report.openDims.empty() || !report.shapeInputs.empty())
    return report;
  report.issues.clear();
  onnx::TensorReader tensors(file.bytes, file.folder, context);
  std::string message;
  ScopedDiagnosticHandler collect(context, [&](Diagnostic &diagnostic) {
    if (message.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      message = diagnostic.str();
    return success();
  });
  auto module =
      onnx::importModel({&*model, &tensors, &options, file.baseName().str(), &report}, context);
  if (!module && report.issues.empty())
    report.issues.push_back({"", "", "", 0, message});
  if (module)
    findGaps(*module, report);
  return report;
}
