#include "Diagnostics.h"

#include "Outcome.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include <vector>

using namespace mlir;
using namespace gantry;
using namespace gantry::capi;

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

/// The op that a text is about, as its verifier or its builder says: "'gantry.add' op ...",
/// "gantry.add needs ...".
static std::string opOf(StringRef text) {
  StringRef rest = text;
  const bool isQuoted = rest.consume_front("'");
  if (!rest.starts_with("gantry."))
    return "";
  return rest.take_until([&](char c) { return isQuoted ? c == '\'' : c == ' ' || c == ':'; }).str();
}

namespace {
/// A diagnostic with what its C form points to.
struct Parts {
  std::string file, node, op, text, told;
  std::vector<Parts> notes;
  std::vector<gantry_diagnostic_t> noteParts;
  gantry_diagnostic_t c{};

  Parts(Diagnostic &diagnostic, const GivenFile &given)
      : node(forC(nodeNameOf(diagnostic.getLocation()).str())), text(forC(diagnostic.str())),
        told(forC(lineOf(diagnostic, given))) {
    op = opOf(text);
    if (FileLineColLoc place = fileLocOf(diagnostic.getLocation())) {
      file = place.getFilename() == given.baseName ? given.name : place.getFilename().str();
      c.line = place.getLine();
      c.column = place.getColumn();
    }
    c.severity = severityOf(diagnostic.getSeverity());
    c.status = c.severity == GANTRY_SEVERITY_ERROR
                   ? static_cast<gantry_status_t>(statusCodeOf(diagnostic))
                   : GANTRY_OK;
    for (Diagnostic &note : diagnostic.getNotes())
      notes.emplace_back(note, given);
  }

  /// Once it stays where it is.
  const gantry_diagnostic_t &get() {
    for (Parts &note : notes)
      noteParts.push_back(note.get());
    c.struct_size = sizeof c;
    c.file = file.c_str();
    c.node = node.c_str();
    c.op = op.c_str();
    c.text = text.c_str();
    c.told = told.c_str();
    c.notes = noteParts.data();
    c.num_notes = noteParts.size();
    return c;
  }
};
} // namespace

DiagnosticSink::DiagnosticSink(MLIRContext &context, Listener listener)
    : listener(listener), handler(&context, [this](Diagnostic &diagnostic) {
        report(diagnostic);
        return success();
      }) {}

void DiagnosticSink::tell(gantry_severity_t severity, const std::string &text) {
  if (listener.log)
    listener.log(listener.logContext, severity, text.c_str());
}

void DiagnosticSink::report(Diagnostic &diagnostic) {
  if (isCancelled() && diagnostic.getSeverity() == DiagnosticSeverity::Error &&
      statusCodeOf(diagnostic) != StatusCode::cancelled)
    return;
  Parts parts(diagnostic, file);
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error && firstError.empty()) {
    firstError = parts.told;
    status = static_cast<gantry_status_t>(statusCodeOf(diagnostic));
  }
  tell(parts.c.severity, parts.told);
  for (const Parts &note : parts.notes)
    tell(GANTRY_SEVERITY_NOTE, note.told);
  if (listener.diagnose)
    listener.diagnose(listener.diagnoseContext, &parts.get());
}

gantry_status_t DiagnosticSink::outcome(const char *otherwise) const {
  if (isCancelled())
    return finish(Status::cancelled("the compilation was cancelled"));
  return finish(
      Status(static_cast<StatusCode>(status), firstError.empty() ? otherwise : firstError));
}
