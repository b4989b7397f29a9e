// What users read of a diagnostic, and what kind of failure an error of a pass is beside its text:
// the tools' exit status follows from it. It travels in the diagnostic's metadata; whoever handles
// diagnostics reads it there.
#pragma once

#include "gantry/Support/Status.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

namespace gantry {

/// A file as the user called it. Locations hold its base name only, since they go into plans.
struct GivenFile {
  std::string baseName, name;
};

/// What a location is called that is no place in a file but --replicate of the command line.
inline constexpr llvm::StringLiteral kReplicateFlag = "--replicate";

/// The place in a file that a location tells, be it behind names, calls or fusions: of a call the
/// callee's, of several the first; null when it tells none.
mlir::FileLineColLoc fileLocOf(mlir::Location loc);

/// Place and text in one line, without notes: "model.mlir:3:8: 'matmul' …". Places in `file` are
/// told under its given name.
std::string lineOf(mlir::Diagnostic &diagnostic, const GivenFile &file = {});

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
