// The compiler half of the C API: strings in, an artifact out, diagnostics to a callback.

#include "gantry-c/compiler.h"

#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Frontend/Frontend.h"
#include "gantry/Pipeline/Pipeline.h"
#include "gantry/Support/Version.h"
#include "gantry/Target/Plan/ReadPlan.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace gantry;

struct gantry_artifact_t {
  AlignedBuffer bytes;
};

static thread_local std::string lastError;

static gantry_status_t fail(gantry_status_t status, std::string message) {
  lastError = std::move(message);
  return status;
}

namespace {
/// Hands the context's diagnostics to the caller's callback, one line each.
struct DiagnosticSink {
  gantry_log_callback_t log;
  void *context;
  GivenFile file;
  std::string firstError;
  gantry_status_t status = GANTRY_INVALID_ARGUMENT; ///< of the first error
  ScopedDiagnosticHandler handler;

  DiagnosticSink(MLIRContext &mlir, gantry_log_callback_t log, void *context)
      : log(log), context(context), handler(&mlir, [this](Diagnostic &d) {
          report(d);
          return success();
        }) {}

  void report(Diagnostic &diagnostic) {
    std::string text = lineOf(diagnostic, file);
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && firstError.empty()) {
      firstError = text;
      status = static_cast<gantry_status_t>(statusCodeOf(diagnostic));
    }
    emit(severityOf(diagnostic.getSeverity()), text);
    for (Diagnostic &note : diagnostic.getNotes())
      emit(GANTRY_SEVERITY_NOTE, lineOf(note, file));
  }

  void emit(gantry_severity_t severity, const std::string &text) {
    if (log)
      log(context, severity, text.c_str());
  }

  static gantry_severity_t severityOf(DiagnosticSeverity severity) {
    switch (severity) {
    case DiagnosticSeverity::Note:
      return GANTRY_SEVERITY_NOTE;
    case DiagnosticSeverity::Remark:
      return GANTRY_SEVERITY_REMARK;
    case DiagnosticSeverity::Warning:
      return GANTRY_SEVERITY_WARNING;
    case DiagnosticSeverity::Error:
      return GANTRY_SEVERITY_ERROR;
    }
    return GANTRY_SEVERITY_ERROR;
  }
};

/// A context with all dialects, and the flags read.
struct Session {
  MLIRContext mlir;
  DiagnosticSink sink;
  std::optional<CompileOptions> options;
  std::string flagError;
  bool json = false;

  Session(const char *const *flags, size_t count, gantry_log_callback_t log, void *context)
      : mlir(registry()), sink(mlir, log, context) {
    // The op at fault may be the whole module; its location says which one it is.
    mlir.printOpOnDiagnostic(false);
    llvm::SmallVector<llvm::StringRef> list;
    for (size_t i = 0; i < count; ++i) {
      llvm::StringRef flag = flags[i];
      // How a report is printed is not a matter of compiling.
      if (flag == "json")
        json = true;
      else
        list.push_back(flag);
    }
    options = parseCompileFlags(list, flagError);
  }

  static DialectRegistry registry() {
    DialectRegistry dialects;
    registerDialects(dialects);
    return dialects;
  }
};
} // namespace

static gantry_artifact_t *makeArtifact(llvm::StringRef text) {
  return new gantry_artifact_t{
      AlignedBuffer::copyOf({reinterpret_cast<const uint8_t *>(text.data()), text.size()})};
}

extern "C" {

gantry_status_t gantry_compile(const char *file, const char *const *flags, size_t num_flags,
                               gantry_log_callback_t log, void *context,
                               gantry_artifact_t **artifact) {
  if (!file || !artifact || (num_flags && !flags))
    return fail(GANTRY_INVALID_ARGUMENT,
                "gantry_compile: file, flags and artifact must not be null");
  Session session(flags, num_flags, log, context);
  if (!session.options)
    return fail(GANTRY_INVALID_ARGUMENT, session.flagError);
  session.sink.file = {llvm::sys::path::filename(file).str(), file};
  auto compiled = compileGraph(file, *session.options, session.mlir, [&](llvm::StringRef phase) {
    session.sink.emit(GANTRY_SEVERITY_PROGRESS, phase.str());
  });
  if (failed(compiled)) {
    std::string why =
        session.sink.firstError.empty() ? "compilation failed" : session.sink.firstError;
    return fail(session.sink.status, why);
  }
  if (!compiled->text.empty())
    *artifact = makeArtifact(compiled->text);
  else
    *artifact = new gantry_artifact_t{std::move(compiled->plan)};
  return GANTRY_OK;
}

gantry_status_t gantry_check(const char *file, const char *const *flags, size_t num_flags,
                             gantry_log_callback_t log, void *context,
                             gantry_artifact_t **artifact) {
  if (!file || !artifact || (num_flags && !flags))
    return fail(GANTRY_INVALID_ARGUMENT, "gantry_check: file, flags and artifact must not be null");
  Session session(flags, num_flags, log, context);
  if (!session.options)
    return fail(GANTRY_INVALID_ARGUMENT, session.flagError);
  session.sink.file = {llvm::sys::path::filename(file).str(), file};
  auto import = readImportOptions(*session.options, session.mlir);
  if (failed(import))
    return fail(GANTRY_INVALID_ARGUMENT, session.sink.firstError);
  std::optional<GraphFile> graph = openGraph(file, &session.mlir);
  std::optional<GraphReport> report;
  if (graph)
    report = checkGraph(*graph, *import, &session.mlir);
  if (!report)
    return fail(GANTRY_INVALID_ARGUMENT, session.sink.firstError);
  std::string text;
  llvm::raw_string_ostream os(text);
  session.json ? printReportAsJson(*report, os) : printReport(*report, os);
  *artifact = makeArtifact(text);
  if (!report->isSupported())
    return fail(GANTRY_UNSUPPORTED, "the graph has " + std::to_string(report->issues.size()) +
                                        " unsupported nodes; the report lists them");
  return GANTRY_OK;
}

gantry_status_t gantry_plan_to_text(const void *plan, size_t size, gantry_artifact_t **artifact) {
  if (!plan || !artifact)
    return fail(GANTRY_INVALID_ARGUMENT, "gantry_plan_to_text: plan and artifact must not be null");
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
}

const void *gantry_artifact_data(const gantry_artifact_t *artifact, size_t *size) {
  if (size)
    *size = artifact ? artifact->bytes.size() : 0;
  return artifact ? artifact->bytes.data() : nullptr;
}

void gantry_artifact_destroy(gantry_artifact_t *artifact) { delete artifact; }

const char *gantry_compiler_last_error(void) { return lastError.c_str(); }

const char *gantry_compiler_version(void) { return GANTRY_VERSION_STRING; }

} // extern "C"
