// What the compiler says, as callers hear it: lines for logs, and in parts.
#pragma once

#include "gantry-c/compiler.h"
#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Support/Cancel.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include <string>

namespace gantry::capi {

/// Who listens.
struct Listener {
  gantry_log_callback_t log = nullptr;
  void *logContext = nullptr;
  gantry_diagnostic_callback_t diagnose = nullptr;
  void *diagnoseContext = nullptr;
  /// Once it is set, what is wrong with half-done work is nobody's business: there is one error.
  const Cancel *cancel = nullptr;
};

/// Hands the context's diagnostics on while it lives, and keeps the first error.
class DiagnosticSink {
public:
  DiagnosticSink(mlir::MLIRContext &context, Listener listener);

  /// What places in this file are called.
  void setFile(GivenFile given) { file = std::move(given); }
  /// A line that is no diagnostic.
  void tell(gantry_severity_t severity, const std::string &text);
  /// The first error is what a failed call returns and its message; `otherwise` when there was
  /// none. Of one that was cancelled, that.
  gantry_status_t outcome(const char *otherwise) const;

private:
  void report(mlir::Diagnostic &diagnostic);
  bool isCancelled() const { return listener.cancel && listener.cancel->isSet(); }

  Listener listener;
  GivenFile file;
  std::string firstError;
  gantry_status_t status = GANTRY_INVALID_ARGUMENT; ///< of the first error
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace gantry::capi
