// What users read of a diagnostic, and what kind of failure an error of a pass is beside its text:
// the tools' exit status follows from it. It travels in the diagnostic's metadata; whoever handles
// diagnostics reads it there.
#pragma once

#include "gantry/Support/Status.h"

#include "mlir/IR/Diagnostics.h"

namespace gantry {

/// Place and text in one line, without notes: "model.mlir:3:8: 'matmul' …".
std::string lineOf(mlir::Diagnostic &diagnostic);

/// Errors without one are the user's: invalidArgument.
inline void setStatusCode(mlir::Diagnostic &diagnostic, StatusCode code) {
  diagnostic.getMetadata().push_back(mlir::DiagnosticArgument(static_cast<int64_t>(code)));
}

inline StatusCode statusCodeOf(mlir::Diagnostic &diagnostic) {
  for (const mlir::DiagnosticArgument &argument : diagnostic.getMetadata())
    if (argument.getKind() == mlir::DiagnosticArgument::DiagnosticArgumentKind::Integer)
      return static_cast<StatusCode>(argument.getAsInteger());
  return StatusCode::invalidArgument;
}

} // namespace gantry
