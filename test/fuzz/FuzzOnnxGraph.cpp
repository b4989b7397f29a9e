// ONNX models of a grammar (OnnxGenerator.h): importing one gives a module that verifies, or says
// in a diagnostic why not. GANTRY_KEEP_MODEL=FILE keeps the model that is being tried.
#include "OnnxGenerator.h"

#include "mlir/IR/Diagnostics.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

using namespace gantry;

namespace {

/// What a module's types and attributes leave behind in a context adds up; a new one costs as much
/// as some hundred models.
constexpr unsigned runsPerContext = 1000;

mlir::MLIRContext &context() {
  static std::unique_ptr<mlir::MLIRContext> current;
  static unsigned runs = 0;
  if (runs++ % runsPerContext == 0)
    current = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  // As in the C API: the op at fault may be a whole module, and its text takes long to write.
  current->printOpOnDiagnostic(false);
  return *current;
}

[[noreturn]] void fail(const std::string &what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

void checkMessage(const std::string &message) {
  if (message.empty() || message.find("defect of Gantry") != std::string::npos)
    fail("a failure without a reason: '" + message + "'");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  test::GeneratedModel model = test::generateModel({data, size});
  if (const char *path = std::getenv("GANTRY_KEEP_MODEL"))
    std::ofstream(path, std::ios::binary) << model.bytes;
  mlir::MLIRContext &mlir = context();
  bool complained = false;
  mlir::ScopedDiagnosticHandler handler(&mlir, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error) {
      complained = true;
      checkMessage(diagnostic.str());
    }
    return mlir::success();
  });
  GraphImporter importer(
      {llvm::MemoryBuffer::getMemBuffer(model.bytes, "", false), "fuzz.onnx", "/nonexistent"},
      &mlir);
  // Checking goes on behind a node that fails, importing stops there; both have to agree.
  std::optional<GraphReport> report = importer.check(model.options);
  if (!report)
    fail("a model that cannot be decoded");
  for (const GraphReport::Issue &issue : report->issues)
    checkMessage(issue.message);
  bool open = !report->openDims.empty() || !report->shapeInputs.empty();
  if (!open && (size == 0 || data[size - 1] % 4 == 0)) {
    bool imported = bool(importer.import(model.options));
    if (!imported && !complained)
      fail("no module and no diagnostic");
    if (imported != report->isSupported())
      fail("check and import disagree");
  }
  return 0;
}
